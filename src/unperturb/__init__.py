"""unperturb: reinforcement learning from rewards you can't trust.

Data goes one way: levels -> cells and counts -> an estimator -> surrogate values -> corrector.
Importing this loads NumPy, SciPy and (for the wrappers) Gymnasium, never JAX or torch.
"""

from __future__ import annotations

from unperturb import confusion, errors, estimators
from unperturb.audit import RewardAudit
from unperturb.cells import Cells
from unperturb.confusion import ConfusionMatrix, ConfusionSchedule
from unperturb.corrector import RewardCorrector
from unperturb.levels import RewardLevels
from unperturb.surrogate import surrogate_bounds, surrogate_values
from unperturb.wrappers import CorrectReward, PerturbReward, vector

__version__ = "0.1.0"
__all__ = [
    "Cells",
    "ConfusionMatrix",
    "ConfusionSchedule",
    "CorrectReward",
    "PerturbReward",
    "RewardAudit",
    "RewardCorrector",
    "RewardLevels",
    "confusion",
    "errors",
    "estimators",
    "surrogate_bounds",
    "surrogate_values",
    "vector",
]
