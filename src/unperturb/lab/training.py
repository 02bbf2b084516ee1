"""Training many runs at once: a compiled loop over steps, all seeds and conditions side by side.

A lane is one run. All lanes of a batch share environment, agent and cells; what differs between
them (the seed, the noise, the reward they learn from) is numbers, so that one compilation serves a
whole column of a table. The loop runs in chunks. Between two chunks each lane's `RewardCorrector`,
the same that users run, counts what was observed and estimates C anew when that is due.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from unperturb.agents import Agent, Observation, Transition
from unperturb.cells import Cells
from unperturb.corrector import RewardCorrector
from unperturb.errors import UnknownRewardError
from unperturb.lab import channel
from unperturb.lab.channel import Lens, Window
from unperturb.lab.envs.compiled import CompiledEnv
from unperturb.lab.envs.grid import CompiledCells, compiled_cells
from unperturb.lab.eyes import CHUNK, Eyes
from unperturb.levels import RewardLevels


class Problem(NamedTuple):
    """What all lanes of a batch share.

    Attributes:
        env: The environment.
        agent: The algorithm.
        levels: The reward levels.
        cells: Which transitions share a true reward; None where nothing needs to know.
        smooth: Give the mean of the last so many rewards of a cell (the paper's variance
            reduction); None gives each reward as it comes.
    """

    env: CompiledEnv
    agent: Agent
    levels: RewardLevels
    cells: Cells | None
    smooth: int | None = None


class Lane(NamedTuple):
    """One run: a seed, the noise, and how the agent is shown rewards.

    Attributes:
        seed: Of the environment's, the noise's and the agent's random streams.
        noise: C, (M, M).
        raw: Whether the agent is shown true rewards.
        table: The value it is shown for each observed level; None leaves them as they are.
        corrector: Estimates C and gives the values in place of a table.
    """

    seed: int
    noise: np.ndarray
    raw: bool = False
    table: np.ndarray | None = None
    corrector: RewardCorrector | None = None


class Outcome(NamedTuple):
    """What came of a lane.

    Attributes:
        returns: The true return of each episode that ended.
        ends: The step after which it ended.
        confusion: C estimated, before the first step and after each estimate, (n, M, M).
        estimated: The steps after which it was.
    """

    returns: np.ndarray
    ends: np.ndarray
    confusion: np.ndarray
    estimated: np.ndarray


class _Run(NamedTuple):
    """A lane inside the loop; `fresh` is where its next episode begins."""

    env: Any
    observation: Any
    fresh: Any
    agent: Any
    window: Window | None
    total: Any
    episode: Any
    stray: Any


class _Chance(NamedTuple):
    """The random numbers of a step."""

    act: Any
    learn: Any
    env: Any
    noise: Any


class _Trace(NamedTuple):
    """What a chunk leaves behind, (steps, lanes)."""

    code: Any
    ended: Any


def streams(seed: Any) -> dict[str, jax.Array]:
    """Give the random streams of a seed; what one draws never moves another.

    Example:
        >>> sorted(streams(0))
        ['agent', 'env', 'noise', 'reset']
    """
    root = jax.random.key(seed)
    return {
        name: jax.random.fold_in(root, i)
        for i, name in enumerate(("env", "reset", "noise", "agent"))
    }


class Trainer:
    """Trains batches of lanes on one problem; compiled once for each number of lanes.

    Example:
        >>> import unperturb as up
        >>> from unperturb.agents import Task, q_learning
        >>> from unperturb.lab.envs.compiled import compiled_env
        >>> cells, levels = Cells.cartpole(), RewardLevels([-1.0, 1.0])
        >>> agent = q_learning(Task(features=4, actions=2, cells=cells.states))
        >>> trainer = Trainer(Problem(compiled_env("CartPole-v0"), agent, levels, cells))
        >>> lanes = [Lane(seed, noise=np.eye(2)) for seed in range(3)]
        >>> outcomes = trainer.run(lanes, steps=500)
        >>> len(outcomes), bool(outcomes[0].returns.sum() <= 500)
        (3, True)
    """

    resumes = False
    """Whether a run that was stopped goes on from a checkpoint."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        coded = None if problem.cells is None else compiled_cells(problem.cells)
        self._start = jax.jit(jax.vmap(partial(_begin, problem, coded), in_axes=(None, 0)))
        self._advance = jax.jit(partial(_advance, problem, coded), donate_argnums=0)
        recall = problem.agent.recall
        self._recall = None if recall is None else jax.jit(jax.vmap(recall), donate_argnums=0)

    def start(self, lanes: Sequence[Lane]) -> Training:
        """Put all lanes at their first step, for whoever wants to stop on the way."""
        return Training(self, lanes)

    def run(
        self,
        lanes: Sequence[Lane],
        steps: int,
        watch: Callable[[int, float], None] | None = None,
    ) -> list[Outcome]:
        """Run all lanes for so many steps; `watch` is told the steps made and the present score.

        Random numbers belong to a stream and a step, so a result does not depend on how the steps
        are cut into chunks.
        """
        return self.start(lanes).advance(steps, watch).outcomes()


class Training:
    """A batch of lanes on its way; `Trainer.start` gives it.

    Attributes:
        t: The steps made.

    Example:
        >>> from unperturb.agents import Task, q_learning
        >>> from unperturb.lab.envs.compiled import compiled_env
        >>> cells, levels = Cells.cartpole(), RewardLevels([-1.0, 1.0])
        >>> agent = q_learning(Task(features=4, actions=2, cells=cells.states))
        >>> trainer = Trainer(Problem(compiled_env("CartPole-v0"), agent, levels, cells))
        >>> training = trainer.start([Lane(seed=0, noise=np.eye(2))]).advance(10)
        >>> training.t, training.agents.shape  # the state of Q-Learning is its table
        (10, (1, 6400, 2))
    """

    def __init__(self, trainer: Trainer, lanes: Sequence[Lane]) -> None:
        self._trainer = trainer
        self._hyper = trainer.problem.agent.hyper
        seeds = jnp.asarray([lane.seed for lane in lanes], jnp.uint32)
        self._keys, self._run = trainer._start(self._hyper, seeds)
        self._eyes = Eyes(trainer.problem, lanes)
        self._ended: list[np.ndarray] = []
        self.t = 0

    @property
    def agents(self) -> Any:
        """What the agents know, with an axis for the lanes; the next step uses these arrays up."""
        return self._run.agent

    def advance(self, steps: int, watch: Callable[[int, float], None] | None = None) -> Self:
        """Go on for so many steps; `watch` is told the steps made and the present score."""
        end = self.t + steps
        while self.t < end:
            n = int(min(end - self.t, CHUNK - self.t % CHUNK, self._eyes.until_refresh))
            self._run, trace = self._trainer._advance(
                self._run, self._eyes.lens, self._keys, self._hyper, self.t, n
            )
            # Cut in NumPy: JAX would compile a slice for each n.
            self._ended.append(np.asarray(trace.ended)[:n])
            _refuse_strays(self._trainer.problem.levels, np.asarray(self._run.stray))
            self.t += n
            anew = self._eyes.take(np.asarray(trace.code)[:n], self.t)
            if anew is not None and self._trainer._recall is not None:
                told = self._trainer._recall(self._run.agent, anew)
                self._run = self._run._replace(agent=told)
            if watch is not None:
                watch(self.t, _score(self._ended))
        return self

    def outcomes(self) -> list[Outcome]:
        """Give what came of each lane so far."""
        return _outcomes(np.concatenate(self._ended), self._eyes)


def _seen_as(problem: Problem, coded: CompiledCells | None, observation: Any) -> Observation:
    cell = jnp.zeros((), jnp.int32) if coded is None else coded.state(observation)
    return Observation(problem.env.features(observation), cell)


def _begin(
    problem: Problem, coded: CompiledCells | None, hyper: Any, seed: Any
) -> tuple[dict[str, jax.Array], _Run]:
    keys = streams(seed)
    observation, state = _reset(problem, keys, 0)
    window = None
    if problem.smooth is not None and problem.cells is not None:
        window = channel.empty_window(problem.cells.n, len(problem.levels), problem.smooth)
    run = _Run(
        state,
        observation,
        _reset(problem, keys, 1),
        # The last number of the stream, which no step will draw.
        problem.agent.init(hyper, jax.random.fold_in(keys["agent"], 2**32 - 1)),
        window,
        total=jnp.zeros(()),
        episode=jnp.zeros((), jnp.int32),
        stray=jnp.full((), jnp.nan),
    )
    # A type that JAX holds for provisional becomes firm in the loop, which would then be compiled
    # a second time.
    return keys, jax.tree.map(_firm, run)


def _reset(problem: Problem, keys: Any, episode: Any) -> Any:
    return problem.env.reset(jax.random.fold_in(keys["reset"], episode))


def _draw(problem: Problem, keys: Any, t: Any) -> _Chance:
    act, learn = problem.agent.draw(jax.random.fold_in(keys["agent"], t))
    env_key, noise_key = (jax.random.fold_in(keys[name], t) for name in ("env", "noise"))
    return _Chance(act, learn, env_key, jax.random.uniform(noise_key))


def _firm(leaf: Any) -> Any:
    leaf = jnp.asarray(leaf)
    return jax.lax.convert_element_type(leaf, leaf.dtype)


def _step(
    problem: Problem,
    coded: CompiledCells | None,
    hyper: Any,
    t: Any,
    run: _Run,
    lens: Lens,
    chance: _Chance,
) -> tuple[_Run, _Trace]:
    env, agent, levels = problem.env, problem.agent, problem.levels
    before = _seen_as(problem, coded, run.observation)
    action = agent.act(hyper, run.agent, chance.act, before, t)
    moved = env.step(chance.env, run.env, action)
    cell = before.cell if coded is None else coded.cell(before.cell, action)
    given = channel.pass_through(levels, lens, run.window, moved.reward, chance.noise, cell)
    after = _seen_as(problem, coded, moved.observation)
    transition = Transition(before, action, given.reward, after, moved.terminated, moved.truncated)
    learned = agent.learn(hyper, run.agent, chance.learn, transition, t)
    total = run.total + moved.reward
    done = moved.terminated | moved.truncated
    observation, state = jax.tree.map(
        lambda new, old: jnp.where(done, new, old), run.fresh, (moved.observation, moved.state)
    )
    following = _Run(
        state,
        observation,
        run.fresh,
        learned,
        given.window,
        jnp.where(done, 0.0, total),
        run.episode + done,
        jnp.where(given.stray & jnp.isnan(run.stray), moved.reward, run.stray),
    )
    code = cell * len(levels) + given.seen
    return following, _Trace(code, jnp.where(done, total, jnp.nan))


def _advance(
    problem: Problem,
    coded: CompiledCells | None,
    run: _Run,
    lens: Lens,
    keys: Any,
    hyper: Any,
    t: Any,
    n: Any,
) -> tuple[_Run, _Trace]:
    lanes = run.total.shape[0]
    blank = _Trace(jnp.zeros((CHUNK, lanes), jnp.int32), jnp.zeros((CHUNK, lanes)))
    every = jax.vmap(partial(_step, problem, coded), in_axes=(None, None, 0, 0, 0))
    draw = jax.vmap(partial(_draw, problem), in_axes=(0, None))
    chances = jax.vmap(draw, in_axes=(None, 0))(keys, t + jnp.arange(CHUNK))
    reset = jax.vmap(partial(_reset, problem))

    def body(i: Any, carry: tuple[_Run, _Trace]) -> tuple[_Run, _Trace]:
        run, trace = carry
        before = run.episode
        run, row = every(hyper, t + i, run, lens, jax.tree.map(lambda all: all[i], chances))
        # Few steps end an episode: to draw a start in each would cost as much as a small net.
        fresh = jax.lax.cond(
            jnp.any(run.episode > before),
            lambda: reset(keys, run.episode + 1),
            lambda: run.fresh,
        )
        return run._replace(fresh=fresh), jax.tree.map(
            lambda all, one: jax.lax.dynamic_update_slice(all, one[None], (i, 0)), trace, row
        )

    result: tuple[_Run, _Trace] = jax.lax.fori_loop(0, n, body, (run, blank))
    return result


def _refuse_strays(levels: RewardLevels, stray: np.ndarray) -> None:
    found = stray[~np.isnan(stray)]
    if found.size:
        levels.index(found)  # says what is wrong
        raise UnknownRewardError(
            f"reward {found[0]:g} is no level",
            "the loop computes in float32",
            "move the levels farther apart",
        )


def _score(ended: list[np.ndarray]) -> float:
    recent = np.concatenate(ended[-5:])
    recent = recent[~np.isnan(recent)]
    return float(recent.mean()) if recent.size else float("nan")


def _outcomes(ended: np.ndarray, eyes: Eyes) -> list[Outcome]:
    outcomes = []
    for returns, confusion, estimated in zip(ended.T, eyes.confusion, eyes.estimated, strict=True):
        ends = np.flatnonzero(~np.isnan(returns))
        outcomes.append(Outcome(returns[ends], ends + 1, np.stack(confusion), np.array(estimated)))
    return outcomes
