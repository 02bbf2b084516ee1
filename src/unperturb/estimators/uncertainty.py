"""How sure an estimate of C is: intervals, and rivals that are about as good."""

from __future__ import annotations

import numpy as np
import scipy.special
from scipy.special import gammaln

COVERAGE = 0.95
_BLOCK = 8192
_FORBIDDEN = -1e12


def credible_interval(
    counts: np.ndarray,
    posterior: np.ndarray,
    confusion: np.ndarray,
    level_frequencies: np.ndarray,
    prior_strength: np.ndarray,
) -> np.ndarray:
    """Give a 95 % interval of each entry of C, (M, M, 2).

    The variational posterior takes every cell's level as decided and is too sure of itself. The
    information in the cells' scores (the gradient of each cell's marginal log-likelihood) knows
    that levels are unsure; with the prior's curvature it gives the covariance of C. Each entry
    gets the Beta distribution of that mean and variance, which keeps the interval in [0, 1].
    """
    M = confusion.shape[0]
    information = np.zeros((M * M + M,) * 2)
    for first in range(0, len(counts), _BLOCK):
        n, q = counts[first : first + _BLOCK], posterior[first : first + _BLOCK]
        busy = n.any(axis=1)
        n, q = n[busy], q[busy]
        expected = n.sum(axis=1)[:, None, None] * confusion
        scores = q[:, :, None] * (n[:, None, :] - expected)
        score = np.hstack([scores.reshape(len(n), M * M), q - level_frequencies])
        information += score.T @ score
    jacobians = [np.diag(row) - np.outer(row, row) for row in confusion]
    for z, jacobian in enumerate(jacobians):
        block = slice(z * M, (z + 1) * M)
        information[block, block] += prior_strength[z] * jacobian
    covariance = np.linalg.pinv(information, hermitian=True)
    variance = np.stack(
        [
            np.einsum("ij,jk,ik->i", J, covariance[z * M : (z + 1) * M, z * M : (z + 1) * M], J)
            for z, J in enumerate(jacobians)
        ]
    )
    return beta_interval(confusion, variance)


def beta_interval(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Give the central 95 % of the Beta distributions with these means and variances."""
    spread = mean * (1 - mean)
    size = spread / np.clip(variance, 1e-12, None) - 1
    size = np.clip(size, 1e-3, None)
    a, b = np.clip(mean * size, 1e-6, None), np.clip((1 - mean) * size, 1e-6, None)
    tail = (1 - COVERAGE) / 2
    low = scipy.special.betaincinv(a, b, tail)
    high = scipy.special.betaincinv(a, b, 1 - tail)
    return np.stack([low, high], axis=-1)


def relabelling_gain(
    rows: np.ndarray, levels: np.ndarray, prior_rows: np.ndarray, prior_levels: np.ndarray
) -> np.ndarray:
    """Give the ELBO's part of calling component z by the name y, for each pair (z, y).

    The likelihood is the same under every relabelling; only the priors tell them apart. With the
    cells' shares q held, the ELBO of a relabelling is a sum over such pairs, so that the best one
    is an assignment problem.
    """

    def log_beta(a: np.ndarray) -> np.ndarray:
        return np.asarray(gammaln(a).sum(axis=-1) - gammaln(a.sum(axis=-1)))

    gain = log_beta(prior_rows[None] + rows[:, None]) - log_beta(prior_rows)[None]
    gain += gammaln(prior_levels[None] + levels[:, None]) - gammaln(prior_levels)[None]
    return np.asarray(gain)


def relabelling_margin(
    gain: np.ndarray, occurs: np.ndarray, fixed: set[int], ordered: bool
) -> float:
    """Give how many nats of ELBO separate the labels found from the best other labelling.

    A rival must move a component that occurs. Levels in `fixed` are pinned by anchors; where the
    levels are `ordered`, those that occur can't swap, but may be mistaken for ones that don't.
    """
    from scipy.optimize import linear_sum_assignment  # a tenth of a second that few need

    M = len(gain)
    gain = gain.copy()
    own = np.trace(gain)
    off = ~np.eye(M, dtype=bool)
    for z in fixed:
        gain[z, off[z]] = _FORBIDDEN
    if ordered:
        gain[np.outer(occurs, occurs) & off] = _FORBIDDEN
    margin = float("inf")
    for z in np.flatnonzero(occurs).tolist():
        if z in fixed:
            continue
        other = gain.copy()
        other[z, z] = _FORBIDDEN
        best = other[linear_sum_assignment(other, maximize=True)].sum()
        if best > _FORBIDDEN / 2:
            margin = min(margin, own - best)
    return margin


def best_labels(gain: np.ndarray, evidence: np.ndarray, enough: float) -> tuple[np.ndarray, bool]:
    """Give the component that best fits each label, and whether anchors overruled the prior.

    `evidence` holds what anchors say for each pair. They are known, the prior is an assumption:
    where they prefer other labels by `enough` nats, they decide alone.
    """
    from scipy.optimize import linear_sum_assignment

    plain = linear_sum_assignment(gain + evidence, maximize=True)
    anchored = linear_sum_assignment(1e-6 * gain + evidence, maximize=True)
    overruled = evidence[anchored].sum() - evidence[plain].sum() > enough
    _, labels = anchored if overruled else plain
    return np.argsort(labels), bool(overruled)
