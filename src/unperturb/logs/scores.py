"""What the estimate says of each reward of the log, as a look-up by cell and observed level."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unperturb._array import to_numpy
from unperturb.corrector.options import check_method
from unperturb.denoise import cell_values, mixed_cells
from unperturb.estimators import Estimator
from unperturb.levels import RewardLevels
from unperturb.surrogate import surrogate_values

N_EFF = 100.0
"""As in RewardCorrector: the inverse of an estimated C is regularised."""
_ROUNDS = 200
_BLOCK = 2_000_000
_TINY = 1e-300


class Scores(NamedTuple):
    """One entry for each cell and observed level, (cells, M).

    Attributes:
        corrected: The reward to learn from.
        true_level: The value of the most probable true level.
        level_posterior: Its probability.
        suspicion: The probability that the observed level is not the true one.
        belief: 1 - suspicion, which tells apart what rounds to a suspicion of 1.
    """

    corrected: np.ndarray
    true_level: np.ndarray
    level_posterior: np.ndarray
    suspicion: np.ndarray
    belief: np.ndarray


def score(
    counts: np.ndarray, fit: Estimator, levels: RewardLevels, method: str = "posterior"
) -> Scores:
    """Score each cell and observed level.

    A cell has one true level, and the posterior over it says what each of its rewards should have
    been. A cell that no single level explains (the G-test of `denoise`) holds a mixture of levels:
    there the probabilities are those of a single reward, given the shares that fit the cell best.
    """
    check_method(method)
    C, posterior = to_numpy(fit.confusion_), to_numpy(fit.posterior_)
    M = len(levels)
    surrogate = np.asarray(
        surrogate_values(C, levels.values, n_eff=N_EFF, level_prior=fit.level_frequencies_)
    )
    if method == "surrogate":
        corrected = np.broadcast_to(surrogate, counts.shape)
    else:
        values = cell_values(counts, posterior, C, surrogate, levels.values)
        corrected = np.broadcast_to(values[:, None], counts.shape)
    best = posterior.argmax(axis=1)
    true_level = np.repeat(levels.values[best][:, None], M, axis=1)
    level_posterior = np.repeat(posterior.max(axis=1)[:, None], M, axis=1)
    belief = posterior.copy()
    mixed = np.flatnonzero(mixed_cells(counts, C))
    step = max(1, _BLOCK // M**2)
    for block in (mixed[i : i + step] for i in range(0, len(mixed), step)):
        own = mixture_posterior(counts[block], C)
        true_level[block] = levels.values[own.argmax(axis=1)]
        level_posterior[block] = own.max(axis=1)
        belief[block] = np.diagonal(own, axis1=1, axis2=2)
    # Sums of probabilities may pass 1 by a rounding error.
    suspicion = np.clip(1.0 - belief, 0.0, 1.0)
    return Scores(corrected, true_level, np.clip(level_posterior, 0, 1), suspicion, belief)


def mixture_posterior(counts: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Give P(true level z | observed level k) in cells that mix levels: (cells, z, k).

    Each cell has shares w_z of its own, found by expectation-maximisation of
    sum_k n_k log sum_z w_z C_zk.

    Example:
        >>> C = np.array([[0.9, 0.1], [0.1, 0.9]])
        >>> mixture_posterior(np.array([[50.0, 50.0]]), C).round(2)
        array([[[0.9, 0.1],
                [0.1, 0.9]]])
    """
    shares = counts / counts.sum(axis=1, keepdims=True)
    w = np.full(counts.shape, 1 / counts.shape[1])
    for _ in range(_ROUNDS):
        joint = w[:, :, None] * C
        own = joint / np.maximum(joint.sum(axis=1, keepdims=True), _TINY)
        w = np.einsum("bk,bzk->bz", shares, own)
    return np.asarray(own)
