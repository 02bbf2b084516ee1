"""The contract of an estimator: counts in, a confusion matrix and what it is worth out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from unperturb._array import Array, as_floats, is_concrete, to_numpy
from unperturb.errors import (
    BatchMismatchError,
    InvalidAnchorsError,
    InvalidCountsError,
    InvalidOptionError,
    NotFittedError,
    StateMismatchError,
)
from unperturb.levels import RewardLevels

AMBIGUOUS_NATS = 3.0
"""A second explanation this close in evidence can't be ruled out."""


class Sparse(NamedTuple):
    """The rows of some of many cells; all others have one row in common.

    Example:
        >>> Sparse(np.array([[1.0, 0.0]]), np.array([2]), 3, np.array([0.5, 0.5])).spread()
        array([[0.5, 0.5],
               [0.5, 0.5],
               [1. , 0. ]])
    """

    rows: np.ndarray
    cells: np.ndarray
    of: int
    blank: np.ndarray

    def spread(self) -> np.ndarray:
        """Give the rows of all cells."""
        table = np.empty((self.of, self.rows.shape[1]))
        table[:] = self.blank
        table[self.cells] = self.rows
        return table


class Estimator(ABC):
    """Estimates C from a table of counts, one row per state-action cell, one column per level.

    Settings are plain attributes; what was fitted ends in `_`.

    Attributes:
        confusion_: The estimated C, (M, M), or (groups, M, M) for a hierarchical estimator.
        posterior_: The chance of each true level for each cell, (cells, M).
        level_frequencies_: The share of cells with each true level, (M,).
        row_size_: How many observations speak for each row of C, (M,). Near zero means that the
            row is the prior.
        trace_: What the fit maximised, after each iteration.

    Example:
        >>> from unperturb.estimators import MajorityVote
        >>> class FirstCells(MajorityVote):  # what you write yourself serves everywhere
        ...     name = "first-cells"
        ...     def fit(self, counts):
        ...         return super().fit(np.asarray(counts)[:2])
        >>> fit = FirstCells().fit([[9, 1], [3, 7], [5, 5]])
        >>> fit.confusion_
        array([[0.9, 0.1],
               [0.3, 0.7]])
        >>> fit.anew().fitted
        False
    """

    name: ClassVar[str]
    streaming: ClassVar[bool] = False

    confusion_: Array
    posterior_: Array
    level_frequencies_: Array
    row_size_: Array
    trace_: np.ndarray
    _sparse: Sparse | None = None

    def check(self, cells: int, levels: int) -> None:  # noqa: B027
        """Refuse settings that don't fit a table of so many cells and levels.

        `fit` refuses them too, but a stream of rewards should not begin and then break off.
        """

    @abstractmethod
    def fit(self, counts: Any) -> Self:
        """Estimate C from the counts alone, from scratch."""

    def refresh(self, counts: Any) -> Self:
        """Estimate C again from grown counts; from the last estimate where that saves time."""
        return self.fit(counts)

    def refresh_rows(self, rows: np.ndarray, cells: np.ndarray, of: int) -> Self:
        """Do what `refresh` does, given the rows of the cells with observations, among `of` cells.

        On a fine grid most cells are never visited; an estimator that can leaves them out.
        """
        table = np.zeros((of, rows.shape[1]))
        table[cells] = rows
        return self.refresh(table)

    def posterior_of(self, cells: np.ndarray) -> np.ndarray:
        """Give the rows of `posterior_` of these cells, which have observations."""
        if self._sparse is None:
            return np.asarray(to_numpy(self.posterior_)[cells])
        return np.asarray(self._sparse.rows[np.searchsorted(self._sparse.cells, cells)])

    def _keep_posterior(self, posterior: Array | Sparse) -> None:
        """Keep the posterior of all cells; a sparse one is spread when somebody asks for it."""
        self._sparse = posterior if isinstance(posterior, Sparse) else None
        if self._sparse is None:
            self.posterior_ = posterior
        else:
            self.__dict__.pop("posterior_", None)

    @property
    @abstractmethod
    def interval_(self) -> np.ndarray:
        """The 95 % interval of each entry of C, (..., M, M, 2)."""

    @property
    def margin_(self) -> float:
        """By how many nats the estimate beats its best rival; infinite where it can't tell."""
        self._need_fit()
        return float("inf")

    @property
    def ambiguous_(self) -> bool:
        """Whether another explanation of the same counts is about as good."""
        return self.margin_ < AMBIGUOUS_NATS

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """Describe the settings in a form that JSON can hold."""

    @abstractmethod
    def state_dict(self) -> dict[str, np.ndarray]:
        """Give what a later `refresh` depends on, as arrays."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Take back what `state_dict` gave."""

    @property
    def fitted(self) -> bool:
        """Whether there is an estimate yet."""
        return "confusion_" in self.__dict__

    if not TYPE_CHECKING:  # a type checker would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Say what to do about results that are not there yet."""
            if name == "posterior_" and self._sparse is not None:
                self.posterior_ = self._sparse.spread()
                return self.posterior_
            if name.endswith("_") and not name.startswith("_"):
                self._need_fit()
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def anew(self) -> Self:
        """Give another estimator with the same settings, which has seen nothing."""
        return type(self)(**{name: v for name, v in self.config().items() if name != "name"})

    def _start_over(self) -> None:
        """Forget the fit: a state saved before the first fit is empty."""
        self.__dict__ = self.anew().__dict__

    def _need_fit(self) -> None:
        if not self.fitted:
            raise NotFittedError(
                f"{type(self).__name__} holds no estimate",
                "there is nothing to ask before counts were seen",
                "call fit(counts) first",
            )

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in self.config().items() if k != "name")
        return f"{type(self).__name__}({settings})"


def check_counts(counts: Any) -> Array:
    """Check a table of counts: (cells, M), finite, not negative, not empty."""
    try:
        table = as_floats(counts)
    except (TypeError, ValueError) as error:
        raise InvalidCountsError(
            f"counts form no table of numbers ({error})",
            "they are (cells, levels)",
            "count the observed level of each transition in the row of its cell",
        ) from None
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise InvalidCountsError(
            f"counts have shape {tuple(table.shape)}",
            "they are (cells, levels), with two or more levels",
            "count the observed level of each transition in the row of its cell",
        )
    if is_concrete(table):
        looked = table if isinstance(table, np.ndarray) else to_numpy(table)
        low = looked.min()
        if not (low >= 0 and np.isfinite(looked.max())):
            raise InvalidCountsError(
                f"counts hold {low if not low >= 0 else looked.max()}",
                "counts are finite and not negative",
                "check how the table was made",
            )
        if not looked.any():
            raise InvalidCountsError(
                "all counts are zero",
                "an estimate needs observations",
                "gather some rewards first",
            )
    return table


def as_anchors(anchors: Any) -> dict[int, int] | None:
    """Check anchors, and turn NumPy's integers into Python's, which JSON can hold."""
    if anchors is None:
        return None
    try:
        return {index(cell): index(level) for cell, level in anchors.items()}
    except (AttributeError, TypeError):
        raise InvalidAnchorsError(
            f"anchors are {anchors!r}",
            "they map the index of a cell to the index of its true level",
            "pass a dictionary such as {12: 0, 40: 1}",
        ) from None


def anchor_mask(anchors: dict[int, int] | None, cells: int, M: int) -> np.ndarray | None:
    """Give (M, cells) log-weights that clamp the cells whose true level is known."""
    if not anchors:
        return None
    mask = np.zeros((M, cells))
    for cell, level in anchors.items():
        if not (0 <= int(cell) < cells and 0 <= int(level) < M):
            raise InvalidAnchorsError(
                f"anchor {{{cell}: {level}}} is out of range",
                f"cells run from 0 to {cells - 1} and levels from 0 to {M - 1}",
                "give anchors as {cell index: index of its true level}",
            )
        mask[:, int(cell)] = -1e30
        mask[int(level), int(cell)] = 0.0
    return mask


def as_groups(groups: Any, count: int | None = None) -> np.ndarray:
    """Check the group of each cell: whole numbers from 0, below `count` where that is known."""
    array = np.asarray(groups)
    flat = array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"
    if not flat or array.min() < 0 or (count is not None and array.max() >= count):
        ends = f" from {array.min()} to {array.max()}" if flat else ""
        raise InvalidOptionError(
            f"groups have shape {array.shape} and type {array.dtype}{ends}",
            f"they are one whole number from 0{'' if count is None else f' to {count - 1}'} "
            "for each cell",
            "pass an array that maps the index of a cell to its group",
        )
    return array.astype(np.int64)


def need_group_of_each(groups: np.ndarray, cells: int) -> None:
    """Refuse groups of another number of cells."""
    if len(groups) != cells:
        raise BatchMismatchError(
            f"there are {len(groups)} groups' entries for {cells} cells",
            "each cell belongs to one group",
            "give one group index for each cell",
        )


def as_json(setting: Any) -> Any:
    """Give a setting in a form that JSON can hold: no arrays, and no numbers of NumPy.

    Example:
        >>> as_json(np.eye(2)), as_json(np.float32(2)), as_json("diagonal"), as_json(None)
        ([[1.0, 0.0], [0.0, 1.0]], 2.0, 'diagonal', None)
    """
    if isinstance(setting, RewardLevels):
        return setting.values.tolist()
    if setting is None or isinstance(setting, str):
        return setting
    return np.asarray(getattr(setting, "matrix", setting)).tolist()


def pick(state: dict[str, np.ndarray], **shapes: tuple[int, ...] | None) -> list[np.ndarray]:
    """Take named arrays from a state, checking the shapes that are known."""
    found = []
    for name, shape in shapes.items():
        if name not in state:
            raise StateMismatchError(
                f"the state has no {name!r}",
                f"it needs {', '.join(shapes)}",
                "load a state that this estimator saved",
            )
        array = np.array(state[name])
        if shape is not None and array.shape != shape:
            raise StateMismatchError(
                f"{name!r} has shape {array.shape}",
                f"here it is {shape}",
                "load a state saved with the same levels and cells",
            )
        found.append(array)
    return found
