"""What lies between the rewards of one run and its agent: noise and correction, by the rollout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from unperturb.cells import Cells
from unperturb.confusion import ConfusionMatrix
from unperturb.counts import LastPerCell
from unperturb.lab.training import Lane
from unperturb.levels import RewardLevels


class RewardStream:
    """Shows a run its rewards through the noise and, where the lane says so, corrected.

    Rollouts are (steps, envs), counted in the order in which they were played. What is given for a
    cell, a mean or a posterior, rests on all its rewards of the same rollout, later ones too.

    Args:
        levels: The reward levels.
        cells: Which transitions share a true reward; None where nothing needs to know.
        lane: The noise, and what the agent is shown.
        smooth: Give the mean of the last so many rewards of a cell.

    Example:
        >>> lane = Lane(seed=0, noise=np.array([[1.0, 0.0], [0.4, 0.6]]))
        >>> stream = RewardStream(RewardLevels([0.0, 1.0]), None, lane)
        >>> shown = stream.show(np.ones((500, 4)), np.zeros((500, 4)), np.zeros((500, 4)))
        >>> round(float(shown.mean()), 1)
        0.6
    """

    def __init__(
        self, levels: RewardLevels, cells: Cells | None, lane: Lane, smooth: int | None = None
    ) -> None:
        self._levels, self._lane = levels, lane
        # The adjacency queue moves with what it is shown: each run has one of its own.
        self._cells = None if cells is None else Cells.from_config(cells.config())
        self._noise = ConfusionMatrix(lane.noise)
        # A stream of its own, apart from those of the environments and the agent.
        self._rng = np.random.default_rng([lane.seed, 1])
        self._window = None
        if smooth is not None and cells is not None:
            self._window = LastPerCell(cells.n, len(levels), smooth)
        self._t = 0
        self.confusion = [np.eye(len(levels))]
        """C estimated, before the first step and after each rollout in which that was done."""
        self.estimated = [0]
        """The steps of all environments after which it was."""

    def show(self, rewards: Any, observations: Any, actions: Any) -> np.ndarray:
        """Give what the agent learns from in place of true rewards."""
        true = np.asarray(rewards, np.float64)
        seen = self._noise.draw(self._levels.index(true).ravel(), self._rng).reshape(true.shape)
        self._t += true.size
        lane = self._lane
        if lane.raw:
            return true
        table = self._levels.values if lane.table is None else lane.table
        if lane.corrector is None and self._window is None:
            return np.asarray(table[seen])
        assert self._cells is not None
        given = np.empty_like(true)
        first = 0
        while first < len(true):
            last = len(true)
            if lane.corrector is not None:
                # C is estimated at steps of its own, whatever the length of a rollout, and serves
                # from that very step on: it goes by itself.
                wait = min(lane.corrector.until_refresh, true.size)
                last = min(last, first + max(1, -int(-wait // true.shape[1]) - 1))
            part = slice(first, last)
            given[part] = self._part(seen[part], observations, actions, part).reshape(
                last - first, -1
            )
            first = last
        return given

    def _part(self, seen: np.ndarray, observations: Any, actions: Any, part: slice) -> np.ndarray:
        assert self._cells is not None
        own, corrector = seen.ravel(), self._lane.corrector
        cells = self._cells if corrector is None else corrector.cells
        where, what = own, own  # the adjacency queue goes by the order of rows alone
        if cells.sees_states:
            where, what = (
                np.asarray(x[part]).reshape(own.size, *x.shape[2:]) for x in (observations, actions)
            )
        table = self._levels.values if self._lane.table is None else self._lane.table
        if corrector is not None:
            before = corrector.refreshes
            given = corrector(where, what, self._levels.values[own])
            if corrector.refreshes > before:
                self.confusion.append(corrector.confusion)
                self.estimated.append(self._t)
            if self._window is None:
                return given
            table = corrector.surrogate
        assert self._window is not None
        cell = self._cells.index(where, what)
        if len(self._cells.fresh):
            self._window.clear(self._cells.fresh)
        self._window.add(cell, own)
        counts = self._window.rows(cell)
        return np.asarray(counts @ table / counts.sum(axis=1))

    def state_dict(self) -> dict[str, np.ndarray]:
        """Give all that changes, as plain arrays."""
        state = {
            "t": np.array(self._t),
            "rng": np.array(json.dumps(self._rng.bit_generator.state)),
            "confusion": np.stack(self.confusion),
            "estimated": np.array(self.estimated),
        }
        for name, part in self._parts().items():
            state |= {f"{name}/{key}": value for key, value in part.state_dict().items()}
        return state

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from what `state_dict` gave."""
        self._t = int(state["t"])
        self._rng.bit_generator.state = json.loads(str(state["rng"]))
        self.confusion, self.estimated = list(state["confusion"]), state["estimated"].tolist()
        for name, part in self._parts().items():
            prefix = f"{name}/"
            part.load_state_dict(
                {k[len(prefix) :]: v for k, v in state.items() if k.startswith(prefix)}
            )

    def _parts(self) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        if self._lane.corrector is not None:
            parts["corrector"] = self._lane.corrector
        if self._window is not None:
            parts["window"] = self._window
            parts["cells"] = self._cells
        return parts
