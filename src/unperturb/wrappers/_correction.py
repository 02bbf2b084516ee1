"""What every CorrectReward does, whatever kind of environment it wraps."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import numpy as np

from unperturb.audit import RewardAudit
from unperturb.cells import Cells
from unperturb.corrector import RewardCorrector
from unperturb.errors import InvalidCellsError, InvalidOptionError, NotFittedError
from unperturb.levels import RewardLevels
from unperturb.wrappers._arguments import Levels, cells_of, levels_of, plain
from unperturb.wrappers._batches import joined, kept
from unperturb.wrappers._choice import FIRST, choose_cells, refuse_cells_to_come

log = logging.getLogger("unperturb")


class Correction:
    """A corrector, or what is needed to make one once the first observations were seen."""

    def __init__(
        self,
        env: Any,
        num_envs: int,
        levels: Levels | None,
        cells: Cells | Mapping[str, Any] | None,
        corrector: RewardCorrector | Mapping[str, Any] | None,
        options: dict[str, Any],
    ) -> None:
        self.corrector: RewardCorrector | None = None
        self._spaces = env
        self._num_envs = num_envs
        self._options = options
        self._first: list[tuple[Any, Any, Any]] = []
        self._rows = 0
        if corrector is not None:
            self.levels = self._share(corrector, levels, cells)
            return
        if levels is None:
            raise InvalidOptionError(
                "neither levels nor a corrector is given",
                "rewards are corrected by their levels",
                "write CorrectReward(env, [-1.0, 1.0]) or CorrectReward(env, corrector=corrector)",
            )
        self.levels = levels_of(levels)
        chosen = choose_cells(env, num_envs) if cells is None else cells_of(cells)
        if chosen is not None:
            self._make(chosen, given=cells is not None)
            return
        # Wrong options shall not wait for the first observations.
        refuse_cells_to_come(options)
        RewardCorrector(self.levels, Cells.discrete(1, 1), **options)
        log.info(
            "CorrectReward looks at the first %d observations to choose its cells, since the space "
            "has no bounds; until then rewards are passed through (or pass cells=)",
            FIRST,
        )

    def _share(
        self,
        corrector: RewardCorrector | Mapping[str, Any],
        levels: Levels | None,
        cells: Cells | Mapping[str, Any] | None,
    ) -> RewardLevels:
        if isinstance(corrector, Mapping):
            corrector = RewardCorrector.from_config(corrector)
        more = list(self._options) + ["cells"] * (cells is not None)
        if more or (levels is not None and levels_of(levels) != corrector.levels):
            raise InvalidOptionError(
                f"a corrector is given together with {', '.join(more) or 'other levels'}",
                "a corrector has its own levels, cells and settings",
                "write CorrectReward(env, corrector=corrector)",
            )
        self._check(corrector.cells)
        self.corrector = corrector
        return corrector.levels

    def _check(self, cells: Cells) -> None:
        envs = getattr(cells, "envs", self._num_envs)
        if self._num_envs > 1 and envs != self._num_envs:
            raise InvalidCellsError(
                f"adjacent observations of {envs} environments, and there are {self._num_envs}",
                "each environment has its own adjacent observations",
                f"write Cells.adjacent(envs={self._num_envs})",
            )

    def _make(self, cells: Cells, given: bool) -> None:
        self._check(cells)
        self.corrector = RewardCorrector(self.levels, cells, **self._options)
        if not given:
            log.info("CorrectReward chose %s; pass cells= to choose yourself", cells.describe())

    @property
    def cells(self) -> Cells | None:
        """The cells in use, once there are any."""
        return None if self.corrector is None else self.corrector.cells

    @property
    def sees_states(self) -> bool:
        """Whether observations matter."""
        return self.corrector is None or self.corrector.cells.sees_states

    @property
    def sees_next(self) -> bool:
        """Whether next observations matter."""
        return self.corrector is not None and self.corrector.cells.sees_next

    def recorded(
        self, cells: Any, corrector: RewardCorrector | Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """Give the arguments for `env.spec`: settings, never what was learned."""
        if corrector is not None:
            assert self.corrector is not None
            return {"corrector": self.corrector.config()}
        options = {name: plain(value) for name, value in self._options.items()}
        return {"levels": plain(self.levels), "cells": plain(cells), **options}

    def one(self, before: Any, action: Any, reward: float, after: Any) -> float:
        """Correct the reward of one transition."""
        if self.corrector is not None:
            return self.corrector.one(before, action, reward, after)
        self._wait(before, action, reward, 1, np.stack)
        return reward

    def batch(
        self, before: Any, actions: Any, rewards: np.ndarray, after: Any, where: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Correct the rewards of a batch and give their levels, too.

        Rows where `where` is False are no transitions: an environment was just reset there. They
        are neither counted nor corrected, and their level is 0.
        """
        if where is None:
            level = self.levels.index(rewards)
            if self.corrector is not None:
                cell = self.corrector.cells.index(before, actions, after)
                return self.corrector.take(cell, level, rewards), level
            rows = np.arange(len(rewards))
        else:
            rows = np.flatnonzero(where)
            own, result = rewards[rows], rewards.copy()
            seen = self.levels.index(own)
            level = np.zeros(len(rewards), dtype=np.int64)
            level[rows] = seen
            if self.corrector is not None:
                cell = self.corrector.cells.index(before, actions, after)
                result[rows] = self.corrector.take(cell[rows], seen, own)
                return result, level
        states, acts = (joined([part], lambda one: one[0][rows]) for part in (before, actions))
        self._wait(states, acts, rewards[rows], len(rows), np.concatenate)
        return rewards.copy(), level

    def _wait(self, before: Any, action: Any, reward: Any, rows: int, join: Any) -> None:
        # The action may be the caller's own array, to be filled with the next one.
        self._first.append((before, kept(action), reward))
        self._rows += rows
        self._join = join
        if self._rows >= FIRST:
            self.corrector = self._from_first()
            self._first = []
            log.info(
                "CorrectReward chose %s from the first %d observations; pass cells= to choose "
                "yourself",
                self.corrector.cells.describe(),
                self._rows,
            )

    def _from_first(self) -> RewardCorrector:
        befores, actions, rewards = zip(*self._first, strict=True)
        sample = joined(befores, self._join)
        cells = choose_cells(self._spaces, self._num_envs, sample)
        assert cells is not None
        corrector = RewardCorrector(self.levels, cells, **self._options)
        corrector(sample, joined(actions, self._join), joined(rewards, self._join))
        return corrector

    def audit(self) -> RewardAudit:
        """Audit what was seen so far."""
        if self.corrector is not None:
            return RewardAudit.of(self.corrector)
        if not self._rows:
            raise NotFittedError(
                "no rewards were seen",
                "an audit needs observations",
                "run some steps of the environment first",
            )
        return RewardAudit.of(self._from_first())

    def describe(self) -> str:
        """Say which cells are in use."""
        cells = self.cells
        return f"cells from the first {FIRST} observations" if cells is None else cells.describe()


class Corrects:
    """What every wrapper that corrects can be asked."""

    _correction: Correction

    @property
    def levels(self) -> RewardLevels:
        """The reward levels."""
        return self._correction.levels

    @property
    def cells(self) -> Cells | None:
        """The cells in use; None until they are chosen."""
        return self._correction.cells

    @property
    def corrector(self) -> RewardCorrector | None:
        """The corrector, to share, save or ask; None until the cells are chosen."""
        return self._correction.corrector

    def audit(self) -> RewardAudit:
        """Say how the reward lies, how sure that is, and what to do."""
        return self._correction.audit()
