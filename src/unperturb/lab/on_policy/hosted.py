"""PPO in vector environments of Gymnasium: Atari and whatever else is not compiled.

The environments step on the host; acting and learning are compiled. Minibatches are a Python loop:
inside a compiled one XLA's convolutions are several times slower on a CPU.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from unperturb.agents import ppo
from unperturb.agents.actor_critic import ActorCritic
from unperturb.cells import Cells
from unperturb.lab.envs.vector import Vector
from unperturb.lab.on_policy.checkpoint import Checkpoint, leaves, restored
from unperturb.lab.on_policy.compiler import options
from unperturb.lab.on_policy.episodes import Episodes
from unperturb.lab.on_policy.reward_stream import RewardStream
from unperturb.lab.training import Lane, streams
from unperturb.levels import RewardLevels


class TimedOutcome(NamedTuple):
    """What came of a run: what `lab.training.Outcome` holds, and what it took.

    Attributes:
        returns: The true return of each episode that ended.
        ends: The step of all environments after which it ended.
        confusion: C estimated, before the first step and later, (n, M, M).
        estimated: The steps after which it was.
        seconds: How long it trained, all sittings together.
        resumed: How often it went on from a checkpoint.
        machine: What it ran on.
    """

    returns: np.ndarray
    ends: np.ndarray
    confusion: np.ndarray
    estimated: np.ndarray
    seconds: float
    resumed: int
    machine: str


class HostedPPO:
    """Trains one run after the other; `run` is that of `lab.training.Trainer`, with checkpoints.

    A run that goes on from a checkpoint starts its episodes anew, since games can't be kept; all
    else goes on where it was.

    Example:
        >>> from unperturb.agents.actor_critic import actor_critic
        >>> from unperturb.lab.envs.vector import vector
        >>> build = lambda: vector("CartPole-v1", envs=4)
        >>> net = actor_critic(build().observation_space, build().action_space)
        >>> plan, levels = ppo.Plan(envs=4, steps=32), RewardLevels([-1.0, 1.0])
        >>> trainer = HostedPPO(build, net, plan, ppo.Hyper(), levels)
        >>> (outcome,) = trainer.run([Lane(seed=0, noise=np.eye(2))], steps=512)
        >>> bool(outcome.returns.size > 0), outcome.resumed
        (True, 0)
    """

    resumes = True
    """Whether a run that was stopped goes on from a checkpoint."""

    def __init__(
        self,
        build: Callable[[], Vector],
        net: ActorCritic,
        plan: ppo.Plan,
        hyper: ppo.Hyper,
        levels: RewardLevels,
        cells: Cells | None = None,
        smooth: int | None = None,
    ) -> None:
        self._build, self._net, self._plan, self._hyper = build, net, plan, hyper
        self._levels, self._cells, self._smooth = levels, cells, smooth
        self._begin = jax.jit(partial(ppo.begin, net))
        told = options()
        self._act = jax.jit(partial(_act, net), compiler_options=told)
        self._value = jax.jit(
            lambda params, seen: net.apply(params, seen)[1], compiler_options=told
        )
        self._rows = jax.jit(ppo.rows)
        self._order = jax.jit(partial(ppo.shuffled, plan))
        self._step = jax.jit(partial(_step, net), donate_argnums=1, compiler_options=told)

    def run(
        self,
        lanes: Sequence[Lane],
        steps: int,
        watch: Callable[[int, float], None] | None = None,
        keep: Sequence[Path] | None = None,
    ) -> list[TimedOutcome]:
        """Run each lane for so many steps of all its environments, in whole rollouts.

        `keep` names a file for each, in which its state is kept while it runs.
        """
        paths: Sequence[Path | None] = [None] * len(lanes) if keep is None else keep
        outcomes = []
        for i, (lane, path) in enumerate(zip(lanes, paths, strict=True)):

            def tell(t: int, score: float, before: int = i) -> None:
                if watch is not None:
                    # The bar counts the steps of all lanes alike.
                    watch((before * steps + min(t, steps)) // len(lanes), score)

            sitting = _Sitting(self, lane, Checkpoint(path))
            try:
                outcomes.append(sitting.run(steps, tell))
            finally:
                sitting.envs.close()
        return outcomes


def _act(net: ActorCritic, params: Any, seen: Any, key: Any, n: Any, t: Any) -> Any:
    own = jax.random.fold_in(jax.random.fold_in(jax.random.fold_in(key, n), 0), t)
    heads, value = net.apply(params, seen)
    action = net.draw(own, heads)
    return action, net.log_prob(heads, action), value


def _step(net: ActorCritic, hyper: Any, learner: Any, every: Any, chosen: Any, done: Any) -> Any:
    batch = jax.tree.map(lambda leaf: leaf[chosen], every)
    return ppo.step(net, hyper, learner, batch, done)


class _Sitting:
    """One run from where it was to its end."""

    def __init__(self, trainer: HostedPPO, lane: Lane, kept: Checkpoint) -> None:
        self._trainer, self._kept = trainer, kept
        self._key = streams(lane.seed)["agent"]
        self._stream = RewardStream(trainer._levels, trainer._cells, lane, trainer._smooth)
        # The last number of the stream, which no rollout will draw.
        self._learner = trainer._begin(jax.random.fold_in(self._key, 2**32 - 1))
        self._episodes = Episodes()
        self._n = self._resumed = 0
        self._seconds = 0.0
        state = kept.load(list(self._state()))
        if state is not None:
            self._take(state)
        self.envs = trainer._build()
        # A new sitting plays new games, not the first ones again.
        self._seen = self.envs.reset(lane.seed + 1_000_003 * self._resumed)

    def run(self, steps: int, tell: Callable[[int, float], None]) -> TimedOutcome:
        """Play and learn until all steps are made."""
        plan, before = self._trainer._plan, self._seconds
        start = time.perf_counter()
        rollouts = -(-steps // plan.batch)
        while self._n < rollouts:
            rollout, ended = self._play()
            shown = self._stream.show(rollout.reward, rollout.observation, rollout.action)
            self._learn(rollout._replace(reward=shown.astype(np.float32)), self._n / rollouts)
            self._episodes.add(ended)
            self._n += 1
            self._seconds = before + time.perf_counter() - start
            self._kept.offer(self._state)
            tell(self._n * plan.batch, self._episodes.score())
        return TimedOutcome(
            self._episodes.returns,
            self._episodes.ends,
            np.stack(self._stream.confusion),
            np.array(self._stream.estimated),
            self._seconds,
            self._resumed,
            _machine(),
        )

    def _play(self) -> tuple[ppo.Rollout, np.ndarray]:
        trainer, plan, params = self._trainer, self._trainer._plan, self._learner.params
        shape = (plan.steps, plan.envs)
        seen = np.empty((*shape, *self._seen.shape[1:]), self._seen.dtype)
        rewards, returns = np.empty(shape), np.empty(shape)
        terminated, truncated = np.empty(shape, bool), np.empty(shape, bool)
        cut_off = np.zeros(shape, np.float32)
        done = []
        for t in range(plan.steps):
            seen[t] = self._seen
            done.append(trainer._act(params, seen[t], self._key, self._n, t))
            stepped = self.envs.step(np.asarray(done[-1][0]))
            self._seen = stepped.observation
            rewards[t], returns[t] = stepped.reward, stepped.returns
            terminated[t], truncated[t] = stepped.terminated, stepped.truncated
            if stepped.truncated.any() and stepped.final is not None:
                cut_off[t] = trainer._value(params, stepped.final)
        action, log_prob, value = (
            np.asarray(jnp.stack(column)) for column in zip(*done, strict=True)
        )
        last = np.asarray(trainer._value(params, self._seen))
        following = np.concatenate([value[1:], last[None]])
        ended = terminated | truncated
        next_value = np.where(truncated, cut_off, following)
        rollout = ppo.Rollout(seen, action, log_prob, value, rewards, next_value, terminated, ended)
        return rollout, returns

    def _learn(self, rollout: ppo.Rollout, done: float) -> None:
        trainer = self._trainer
        every = trainer._rows(trainer._hyper, rollout)
        key = jax.random.fold_in(jax.random.fold_in(self._key, self._n), 1)
        for chosen in trainer._order(key):
            self._learner = trainer._step(trainer._hyper, self._learner, every, chosen, done)

    def _state(self) -> dict[str, np.ndarray]:
        state = {
            "n": np.array(self._n),
            "seconds": np.array(self._seconds),
            "resumed": np.array(self._resumed),
            "returns": self._episodes.returns,
            "ends": self._episodes.ends,
            **leaves(self._learner, "learner"),
        }
        return state | {f"stream/{k}": v for k, v in self._stream.state_dict().items()}

    def _take(self, state: Mapping[str, np.ndarray]) -> None:
        self._n, self._seconds = int(state["n"]), float(state["seconds"])
        self._resumed = int(state["resumed"]) + 1
        self._episodes = Episodes(
            state["returns"], state["ends"], self._n * self._trainer._plan.batch
        )
        self._learner = restored(self._learner, state, "learner")
        prefix = "stream/"
        self._stream.load_state_dict(
            {k[len(prefix) :]: v for k, v in state.items() if k.startswith(prefix)}
        )


def _machine() -> str:
    device = jax.devices()[0]
    kind = device.device_kind if device.platform != "cpu" else platform.machine()
    return f"{device.platform} ({kind})"
