import csv

import numpy as np
import pytest

from unperturb.errors import MissingRecordError
from unperturb.lab.paper.figure_mdp import analysis, sweep
from unperturb.lab.records import Records

STEPS = 12_000


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    records = Records(tmp_path_factory.mktemp("figure-mdp") / "records")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "ESTIMATORS", [sweep.VOTE, sweep.STREAMING])
        sweep.run(records, seeds=2, steps=STEPS)
        yield records


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_the_papers_four_stages():
    matrices = sweep.schedule_matrices(sweep.SCHEDULE, sweep.STEPS)
    assert matrices.shape == (70_000, 2, 2)
    for step, e_minus, e_plus in [
        (0, 0.1, 0.3),
        (9_999, 0.1, 0.3),
        (10_000, 0.2, 0.1),
        (30_000, 0.3, 0.2),
        (69_999, 0.1, 0.2),
    ]:
        np.testing.assert_allclose(matrices[step], [[1 - e_minus, e_minus], [e_plus, 1 - e_plus]])


def test_finished_units_are_not_trained_again(finished, monkeypatch):
    names = sorted(path.name for path in finished.folder.iterdir())
    assert len(names) == 2 * len(sweep.ESTIMATORS)
    monkeypatch.setattr(sweep, "_train", None)
    sweep.run(finished, seeds=2, steps=STEPS)
    assert sorted(path.name for path in finished.folder.iterdir()) == names


def test_the_result_of_a_seed_does_not_depend_on_its_company(finished, tmp_path):
    alone = Records(tmp_path)
    unit = next(u for u in sweep.units(2, STEPS) if u["seed"] == 1)
    trace = sweep._train([unit])
    alone.save(unit, confusion=trace.confusion[0])
    np.testing.assert_array_equal(
        alone.load(unit).arrays["confusion"], finished.load(unit).arrays["confusion"]
    )


def test_tables_and_pictures(finished, tmp_path):
    paths = analysis.write(finished, tmp_path)
    assert {path.name for path in paths} == {
        f"figure-mdp{ending}" for ending in (".csv", ".md", ".png", ".svg", "-summary.csv")
    }
    curves = rows(tmp_path / "figure-mdp.csv")
    assert list(curves[0]) == [
        *("step", "estimator", "rate", "seeds", "mean", "low", "high", "truth")
    ]
    late = [row for row in curves if row["step"] == "10000" and row["rate"] == "e_plus"]
    assert len(late) == len(sweep.ESTIMATORS)
    for row in late:
        # The estimate stands near .3, which held until now; the truth has just become .1.
        assert float(row["mean"]) == pytest.approx(0.3, abs=0.1)
        assert float(row["truth"]) == 0.1
    summary = rows(tmp_path / "figure-mdp-summary.csv")
    assert {row["stage"] for row in summary} == {"0k-10k", "10k-12k", "all"}
    assert all(0 < float(row["mean"]) < 0.15 for row in summary)


def test_the_same_records_give_the_same_files(finished, tmp_path):
    for name in ("a", "b"):
        analysis.write(finished, tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_nothing_to_show(tmp_path):
    with pytest.raises(MissingRecordError, match="reproduce figure-mdp"):
        analysis.write(Records(tmp_path), tmp_path)
