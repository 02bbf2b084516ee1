"""Correctors of every kind for the tests, and rewards to feed them."""

import numpy as np
import pytest

from unperturb import Cells, RewardCorrector, RewardLevels, confusion
from unperturb.estimators import DawidSkene, Hierarchical, Known, StreamingDawidSkene, Structured

LEVELS = RewardLevels([0.0, 1.0])
CELLS = Cells.discrete(10, 2)
C = confusion.binary(0.1, 0.3)


def stream(n, seed=0, noise=C):
    """Give states, actions, true levels and noisy rewards; the upper half of the states pays."""
    rng = np.random.default_rng(seed)
    states, actions = rng.integers(10, size=n), rng.integers(2, size=n)
    true = (states >= 5).astype(int)
    return states, actions, true, LEVELS.values[noise.draw(true, rng)]


def feed(corrector, n, seed=0, batch=50):
    states, actions, _, noisy = stream(n, seed)
    parts = [
        corrector(states[i : i + batch], actions[i : i + batch], noisy[i : i + batch])
        for i in range(0, n, batch)
    ]
    return np.concatenate(parts)


KINDS = {
    "default": {},
    "vote": {"estimator": "majority-vote", "n_eff": None},
    "posterior": {"method": "posterior"},
    "smooth": {"smooth": 5},
    "posterior and smooth": {"method": "posterior", "smooth": 5},
    "last of each cell": {"d_max": 7, "eta": 0.5},
    "forgetting": {"forget": 200.0, "method": "posterior"},
    "streaming": {"estimator": "streaming", "refresh": 60},
    "streaming posterior": {"estimator": StreamingDawidSkene(memory=400), "method": "posterior"},
    "structured": {"estimator": Structured(np.eye(2)[::-1])},
    "hierarchical": {"estimator": Hierarchical(np.arange(20) // 10), "method": "posterior"},
    "hierarchical smooth": {"estimator": Hierarchical(np.arange(20) // 10), "smooth": 5},
    "told": {
        "estimator": DawidSkene(C, 5.0, [0.5, 0.5], {np.int64(0): 0, 19: np.int64(1)}, LEVELS)
    },
    "known": {"confusion": C},
    "known posterior": {"confusion": C, "method": "posterior"},
    "known per state": {"confusion": [C.matrix, np.eye(2)] * 5, "smooth": 3},
    "known per group": {
        "confusion": Known([C.matrix, np.eye(2)], groups=np.arange(20) // 10),
        "method": "posterior",
    },
}
every = pytest.mark.parametrize("kind", KINDS)


def make(kind, cells=CELLS, **more):
    """Build a corrector whose estimator is shared with no other test."""
    options = {"d_min": 30, "refresh": 20, **KINDS[kind], **more}
    if hasattr(options.get("estimator"), "config"):
        options["estimator"] = options["estimator"].config()
    return RewardCorrector(LEVELS, cells, **options)
