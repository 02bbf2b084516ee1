"""Counts of the last D_max observations of each cell (the paper's D_max)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from unperturb._checks import whole
from unperturb.counts.base import Counts, IntArray
from unperturb.errors import InvalidOptionError


class LastPerCell(Counts):
    """Counts of the last D_max observations of each cell (the paper's D_max).

    Args:
        cells: the number of (s, a) cells.
        levels: the number of reward levels, M.
        d_max: how many observations each cell keeps.

    Example:
        >>> counts = LastPerCell(cells=1, levels=2, d_max=2)
        >>> counts.add([0, 0, 0], [0, 1, 1])
        >>> counts.table()
        array([[0., 2.]])
    """

    kind = "last-per-cell"

    def __init__(self, cells: int, levels: int, d_max: int) -> None:
        super().__init__(cells, levels)
        self.d_max = whole(d_max, 1, "d_max")
        self._check_size(self.d_max, "d_max")
        if self.levels > np.iinfo(np.int16).max:
            raise InvalidOptionError(f"levels is {levels}", "at most 32,767", "use fewer levels")
        self._flat = np.zeros(self.cells * self.levels, dtype=np.int64)
        # The level at each place of each cell's ring; the seen-th observation is at seen % d_max.
        self._ring = np.zeros((self.cells, self.d_max), dtype=np.int16)
        self._seen = np.zeros(self.cells, dtype=np.int64)

    def add_checked(self, cells: IntArray, levels: IntArray) -> None:
        """Count B observations that were checked, in order."""
        self.total += len(cells)
        if not len(cells):
            return
        # No two keys are equal, so any sort keeps the order within a cell: take the fastest.
        place = np.arange(len(cells))
        shift = len(cells).bit_length()
        key = cells << shift
        key |= place
        key.sort()
        cells, levels = key >> shift, levels[key & ((1 << shift) - 1)]
        opens = np.ones(len(cells) + 1, dtype=bool)
        np.not_equal(cells[1:], cells[:-1], out=opens[1:-1])
        bounds = opens.nonzero()[0]
        sizes = bounds[1:] - bounds[:-1]
        rank = place - bounds[:-1].repeat(sizes)
        before = self._seen[cells]
        np.add.at(self._seen, cells, 1)
        number = before + rank
        if np.maximum.reduce(sizes) > self.d_max:
            # Only the last d_max of a cell outlast the batch, so that each place is written once.
            kept = number >= self._seen[cells] - self.d_max
            cells, levels, before, number = cells[kept], levels[kept], before[kept], number[kept]
        place = number % self.d_max
        row, ring = cells * self.levels, self._ring.reshape(-1)
        spot = cells * self.d_max + place
        np.subtract.at(self._flat, row + ring[spot], (place < before).astype(np.int64))
        np.add.at(self._flat, row + levels, 1)
        ring[spot] = levels

    def add_one(self, cell: int, level: int) -> None:
        """Count one observation."""
        self._in_range(cell, level)
        seen = int(self._seen[cell])
        place = seen % self.d_max
        if seen >= self.d_max:
            self._flat[cell * self.levels + int(self._ring[cell, place])] -= 1
        self._ring[cell, place] = level
        self._flat[cell * self.levels + level] += 1
        self._seen[cell] = seen + 1
        self.total += 1

    def clear(self, cells: Any) -> None:
        """Forget all that these cells showed. `total` stays."""
        super().clear(cells)
        self._seen[self._indices(cells, self.cells, "cell")] = 0

    def config(self) -> dict[str, Any]:
        """Describe the settings in values that JSON can hold."""
        return {**super().config(), "d_max": self.d_max}

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {**super()._arrays(), "ring": self._ring, "seen": self._seen}

    def _load(self, state: Mapping[str, Any]) -> None:
        super()._load(state)
        self._ring[:] = state["ring"]
        self._seen[:] = state["seen"]
