"""How often each cell showed each level: all time, the last D_max of each cell, or forgetting."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from operator import index
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from unperturb.errors import (
    BatchMismatchError,
    InvalidCountsError,
    InvalidOptionError,
    StateMismatchError,
)

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

LARGEST = 2_000_000_000
"""The most entries that one array of counts may have."""


def _whole(value: Any, least: int, name: str) -> int:
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise InvalidOptionError(
            f"{name} is {value!r}", f"it must be a whole number >= {least}", "pass such a number"
        )
    return number


class Counts(ABC):
    """How often each cell showed each level; one contract, three memories.

    Args:
        cells: the number of (s, a) cells.
        levels: the number of reward levels, M.
    """

    kind: ClassVar[str]
    _flat: npt.NDArray[Any]
    """The table, cell by cell, in one dimension: there `np.add.at` is fast."""

    def __init__(self, cells: int, levels: int) -> None:
        self.cells = _whole(cells, 1, "cells")
        self.levels = _whole(levels, 1, "levels")
        self.total = 0
        """Observations ever added; forgetting does not lower it."""
        self._check_size(self.levels, "levels")

    def add(self, cell_indices: Any, level_indices: Any) -> None:
        """Count B observations, in order: level_indices[b] was seen in cell_indices[b]."""
        self.add_checked(*self.check(cell_indices, level_indices))

    def check(self, cell_indices: Any, level_indices: Any) -> tuple[IntArray, IntArray]:
        """Give the indices of B observations as arrays, if they are in range."""
        cells = self._indices(cell_indices, self.cells, "cell")
        levels = self._indices(level_indices, self.levels, "level")
        if len(cells) != len(levels):
            raise BatchMismatchError(
                f"{len(cells)} cells and {len(levels)} levels",
                "each observation has one of both",
                "pass arrays of equal length",
            )
        return cells, levels

    @abstractmethod
    def add_checked(self, cells: IntArray, levels: IntArray) -> None:
        """Count B observations whose indices are known to be in range: the sooner way."""

    @abstractmethod
    def add_one(self, cell: int, level: int) -> None:
        """Count one observation, as `add` does."""

    def table(self) -> FloatArray:
        """Give the present counts, (cells, levels), as a copy."""
        return self._flat.astype(np.float64).reshape(self.cells, self.levels)

    def row(self, cell: int) -> FloatArray:
        """Give the present counts of one cell, (levels,), as a copy."""
        self._in_range(cell, 0)
        start = cell * self.levels
        return self._flat[start : start + self.levels].astype(np.float64)

    def rows(self, cells: IntArray) -> FloatArray:
        """Give the present counts of each of B cells, (B, levels), as a copy."""
        return self._flat.reshape(self.cells, self.levels).take(cells, axis=0).astype(np.float64)

    def busy(self) -> IntArray:
        """Give the cells that have observations, ascending."""
        return np.unique(np.flatnonzero(self._flat) // self.levels)

    def clear(self, cells: Any) -> None:
        """Forget all that these cells showed. `total` stays."""
        chosen = self._indices(cells, self.cells, "cell")
        self._flat.reshape(self.cells, self.levels)[chosen] = 0

    def config(self) -> dict[str, Any]:
        """Describe the settings in values that JSON can hold."""
        return {"kind": self.kind, "cells": self.cells, "levels": self.levels}

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> Counts:
        """Build empty counts from what `config` gave."""
        kinds: dict[str, type[Counts]] = {c.kind: c for c in (AllTime, LastPerCell, Forgetting)}
        try:
            options = dict(config)
            return kinds[options.pop("kind")](**options)
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidOptionError):
                raise
            raise InvalidOptionError(
                f"{config!r} describes no counts ({error!r})",
                f"kind is one of {sorted(kinds)}",
                "pass what config() gave",
            ) from None

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """Give all that is needed to go on exactly, as copies."""
        return {"total": np.array(self.total), **{k: v.copy() for k, v in self._arrays().items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        mine = {"total": np.array(0), **self._arrays()}
        if state.keys() != mine.keys():
            raise StateMismatchError(
                f"the state holds {sorted(state)}",
                f"{type(self).__name__} needs {sorted(mine)}",
                "load it into counts with the same settings",
            )
        for name, array in mine.items():
            found = np.asarray(state[name])
            fits = found.shape == array.shape and found.dtype == array.dtype
            # A level in the ring that does not exist would later be taken from another cell.
            limit = self.levels if name == "ring" else math.inf
            if not fits or not ((found >= 0) & (found < limit)).all():
                raise StateMismatchError(
                    f"{name} has the shape {found.shape} and the type {found.dtype}, or bad values",
                    f"these counts need {array.shape} and {array.dtype}, none negative",
                    "load it into counts with the same settings",
                )
        self.total = int(state["total"])
        self._load(state)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {"table": self._flat}

    def _load(self, state: Mapping[str, Any]) -> None:
        self._flat[:] = state["table"]

    def _check_size(self, width: int, name: str) -> None:
        if self.cells * width > LARGEST:
            raise InvalidOptionError(
                f"{self.cells:,} cells x {width:,} ({name})",
                f"at most {LARGEST:,} entries can be held",
                f"use fewer cells or a smaller {name}",
            )

    def _indices(self, values: Any, size: int, name: str) -> IntArray:
        array = np.asarray(values)
        if array.dtype.kind not in "iu" and array.size:
            raise InvalidCountsError(
                f"{name} indices have the type {array.dtype}", "they must be integers", "convert"
            )
        indices: IntArray = array.astype(np.int64, copy=False).reshape(-1)
        # Seen as unsigned, negative numbers are huge: one comparison finds both ends.
        if indices.size and np.maximum.reduce(indices.view(np.uint64)) >= size:
            wrong = indices[(indices < 0) | (indices >= size)][0]
            raise self._beyond(name, int(wrong), size)
        return indices

    def _in_range(self, cell: int, level: int) -> None:
        if not 0 <= cell < self.cells:
            raise self._beyond("cell", cell, self.cells)
        if not 0 <= level < self.levels:
            raise self._beyond("level", level, self.levels)

    @staticmethod
    def _beyond(name: str, value: int, size: int) -> InvalidCountsError:
        return InvalidCountsError(
            f"{name} {value}", f"{name}s run from 0 to {size - 1}", "use indices of these counts"
        )

    def __repr__(self) -> str:
        options = ", ".join(f"{k}={v!r}" for k, v in self.config().items() if k != "kind")
        return f"{type(self).__name__}({options})"


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
        self.d_max = _whole(d_max, 1, "d_max")
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
        good = isinstance(memory, int | float | np.integer | np.floating)
        if not good or isinstance(memory, bool) or not 2 <= memory < math.inf:
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
