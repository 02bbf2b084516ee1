"""Settings that make no sense are named when the corrector is built."""

import math

import numpy as np
import pytest
from correctors import CELLS, LEVELS, C

from unperturb import RewardCorrector, confusion
from unperturb.errors import (
    BatchMismatchError,
    InvalidAnchorsError,
    InvalidConfusionError,
    InvalidOptionError,
    InvalidPriorError,
    SingularConfusionError,
)
from unperturb.estimators import DawidSkene, Hierarchical, Structured


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "mean"}, InvalidOptionError, "method='mean'; a reward is corrected by 'surr"),
        (
            {"d_max": 5, "forget": 9.0},
            InvalidOptionError,
            r"both d_max=5 and forget=9\.0 are given",
        ),
        ({"refresh": 0}, InvalidOptionError, "refresh is 0; it is a whole number of at least 1"),
        ({"refresh": math.inf}, InvalidOptionError, "refresh is inf"),
        ({"smooth": 2.5}, InvalidOptionError, "smooth is 2.5"),
        ({"refresh": "often"}, InvalidOptionError, "refresh is often"),
        ({"d_min": None}, InvalidOptionError, "d_min is None"),
        ({"estimator": DawidSkene(prior="flat")}, InvalidPriorError, "prior='flat'"),
        ({"estimator": DawidSkene(prior=np.eye(3))}, InvalidPriorError, r"shape \(3, 3\)"),
        ({"estimator": DawidSkene(anchors={20: 0})}, InvalidAnchorsError, "cells run from 0 to 19"),
        ({"estimator": Structured(np.eye(3))}, InvalidConfusionError, r"\(3, 3\) for 2 levels"),
        ({"d_min": -3}, InvalidOptionError, "d_min is -3"),
        ({"d_max": 0}, InvalidOptionError, "d_max is 0; it must be a whole number >= 1"),
        ({"forget": 1.0}, InvalidOptionError, r"memory is 1\.0"),
        ({"eta": 2.0}, InvalidOptionError, r"eta is 2\.0; it weighs the unbiased part"),
        ({"n_eff": 0.2}, InvalidOptionError, r"n_eff is 0\.2; a learner averages"),
        ({"estimator": "mean"}, InvalidOptionError, "estimator 'mean' is not known"),
        ({"confusion": np.eye(3)}, InvalidConfusionError, r"has shape \(3, 3\) for 2 levels"),
        ({"confusion": [np.eye(2)] * 3}, InvalidConfusionError, "3 matrices for 10 states"),
        ({"confusion": np.full((2, 2), 0.5)}, SingularConfusionError, "is singular"),
        (
            {"confusion": confusion.schedule({0: C})},
            InvalidConfusionError,
            "the known confusion is a schedule; .* use estimator='streaming'",
        ),
        (
            {"estimator": Hierarchical([0, 1])},
            BatchMismatchError,
            "2 groups' entries for 20 cells; each cell belongs to one group",
        ),
    ],
)
def test_bad_settings_are_named_at_once(options, error, message):
    with pytest.raises(error, match=message):
        RewardCorrector(LEVELS, CELLS, **options)


def test_levels_and_cells_come_first():
    with pytest.raises(
        InvalidOptionError, match="levels is a list and cells a _SpaceCells; a corr"
    ):
        RewardCorrector([0.0, 1.0], CELLS)
    with pytest.raises(InvalidOptionError, match="cells a int"):
        RewardCorrector(LEVELS, 20)
