"""Cell-level denoising: the posterior mean of a cell's true reward, with an honest fall-back."""

from __future__ import annotations

from functools import lru_cache

import scipy.special

from unperturb._array import Array, namespace

SIGNIFICANCE = 0.01


@lru_cache
def _critical_value(freedom: int) -> float:
    return float(scipy.special.chdtri(freedom, SIGNIFICANCE))


def mixed_cells(counts: Array, confusion: Array) -> Array:
    """Say for each cell whether no single true level explains what it showed (a G-test).

    G_z = 2 sum_k n_k log(n_k / (N C_zk)) for the best level z, against the chi-square quantile at
    1 %. Coarse cells mix several true levels; then a posterior over one level is wrong.
    """
    xp = namespace(counts)
    M = counts.shape[1]
    total = xp.sum(counts, axis=1, keepdims=True)
    share = counts / xp.where(total > 0, total, xp.ones_like(total))
    own = xp.sum(counts * xp.log(xp.where(counts > 0, share, xp.ones_like(share))), axis=1)
    logs = xp.log(xp.where(confusion > 1e-12, confusion, 0 * confusion + 1e-12))
    if confusion.ndim == 3:
        fit = xp.sum(counts[:, None, :] * logs, axis=-1)
    else:
        fit = counts @ xp.matrix_transpose(logs)
    return 2 * (own - xp.max(fit, axis=1)) > _critical_value(M - 1)


def cell_values(
    counts: Array, posterior: Array, confusion: Array, surrogate: Array, values: Array
) -> Array:
    """Give each cell's corrected reward; NaN for cells that were never seen.

    This is the posterior mean of the cell's true level, sum_z q_z R_z. A cell that fails the
    G-test gets the mean of its surrogate rewards instead, which is unbiased whatever it mixes.
    `confusion` and `surrogate` may have a leading axis with one entry per cell.
    """
    xp = namespace(counts)
    total = xp.sum(counts, axis=1)
    seen = total > 0
    mean = xp.sum(counts * surrogate, axis=1) / xp.where(seen, total, xp.ones_like(total))
    value = xp.where(mixed_cells(counts, confusion), mean, posterior @ values)
    return xp.where(seen, value, 0 * value + xp.nan)
