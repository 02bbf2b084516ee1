"""Counts that fade with age."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from unperturb._checks import is_number
from unperturb.counts.base import Counts, FloatArray, IntArray
from unperturb.errors import InvalidOptionError


class Forgetting(Counts):
    """Counts that fade: an observation weighs (1 - 1/memory)^age.

    Age is counted in observations of all cells. New observations are added at a growing scale,
    which is cheaper than shrinking the table; the scale is folded back before it overflows.

    Args:
        cells: the number of (s, a) cells.
        levels: the number of reward levels, M.
        memory: the time constant in observations, at least 2.

    Example:
        >>> counts = Forgetting(cells=1, levels=2, memory=2)
        >>> counts.add([0, 0, 0], [0, 1, 1])
        >>> counts.table()
        array([[0.25, 1.5 ]])
    """

    kind = "forgetting"

    def __init__(self, cells: int, levels: int, memory: float) -> None:
        super().__init__(cells, levels)
        if not is_number(memory) or isinstance(memory, bool) or not 2 <= memory < math.inf:
            raise InvalidOptionError(
                f"memory is {memory!r}", "it must be a finite number >= 2", "pass e.g. 1000"
            )
        self.memory = float(memory)
        self._growth = 1.0 / (1.0 - 1.0 / self.memory)
        # Between two folds the scale grows to about 1e150, far from overflow.
        self._period = max(1, int(math.log(1e150) / -math.log1p(-1.0 / self.memory)))
        self._flat = np.zeros(self.cells * self.levels, dtype=np.float64)
        self._scale = 1.0
        self._since_fold = 0

    def add_checked(self, cells: IntArray, levels: IntArray) -> None:
        """Count B observations that were checked, in order."""
        flat = cells * self.levels + levels
        start = 0
        while start < len(flat):
            part = flat[start : start + self._period - self._since_fold]
            scales = np.full(len(part) + 1, self._growth)
            scales[0] = self._scale
            # Accumulated one by one, so that a batch rounds exactly as single steps do.
            np.multiply.accumulate(scales, out=scales)
            np.add.at(self._flat, part, scales[1:])
            self._scale = float(scales[-1])
            self._since_fold += len(part)
            start += len(part)
            self._fold_if_due()
        self.total += len(flat)

    def add_one(self, cell: int, level: int) -> None:
        """Count one observation."""
        self._in_range(cell, level)
        self._scale *= self._growth
        self._flat[cell * self.levels + level] += self._scale
        self._since_fold += 1
        self.total += 1
        self._fold_if_due()

    def table(self) -> FloatArray:
        """Give the present, faded counts, (cells, levels), as a copy."""
        return (self._flat / self._scale).reshape(self.cells, self.levels)

    def row(self, cell: int) -> FloatArray:
        """Give the present, faded counts of one cell, (levels,), as a copy."""
        return super().row(cell) / self._scale

    def rows(self, cells: IntArray) -> FloatArray:
        """Give the present, faded counts of each of B cells, (B, levels), as a copy."""
        return super().rows(cells) / self._scale

    def config(self) -> dict[str, Any]:
        """Describe the settings in values that JSON can hold."""
        return {**super().config(), "memory": self.memory}

    def _fold_if_due(self) -> None:
        if self._since_fold >= self._period:
            self._flat /= self._scale
            self._scale = 1.0
            self._since_fold = 0

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        scale, since = np.array(self._scale), np.array(self._since_fold)
        return {**super()._arrays(), "scale": scale, "since_fold": since}

    def _load(self, state: Mapping[str, Any]) -> None:
        super()._load(state)
        self._scale = float(state["scale"])
        self._since_fold = int(state["since_fold"])
