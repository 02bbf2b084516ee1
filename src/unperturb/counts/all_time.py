"""Counts of everything ever seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unperturb.counts.base import Counts, IntArray


class AllTime(Counts):
    """Counts of everything ever seen.

    Example:
        >>> counts = AllTime(cells=2, levels=3)
        >>> counts.add([0, 0, 1], [2, 2, 0])
        >>> counts.table()
        array([[0., 0., 2.],
               [1., 0., 0.]])
    """

    kind = "all-time"

    def __init__(self, cells: int, levels: int) -> None:
        super().__init__(cells, levels)
        self._flat = np.zeros(self.cells * self.levels, dtype=np.int64)
        # Most cells of a fine grid are never visited. To look for the others in the whole table
        # would take longer than all else that an estimate needs.
        self._visited = np.zeros(self.cells, dtype=np.bool_)

    def add_checked(self, cells: IntArray, levels: IntArray) -> None:
        """Count B observations that were checked."""
        np.add.at(self._flat, cells * self.levels + levels, 1)
        self._visited[cells] = True
        self.total += len(cells)

    def add_one(self, cell: int, level: int) -> None:
        """Count one observation."""
        if not (0 <= cell < self.cells and 0 <= level < self.levels):
            self._in_range(cell, level)
        self._flat[cell * self.levels + level] += 1
        self._visited[cell] = True
        self.total += 1

    def busy(self) -> IntArray:
        """Give the cells that have observations, ascending."""
        return np.flatnonzero(self._visited)

    def clear(self, cells: Any) -> None:
        """Forget all that these cells showed. `total` stays."""
        super().clear(cells)
        self._visited[np.asarray(cells, dtype=np.int64)] = False

    def _load(self, state: Mapping[str, Any]) -> None:
        super()._load(state)
        self._visited[:] = False
        self._visited[super().busy()] = True
