"""Confusion matrices that take turns over time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np

from unperturb.confusion.matrix import ConfusionMatrix, as_confusion
from unperturb.errors import (
    InvalidConfusionError,
    InvalidOptionError,
)


class ConfusionSchedule:
    """Noise that changes with time: a matrix from each of several steps on.

    Example:
        >>> from unperturb.confusion import binary
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
