"""A corrected reward for each cell, and how long it is good for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unperturb.counts import IntArray

_UNKNOWN = 2
"""The rewards until a cell without a value is looked at. Its first one is looked up by level."""


class CellValues(NamedTuple):
    """The value of each cell, good until its counts have doubled.

    The next estimate of C may be far off, and until then all that matters may happen in a cell that
    was hardly seen at the last one: the goal, once it is found.

    Attributes:
        values: The corrected reward of each cell, NaN where it has none.
        until: Rewards until the value of each cell is made anew.

    Example:
        >>> cells = CellValues.unknown(3)
        >>> cells.note(np.array([1]), np.array([0.5]), np.array([7.0]))
        >>> cells.values, cells.until
        (array([nan, 0.5, nan]), array([2, 7, 2]))
    """

    values: np.ndarray
    until: np.ndarray

    @classmethod
    def unknown(cls, cells: int) -> CellValues:
        """Give no cell a value."""
        return cls(np.full(cells, np.nan), np.full(cells, _UNKNOWN))

    def note(self, cells: IntArray, values: np.ndarray, counts: np.ndarray) -> None:
        """Keep the values of these cells, made from so many rewards."""
        self.values[cells] = values
        self.until[cells] = np.maximum(counts, 1)

    def forget(self, cells: IntArray) -> None:
        """Take their values from these cells."""
        self.values[cells] = np.nan
        self.until[cells] = _UNKNOWN

    def worn(self, cells: IntArray) -> IntArray:
        """Count a reward of each of these cells, and give those whose counts have doubled."""
        np.subtract.at(self.until, cells, 1)
        due = self.until[cells] <= 0
        return np.unique(cells[due]) if due.any() else cells[:0]

    def wears_out(self, cell: int) -> bool:
        """Do the same for one cell."""
        self.until[cell] -= 1
        return bool(self.until[cell] <= 0)
