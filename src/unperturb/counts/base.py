"""The contract of counts: how often each cell showed each level."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from unperturb._checks import whole
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


class Counts(ABC):
    """How often each cell showed each level; one contract, three memories.

    Args:
        cells: the number of (s, a) cells.
        levels: the number of reward levels, M.

    Example:
        >>> from unperturb.counts import LastPerCell
        >>> Counts.from_config(LastPerCell(cells=3, levels=2, d_max=100).config())
        LastPerCell(cells=3, levels=2, d_max=100)
    """

    kind: ClassVar[str]
    _kinds: ClassVar[dict[str, type[Counts]]] = {}
    _flat: npt.NDArray[Any]
    """The table, cell by cell, in one dimension: there `np.add.at` is fast."""

    def __init_subclass__(cls) -> None:
        Counts._kinds[cls.kind] = cls

    def __init__(self, cells: int, levels: int) -> None:
        self.cells = whole(cells, 1, "cells")
        self.levels = whole(levels, 1, "levels")
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
        try:
            options = dict(config)
            return Counts._kinds[options.pop("kind")](**options)
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidOptionError):
                raise
            raise InvalidOptionError(
                f"{config!r} describes no counts ({error!r})",
                f"kind is one of {sorted(Counts._kinds)}",
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
