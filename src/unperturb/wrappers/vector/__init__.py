"""The same wrappers for vector environments: one pass over all of them per step."""

from unperturb.wrappers.vector.correct import CorrectReward
from unperturb.wrappers.vector.perturb import PerturbReward

__all__ = ["CorrectReward", "PerturbReward"]
