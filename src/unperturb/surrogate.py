"""Surrogate rewards: the algebra of C and R (Lemmas 1, 2 and 4, Theorems 2 and 3).

Surrogates and bounds take NumPy, JAX or torch arrays and give back the same kind, and take one
matrix (M, M) or one for each group of states (groups, M, M).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from unperturb._array import Array, as_floats, is_concrete, namespace, to_numpy
from unperturb.confusion import MAX_CONDITION
from unperturb.errors import (
    InvalidConfusionError,
    InvalidOptionError,
    InvalidPriorError,
    SingularConfusionError,
)
from unperturb.levels import RewardLevels

_RIDGE = 1e-9


def surrogate_values(
    C: Any,
    values: Any,
    eta: float = 1.0,
    n_eff: float | None = None,
    level_prior: Any = None,
) -> Array:
    r"""Give the reward to learn from for each observed level.

    By default this is the unbiased surrogate of Lemma 2, hat R = C^-1 R, so that
    E[hat r | r] = r. With `eta` below one it is mixed with the observed reward,
    (1 - eta) R + eta C^-1 R (Algorithm 1).

    `n_eff` regularises the inverse: it minimises bias^2 + variance / n_eff for a learner that
    averages about n_eff rewards,

        hat r = [C^T diag(w (1 - k)) C + k diag(w^T C)]^-1 C^T (w R),   k = 1 / n_eff,

    with w the square root of the levels' frequencies (`level_prior`, uniform by default). It tends
    to C^-1 R as n_eff grows, and stays bounded when C is singular.

    Example:
        >>> import unperturb as up
        >>> C = up.confusion.binary(e_minus=0.1, e_plus=0.3)
        >>> hat = up.surrogate_values(C, [0.0, 1.0])
        >>> hat.round(4)
        array([-0.1667,  1.5   ])
        >>> (C.matrix @ hat).round(12)  # unbiased: E[hat r | r] = r
        array([0., 1.])
    """
    matrix, rewards = _matrix_and_values(C, values)
    xp = namespace(matrix)
    if not 0 <= eta <= 1:
        raise InvalidOptionError(
            f"eta is {eta}", "it weighs the unbiased part and lies in [0, 1]", "pass eta=1.0"
        )
    if n_eff is None:
        if is_concrete(matrix):
            _check_invertible(matrix)
        unbiased = _solve(matrix, rewards)
    else:
        if not n_eff >= 1:
            raise InvalidOptionError(
                f"n_eff is {n_eff}", "a learner averages at least one reward", "pass n_eff=100"
            )
        unbiased = _regularised(matrix, rewards, 1.0 / n_eff, level_prior)
    rewards = xp.broadcast_to(rewards, unbiased.shape)
    return unbiased if eta == 1 else (1 - eta) * rewards + eta * unbiased


def _regularised(matrix: Array, rewards: Array, kappa: float, level_prior: Any) -> Array:
    xp = namespace(matrix)
    prior = xp.ones_like(rewards) if level_prior is None else as_floats(level_prior, like=matrix)
    _check_frequencies(prior, matrix.shape[-1])
    w = xp.sqrt(prior)
    w = w / xp.sum(w, axis=-1, keepdims=True)
    transposed = xp.matrix_transpose(matrix)
    eye = xp.eye(matrix.shape[-1], dtype=matrix.dtype)
    shown = xp.sum(w[..., :, None] * matrix, axis=-2)
    left = transposed @ ((1 - kappa) * w[..., :, None] * matrix)
    # A level that is never shown leaves its column empty; the ridge keeps its own reward there.
    left = left + (kappa * shown + _RIDGE)[..., None, :] * eye
    right = xp.sum(matrix * (w * rewards)[..., :, None], axis=-2) + _RIDGE * rewards
    return _solve(left, right)


def _solve(matrix: Array, vector: Array) -> Array:
    xp = namespace(matrix)
    column = xp.broadcast_to(vector[..., None], (*matrix.shape[:-1], 1))
    return xp.linalg.solve(matrix, column)[..., 0]


class SurrogateBounds(NamedTuple):
    """What inverting C costs. With one matrix per group, each field but the last has a group axis.

    Attributes:
        det: The determinant of C.
        condition: The condition number of C.
        value_bound: Lemma 4: |hat r| <= M / |det C| R_max.
        variance_bound: Theorem 3: Var(hat r) <= (M / det C)^2 R_max^2.
        variance: The exact variance of hat r given each true level.
        sample_cost: Theorem 2: samples needed grow by 1 / det(C)^2, for the worst group.

    Example:
        >>> import unperturb as up
        >>> bounds = surrogate_bounds(up.confusion.binary(0.1, 0.3), [0.0, 1.0])
        >>> bounds.variance.round(2), round(float(bounds.variance_bound), 2)
        (array([0.25, 0.58]), 11.11)
    """

    det: Array
    condition: Array
    value_bound: Array
    variance_bound: Array
    variance: Array
    sample_cost: Array


def surrogate_bounds(C: Any, values: Any) -> SurrogateBounds:
    """Give the bounds of Lemma 4 and Theorem 3, exact variances, and the sample cost.

    R_max is the largest magnitude among the levels, so rewards may be negative too.

    Example:
        >>> import unperturb as up
        >>> bounds = up.surrogate_bounds(up.confusion.binary(0.1, 0.3), [0.0, 1.0])
        >>> round(float(bounds.det), 3), round(float(bounds.sample_cost), 3)
        (0.6, 2.778)
    """
    matrix, rewards = _matrix_and_values(C, values)
    xp = namespace(matrix)
    hat = surrogate_values(matrix, rewards)  # first: it refuses a singular matrix
    det = xp.linalg.det(matrix)
    singular = xp.linalg.svdvals(matrix)
    value_bound = matrix.shape[-1] / xp.abs(det) * xp.max(xp.abs(rewards))
    second = xp.sum(matrix * (hat * hat)[..., None, :], axis=-1)
    return SurrogateBounds(
        det=det,
        condition=singular[..., 0] / singular[..., -1],
        value_bound=value_bound,
        variance_bound=value_bound * value_bound,
        variance=second - rewards * rewards,
        sample_cost=1 / xp.min(xp.abs(det)) ** 2,
    )


def affine_slope(C: Any, values: Any, tolerance: float = 1e-9) -> tuple[float, float] | None:
    """Give (a, b) where C R = a R + b, or None where no such numbers exist.

    Then the surrogate is the observed reward, shifted and scaled: (r - b) / a. That holds for every
    binary C, for uniform flips, and for anti-identity noise on symmetric levels. It takes a single
    matrix: groups that are each affine in their own way are not one shift and scale.

    Example:
        >>> import unperturb as up
        >>> affine_slope(up.confusion.binary(0.1, 0.3), [0.0, 1.0])
        (0.6, 0.1)
    """
    matrix, rewards = (to_numpy(x) for x in _matrix_and_values(C, values))
    if matrix.ndim != 2:
        raise InvalidConfusionError(
            f"there are {matrix.shape[0]} confusion matrices",
            "the slope and shift belong to one matrix",
            "ask for each group's matrix on its own",
        )
    seen = matrix @ rewards
    centred = rewards - rewards.mean()
    slope = float(centred @ seen / (centred @ centred))
    shift = float(seen.mean() - slope * rewards.mean())
    off = abs(seen - slope * rewards - shift).max()
    if off > tolerance * (rewards[-1] - rewards[0]):
        return None
    return round(slope, 12), round(shift, 12)


def _matrix_and_values(C: Any, values: Any) -> tuple[Array, Array]:
    matrix = as_floats(getattr(C, "matrix", C))
    rewards = as_floats(values.values if isinstance(values, RewardLevels) else values, like=matrix)
    if matrix.ndim not in (2, 3) or matrix.shape[-2:] != (rewards.shape[-1],) * 2:
        raise InvalidConfusionError(
            f"the confusion matrix has shape {tuple(matrix.shape)} for {rewards.shape[-1]} levels",
            "it has one row and one column for each level",
            "use the same levels for both",
        )
    return matrix, rewards


def _check_frequencies(prior: Array, M: int) -> None:
    good = tuple(prior.shape) == (M,)
    if good and is_concrete(prior):
        numbers = to_numpy(prior)
        good = bool((numbers >= 0).all() and 0 < numbers.sum() < float("inf"))
    if not good:
        raise InvalidPriorError(
            f"level_prior is {to_numpy(prior).tolist() if is_concrete(prior) else prior.shape}",
            f"it holds the frequencies of the {M} true levels, none of them negative",
            "pass level_prior=fit.level_frequencies_, or leave it out",
        )


def _check_invertible(matrix: Array) -> None:
    xp = namespace(matrix)
    singular = xp.linalg.svdvals(matrix)
    # In float32 the smallest singular value of a singular matrix is rounding noise, not zero.
    least = max(1 / MAX_CONDITION, 4 * matrix.shape[-1] * float(xp.finfo(matrix.dtype).eps))
    if bool(xp.any(singular[..., -1] <= least * singular[..., 0])):
        raise SingularConfusionError(
            f"the confusion matrix is singular (smallest singular value "
            f"{float(xp.min(singular)):.2g})",
            "C must be invertible for the unbiased surrogate C^-1 R (Lemma 2)",
            "pass n_eff=100 for the regularised inverse, or gather better evidence of C",
        )
