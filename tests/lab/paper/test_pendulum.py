import csv

import numpy as np
import pytest

from unperturb.errors import MissingRecordError
from unperturb.lab import grid
from unperturb.lab.paper.control import PENDULUM, PENDULUM_TABLE, conditions, units
from unperturb.lab.paper.figure_pendulum import analysis as curves
from unperturb.lab.paper.figure_pendulum import sweep as figure
from unperturb.lab.paper.study_levels import analysis as study
from unperturb.lab.paper.study_levels import sweep as study_sweep
from unperturb.lab.paper.table_control import analysis as table
from unperturb.lab.paper.table_control import sweep as table_sweep
from unperturb.lab.records import Records
from unperturb.lab.units import noise_matrix, unit

STEPS = 400
# All studies below share one problem, and so one compilation.
COLUMN = PENDULUM[1]._replace(steps=STEPS, seeds=1)
SWEEPS = (figure, table_sweep, study_sweep)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    records = Records(tmp_path_factory.mktemp("pendulum") / "records")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid, "_cores", lambda: 1)
        for module in (figure, curves, table_sweep, table):
            patch.setattr(module, "COLUMNS", (COLUMN,))
        for module in (study_sweep, study):
            patch.setattr(module, "COUNTS", (17,))
        patch.setattr(study_sweep, "COLUMN", COLUMN)
        patch.setattr(study_sweep, "SEEDS", 1)
        # All at once, since a batch of another width is compiled anew.
        wanted = [one for sweep in SWEEPS for one in sweep.wanted()]
        grid.run({records.path(one): one for one in wanted}.values(), records, "all")
        yield records


def test_every_study_finds_its_runs(finished, monkeypatch):
    monkeypatch.setattr(grid, "train", None)
    for sweep in SWEEPS:
        sweep.run(finished)


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_a_random_noise_is_never_taken_for_a_mirror_image():
    for column in PENDULUM:
        priors = {c["prior"] for c in conditions(column, ["posterior"], [0.7])}
        assert priors == ({None, "reverse"} if column.noise == "symmetric" else {None})


def test_columns_that_differ_in_noise_share_the_true_runs():
    true = units(PENDULUM[:3], ["true"], [0.3, 0.7])
    assert [one["seed"] for one in true] == list(range(6))
    assert len(units(PENDULUM_TABLE, ["true", "noisy"], [0.3, 0.7])) == 2 * 6 * 3


def test_each_seed_draws_its_own_noise_whatever_the_agent_is_shown():
    def noise(seed, reward="noisy", weight=0.3):
        shown = unit("Pendulum-v1", "ddpg", 10, seed, reward, "rand-all", weight)
        return noise_matrix(shown)

    assert not np.array_equal(noise(0), noise(1))
    np.testing.assert_array_equal(noise(0), noise(0, "posterior"))
    assert (noise(0, weight=0.7).diagonal() < noise(0).diagonal()).all()


def test_the_noise_of_a_run_is_recorded(finished):
    found = list(finished.all(agent="ddpg"))
    assert found
    for record in found:
        np.testing.assert_array_equal(record.arrays["noise"], noise_matrix(record.settings))
        random = record.settings["noise"] == "rand-one" and record.settings["weight"] > 0
        assert random == (not np.array_equal(record.arrays["noise"], np.eye(17)))


def test_figure(finished, tmp_path):
    paths = curves.write(finished, tmp_path)
    found = rows(tmp_path / "figure-pendulum.csv")
    assert {path.suffix for path in paths} == {".csv", ".md", ".png", ".svg"}
    assert {row["reward"] for row in found} == set(figure.REWARDS)
    # A mean reward per step, not a return over two hundred.
    assert all(-17 < float(row["mean"]) < 0 for row in found)
    curves.write(finished, tmp_path, full=True)
    assert "figure-pendulum.png" not in (tmp_path / "figure-pendulum-full.md").read_text()


def test_table_has_the_papers_numbers(finished, tmp_path):
    table.write(finished, tmp_path)
    found = {(r["reward"], float(r["weight"])): r for r in rows(tmp_path / "table-control.csv")}
    assert float(found["known", 0.3]["paper"]) == -1.03
    assert found["estimated", 0.7]["paper"] == ""
    assert found["estimated", 0.7]["mean"] != ""
    line = "| 0.3    | known     |"
    assert line in (tmp_path / "table-control.md").read_text()


def test_study_levels(finished, tmp_path):
    study.write(finished, tmp_path)
    found = {(r["value"], r["reward"]): r for r in rows(tmp_path / "study-levels.csv")}
    assert len(found) == 3 + 1 + 1
    assert float(found["upper", "rounded"]["rounding"]) == pytest.approx(1 / 3**0.5, rel=1e-4)
    assert 0 < float(found["upper", "posterior"]["error of C"]) < 1
    assert found["upper", "known"]["error of C"] == ""


def test_without_records_it_says_what_to_run(tmp_path):
    with pytest.raises(MissingRecordError, match="study-levels"):
        study.write(Records(tmp_path), tmp_path)
    with pytest.raises(MissingRecordError):
        curves.write(Records(tmp_path), tmp_path)
