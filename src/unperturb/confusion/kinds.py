"""The noises of the paper, and of whoever builds their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from unperturb.confusion.matrix import MAX_CONDITION, ConfusionMatrix, no_generator
from unperturb.confusion.over_time import ConfusionSchedule
from unperturb.errors import (
    InvalidOptionError,
    SingularConfusionError,
)

_REDRAWS = 10_000


def binary(e_minus: float = 0.0, e_plus: float = 0.0) -> ConfusionMatrix:
    """Build the noise of two levels from the paper's error rates.

    e- is the chance that the low reward is seen as the high one, e+ the other way round.

    Example:
        >>> binary(e_minus=0.1, e_plus=0.3).matrix
        array([[0.9, 0.1],
               [0.3, 0.7]])
    """
    _check_weight("e_minus", e_minus)
    _check_weight("e_plus", e_plus)
    matrix = ConfusionMatrix([[1 - e_minus, e_minus], [e_plus, 1 - e_plus]])
    return _invertible(matrix, f"e- + e+ = {e_minus + e_plus:g}")


def symmetric(M: int, weight: float) -> ConfusionMatrix:
    """Build (1 - omega) I + omega N with N the anti-identity (the paper, "symmetric").

    Example:
        >>> symmetric(2, 0.2).matrix
        array([[0.8, 0.2],
               [0.2, 0.8]])
        >>> symmetric(2, 0.5)
        Traceback (most recent call last):
            ...
        unperturb.errors.SingularConfusionError: symmetric noise with omega = 0.5 is singular; \
rewards seen through it no longer tell the levels apart. change the weight a little, or simulate \
it anyway with ConfusionMatrix(array)
    """
    _check_count(M)
    _check_weight("weight", weight)
    matrix = ConfusionMatrix((1 - weight) * np.eye(M) + weight * np.eye(M)[::-1])
    return _invertible(matrix, f"symmetric noise with omega = {weight:g}")


def rand_one(M: int, weight: float, rng: np.random.Generator) -> ConfusionMatrix:
    """Build noise that perturbs each level into one other level (the paper, "rand-one").

    Redrawn until it is invertible.

    Example:
        >>> import numpy as np
        >>> rand_one(3, 0.3, np.random.default_rng(0)).matrix
        array([[0.7, 0. , 0.3],
               [0.3, 0.7, 0. ],
               [0. , 0.3, 0.7]])
    """

    def other_levels() -> np.ndarray:
        target = (np.arange(M) + rng.integers(1, M, size=M)) % M
        return np.asarray(np.eye(M)[target])

    return _random("rand-one", M, weight, rng, other_levels)


def rand_all(M: int, weight: float, rng: np.random.Generator) -> ConfusionMatrix:
    """Build noise that perturbs each level into any level (the paper, "rand-all").

    Each row of N is M uniform random numbers divided by their sum. Redrawn until invertible.

    Example:
        >>> import numpy as np
        >>> rand_all(2, 0.3, np.random.default_rng(0)).matrix.round(3)
        array([[0.911, 0.089],
               [0.214, 0.786]])
    """

    def any_levels() -> np.ndarray:
        noise = rng.random((M, M))
        return np.asarray(noise / noise.sum(axis=1, keepdims=True))

    return _random("rand-all", M, weight, rng, any_levels)


def per_group(matrices: Any) -> ConfusionMatrix:
    """Build state-dependent noise: one matrix C_s for each group of states.

    Example:
        >>> per_group([binary(0.1, 0.1), binary(0.0, 0.4)]).groups
        2
    """
    return ConfusionMatrix([np.asarray(matrix) for matrix in matrices])


def schedule(changes: Mapping[int, Any]) -> ConfusionSchedule:
    """Build time-variant noise: `{first step: matrix}`.

    Example:
        >>> schedule({0: binary(0.1, 0.3), 500: binary(0.2, 0.1)}).at(700).matrix[0]
        array([0.8, 0.2])
    """
    return ConfusionSchedule(changes)


def _random(
    kind: str, M: int, weight: float, rng: np.random.Generator, noise: Callable[[], np.ndarray]
) -> ConfusionMatrix:
    _check_count(M)
    _check_weight("weight", weight)
    if not isinstance(rng, np.random.Generator):
        raise no_generator(rng, "random matrices are")
    for _ in range(_REDRAWS):
        matrix = ConfusionMatrix((1 - weight) * np.eye(M) + weight * noise())
        if matrix.condition < MAX_CONDITION:
            return matrix
    return _invertible(matrix, f"{kind} noise with omega = {weight:g}, drawn {_REDRAWS:,} times,")


def _invertible(matrix: ConfusionMatrix, name: str) -> ConfusionMatrix:
    if matrix.condition < MAX_CONDITION:
        return matrix
    raise SingularConfusionError(
        f"{name} is singular",
        "rewards seen through it no longer tell the levels apart",
        "change the weight a little, or simulate it anyway with ConfusionMatrix(array)",
    )


def _check_weight(name: str, weight: float) -> None:
    if not 0 <= weight <= 1:
        raise InvalidOptionError(
            f"{name} is {weight}", "it is a probability in [0, 1]", "pass 0.3 for 30 %"
        )


def _check_count(M: int) -> None:
    if M < 2 or int(M) != M:
        raise InvalidOptionError(
            f"M is {M}", "noise needs two or more levels", "pass the number of reward levels"
        )
