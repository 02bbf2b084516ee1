"""Where a corrected reward is looked up: per observed level, or per cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from unperturb.counts import IntArray


class Tables(NamedTuple):
    """What rewards are looked up in.

    Attributes:
        surrogate: The value of each observed level, (M,), or (groups, M).
        first: The same, for cells that have no value of their own.
        values: The value of each cell, NaN where it has none; None if there are no such values.

    Example:
        >>> import unperturb as up
        >>> levels, cells = up.RewardLevels([0.0, 1.0]), up.Cells.discrete(10, 2)
        >>> up.RewardCorrector(levels, cells).tables.surrogate
        array([0., 1.])
    """

    surrogate: np.ndarray
    first: np.ndarray
    values: np.ndarray | None


class LookUp(ABC):
    """Gives the corrected reward of an observed level in a cell; made anew at each estimate."""

    @abstractmethod
    def many(self, cells: IntArray, seen: IntArray) -> np.ndarray:
        """Give the corrected rewards of a batch."""

    def one(self, cell: int, seen: int) -> float:
        """Give a single corrected reward: the same number, sooner where there is a short way."""
        return float(self.many(np.array([cell]), np.array([seen]))[0])


class ByLevel(LookUp):
    """The value of the observed level, (M,)."""

    def __init__(self, table: np.ndarray) -> None:
        self._table = table
        # Plain Python numbers: for one reward at a time they are faster than an array.
        self._list: list[float] = table.tolist()

    def many(self, cells: IntArray, seen: IntArray) -> np.ndarray:
        """Give the corrected rewards of a batch."""
        return np.asarray(self._table[seen])

    def one(self, cell: int, seen: int) -> float:
        """Give a single corrected reward."""
        return self._list[seen]


class ByGroup(LookUp):
    """The value of the observed level in the cell's group, (groups, M)."""

    def __init__(self, table: np.ndarray, groups: np.ndarray) -> None:
        self._table = table
        self._groups = groups

    def many(self, cells: IntArray, seen: IntArray) -> np.ndarray:
        """Give the corrected rewards of a batch."""
        return np.asarray(self._table[self._groups[cells], seen])


class ByCell(LookUp):
    """The value of the cell; cells that have none yet (NaN) are looked up elsewhere.

    Example:
        >>> look_up = ByCell(np.array([0.7, np.nan]), ByLevel(np.array([0.0, 1.0])))
        >>> look_up.many(np.array([0, 1]), np.array([1, 1])), look_up.one(1, 0)
        (array([0.7, 1. ]), 0.0)
    """

    def __init__(self, values: np.ndarray, elsewhere: LookUp) -> None:
        self._values = values
        self._elsewhere = elsewhere

    def many(self, cells: IntArray, seen: IntArray) -> np.ndarray:
        """Give the corrected rewards of a batch."""
        value = self._values[cells]
        return np.asarray(np.where(np.isnan(value), self._elsewhere.many(cells, seen), value))

    def one(self, cell: int, seen: int) -> float:
        """Give a single corrected reward."""
        value = float(self._values[cell])
        return value if value == value else self._elsewhere.one(cell, seen)


def by_level(table: np.ndarray, groups: np.ndarray | None) -> LookUp:
    """Give the look-up by observed level, of one table or of one for each group."""
    if table.ndim == 1:
        return ByLevel(table)
    assert groups is not None
    return ByGroup(table, groups)
