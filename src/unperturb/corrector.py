"""The streaming pipeline: observed rewards in, corrected rewards out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from unperturb import _store
from unperturb.cells import Cells
from unperturb.confusion import ConfusionSchedule
from unperturb.counts import AllTime, Counts, Forgetting, LastPerCell
from unperturb.denoise import cell_values, level_posterior
from unperturb.errors import (
    BatchMismatchError,
    DamagedFileError,
    InvalidConfusionError,
    InvalidOptionError,
    SingularConfusionError,
    StateMismatchError,
    UnperturbError,
)
from unperturb.estimators import Estimator, Hierarchical, Known, estimator_from
from unperturb.estimators.streaming import CHUNK, StreamingDawidSkene
from unperturb.levels import RewardLevels
from unperturb.surrogate import surrogate_values

Method = Literal["surrogate", "posterior"]
_COUNTERS = 6
SOON = 100
"""The least number of rewards between two estimates, unless told otherwise."""


class Tables(NamedTuple):
    """What rewards are looked up in.

    Attributes:
        surrogate: The value of each observed level, (M,), or (groups, M).
        first: The same, for cells that have no value of their own.
        values: The value of each cell, NaN where it has none; None if there are no such values.

    Example:
        >>> import unperturb as up
        >>> levels, cells = up.RewardLevels([0.0, 1.0]), up.Cells.discrete(10, 2)
        >>> up.RewardCorrector(levels, cells).tables.surrogate
        array([0., 1.])
    """

    surrogate: np.ndarray
    first: np.ndarray
    values: np.ndarray | None


class RewardCorrector:
    """Estimates C from a stream of rewards and corrects each reward as it comes.

    Per reward the work is constant: the level, the cell, a count, a look-up. Every `refresh`
    rewards the estimator runs and the look-up table is made anew. Until `d_min` rewards were seen
    (the paper's D_min) they are passed through as they are.

    Args:
        levels: the reward levels.
        cells: which transitions share a true reward.
        estimator: a name ("dawid-skene", "majority-vote", "streaming"), or an estimator.
        method: "surrogate" looks up the unbiased surrogate of the observed level; "posterior"
            gives the posterior mean of the cell's true level, and where a cell mixes levels, the
            mean of its surrogates.
        refresh: rewards between two estimates. By default 500 with the streaming estimator; else
            100, and a tenth of all rewards once that is more, since by then a few more change
            little (not where counts forget).
        smooth: give the mean of the last so many surrogates of the cell (the paper's variance
            reduction takes 100), from the first reward on. A posterior is smooth as it is; there
            this serves only cells that have none yet.
        confusion: a known C, used instead of an estimate and inverted exactly; one matrix for
            each state is fine.
        eta: the weight of the unbiased part (Algorithm 1).
        n_eff: how many rewards the learner averages; regularises the inverse of an estimated C.
            None gives the plain inverse, as in the paper.
        d_min: how many rewards to see before anything is corrected.
        d_max: count only the last so many rewards of each cell (the paper's D_max).
        forget: let counts fade with this time constant, in rewards.

    Example:
        >>> import numpy as np
        >>> import unperturb as up
        >>> levels = up.RewardLevels([0.0, 1.0])
        >>> corrector = up.RewardCorrector(levels, up.Cells.discrete(10, 2))
        >>> rng = np.random.default_rng(0)
        >>> states, actions = rng.integers(10, size=4000), rng.integers(2, size=4000)
        >>> true = (states >= 5).astype(float)
        >>> noisy = levels.values[up.confusion.binary(0.1, 0.3).draw(true.astype(int), rng)]
        >>> corrected = corrector(states, actions, noisy)
        >>> round(float(noisy[true == 1].mean()), 2), round(float(corrected[true == 1].mean()), 2)
        (0.7, 0.99)
        >>> corrector.confusion.round(2)
        array([[0.9, 0.1],
               [0.3, 0.7]])
    """

    def __init__(
        self,
        levels: RewardLevels,
        cells: Cells,
        estimator: str | Estimator | Mapping[str, Any] = "dawid-skene",
        method: Method = "surrogate",
        refresh: int | None = None,
        smooth: int | None = None,
        *,
        confusion: Any = None,
        eta: float = 1.0,
        n_eff: float | None = 100.0,
        d_min: int = 100,
        d_max: int | None = None,
        forget: float | None = None,
    ) -> None:
        if not isinstance(levels, RewardLevels) or not isinstance(cells, Cells):
            raise InvalidOptionError(
                f"levels is a {type(levels).__name__} and cells a {type(cells).__name__}",
                "a corrector needs RewardLevels and Cells",
                "write RewardCorrector(RewardLevels([-1.0, 1.0]), Cells.of(env))",
            )
        if method not in ("surrogate", "posterior"):
            raise InvalidOptionError(
                f"method={method!r}",
                "a reward is corrected by 'surrogate' or by 'posterior'",
                "pass one of them",
            )
        if d_max is not None and forget is not None:
            raise InvalidOptionError(
                f"both d_max={d_max} and forget={forget} are given",
                "counts either keep the last rewards of each cell or fade",
                "pass one of them",
            )
        for name, value in (("refresh", refresh), ("smooth", smooth), ("d_min", d_min)):
            if value is not None and not (value >= 1 and value % 1 == 0):
                raise InvalidOptionError(
                    f"{name} is {value}",
                    "it is a whole number of at least 1",
                    f"pass {name}=100, or leave it out",
                )
        surrogate_values(np.eye(len(levels)), levels, eta, n_eff)  # checks eta and n_eff now
        self.levels = levels
        self.cells = cells
        self.method: Method = method
        # Numbers of NumPy become Python's, which JSON can hold.
        self.eta = float(eta)
        self.n_eff = None if n_eff is None else float(n_eff)
        self.d_min = int(d_min)
        self.smooth = None if smooth is None else int(smooth)
        self.estimator = (
            estimator_from(estimator) if confusion is None else _known(confusion, cells)
        )
        streaming = self.estimator.streaming
        self.refresh_every = None if refresh is None else int(refresh)
        if isinstance(self.estimator, StreamingDawidSkene) and d_max is None and forget is None:
            # Old counts were shown by another C; they would fail the cells' tests.
            forget = self.estimator.memory
        M = len(levels)
        self.counts: Counts = AllTime(cells.n, M)
        if d_max is not None:
            self.counts = LastPerCell(cells.n, M, d_max)
        elif forget is not None:
            self.counts = Forgetting(cells.n, M, forget)
        self._chunk = AllTime(cells.n, M) if streaming else None
        self._window = LastPerCell(cells.n, M, smooth) if smooth is not None else None
        self._groups = _groups_of(self.estimator, cells)
        self._anchors: dict[int, int] = getattr(self.estimator, "anchors", None) or {}
        self.steps = 0
        """Rewards seen."""
        self.clipped = 0
        """Rewards outside the range of the levels, clipped into it."""
        self.corrected = 0
        """Rewards given back corrected; the others came before there was an estimate."""
        self.refreshes = 0
        """Estimates made."""
        self._since_refresh = 0
        self.ready = False
        """Whether rewards are being corrected yet."""
        self._table = levels.values.copy()
        self._values: np.ndarray | None = None
        self._first = self._table
        # Rewards until the value of each cell is made anew, where cells have values.
        self._until: np.ndarray | None = None
        # A known C needs no estimate; only a posterior needs to be kept up to date.
        self._idle = isinstance(self.estimator, Known) and method == "surrogate"
        self._due = self._interval()
        if isinstance(self.estimator, Known):
            self._table = self._surrogates()
            self.ready = True
        self._look_up()

    @property
    def confusion(self) -> np.ndarray:
        """The confusion matrix in use: the identity until there is an estimate."""
        if self.ready:
            return np.asarray(self.estimator.confusion_)
        return np.eye(len(self.levels))

    @property
    def surrogate(self) -> np.ndarray:
        """The value given for each observed level, (M,), or (groups, M)."""
        return self._table.copy()

    @property
    def tables(self) -> Tables:
        """What rewards are looked up in at present, for whoever compiles that.

        All stay until the next estimate, but for the values of cells whose counts double.
        """
        values = None if self._values is None else self._values.copy()
        return Tables(self._table.copy(), self._first.copy(), values)

    @property
    def until_refresh(self) -> float:
        """How many more rewards there are until the next estimate."""
        return max(self._due - self._since_refresh, self.d_min - self.steps, 1)

    def __call__(
        self, observations: Any, actions: Any, rewards: Any, next_observations: Any = None
    ) -> np.ndarray:
        """Count a batch of observed rewards and give back the corrected ones."""
        given = np.asarray(rewards, dtype=np.float64)
        seen = self.levels.index(given)
        before = self.cells.state_dict()
        cell = self.cells.index(observations, actions, next_observations)
        if given.shape != cell.shape:
            self.cells.load_state_dict(before)  # the adjacency queue has moved on
            raise BatchMismatchError(
                f"{given.shape} rewards for {len(cell)} transitions",
                "there is one reward for each transition, in a flat array",
                "pass arrays of equal length",
            )
        return self._count(cell, seen, given)

    def take(self, cell: np.ndarray, seen: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Do the same for rewards whose cells and levels were looked up already."""
        return self._count(*self.counts.check(cell, seen), given)

    def _count(self, cell: np.ndarray, seen: np.ndarray, given: np.ndarray) -> np.ndarray:
        if self.levels.continuous:
            self.clipped += self.levels.outside(given)
        if len(self.cells.fresh):
            self._forget(self.cells.fresh)
        self.counts.add_checked(cell, seen)
        if self._chunk is not None:
            self._chunk.add_checked(cell, seen)
        if self._window is not None:
            self._window.add_checked(cell, seen)
        self.steps += len(seen)
        self._since_refresh += len(seen)
        if self._since_refresh >= self._due and self.steps >= self.d_min:
            self.refresh()
        elif self._until is not None:
            np.subtract.at(self._until, cell, 1)
            due = self._until[cell] <= 0
            if due.any():
                self._renew(np.unique(cell[due]))
        if not self.ready and self._window is None:
            return given.copy()
        if self.ready:
            self.corrected += len(seen)
        return self._correct(cell, seen)

    def one(
        self, observation: Any, action: Any, reward: float, next_observation: Any = None
    ) -> float:
        """Correct a single reward: the same as a batch of one, several times faster."""
        seen = self.levels.index_one(reward)
        cell = self.cells.index_one(observation, action, next_observation)
        if self.levels.continuous:
            self.clipped += self.levels.outside(reward)
        if len(self.cells.fresh):
            self._forget(self.cells.fresh)
        self.counts.add_one(cell, seen)
        if self._chunk is not None:
            self._chunk.add_one(cell, seen)
        if self._window is not None:
            self._window.add_one(cell, seen)
        self.steps += 1
        self._since_refresh += 1
        if self._since_refresh >= self._due and self.steps >= self.d_min:
            self.refresh()
        elif self._until is not None:
            self._until[cell] -= 1
            if self._until[cell] <= 0:
                self._renew(np.array([cell]))
        if not self.ready and self._window is None:
            return float(reward)
        if self.ready:
            self.corrected += 1
        if self._quick is not None:
            return self._quick[seen]
        if self._quick_values is not None:
            value = float(self._quick_values[cell])
            return value if value == value else self._quick_first[seen]
        if self._window is not None and self._values is None and self._table.ndim == 1:
            own = self._window.row(cell)
            return float(own @ self._table / own.sum())
        return float(self._correct(np.array([cell]), np.array([seen]))[0])

    def _correct(self, cell: np.ndarray, seen: np.ndarray) -> np.ndarray:
        table = self._table
        if self._window is not None:
            window = self._window.rows(cell)
            own = table if table.ndim == 1 else table[self._group(cell)]
            # With few levels, products are many times faster than sums along an axis.
            total = window @ own if own.ndim == 1 else np.einsum("bm,bm->b", window, own)
            reward = total / (window @ np.ones(len(self.levels)))
        else:
            own = table if self._values is None else self._first
            reward = own[seen] if own.ndim == 1 else own[self._group(cell), seen]
        if self._values is None:
            return np.asarray(reward)
        value = self._values[cell]
        return np.asarray(np.where(np.isnan(value), reward, value))

    def _group(self, cell: np.ndarray) -> np.ndarray:
        assert self._groups is not None
        return np.asarray(self._groups[cell])

    def _interval(self) -> float:
        """Give how many rewards to wait for the next estimate."""
        if self._idle:
            return float("inf")
        if self.refresh_every is not None:
            return self.refresh_every
        if self.estimator.streaming:
            return CHUNK
        if not isinstance(self.counts, AllTime):
            return SOON
        return max(SOON, (self.steps - self._since_refresh) // 10)

    def _forget(self, fresh: np.ndarray) -> None:
        self.counts.clear(fresh)
        if self._chunk is not None:
            self._chunk.clear(fresh)
        if self._window is not None:
            self._window.clear(fresh)
        if self._values is not None:
            self._values[fresh] = np.nan
            assert self._until is not None
            self._until[fresh] = 2
        if isinstance(self.estimator, StreamingDawidSkene):
            self.estimator.forget(fresh)

    def refresh(self) -> Self:
        """Estimate C again now, from all that is counted."""
        self._since_refresh = 0
        self._due = self._interval()
        # Most cells of a grid are never visited; they cost nothing.
        busy = self.counts.busy()
        rows = self.counts.rows(busy)
        if self._chunk is None:
            self.estimator.refresh_rows(rows, busy, self.cells.n)
        elif self._chunk.table().any() or not self.estimator.fitted:
            self.estimator.refresh(self._chunk.table())
            self._chunk = AllTime(self.cells.n, len(self.levels))
        try:
            self._table = self._surrogates()
        except SingularConfusionError:
            # Without n_eff an early estimate may have no inverse; the last good table stays.
            return self
        self._first = self._table
        if self.method == "posterior":
            self._values = np.full(self.cells.n, np.nan)
            self._until = np.full(self.cells.n, 2)
            self._value(busy, rows, self.estimator.posterior_of(busy))
            self._first = self._first_values()
        self.refreshes += 1
        self.ready = True
        self._look_up()
        return self

    def _value(self, cells: np.ndarray, rows: np.ndarray, posterior: np.ndarray) -> None:
        """Note the corrected rewards of these cells, good until their counts have doubled."""
        assert self._values is not None
        assert self._until is not None
        C, surrogate = np.asarray(self.estimator.confusion_), self._table
        if C.ndim == 3:
            groups = self._group(cells)
            C, surrogate = C[groups], surrogate[groups]
        self._values[cells] = cell_values(rows, posterior, C, surrogate, self.levels.values)
        self._until[cells] = np.maximum(rows.sum(axis=1), 1)

    def _renew(self, cells: np.ndarray) -> None:
        """Look at these cells again, without waiting for the next estimate of C.

        That one may be far off, and until then all that matters may happen in a cell that was
        hardly seen at the last one: the goal, once it is found.
        """
        rows = self.counts.rows(cells)
        C = np.asarray(self.estimator.confusion_)
        C = C if C.ndim == 2 else C[self._group(cells)]
        if self._chunk is None:
            posterior = level_posterior(rows, C, np.asarray(self.estimator.level_frequencies_))
        else:  # a stream knows more of these cells than the counts, which fade
            known = np.asarray(self.estimator.posterior_)[cells]
            posterior = level_posterior(self._chunk.rows(cells), C, known)
        if self._anchors:
            for i, cell in enumerate(cells.tolist()):
                if cell in self._anchors:
                    posterior[i] = np.eye(len(self.levels))[self._anchors[cell]]
        self._value(cells, rows, posterior)

    def _first_values(self) -> np.ndarray:
        """Give the posterior mean of a cell with one reward, for each observed level.

        A cell first seen since the last estimate gets it, as the next estimate would give it.
        A surrogate in its place would bring its full variance into every new region of the cells.
        """
        C = np.asarray(self.estimator.confusion_)
        joint = np.asarray(self.estimator.level_frequencies_)[..., None] * C
        shown = joint.sum(axis=-2)
        mean = (joint * self.levels.values[:, None]).sum(axis=-2)
        return np.asarray(np.where(shown > 0, mean / np.maximum(shown, 1e-300), self._table))

    def _surrogates(self) -> np.ndarray:
        known = isinstance(self.estimator, Known)
        return np.asarray(
            surrogate_values(
                self.estimator.confusion_,
                self.levels.values,
                eta=self.eta,
                n_eff=None if known else self.n_eff,
                level_prior=None if known else self.estimator.level_frequencies_,
            )
        )

    def _look_up(self) -> None:
        """Keep plain Python numbers beside the arrays: for one reward at a time they are faster."""
        flat = self._table.ndim == 1 and self._window is None
        self._quick_table: list[float] = self._table.tolist() if flat else []
        self._quick = self._quick_table if flat and self._values is None else None
        self._quick_values = self._values if flat else None
        self._quick_first: list[float] = self._first.tolist() if flat else []

    def config(self) -> dict[str, Any]:
        """Describe all settings in a form that JSON can hold."""
        return {
            "levels": self.levels.config(),
            "cells": self.cells.config(),
            "estimator": self.estimator.config(),
            "method": self.method,
            "refresh": self.refresh_every,
            "smooth": self.smooth,
            "eta": self.eta,
            "n_eff": self.n_eff,
            "d_min": self.d_min,
            "d_max": self.counts.d_max if isinstance(self.counts, LastPerCell) else None,
            "forget": self.counts.memory if isinstance(self.counts, Forgetting) else None,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> RewardCorrector:
        """Build the corrector that `config` described, with nothing seen yet."""
        settings = dict(config)
        try:
            levels = RewardLevels.from_config(settings.pop("levels"))
            cells = Cells.from_config(settings.pop("cells"))
            return cls(levels, cells, **settings)
        except (KeyError, TypeError) as error:
            raise StateMismatchError(
                f"the settings {sorted(config)} don't describe a corrector ({error})",
                "they are what config() gives",
                "save the corrector again with this version",
            ) from error

    def state_dict(self) -> dict[str, np.ndarray]:
        """Give all that was learned, as arrays: after loading it, work goes on bit for bit."""
        state = {
            "config": np.array(json.dumps(self.config(), sort_keys=True)),
            "counters": np.array(
                [
                    self.steps,
                    self._since_refresh,
                    self.refreshes,
                    self.clipped,
                    self.corrected,
                    int(self.ready),
                ]
            ),
            "table": self._table.copy(),
        }
        if self._values is not None:
            state["values"] = self._values.copy()
            state["first"] = self._first.copy()
            state["until"] = np.array(self._until)
        for name, part in self._parts().items():
            state.update({f"{name}/{key}": np.array(v) for key, v in part.state_dict().items()})
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave; the settings must be the same."""
        missing = {"config", "counters", "table"} - set(state)
        if "values" in state:
            missing |= {"first", "until"} - set(state)
        if missing:
            raise StateMismatchError(
                f"the state has no {', '.join(sorted(missing))}",
                "it is what state_dict() gives",
                "load a state that a RewardCorrector saved",
            )
        theirs = _settings(state)
        ours = json.loads(json.dumps(self.config()))
        wrong = [
            name for name in sorted(set(ours) | set(theirs)) if ours.get(name) != theirs.get(name)
        ]
        if wrong:
            raise StateMismatchError(
                f"the state was saved with another {', '.join(wrong)}",
                "a state is loaded into a corrector with the same settings",
                "use RewardCorrector.load(path), which builds the corrector as it was saved",
            )
        self._check_shapes(state)
        before = self.state_dict()
        try:
            self._take(state)
        except Exception:
            self._take(before)  # all of a state is loaded, or nothing
            raise

    def _check_shapes(self, state: Mapping[str, Any]) -> None:
        M, table = len(self.levels), np.shape(state["table"])
        grouped = self._groups is not None and len(table) == 2 and table[0] > self._groups.max()
        by_level = (table[0], M) if grouped else (M,)
        for name, shape in (
            ("counters", (_COUNTERS,)),
            ("table", by_level),
            ("first", by_level),
            ("values", (self.cells.n,)),
            ("until", (self.cells.n,)),
        ):
            if name in state and np.shape(state[name]) != shape:
                raise StateMismatchError(
                    f"{name!r} has shape {np.shape(state[name])}",
                    f"here it is {shape}",
                    "load a state that a RewardCorrector saved",
                )

    def _take(self, state: Mapping[str, Any]) -> None:
        for name, part in self._parts().items():
            prefix = f"{name}/"
            part.load_state_dict(
                {k[len(prefix) :]: np.asarray(v) for k, v in state.items() if k.startswith(prefix)}
            )
        counters = np.asarray(state["counters"]).tolist()
        (self.steps, self._since_refresh, self.refreshes, self.clipped, self.corrected, ready) = (
            counters
        )
        self.ready = bool(ready)
        self._due = self._interval()
        self._table = np.array(state["table"])
        self._values = np.array(state["values"]) if "values" in state else None
        self._first = self._table if self._values is None else np.array(state["first"])
        self._until = None if self._values is None else np.array(state["until"])
        self._look_up()

    def _parts(self) -> dict[str, Any]:
        parts: dict[str, Any] = {
            "cells": self.cells,
            "counts": self.counts,
            "estimator": self.estimator,
        }
        if self._chunk is not None:
            parts["chunk"] = self._chunk
        if self._window is not None:
            parts["window"] = self._window
        return parts

    def save(self, path: str | Path) -> Path:
        """Write settings and state to one .npz file, whole or not at all."""
        return _store.save_arrays(path, self.state_dict())

    @classmethod
    def load(cls, path: str | Path) -> RewardCorrector:
        """Build a corrector from a file that `save` wrote; it goes on where that one stopped."""
        state = _store.load_arrays(path, needs=("config", "counters", "table"))
        try:
            corrector = cls.from_config(_settings(state))
            corrector.load_state_dict(state)
        except UnperturbError as error:
            raise DamagedFileError(
                f"{path} holds no corrector ({error})",
                "it must be a file that RewardCorrector.save wrote",
                "restore it from a copy, or pass the right file",
            ) from error
        return corrector

    def __repr__(self) -> str:
        seen = f"{self.steps:,} rewards seen, {self.corrected:,} corrected"
        return f"RewardCorrector({self.levels}, {self.cells}, {self.method!r}: {seen})"


def _settings(state: Mapping[str, Any]) -> dict[str, Any]:
    try:
        settings = json.loads(str(np.asarray(state["config"])))
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise StateMismatchError(
            "the settings in the state can't be read",
            "they are the JSON text that state_dict() wrote",
            "load a state that a RewardCorrector saved",
        )
    return settings


def _known(confusion: Any, cells: Cells) -> Known:
    if isinstance(confusion, ConfusionSchedule):
        raise InvalidConfusionError(
            "the known confusion is a schedule",
            "a known matrix does not change with time",
            "use estimator='streaming', which follows the change",
        )
    if isinstance(confusion, Known):
        return confusion
    matrix = np.asarray(getattr(confusion, "matrix", confusion))
    if matrix.ndim != 3:
        return Known(matrix)
    if matrix.shape[0] != cells.states:
        raise InvalidConfusionError(
            f"there are {matrix.shape[0]} matrices for {cells.states:,} states",
            "state-dependent noise has one matrix for each state of the cells",
            "for coarser groups, pass confusion=estimators.Known(C, groups=...)",
        )
    return Known(matrix, groups=cells.state_of(np.arange(cells.n)))


def _groups_of(estimator: Estimator, cells: Cells) -> np.ndarray | None:
    if not isinstance(estimator, Hierarchical | Known):
        return None
    groups = estimator.groups
    if groups is not None and len(groups) != cells.n:
        raise BatchMismatchError(
            f"there are {len(groups)} groups' entries for {cells.n} cells",
            "each cell belongs to one group",
            "give one group index for each cell",
        )
    return groups
