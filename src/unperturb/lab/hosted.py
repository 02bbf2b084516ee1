"""Training in environments of Gymnasium: the same agents and lanes as in the compiled loop.

The environments step in Python, one for each lane; acting and learning are compiled over all lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from unperturb.agents import Agent, Observation, Transition
from unperturb.cells import Cells
from unperturb.confusion import ConfusionMatrix
from unperturb.counts import LastPerCell
from unperturb.lab.envs.compiled import Sample
from unperturb.lab.training import Lane, Outcome, streams
from unperturb.levels import RewardLevels

_TELL = 100


class Hosted(NamedTuple):
    """An environment of Gymnasium by its id.

    Attributes:
        name: Its id.
        observation_space: Its observations.
        action_space: Its actions.

    Example:
        >>> hosted("FrozenLake-v1").width
        16
    """

    name: str
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]

    @property
    def width(self) -> int:
        """How many numbers the features are."""
        return int(gym.spaces.flatdim(self.observation_space))


def hosted(name: str) -> Hosted:
    """Look at an environment of Gymnasium."""
    with gym.make(name) as env:
        return Hosted(name, env.observation_space, env.action_space)


def sample(name: str, count: int = 500) -> Sample:
    """Play at random.

    Example:
        >>> sample("CartPole-v1", count=20).observations.shape
        (20, 4)
    """
    observations, rewards = [], []
    with gym.make(name) as env:
        env.action_space.seed(0)
        env.reset(seed=0)
        for _ in range(count):
            observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            observations.append(np.asarray(observation))
            rewards.append(float(reward))
            if terminated or truncated:
                env.reset()
    return Sample(np.stack(observations), np.array(rewards))


class HostedTrainer:
    """Trains lanes in an environment of Gymnasium; `run` is that of `Trainer`.

    Example:
        >>> from unperturb.agents import AGENTS, Task
        >>> env, levels = hosted("FrozenLake-v1"), RewardLevels([0.0, 1.0])
        >>> cells = Cells.discrete(16, 4)
        >>> agent = AGENTS["q-learning"](Task(16, 4, cells=16), 50)
        >>> trainer = HostedTrainer(env, agent, levels, cells)
        >>> len(trainer.run([Lane(seed, np.eye(2)) for seed in range(2)], steps=50))
        2
    """

    resumes = False
    """Whether a run that was stopped goes on from a checkpoint."""

    def __init__(
        self,
        env: Hosted,
        agent: Agent,
        levels: RewardLevels,
        cells: Cells | None,
        smooth: int | None = None,
    ) -> None:
        self.env, self.agent, self.levels, self.cells = env, agent, levels, cells
        self.smooth = smooth
        self._init = jax.jit(jax.vmap(partial(_init, agent), in_axes=(None, 0)))
        self._act = jax.jit(jax.vmap(partial(_act, agent), in_axes=(None, 0, 0, 0, None)))
        self._learn = jax.jit(
            jax.vmap(partial(_learn, agent), in_axes=(None, 0, 0, 0, None)), donate_argnums=1
        )

    def run(
        self,
        lanes: Sequence[Lane],
        steps: int,
        watch: Callable[[int, float], None] | None = None,
    ) -> list[Outcome]:
        """Run all lanes for so many steps; `watch` is told the steps made and the present score."""
        seats = [_Seat(self, lane) for lane in lanes]
        try:
            return self._run(seats, lanes, steps, watch)
        finally:
            for seat in seats:
                seat.env.close()

    def _run(
        self,
        seats: list[_Seat],
        lanes: Sequence[Lane],
        steps: int,
        watch: Callable[[int, float], None] | None,
    ) -> list[Outcome]:
        hyper = self.agent.hyper
        keys = jax.vmap(lambda seed: streams(seed)["agent"])(
            jnp.asarray([lane.seed for lane in lanes], jnp.uint32)
        )
        state = self._init(hyper, keys)
        for t in range(steps):
            before = _stack([seat.seen for seat in seats])
            actions = np.asarray(self._act(hyper, state, keys, before, t))
            moves = [seat.step(action) for seat, action in zip(seats, actions, strict=True)]
            reward, after, terminated, truncated = zip(*moves, strict=True)
            transition = Transition(
                before,
                actions,
                np.array(reward, np.float32),
                _stack(after),
                np.array(terminated),
                np.array(truncated),
            )
            state = self._learn(hyper, state, keys, transition, t)
            if watch is not None and ((t + 1) % _TELL == 0 or t + 1 == steps):
                recent = [seat.returns[-1] for seat in seats if seat.returns]
                watch(t + 1, float(np.mean(recent)) if recent else float("nan"))
        return [seat.outcome() for seat in seats]


def _init(agent: Agent, hyper: Any, key: Any) -> Any:
    return agent.init(hyper, jax.random.fold_in(key, 2**32 - 1))


def _act(agent: Agent, hyper: Any, state: Any, key: Any, seen: Observation, t: Any) -> Any:
    return agent.act(hyper, state, agent.draw(jax.random.fold_in(key, t))[0], seen, t)


def _learn(agent: Agent, hyper: Any, state: Any, key: Any, move: Transition, t: Any) -> Any:
    return agent.learn(hyper, state, agent.draw(jax.random.fold_in(key, t))[1], move, t)


def _stack(seen: Sequence[Observation]) -> Observation:
    return Observation(
        np.stack([one.features for one in seen]), np.array([one.cell for one in seen], np.int32)
    )


class _Seat:
    """One lane's environment, noise and correction."""

    def __init__(self, trainer: HostedTrainer, lane: Lane) -> None:
        self.env = gym.make(trainer.env.name)
        self._levels, self._cells, self._lane = trainer.levels, trainer.cells, lane
        self._noise = ConfusionMatrix(lane.noise)
        # A stream of its own, apart from those of the environment and the agent.
        self._rng = np.random.default_rng([lane.seed, 1])
        self._window: LastPerCell | None = None
        if trainer.smooth is not None and trainer.cells is not None:
            self._window = LastPerCell(trainer.cells.n, len(self._levels), trainer.smooth)
        self._raw, _ = self.env.reset(seed=lane.seed)
        self.seen = self._look(self._raw)
        self.returns: list[float] = []
        self._ends: list[int] = []
        self._total, self._t = 0.0, 0
        self._confusion = [np.eye(len(self._levels))]
        self._estimated = [0]

    def _look(self, observation: Any) -> Observation:
        features = gym.spaces.flatten(self.env.observation_space, observation)
        cell = 0
        if self._cells is not None:
            whole = self._cells.index_one(observation, _any_action(self.env.action_space))
            cell = int(self._cells.state_of(whole))
        return Observation(np.asarray(features, np.float32), cell)

    def step(self, action: Any) -> tuple[float, Observation, bool, bool]:
        """Step, show the reward through noise and correction, and start anew after an end."""
        space = self.env.action_space
        chosen = (
            int(action) + int(space.start) if isinstance(space, gym.spaces.Discrete) else action
        )
        raw, reward, terminated, truncated, _ = self.env.step(chosen)
        self._t += 1
        self._total += float(reward)
        shown = self._shown(chosen, float(reward))
        after = self._look(raw)
        self._raw, self.seen = raw, after
        if terminated or truncated:
            self.returns.append(self._total)
            self._ends.append(self._t)
            self._total = 0.0
            self._raw, _ = self.env.reset()
            self.seen = self._look(self._raw)
        return shown, after, bool(terminated), bool(truncated)

    def _shown(self, action: Any, reward: float) -> float:
        level = self._levels.index_one(reward)
        observed = self._noise.draw_one(level, self._rng)
        lane = self._lane
        if lane.raw:
            return reward
        table = self._levels.values if lane.table is None else lane.table
        given = float(table[observed])
        if lane.corrector is not None:
            before = lane.corrector.refreshes
            given = lane.corrector.one(self._raw, action, float(self._levels.values[observed]))
            table = lane.corrector.tables.surrogate
            if lane.corrector.refreshes > before:
                self._confusion.append(lane.corrector.confusion)
                self._estimated.append(self._t)
        if self._window is not None and self._cells is not None:
            cell = self._cells.index_one(self._raw, action)
            self._window.add_one(cell, observed)
            own = self._window.row(cell)
            given = float(own @ table / own.sum())
        return given

    def outcome(self) -> Outcome:
        """Give what came of it."""
        return Outcome(
            np.array(self.returns),
            np.array(self._ends, dtype=np.int64),
            np.stack(self._confusion),
            np.array(self._estimated),
        )


def _any_action(space: gym.Space[Any]) -> Any:
    return int(space.start) if isinstance(space, gym.spaces.Discrete) else np.zeros(space.shape)
