"""Cell-level denoising: the posterior mean of a cell's true reward, with an honest fall-back."""

from __future__ import annotations

from functools import lru_cache

import scipy.special

from unperturb._array import Array, namespace, row_sums

SIGNIFICANCE = 1e-4
"""Of the G-test by which cells fall back. Training tests thousands of cells again and again. At 1 %
dozens of good ones would fail at any time, and each of their visits would bring the same error."""
_TINY = 1e-12


@lru_cache
def _critical_value(freedom: int, significance: float) -> float:
    return float(scipy.special.chdtri(freedom, significance))


def mixed_cells(counts: Array, confusion: Array, significance: float = SIGNIFICANCE) -> Array:
    """Say for each cell whether no single true level explains what it showed (a G-test).

    G_z = 2 sum_k n_k log(n_k / (N C_zk)) for the best level z, against the chi-square quantile at
    this significance. Coarse cells mix several true levels; then a posterior over one level is
    wrong.
    """
    xp = namespace(counts)
    total = row_sums(counts)[:, None]
    share = counts / xp.where(total > 0, total, xp.ones_like(total))
    own = row_sums(counts * xp.log(xp.where(counts > 0, share, xp.ones_like(share))))
    lost = 2 * (own - xp.max(_fits(counts, confusion), axis=0))
    return lost > _critical_value(counts.shape[1] - 1, significance)


def level_posterior(counts: Array, confusion: Array, level_frequencies: Array) -> Array:
    """Give the chance of each true level for each cell, by Bayes' rule from a C that is given.

    `confusion` and `level_frequencies` may have a leading axis with one entry per cell.

    Example:
        >>> import numpy as np
        >>> C = np.array([[0.9, 0.1], [0.3, 0.7]])
        >>> level_posterior(np.array([[1.0, 3.0]]), C, np.array([0.5, 0.5])).round(2)
        array([[0.01, 0.99]])
    """
    xp = namespace(counts)
    shares = xp.log(level_frequencies + _TINY)
    shares = shares[:, None] if shares.ndim == 1 else xp.matrix_transpose(shares)
    scores = _fits(counts, confusion) + shares
    chances = xp.exp(scores - xp.max(scores, axis=0))
    return xp.matrix_transpose(chances / xp.sum(chances, axis=0))


def _fits(counts: Array, confusion: Array) -> Array:
    """Give log p(counts | level), (M, cells): so short an axis is the faster one in front."""
    xp = namespace(counts)
    logs = xp.log(xp.where(confusion > _TINY, confusion, 0 * confusion + _TINY))
    if confusion.ndim == 3:
        return xp.matrix_transpose(xp.sum(counts[:, None, :] * logs, axis=-1))
    return logs @ xp.matrix_transpose(counts)


def cell_values(
    counts: Array, posterior: Array, confusion: Array, surrogate: Array, values: Array
) -> Array:
    """Give each cell's corrected reward; NaN for cells that were never seen.

    This is the posterior mean of the cell's true level, sum_z q_z R_z. A cell that fails the
    G-test gets the mean of its surrogate rewards instead, which is unbiased whatever it mixes.
    `confusion` and `surrogate` may have a leading axis with one entry per cell.
    """
    xp = namespace(counts)
    total = row_sums(counts)
    seen = total > 0
    mean = row_sums(counts * surrogate) / xp.where(seen, total, xp.ones_like(total))
    value = xp.where(mixed_cells(counts, confusion), mean, posterior @ values)
    return xp.where(seen, value, 0 * value + xp.nan)
