"""Anchors: what somebody knows of some cells decides which way round the levels are."""

import json

import numpy as np
import pytest
from log_samples import simulate, write_log

from unperturb.errors import (
    DamagedFileError,
    InvalidAnchorsError,
    InvalidOptionError,
    MissingFileError,
)
from unperturb.logs import audit_log

KNOWN = [(0, 0, 0.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 0.0), (2, 0, 0.0), (3, 0, 1.0)]
CSV = "state,action,true_reward\n" + "\n".join(f"{s},{a},{r:g}" for s, a, r in KNOWN) + "\n"
JSON = [{"state": s, "action": a, "true_reward": r} for s, a, r in KNOWN]


@pytest.fixture
def path(tmp_path):
    """Most rewards are wrong, which the rewards alone can't tell."""
    return write_log(tmp_path, "npz", simulate(4000, e_minus=0.8, e_plus=0.8).columns)


def test_anchors_turn_the_matrix_round(path, tmp_path):
    (tmp_path / "known.csv").write_text(CSV)
    (tmp_path / "known.json").write_text(json.dumps(JSON))
    without, _ = audit_log(path)
    assert without.confusion[0, 0] > 0.7
    for anchors in (tmp_path / "known.csv", str(tmp_path / "known.json"), JSON):
        audit, _ = audit_log(path, anchors=anchors)
        np.testing.assert_allclose(audit.confusion, [[0.2, 0.8], [0.8, 0.2]], atol=0.06)


@pytest.mark.parametrize("estimator", ["dawid-skene", "majority-vote"])
def test_a_reverse_prior_turns_it_round_too(estimator, path):
    audit, _ = audit_log(path, estimator=estimator, prior="reverse")
    np.testing.assert_allclose(audit.confusion, [[0.2, 0.8], [0.8, 0.2]], atol=0.06)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": "mean"}, "estimator='mean' is not known; for a log there are dawid-skene,"),
        ({"prior": "flat"}, "prior='flat' is not known; for a log there are diagonal, reverse"),
    ],
)
def test_other_models_are_refused(options, message, path):
    with pytest.raises(InvalidOptionError, match=message):
        audit_log(path, **options)


def test_anchors_in_bins_and_words(tmp_path):
    made = simulate(3000)
    columns = {
        "place": made.columns["state"] + 0.25,
        "do": np.array(["left", "right"])[made.columns["action"]],
        "reward": made.columns["reward"],
    }
    path = write_log(tmp_path, "npz", columns)
    anchors = [{"place": 0.3, "do": "left", "true_reward": 0}]
    options = {"state": "place", "action": "do", "bins": 20}
    audit, _ = audit_log(path, anchors=anchors, **options)
    np.testing.assert_allclose(audit.confusion, [[0.9, 0.1], [0.3, 0.7]], atol=0.06)
    with pytest.raises(InvalidAnchorsError, match="none of the 1 anchors"):
        audit_log(path, anchors=[{**anchors[0], "do": "jump"}], **options)


def test_anchors_that_never_occur_are_counted(path):
    said = []
    audit_log(path, anchors=[*JSON, {**JSON[0], "state": 99}], say=said.append)
    assert said[-1] == "anchors: 1 name cells that do not occur in the log and are left out"


@pytest.mark.parametrize(
    ("anchors", "message"),
    [
        ([], "holds no anchors"),
        ([{"state": 1, "true_reward": 1}], "anchor 1: there is no action; it has state, true_"),
        ([{"state": 1, "action": 1}], "there is no true_reward"),
        ([{**JSON[0], "true_reward": 7}], "anchor 1: reward 7 is no level; the levels are 0, 1"),
        ([{**JSON[0], "state": "x"}], "state is 'x'; it is a number"),
        ([JSON[0], {**JSON[0], "true_reward": 1}], "anchor 2: true_reward is 1 here and 0 before"),
    ],
)
def test_anchors_that_make_no_sense(path, anchors, message):
    with pytest.raises(InvalidAnchorsError, match=message):
        audit_log(path, anchors=anchors)


def test_anchor_files_that_can_not_be_read(path, tmp_path):
    with pytest.raises(MissingFileError, match="does not exist"):
        audit_log(path, anchors=tmp_path / "none.csv")
    for text in ("{", '{"state": 1}', "[1]"):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(DamagedFileError, match=r"bad\.json"):
            audit_log(path, anchors=tmp_path / "bad.json")
