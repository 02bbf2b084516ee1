"""A confusion matrix that the user hands over; only how frequent the levels are is estimated."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from unperturb._array import as_floats, namespace, to_numpy
from unperturb.confusion import as_confusion
from unperturb.errors import InvalidConfusionError
from unperturb.estimators.base import (
    Estimator,
    as_groups,
    check_counts,
    need_group_of_each,
    pick,
)
from unperturb.estimators.beliefs import seen_cells, softmax

_ROUNDS = 20
_TINY = 1e-12


class Known(Estimator):
    """Uses a C that is known: measured in a calibration, or set by the experimenter.

    With one matrix for each group of states, `groups` maps each cell to its group.

    Example:
        >>> import unperturb as up
        >>> fit = Known(up.confusion.binary(0.1, 0.3)).fit([[2, 1], [9, 1], [1, 2]])
        >>> fit.posterior_.round(2)
        array([[0.63, 0.37],
               [1.  , 0.  ],
               [0.07, 0.93]])
    """

    name: ClassVar[str] = "known"

    def __init__(self, confusion: Any, groups: Any = None) -> None:
        self.confusion_ = as_confusion(confusion).matrix
        if (self.confusion_.ndim == 3) != (groups is not None):
            raise InvalidConfusionError(
                f"C has shape {self.confusion_.shape} and groups are "
                f"{'missing' if groups is None else 'given'}",
                "a matrix for each group needs the group of each cell, and only then",
                "pass groups=cells.state_of(numpy.arange(cells.n)) for one matrix per state",
            )
        self.groups = None if groups is None else as_groups(groups, len(self.confusion_))

    def check(self, cells: int, levels: int) -> None:
        """Refuse a matrix of other levels, or groups of other cells."""
        if self.groups is not None:
            need_group_of_each(self.groups, cells)
        if levels != self.confusion_.shape[-1]:
            raise InvalidConfusionError(
                f"C has shape {self.confusion_.shape} for {levels} levels",
                "it has one row and one column for each level",
                "use the same levels for both",
            )

    def fit(self, counts: Any) -> Self:
        """Estimate the levels of the cells and their frequencies, given C."""
        table = check_counts(counts)
        xp = namespace(table)
        self.check(*table.shape)
        logs = as_floats(np.log(np.maximum(self.confusion_, _TINY)), like=table)
        if self.groups is None:
            likelihood = logs @ xp.matrix_transpose(table)
        else:
            own = xp.take(logs, xp.asarray(self.groups), axis=0)
            likelihood = xp.matrix_transpose(xp.sum(own * table[:, None, :], axis=-1))
        seen = seen_cells(table)
        pi = xp.ones((table.shape[1],), dtype=table.dtype) / table.shape[1]
        for _ in range(_ROUNDS):
            q = softmax(likelihood + xp.log(pi)[:, None])[0]
            mass = q @ seen + _TINY
            pi = mass / xp.sum(mass)
        self.posterior_ = xp.matrix_transpose(q)
        self.level_frequencies_ = pi
        self.row_size_ = xp.sum(q @ table, axis=1)
        self.trace_ = np.empty(0)
        return self

    @property
    def fitted(self) -> bool:
        """Always: C is known from the start."""
        return True

    @property
    def interval_(self) -> np.ndarray:
        """The matrix itself, twice: it is known."""
        C = to_numpy(self.confusion_)
        return np.stack([C, C], axis=-1)

    def config(self) -> dict[str, Any]:
        """Describe the settings in a form that JSON can hold."""
        return {
            "name": self.name,
            "confusion": to_numpy(self.confusion_).tolist(),
            "groups": None if self.groups is None else self.groups.tolist(),
        }

    def state_dict(self) -> dict[str, np.ndarray]:
        """Give the cells' levels and their frequencies."""
        if not hasattr(self, "posterior_"):
            return {}
        return {
            "posterior": to_numpy(self.posterior_),
            "level_frequencies": to_numpy(self.level_frequencies_),
            "row_size": to_numpy(self.row_size_),
        }

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Take back what `state_dict` gave."""
        if not state:
            self._start_over()
            return
        self.posterior_, self.level_frequencies_, self.row_size_ = pick(
            state, posterior=None, level_frequencies=None, row_size=None
        )
        self.trace_ = np.empty(0)
