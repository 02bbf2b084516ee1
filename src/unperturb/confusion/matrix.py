"""One confusion matrix, or one for each group of states: checked, and drawn from."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from unperturb.errors import (
    InvalidConfusionError,
    InvalidOptionError,
    UnknownRewardError,
)

ROW_TOLERANCE = 1e-6
MAX_CONDITION = 1e8
"""Above this condition number a matrix counts as singular: its inverse is noise."""


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
            raise no_generator(rng, "noise is")
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


def as_confusion(matrix: Any) -> ConfusionMatrix:
    """Check an array, or pass a `ConfusionMatrix` through."""
    return matrix if isinstance(matrix, ConfusionMatrix) else ConfusionMatrix(matrix)


def no_generator(rng: Any, what: str) -> InvalidOptionError:
    """Say that noise is drawn from an explicit generator."""
    return InvalidOptionError(
        f"rng is {type(rng).__name__}",
        f"{what} drawn from an explicit generator",
        "pass numpy.random.default_rng(seed)",
    )
