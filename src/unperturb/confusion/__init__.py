"""Confusion matrices: how a reward channel lies.

C[j, k] is the probability that the reward R_k is observed when R_j is true, so rows sum to one
(the paper, "Perturbed Reward in RL"). Nothing here is needed to correct a reward; it is how noise
is simulated, and how a matrix that is known is handed over.

`matrix.py` checks a matrix and draws from it, `over_time.py` lets several take turns, `kinds.py`
builds the kinds of noise.
"""

from unperturb.confusion.kinds import binary, per_group, rand_all, rand_one, schedule, symmetric
from unperturb.confusion.matrix import (
    MAX_CONDITION,
    ROW_TOLERANCE,
    ConfusionMatrix,
    as_confusion,
)
from unperturb.confusion.over_time import ConfusionSchedule, Noise

__all__ = [
    "MAX_CONDITION",
    "ROW_TOLERANCE",
    "ConfusionMatrix",
    "ConfusionSchedule",
    "Noise",
    "as_confusion",
    "binary",
    "per_group",
    "rand_all",
    "rand_one",
    "schedule",
    "symmetric",
]
