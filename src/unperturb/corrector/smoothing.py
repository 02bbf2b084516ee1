"""The paper's variance reduction: the mean of a cell's last surrogates."""

from __future__ import annotations

import numpy as np

from unperturb.corrector.lookup import LookUp
from unperturb.counts import IntArray, LastPerCell


class Smoothed(LookUp):
    """The mean of what a table, (M,) or (groups, M), gives for the last rewards of the cell.

    All of them are valued by the present table: an estimate that has since improved corrects the
    old rewards too.

    Example:
        >>> window = LastPerCell(cells=1, levels=2, d_max=3)
        >>> window.add([0, 0, 0, 0], [0, 0, 1, 1])
        >>> Smoothed(window, np.array([-1.0, 2.0]), groups=None).one(cell=0, seen=1)
        1.0
    """

    def __init__(self, window: LastPerCell, table: np.ndarray, groups: np.ndarray | None) -> None:
        self._window = window
        self._table = table
        self._groups = groups
        self._ones = np.ones(table.shape[-1])

    def many(self, cells: IntArray, seen: IntArray) -> np.ndarray:
        """Give the corrected rewards of a batch."""
        window = self._window.rows(cells)
        # With few levels, products are many times faster than sums along an axis.
        number = window @ self._ones
        if self._groups is None or self._table.ndim == 1:
            return np.asarray(window @ self._table / number)
        own = self._table[self._groups[cells]]
        return np.asarray(np.einsum("bm,bm->b", window, own) / number)

    def one(self, cell: int, seen: int) -> float:
        """Give a single corrected reward."""
        if self._table.ndim == 2:
            return super().one(cell, seen)
        own = self._window.row(cell)
        return float(own @ self._table / own.sum())
