"""Gymnasium wrappers: noise on the reward, and its correction."""

from unperturb.wrappers import vector
from unperturb.wrappers.correct import CorrectReward
from unperturb.wrappers.perturb import PerturbReward

__all__ = ["CorrectReward", "PerturbReward", "vector"]
