import csv

import numpy as np
import pytest

from unperturb.errors import MissingRecordError
from unperturb.lab.paper.theory import analysis, channel, convergence, samples, sweep
from unperturb.lab.records import Records

FEW = [unit for unit in samples.units(error=0.6, runs=40) if "42" not in str(unit["rates"])]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    records = Records(tmp_path_factory.mktemp("theory") / "records")
    sweep.run(records, seeds=2, steps=4_000, sample_units=FEW)
    return records


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_surrogates_are_unbiased_and_their_variance_bounded(finished):
    for unit in channel.units():
        arrays = finished.load(unit).arrays
        assert np.abs(arrays["exact_bias"]).max() < 1e-9
        assert (arrays["variance"] >= arrays["variance_true"]).all()
        assert (arrays["variance"] <= arrays["bound"]).all()
        # Of 726 drawn biases one beyond 5 standard errors has a chance of 4e-4 with this seed.
        assert (np.abs(arrays["bias"]) <= 5 * arrays["error"] + 1e-12).all()
        np.testing.assert_allclose(arrays["variance_drawn"], arrays["variance"], rtol=0.1)


def test_the_error_that_noisy_rewards_leave():
    unit = {"reward": "noisy", "e_minus": 0.1, "e_plus": 0.3, "gamma": 0.7}
    # Noisy rewards make Q~ = .6 Q + .1 / (1 - gamma), and |Q~ - Q| is largest at one end of Q.
    q = convergence.six_state.optimal_q(0.7)
    assert convergence.limit(unit) == pytest.approx(np.abs(0.1 / 0.3 - 0.4 * q).max())
    assert convergence.limit({**unit, "reward": "known"}) == 0


def test_q_learning_error_falls_with_surrogates(finished):
    for unit in convergence.units(2, 4_000):
        error = finished.load(unit).arrays["error"]
        if unit["reward"] == "noisy":
            assert error[-1] == pytest.approx(convergence.limit(unit), abs=0.25)
        else:
            assert error[-1] < error[0] / 2


def test_calls_grow_with_the_noise(finished):
    m = [
        float(finished.load(unit).arrays["m"])
        for unit in FEW
        if unit["family"] in ("none", "symmetric")
    ]
    assert m == sorted(m)
    assert m[-1] > 20 * m[0]


def test_the_variance_of_symmetric_noise_by_hand():
    units = {unit["family"]: unit for unit in samples.units()}
    still = {**units["none"], "slip": 0.0}
    assert samples.worst_variance(still) == pytest.approx(0, abs=1e-9)
    noisy = {**still, "rates": [[0.2, 0.2]]}
    assert samples.worst_variance(noisy) == pytest.approx((1 / 0.6**2 - 1) / 4)


def test_tables_and_pictures(finished, tmp_path):
    paths = analysis.write(finished, tmp_path)
    assert {path.name for path in paths} == {
        *(f"theory.{ending}" for ending in ("csv", "md", "png", "svg")),
        *(
            f"theory-{name}.csv"
            for name in ("bias", "variance", "convergence", "samples", "slopes")
        ),
    }
    checks = rows(tmp_path / "theory.csv")
    assert {row["part"] for row in checks} == set("abcde")
    assert [float(r["measured"]) for r in checks if "Var(hat r) above" in r["what"]] == [0]
    assert all(float(r["measured"]) < 1 for r in checks if "over the bound" in r["what"])
    slopes = rows(tmp_path / "theory-slopes.csv")
    whole = next(r for r in slopes if r["noise"] == "one C" and r["against"] == "sample_cost")
    assert int(whole["matrices"]) == 10
    assert 0.7 < float(whole["slope"]) < 1.8


def test_nothing_to_show(tmp_path):
    with pytest.raises(MissingRecordError, match="reproduce theory"):
        analysis.write(Records(tmp_path), tmp_path)
