"""Confusion matrices: how a reward channel lies.

C[j, k] is the probability that the reward R_k is observed when R_j is true, so rows sum to one
(the paper, "Perturbed Reward in RL"). Nothing here is needed to correct a reward; it is how noise
is simulated, and how a matrix that is known is handed over.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from unperturb.errors import (
    InvalidConfusionError,
    InvalidOptionError,
    SingularConfusionError,
    UnknownRewardError,
)

ROW_TOLERANCE = 1e-6
MAX_CONDITION = 1e8
"""Above this condition number a matrix counts as singular: its inverse is noise."""
_REDRAWS = 10_000


class ConfusionMatrix:
    """A checked confusion matrix, or one for each group of states (C_s).

    Example:
        >>> import numpy as np
        >>> C = ConfusionMatrix([[0.9, 0.1], [0.3, 0.7]])
        >>> C.draw(np.array([0, 1, 1, 0]), np.random.default_rng(0))
        array([0, 0, 0, 0])
        >>> ConfusionMatrix([[0.9, 0.2], [0.3, 0.7]])
        Traceback (most recent call last):
            ...
        unperturb.errors.InvalidConfusionError: row 0 of the confusion matrix sums to 1.1; each \
row holds the probabilities of what is observed and sums to 1. divide each row by its sum
    """

    def __init__(self, matrix: Any) -> None:
        try:
            array = np.array(matrix, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidConfusionError(
                f"the confusion matrix is no array of numbers ({error})",
                "it is (M, M) for M >= 2 levels, or (groups, M, M)",
                "give one row and one column for every reward level",
            ) from None
        if array.ndim not in (2, 3) or array.shape[-1] != array.shape[-2] or array.shape[-1] < 2:
            raise InvalidConfusionError(
                f"the confusion matrix has shape {array.shape}",
                "it is (M, M) for M >= 2 levels, or (groups, M, M)",
                "give one row and one column for every reward level",
            )
        if array.size == 0 or not np.isfinite(array).all() or array.min() < -ROW_TOLERANCE:
            raise InvalidConfusionError(
                f"the confusion matrix holds {array.min() if array.size else 'nothing'}",
                "its entries are probabilities in [0, 1]",
                "check for NaN, infinities and negative numbers",
            )
        sums = array.sum(axis=-1)
        off = np.argwhere(np.abs(sums - 1) > ROW_TOLERANCE)
        if off.size:
            where = tuple(int(i) for i in off[0])
            name = f"row {where[-1]}" + (f" of group {where[0]}" if len(where) == 2 else "")
            raise InvalidConfusionError(
                f"{name} of the confusion matrix sums to {sums[where]:g}",
                "each row holds the probabilities of what is observed and sums to 1",
                "divide each row by its sum",
            )
        array = np.clip(array, 0, 1)
        array.setflags(write=False)
        self.matrix = array
        self._cumulative = np.cumsum(array, axis=-1)[..., :-1]
        self._rows: list[Any] = self._cumulative.tolist()
        self._M = len(array[-1])

    @property
    def levels(self) -> int:
        """The number of reward levels, M."""
        return self._M

    @property
    def groups(self) -> int | None:
        """The number of groups of states, or None where all share one matrix."""
        return int(self.matrix.shape[0]) if self.matrix.ndim == 3 else None

    @property
    def condition(self) -> float:
        """The largest condition number: how much the inverse can amplify an error."""
        return float(np.max(np.linalg.cond(self.matrix)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False and dtype not in (None, self.matrix.dtype):
            raise ValueError("a conversion to another dtype needs a copy")
        return np.array(self.matrix, dtype=dtype) if copy is not False else self.matrix

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfusionMatrix):
            return NotImplemented
        return np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        return hash(self.matrix.tobytes())

    def __repr__(self) -> str:
        return f"ConfusionMatrix({np.array2string(self.matrix, precision=4, separator=', ')})"

    def draw(
        self, levels: Any, rng: np.random.Generator, groups: Any = None, step: int = 0
    ) -> np.ndarray:
        """Draw the observed level index for each true one; `groups` picks C_s for each.

        `step` is there for `ConfusionSchedule`; a single matrix ignores it.
        """
        if not isinstance(rng, np.random.Generator):
            raise _no_generator(rng, "noise is")
        true = np.asarray(levels)
        if true.size and true.dtype.kind not in "iub":
            raise UnknownRewardError(
                f"true levels have the type {true.dtype}",
                "they are the indices of levels",
                "pass levels.index(rewards)",
            )
        true = true.astype(np.int64, copy=False)
        # Seen as unsigned, negative numbers are huge: one comparison finds both ends.
        if true.size and np.maximum.reduce(true.reshape(-1).view(np.uint64)) >= self._M:
            raise self._no_level(true[(true < 0) | (true >= self._M)][0])
        return self.shown(true, np.asarray(rng.random(true.shape)), groups, step)

    def shown(self, levels: Any, chance: Any, groups: Any = None, step: Any = 0) -> np.ndarray:
        """Give the observed level index for each true one and each number drawn from [0, 1).

        For whoever keeps a random stream of its own for each environment.
        """
        if self.matrix.ndim == 3:
            rows = self._cumulative[self._need_groups(groups), levels]
        else:
            rows = self._cumulative[levels]
        return np.asarray((np.asarray(chance)[..., None] >= rows).sum(axis=-1))

    def draw_one(
        self, level: int, rng: np.random.Generator, group: int | None = None, step: int = 0
    ) -> int:
        """Draw one observed level; the same as `draw`, faster for a single number."""
        if not 0 <= level < self._M:
            raise self._no_level(level)
        rows = self._rows if self.matrix.ndim == 2 else self._rows[self._need_groups(group)]
        return bisect_right(rows[level], rng.random())

    def _no_level(self, level: Any) -> UnknownRewardError:
        return UnknownRewardError(
            f"true level {level}",
            f"the levels of this noise are numbered from 0 to {self.levels - 1}",
            "pass levels.index(rewards)",
        )

    def _need_groups(self, groups: Any) -> Any:
        if groups is None:
            raise InvalidOptionError(
                "no group was given",
                f"this noise has a matrix for each of {self.groups} groups of states",
                "pass the group of each transition",
            )
        return groups

    def at(self, step: int) -> ConfusionMatrix:
        """Give the matrix in force at a step: always this one."""
        return self


class ConfusionSchedule:
    """Noise that changes with time: a matrix from each of several steps on.

    Example:
        >>> schedule = ConfusionSchedule({0: binary(0.1, 0.3), 10_000: binary(0.2, 0.1)})
        >>> schedule.at(9_999).matrix[1]
        array([0.3, 0.7])
        >>> schedule.at(10_000).matrix[1]
        array([0.1, 0.9])
    """

    def __init__(self, changes: Mapping[int, Any]) -> None:
        if not isinstance(changes, Mapping):
            raise InvalidOptionError(
                f"the schedule is a {type(changes).__name__}",
                "it maps the step from which it holds to each matrix",
                "write confusion.schedule({0: C0, 10_000: C1})",
            )
        starts = sorted(changes)
        if not starts or starts[0] != 0:
            raise InvalidOptionError(
                f"the schedule starts at step {starts[0] if starts else 'none'}",
                "the first matrix holds from step 0",
                "write confusion.schedule({0: C0, 10_000: C1})",
            )
        self._starts = starts
        self._matrices = [as_confusion(changes[start]) for start in starts]
        shapes = {matrix.matrix.shape for matrix in self._matrices}
        if len(shapes) > 1:
            raise InvalidConfusionError(
                f"the schedule's matrices have shapes {sorted(shapes)}",
                "all matrices of a schedule have the same shape",
                "use the same levels and groups throughout",
            )

    @property
    def levels(self) -> int:
        """The number of reward levels, M."""
        return self._matrices[0].levels

    @property
    def groups(self) -> int | None:
        """The number of groups of states, or None where all share one matrix."""
        return self._matrices[0].groups

    @property
    def changes(self) -> dict[int, ConfusionMatrix]:
        """The matrices by the step from which they hold."""
        return dict(zip(self._starts, self._matrices, strict=True))

    def at(self, step: int) -> ConfusionMatrix:
        """Give the matrix in force at a step."""
        if step < 0:
            raise InvalidOptionError(f"step {step}", "steps count from 0", "pass step=0")
        return self._matrices[bisect_right(self._starts, step) - 1]

    def draw(
        self, levels: Any, rng: np.random.Generator, groups: Any = None, step: int = 0
    ) -> np.ndarray:
        """Draw observed levels with the matrix in force at `step`."""
        return self.at(step).draw(levels, rng, groups)

    def shown(self, levels: Any, chance: Any, groups: Any = None, step: Any = 0) -> np.ndarray:
        """Give observed levels as a `ConfusionMatrix` does; `step` may be one for each level."""
        period: np.ndarray = np.searchsorted(self._starts, np.asarray(step), side="right") - 1
        if period.ndim == 0:
            return self._matrices[int(period)].shown(levels, chance, groups)
        result = np.empty(np.shape(levels), dtype=np.int64)
        for i in np.unique(period):
            now = period == i
            own = None if groups is None else np.asarray(groups)[now]
            result[now] = self._matrices[i].shown(
                np.asarray(levels)[now], np.asarray(chance)[now], own
            )
        return result

    def draw_one(
        self, level: int, rng: np.random.Generator, group: int | None = None, step: int = 0
    ) -> int:
        """Draw one observed level with the matrix in force at `step`."""
        return self.at(step).draw_one(level, rng, group)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfusionSchedule):
            return NotImplemented
        return self.changes == other.changes

    def __hash__(self) -> int:
        return hash(tuple(self.changes.items()))

    def __repr__(self) -> str:
        return f"ConfusionSchedule({self.changes})"


Noise = ConfusionMatrix | ConfusionSchedule


def as_confusion(matrix: Any) -> ConfusionMatrix:
    """Check an array, or pass a `ConfusionMatrix` through."""
    return matrix if isinstance(matrix, ConfusionMatrix) else ConfusionMatrix(matrix)


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
        raise _no_generator(rng, "random matrices are")
    for _ in range(_REDRAWS):
        matrix = ConfusionMatrix((1 - weight) * np.eye(M) + weight * noise())
        if matrix.condition < MAX_CONDITION:
            return matrix
    return _invertible(matrix, f"{kind} noise with omega = {weight:g}, drawn {_REDRAWS:,} times,")


def _no_generator(rng: Any, what: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"rng is {type(rng).__name__}",
        f"{what} drawn from an explicit generator",
        "pass numpy.random.default_rng(seed)",
    )


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
