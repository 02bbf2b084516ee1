"""The tables and figures of CartPole, from runs so short that they say nothing."""

import csv
from importlib import import_module

import numpy as np
import pytest

from unperturb.errors import MissingRecordError
from unperturb.lab import grid
from unperturb.lab.paper import STUDIES, control, reading, scores
from unperturb.lab.paper.control import Column, conditions, units
from unperturb.lab.records import Record, Records
from unperturb.lab.report import SCORE_COLUMNS

TINY = (Column("CartPole-v0", "q-learning", "Q-Learning", 300, seeds=2),)
ALL = ("noisy", "known", "estimated", "noisy+vrt", "estimated+vrt", "posterior", "true")


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    records = Records(tmp_path_factory.mktemp("records"))
    grid.run(units(TINY, ALL, (0.1, 0.3, 0.5, 0.7, 0.9)), records, "tiny", jobs=1)
    return records


@pytest.mark.parametrize(
    "name",
    [
        "table-control",
        "table-vrt",
        "figure-cartpole",
        "figure-cartpole-full",
        "figure-vrt",
        "figure-vrt-full",
        "figure-estimation",
        "table-algorithms",
    ],
)
def test_each_study_writes_its_files(records, tmp_path, monkeypatch, name):
    study = STUDIES[name]
    analysis = import_module(f"{study.package}.analysis")
    for constant in ("CARTPOLE", "COLUMNS"):
        if hasattr(analysis, constant):
            monkeypatch.setattr(analysis, constant, TINY)
    paths = study.write(records, tmp_path)
    endings = {".csv", ".md"} | (set() if name == "table-algorithms" else {".png", ".svg"})
    assert {path.suffix for path in paths} == endings
    assert all(path.name.startswith(name) and path.stat().st_size for path in paths)
    if name in ("table-control", "table-vrt"):
        rows = list(csv.DictReader(paths[0].read_text().splitlines()))
        assert tuple(rows[0])[: len(SCORE_COLUMNS)] == SCORE_COLUMNS
        assert {row["reward"] for row in rows} <= set(ALL)
        assert any(row["paper"] for row in rows)


def test_studies_say_so_where_nothing_was_run(tmp_path):
    with pytest.raises(MissingRecordError, match="no run of this study"):
        STUDIES["table-control"].write(Records(tmp_path), tmp_path)


def test_reversed_priors_are_rows_of_their_own_and_only_above_one_half():
    found = list(conditions(control.CARTPOLE[0], ALL, (0.3, 0.7)))
    priors = {(c["reward"], c["weight"]): [] for c in found}
    for condition in found:
        priors[condition["reward"], condition["weight"]].append(condition["prior"])
    assert priors["posterior", 0.3] == [None]
    assert priors["posterior", 0.7] == [None, "reverse"]
    assert priors["known", 0.7] == [None]
    assert priors["true", 0.0] == [None]


def test_a_row_below_the_paper_is_marked(records):
    rows = scores.score_rows(records, "table-control", TINY, ("noisy",), (0.1,))
    # Three hundred steps can't reach the paper's 170.
    assert [row["below"] for row in rows] == ["yes"]
    row = {"mean": 5.0, "paper": 6.0, "interval_high": 7.0}
    assert scores._below(row) == "within the interval"
    assert scores._below({**row, "mean": 6.5}) == "no"


def test_other_runs_in_the_folder_don_t_get_into_a_table(records, tmp_path):
    mixed = Records(tmp_path)
    own = next(iter(records.all(reward="noisy", weight=0.1)))
    mixed.save(own.settings, **own.arrays)
    mixed.save({**own.settings, "steps": 9}, **{**own.arrays, "returns": own.arrays["returns"] * 9})
    rows = scores.score_rows(mixed, "table-control", TINY, ("noisy",), (0.1,))
    assert [row["seeds"] for row in rows] == [1]


def test_a_curve_is_the_mean_of_the_last_episodes():
    run = Record({"env": "CartPole-v0"}, {"returns": np.arange(1.0, 21), "ends": np.arange(1, 21)})
    found = reading.curve(run, np.array([0, 1, 2, 20]))
    np.testing.assert_array_equal(found, [np.nan, 1, 1.5, np.mean(np.arange(11, 21))])
