"""Which (s, a) cell a transition belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from unperturb._codecs import (
    Codec,
    Grid,
    IntArray,
    Integer,
    codec_from_config,
    limited,
    whole,
)
from unperturb._spaces import codec_of_space
from unperturb.errors import (
    BatchMismatchError,
    InvalidCellsError,
    OutsideSpaceError,
    StateMismatchError,
)

_NOTHING: IntArray = np.empty(0, dtype=np.int64)
_NOTHING.flags.writeable = False


class Cells(ABC):
    """Numbers the state-action pairs, 0 .. n - 1; build one with the constructors below.

    Batches follow Gymnasium: an array of B rows for Discrete, Box, MultiDiscrete and MultiBinary
    spaces, a tuple or a dict of such batches for Tuple and Dict spaces. An empty list is an empty
    batch of any of them.

    Example:
        >>> cells = Cells.grid(low=[0.0, 0.0], high=[1.0, 1.0], bins=10, actions=2)
        >>> cells
        Cells(100 grid cells over 2 numbers (10 x 10 bins) times 2 actions)
        >>> cells.index([[0.0, 0.0], [0.95, 0.95]], [0, 1])
        array([  0, 199])
        >>> cells.index_one([0.95, 0.95], 1)
        199
    """

    n: int
    """The number of cells."""
    states: int
    """The number of states, to group cells by state where the noise depends on it."""
    sees_states: bool = True
    """Whether observations matter; the adjacency queue goes by their order alone."""
    sees_next: bool = False
    """Whether the next observation is part of the key."""
    fresh: IntArray = _NOTHING
    """The cells that the last call opened anew: forget their old counts before adding new ones."""

    @abstractmethod
    def index(
        self, observations: Any, actions: Any = None, next_observations: Any = None
    ) -> IntArray:
        """Give the cell of each of B transitions."""

    @abstractmethod
    def index_one(self, observation: Any, action: Any = None, next_observation: Any = None) -> int:
        """Give the cell of one transition: the same number as `index`, sooner."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """Describe the cells in values that JSON can hold; `from_config` reads it back."""

    @abstractmethod
    def describe(self) -> str:
        """Describe the cells in one short sentence."""

    def state_of(self, cells: Any) -> Any:
        """Give the state of a cell, or of each cell of an array.

        Example:
            >>> Cells.discrete(states=3, actions=2).state_of(5)
            2
        """
        return cells // (self.n // self.states)

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        """Give what changes from call to call: nothing, but for the adjacency queue."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        if len(state):
            raise StateMismatchError(
                f"the state holds {sorted(state)}", "these cells have no state", "load it elsewhere"
            )

    def __eq__(self, other: object) -> bool:
        return self.config() == other.config() if isinstance(other, Cells) else NotImplemented

    def __repr__(self) -> str:
        return f"Cells({self.describe()})"

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> Cells:
        """Build the cells that a `config()` describes.

        Example:
            >>> Cells.from_config(Cells.cartpole().config()) == Cells.cartpole()
            True
        """
        try:
            options = dict(config)
            if options.pop("kind") == "adjacent":
                return _AdjacentCells(**options)
            action = options.pop("action")
            return _SpaceCells(
                codec_from_config(options.pop("state"), "observation"),
                None if action is None else codec_from_config(action, "action"),
                **options,
            )
        except InvalidCellsError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidCellsError(
                f"{config!r} describes no cells ({error!r})",
                "a description has the form that config() gives",
                "pass what config() gave",
            ) from None

    @staticmethod
    def grid(low: Any, high: Any, bins: Any, actions: Any = 2, next_state: bool = False) -> Cells:
        """Cut a box of numbers into equal bins; values outside fall into the edge bins.

        Args:
            low: the lower bound, a number or one for each dimension.
            high: the upper bound, likewise.
            bins: how many bins, a number or one for each dimension.
            actions: how many discrete actions there are; `(low, high, bins)` for continuous ones;
                0, 1 or None leaves the action out of the key.
            next_state: whether the next state is part of the key.

        Example:
            >>> Cells.grid(-1.0, 1.0, bins=[4, 5], actions=(-2.0, 2.0, 20)).n
            400
        """
        return _SpaceCells(Grid(low, high, bins), _action_codec(actions), next_state)

    @staticmethod
    def discrete(states: int, actions: Any, next_state: bool = False) -> Cells:
        """Give each of finitely many states its own cells; the arguments are those of `grid`.

        Example:
            >>> Cells.discrete(states=16, actions=4).index([0, 15], [1, 3])
            array([ 1, 63])
        """
        return _SpaceCells(Integer(states), _action_codec(actions), next_state)

    @staticmethod
    def of(
        env: Any,
        bins: Any = None,
        next_state: bool = False,
        action_bins: Any = None,
        sample: Any = None,
    ) -> Cells:
        """Choose cells from the spaces of an environment, or of a vector environment.

        Discrete, MultiDiscrete and MultiBinary spaces are kept exactly, a Box becomes a grid, and
        Tuple and Dict spaces join the cells of their parts.

        Args:
            env: anything with an `observation_space` and an `action_space`.
            bins: bins of each Box, a number or one for each dimension. By default 10, or as many
                as keep the Box at or below 100,000 cells, but at least 2.
            next_state: whether the next state is part of the key.
            action_bins: the same for actions. By default 20, or as many as keep them at or below
                400 cells, but at least 2.
            sample: a batch of observations. A dimension without a bound takes it from there,
                widened by a tenth of the range seen.

        Example:
            >>> import gymnasium as gym
            >>> Cells.of(gym.make("FrozenLake-v1")).describe()
            '16 states times 4 actions'
        """
        single = "single_" if hasattr(env, "single_observation_space") else ""
        try:
            observation_space = getattr(env, f"{single}observation_space")
            action_space = getattr(env, f"{single}action_space")
        except AttributeError:
            raise InvalidCellsError(
                f"{env!r} lacks spaces",
                "cells are chosen from an observation_space and an action_space",
                "pass a Gymnasium environment",
            ) from None
        state = codec_of_space(observation_space, bins, (10, 100_000), sample, "observation")
        action = codec_of_space(action_space, action_bins, (20, 400), None, "action")
        return _SpaceCells(state, action, next_state)

    @staticmethod
    def adjacent(batch: int = 32, memory: int = 1000, envs: int = 1) -> Cells:
        """Take adjacent observations as one state, for images (the paper, Section 4.2).

        What the observations show is ignored, and so are the actions.

        Args:
            batch: how many adjacent observations of one environment are one state.
            memory: how many states are kept; then the oldest is overwritten, and `fresh` names it.
            envs: how many environments take turns: rows are step-major.

        Example:
            >>> cells = Cells.adjacent(batch=2, memory=3)
            >>> [cells.index_one(None) for _ in range(7)], cells.fresh
            ([0, 0, 1, 1, 2, 2, 0], array([0]))
        """
        return _AdjacentCells(batch, memory, envs)

    @staticmethod
    def cartpole() -> Cells:
        """Give the grid of the paper's released code for CartPole.

        Example:
            >>> Cells.cartpole().describe()
            '6,400 grid cells over 4 numbers (8 x 8 x 10 x 10 bins) times 2 actions'
        """
        high = [2.4, 1.0, 2.0, 3.5]
        return Cells.grid([-x for x in high], high, [8, 8, 10, 10], actions=2)

    @staticmethod
    def pendulum() -> Cells:
        """Give the paper's grid for Pendulum (its appendix on continuous states).

        Example:
            >>> Cells.pendulum().n
            320000
        """
        high = [1.0, 1.0, 8.0]
        return Cells.grid([-x for x in high], high, [20, 20, 40], actions=(-2.0, 2.0, 20))


class _SpaceCells(Cells):
    """Cells whose key is s, or (s, a), or (s, a, s')."""

    def __init__(self, state: Codec, action: Codec | None, next_state: bool) -> None:
        if not isinstance(next_state, bool):
            raise InvalidCellsError(f"next_state is {next_state!r}", "True or False", "pass one")
        self._state = state
        self._action = action
        self._next = self.sees_next = next_state
        self.states = state.size
        self._actions = action.size if action else 1
        factors = [self.states, self._actions] + [self.states] * next_state
        self.n = limited(factors, self.describe())

    def index(
        self, observations: Any, actions: Any = None, next_observations: Any = None
    ) -> IntArray:
        # A new array even when there is one action only: a codec may hand its input back.
        key: IntArray = self._state.batch(observations) * self._actions
        if self._action is not None:
            if actions is None:
                raise self._missing("actions")
            key += self._same_length(key, self._action.batch(actions), "actions")
        if self._next:
            if next_observations is None:
                raise self._missing("next_observations")
            after = self._state.batch(next_observations)
            key *= self.states
            key += self._same_length(key, after, "next_observations")
        return key

    def index_one(self, observation: Any, action: Any = None, next_observation: Any = None) -> int:
        key = self._state.one(observation)
        if self._action is not None:
            if action is None:
                raise self._missing("action")
            key = key * self._actions + self._action.one(action)
        if self._next:
            if next_observation is None:
                raise self._missing("next_observation")
            key = key * self.states + self._state.one(next_observation)
        return key

    def config(self) -> dict[str, Any]:
        action = None if self._action is None else self._action.config()
        state = self._state.config()
        return {"kind": "space", "state": state, "action": action, "next_state": self._next}

    def describe(self) -> str:
        action = f" times {self._action.describe()}" if self._action else ""
        after = f" times {self.states:,} next states" if self._next else ""
        return f"{self._state.describe()}{action}{after}"

    @staticmethod
    def _same_length(key: IntArray, codes: IntArray, name: str) -> IntArray:
        if len(key) != len(codes):
            raise BatchMismatchError(
                f"{len(key)} observations and {len(codes)} {name}",
                "each transition has one of both",
                "pass batches of equal length",
            )
        return codes

    @staticmethod
    def _missing(name: str) -> OutsideSpaceError:
        return OutsideSpaceError(
            f"{name} is None", "it is part of the key of these cells", f"pass {name}=..."
        )


class _AdjacentCells(Cells):
    """The adjacency queue: a ring of `memory` states, each of `batch` observations in a row."""

    sees_states = False

    def __init__(self, batch: int, memory: int, envs: int) -> None:
        self.batch = whole(batch, 1, "batch")
        self.envs = whole(envs, 1, "envs")
        self.n = self.states = limited([whole(memory, 1, "memory")], "memory")
        if self.n < self.envs:
            raise InvalidCellsError(
                f"memory is {memory} with {envs} environments",
                "each environment fills a state of its own",
                f"pass memory >= {envs}",
            )
        self._rows = 0  # rows ever seen: it alone determines which state comes next

    def index(
        self, observations: Any, actions: Any = None, next_observations: Any = None
    ) -> IntArray:
        """Give the state of each row; len(observations) must be a multiple of `envs`."""
        while isinstance(observations, tuple | Mapping) and observations:
            parts = observations.values() if isinstance(observations, Mapping) else observations
            observations = next(iter(parts))
        if not hasattr(observations, "__len__"):
            raise OutsideSpaceError(
                f"observations is {observations!r}", "a batch has rows", "pass a batch"
            )
        count = len(observations)
        if count % self.envs:
            raise BatchMismatchError(
                f"a batch of {count} rows for {self.envs} environments",
                "a batch holds whole steps of all environments",
                f"pass a multiple of {self.envs} rows",
            )
        rows = self._rows + np.arange(count, dtype=np.int64)
        steps, env = np.divmod(rows, self.envs)
        states = steps // self.batch * self.envs + env
        if count and int(states.max()) - int(states.min()) >= self.n:
            raise BatchMismatchError(
                f"a batch of {count} rows",
                f"one call may not overwrite its own states, of which {self.n} are kept",
                "pass shorter batches or keep more memory",
            )
        self._rows += count
        opened = states[(steps % self.batch == 0) & (states >= self.n)]
        self.fresh = opened % self.n if opened.size else _NOTHING
        return states % self.n

    def index_one(self, observation: Any, action: Any = None, next_observation: Any = None) -> int:
        step, env = divmod(self._rows, self.envs)
        block, place = divmod(step, self.batch)
        state = block * self.envs + env
        self._rows += 1
        slot = state % self.n
        reused = place == 0 and state >= self.n
        self.fresh = np.array([slot], dtype=np.int64) if reused else _NOTHING
        return slot

    def config(self) -> dict[str, Any]:
        return {"kind": "adjacent", "batch": self.batch, "memory": self.n, "envs": self.envs}

    def describe(self) -> str:
        envs = f" in each of {self.envs} environments" if self.envs > 1 else ""
        return f"the last {self.n:,} groups of {self.batch} adjacent observations{envs}"

    def state_dict(self) -> dict[str, npt.NDArray[Any]]:
        return {"rows": np.array(self._rows, dtype=np.int64)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        rows = np.asarray(state["rows"]) if state.keys() == {"rows"} else np.array(-1)
        if rows.shape != () or rows.dtype.kind not in "iu" or rows < 0:
            raise StateMismatchError(
                f"the state holds {dict(state)!r}",
                "the adjacency queue needs rows, one whole number >= 0",
                "load what state_dict() of such cells gave",
            )
        self._rows = int(rows)
        self.fresh = _NOTHING


def _action_codec(actions: Any) -> Codec | None:
    if isinstance(actions, tuple | list):
        if len(actions) != 3:
            raise InvalidCellsError(
                f"actions is {actions!r}", "binned actions are (low, high, bins)", "pass all three"
            )
        low, high, bins = actions
        return Grid(low, high, bins, what="action")
    number = 0 if actions is None else whole(actions, 0, "actions")
    return Integer(number, what="action") if number > 1 else None
