"""The corrector itself: counts each reward, looks it up, and estimates again when it is due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from unperturb.cells import Cells
from unperturb.corrector import options
from unperturb.corrector import state as states
from unperturb.corrector.estimation import Estimation
from unperturb.corrector.lookup import ByCell, LookUp, Tables, by_level
from unperturb.corrector.memory import Memory
from unperturb.corrector.options import Method
from unperturb.corrector.schedule import schedule
from unperturb.corrector.smoothing import Smoothed
from unperturb.corrector.values import CellValues
from unperturb.counts import AllTime, Counts, Forgetting, LastPerCell
from unperturb.errors import BatchMismatchError, SingularConfusionError, StateMismatchError
from unperturb.estimators import Estimator, Known
from unperturb.estimators.streaming import StreamingDawidSkene
from unperturb.levels import RewardLevels
from unperturb.surrogate import surrogate_values


class RewardCorrector(states.Saved):
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
        options.check_parts(levels, cells)
        options.check_method(method)
        options.check_memory(d_max, forget)
        surrogate_values(np.eye(len(levels)), levels, eta, n_eff)  # checks eta and n_eff now
        self.levels = levels
        self._continuous = levels.continuous
        self.cells = cells
        self.method: Method = method
        self.eta = float(eta)
        self.n_eff = None if n_eff is None else float(n_eff)
        self.d_min = options.number_of_rewards("d_min", d_min)
        self.smooth = options.number_or_none("smooth", smooth)
        self.refresh_every = options.number_or_none("refresh", refresh)
        chosen = options.estimator_for(estimator, confusion, cells, levels)
        if isinstance(chosen, StreamingDawidSkene) and d_max is None and forget is None:
            # Old counts were shown by another C; they would fail the cells' tests.
            forget = chosen.memory
        self._groups = options.groups_of(chosen)
        self._memory = Memory(
            cells.n,
            len(levels),
            d_max=d_max,
            forget=forget,
            smooth=self.smooth,
            chunks=chosen.streaming,
        )
        self._estimation = Estimation(
            chosen, self._groups, self._memory, levels, self.eta, self.n_eff
        )
        self._schedule = schedule(
            chosen,
            refresh=self.refresh_every,
            d_min=self.d_min,
            keeps_all=isinstance(self.counts, AllTime),
            follows_cells=method == "posterior",
        )
        self.steps = 0
        """Rewards seen."""
        self.clipped = 0
        """Rewards outside the range of the levels, clipped into it."""
        self.corrected = 0
        """Rewards given back corrected; the others came before there was an estimate."""
        self.refreshes = 0
        """Estimates made."""
        self._last = 0
        self._due = self._schedule.due(0)
        # A known C is ready at once.
        self.ready = isinstance(chosen, Known)
        """Whether rewards are being corrected yet."""
        self._table = self._estimation.surrogates() if self.ready else levels.values.copy()
        self._first = self._table
        self._values: CellValues | None = None
        self._look_up = self._make_look_up()

    def _make_look_up(self) -> LookUp:
        own: LookUp
        if self._memory.window is not None:
            own = Smoothed(self._memory.window, self._table, self._groups)
        else:
            own = by_level(self._first, self._groups)
        return own if self._values is None else ByCell(self._values.values, own)

    @property
    def estimator(self) -> Estimator:
        """What estimates C, or knows it."""
        return self._estimation.estimator

    @property
    def counts(self) -> Counts:
        """How often each cell showed each level, as the estimator sees it."""
        return self._memory.counts

    @property
    def confusion(self) -> np.ndarray:
        """The confusion matrix in use: the identity until there is an estimate."""
        return self._estimation.confusion.copy() if self.ready else np.eye(len(self.levels))

    @property
    def surrogate(self) -> np.ndarray:
        """The value given for each observed level, (M,), or (groups, M)."""
        return self._table.copy()

    @property
    def tables(self) -> Tables:
        """What rewards are looked up in at present, for whoever compiles that.

        All stay until the next estimate, but for the values of cells whose counts double.
        """
        values = None if self._values is None else self._values.values.copy()
        return Tables(self._table.copy(), self._first.copy(), values)

    @property
    def until_refresh(self) -> float:
        """How many more rewards there are until the next estimate."""
        return max(self._due - self.steps, 1)

    def __call__(
        self, observations: Any, actions: Any, rewards: Any, next_observations: Any = None
    ) -> np.ndarray:
        """Count a batch of observed rewards and give back the corrected ones.

        An empty batch changes nothing, and gives an empty array.
        """
        given = np.asarray(rewards, dtype=np.float64)
        seen = self.levels.index(given)
        before = self.cells.state_dict()
        cell = self.cells.index(observations, actions, next_observations)
        if given.shape != cell.shape:
            self.cells.load_state_dict(before)  # the adjacency queue has moved on
            raise _unequal(given, cell)
        return self._count(cell, seen, given)

    def take(self, cell: np.ndarray, seen: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Do the same for rewards whose cells and levels were looked up already."""
        cell, seen = self.counts.check(cell, seen)
        if given.shape != cell.shape:
            raise _unequal(given, cell)
        return self._count(cell, seen, given)

    def _count(self, cell: np.ndarray, seen: np.ndarray, given: np.ndarray) -> np.ndarray:
        if self._continuous:
            self.clipped += self.levels.outside(given)
        if len(self.cells.fresh):
            self._forget(self.cells.fresh)
        self._memory.add(cell, seen)
        self.steps += len(seen)
        if self.steps >= self._due:
            self.refresh()
        elif self._values is not None:
            worn = self._values.worn(cell)
            if len(worn):
                self._estimation.renew(self._values, worn, self._table)
        if self.ready:
            self.corrected += len(seen)
        elif self.smooth is None:
            return given.copy()
        return self._look_up.many(cell, seen)

    def one(
        self, observation: Any, action: Any, reward: float, next_observation: Any = None
    ) -> float:
        """Correct a single reward: the same as a batch of one, several times faster."""
        seen = self.levels.index_one(reward)
        cell = self.cells.index_one(observation, action, next_observation)
        if self._continuous:
            self.clipped += self.levels.outside(reward)
        if len(self.cells.fresh):
            self._forget(self.cells.fresh)
        self._memory.add_one(cell, seen)
        self.steps += 1
        if self.steps >= self._due:
            self.refresh()
        elif self._values is not None and self._values.wears_out(cell):
            self._estimation.renew(self._values, np.array([cell]), self._table)
        if self.ready:
            self.corrected += 1
        elif self.smooth is None:
            return float(reward)
        return self._look_up.one(cell, seen)

    def _forget(self, cells: np.ndarray) -> None:
        self._estimation.forget(cells)
        if self._values is not None:
            self._values.forget(cells)

    def refresh(self) -> Self:
        """Estimate C again now, from all that is counted."""
        self._last = self.steps
        self._due = self._schedule.due(self._last)
        seen = self._estimation.run()
        try:
            self._table = self._estimation.surrogates()
        except SingularConfusionError:
            # Without n_eff an early estimate may have no inverse; the last good table stays.
            return self
        self._first = self._table
        if self.method == "posterior":
            self._values = self._estimation.values(seen, self._table)
            self._first = self._estimation.first_values(self._table)
        self.refreshes += 1
        self.ready = True
        self._look_up = self._make_look_up()
        return self

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

    def _arrays(self) -> states.Arrays:
        since = self.steps - self._last
        counters = [self.steps, since, self.refreshes, self.clipped, self.corrected, self.ready]
        arrays = {"counters": np.array(counters, dtype=np.int64), "table": self._table.copy()}
        if self._values is not None:
            arrays["values"] = self._values.values.copy()
            arrays["first"] = self._first.copy()
            arrays["until"] = self._values.until.copy()
        return arrays

    def _parts(self) -> dict[str, Any]:
        return {"cells": self.cells, "estimator": self.estimator, **self._memory.parts()}

    def _check(self, state: Mapping[str, Any]) -> None:
        states.check_shapes(state, len(self.levels), self.cells.n, self._groups)

    def _take(self, state: Mapping[str, Any]) -> None:
        counters = np.asarray(state["counters"]).tolist()
        self.steps, since, self.refreshes, self.clipped, self.corrected, ready = counters
        self.ready = bool(ready)
        self._last = self.steps - since
        self._due = self._schedule.due(self._last)
        self._table = self._first = np.array(state["table"])
        self._values = None
        if "values" in state:
            self._values = CellValues(np.array(state["values"]), np.array(state["until"]))
            self._first = np.array(state["first"])
        self._look_up = self._make_look_up()

    def __repr__(self) -> str:
        seen = f"{self.steps:,} rewards seen, {self.corrected:,} corrected"
        return f"RewardCorrector({self.levels}, {self.cells}, {self.method!r}: {seen})"


def _unequal(given: np.ndarray, cell: np.ndarray) -> BatchMismatchError:
    return BatchMismatchError(
        f"{given.shape} rewards for {len(cell)} transitions",
        "there is one reward for each transition, in a flat array",
        "pass arrays of equal length",
    )
