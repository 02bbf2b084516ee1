"""PPO in environments of gymnax: playing and learning are compiled, for all lanes of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from unperturb.agents import ppo
from unperturb.agents.actor_critic import ActorCritic
from unperturb.cells import Cells
from unperturb.lab.envs.compiled import CompiledEnv
from unperturb.lab.on_policy.episodes import Episodes
from unperturb.lab.on_policy.reward_stream import RewardStream
from unperturb.lab.training import Lane, Outcome, streams
from unperturb.levels import RewardLevels


class _Seats(NamedTuple):
    """The environments of one lane, each with an axis of its own."""

    state: Any
    observation: Any
    total: Any
    episode: Any


class _Played(NamedTuple):
    """A rollout, with the true rewards, and the true return where an episode ended."""

    rollout: ppo.Rollout
    returns: Any


class CompiledPPO:
    """Trains batches of lanes in one environment; `run` is that of `lab.training.Trainer`.

    Example:
        >>> from unperturb.agents.actor_critic import actor_critic
        >>> from unperturb.lab.envs.compiled import compiled_env
        >>> env, plan = compiled_env("CartPole-v1"), ppo.Plan(envs=4, steps=32)
        >>> net = actor_critic(env.observation_space, env.action_space)
        >>> trainer = CompiledPPO(env, net, plan, ppo.Hyper(), RewardLevels([-1.0, 1.0]))
        >>> lanes = [Lane(seed, noise=np.eye(2)) for seed in range(3)]
        >>> [outcome.returns.size > 0 for outcome in trainer.run(lanes, steps=512)]
        [True, True, True]
    """

    resumes = False
    """Whether a run that was stopped goes on from a checkpoint."""

    def __init__(
        self,
        env: CompiledEnv,
        net: ActorCritic,
        plan: ppo.Plan,
        hyper: ppo.Hyper,
        levels: RewardLevels,
        cells: Cells | None = None,
        smooth: int | None = None,
    ) -> None:
        self._plan, self._hyper, self._levels = plan, hyper, levels
        self._cells, self._smooth = cells, smooth
        self.learner: ppo.Learner | None = None
        """What the last runs have learned, with an axis for the lanes."""
        self._begin = jax.jit(jax.vmap(partial(_begin, env, net, plan)))
        self._play = jax.jit(
            jax.vmap(partial(_play, env, net, plan), in_axes=(0, 0, 0, None)), donate_argnums=1
        )
        self._learn = jax.jit(
            jax.vmap(partial(_learn, net, plan), in_axes=(None, 0, 0, 0, None, None)),
            donate_argnums=1,
        )

    def run(
        self,
        lanes: Sequence[Lane],
        steps: int,
        watch: Callable[[int, float], None] | None = None,
    ) -> list[Outcome]:
        """Run all lanes for so many steps of all their environments, in whole rollouts."""
        keys, seats, learner = self._begin(jnp.asarray([lane.seed for lane in lanes], jnp.uint32))
        shown = [RewardStream(self._levels, self._cells, lane, self._smooth) for lane in lanes]
        episodes = [Episodes() for _ in lanes]
        rollouts = -(-steps // self._plan.batch)
        for n in range(rollouts):
            seats, played = self._play(learner.params, seats, keys, n)
            rollout = played.rollout
            true, ended = np.asarray(rollout.reward), np.asarray(played.returns)
            where, what = np.asarray(rollout.observation), np.asarray(rollout.action)
            given = np.stack(
                [
                    stream.show(*row)
                    for stream, row in zip(shown, zip(true, where, what, strict=True), strict=True)
                ]
            )
            rollout = rollout._replace(reward=given.astype(np.float32))
            learner = self._learn(self._hyper, learner, keys, rollout, n, n / rollouts)
            for own, row in zip(episodes, ended, strict=True):
                own.add(row)
            if watch is not None:
                known = [score for own in episodes if not np.isnan(score := own.score())]
                watch((n + 1) * self._plan.batch, float(np.mean(known)) if known else np.nan)
        self.learner = learner
        return [
            Outcome(own.returns, own.ends, np.stack(stream.confusion), np.array(stream.estimated))
            for own, stream in zip(episodes, shown, strict=True)
        ]


def _begin(env: CompiledEnv, net: ActorCritic, plan: ppo.Plan, seed: Any) -> Any:
    keys = streams(seed)
    # Each environment starts its episodes from a stream of its own.
    keys["reset"] = jax.random.split(keys["reset"], plan.envs)
    first = jax.vmap(jax.random.fold_in, (0, None))(keys["reset"], 0)
    observation, state = jax.vmap(env.reset)(first)
    none = jnp.zeros(plan.envs)
    seats = _Seats(state, observation, none, none.astype(jnp.int32))
    # The last number of the stream, which no rollout will draw.
    return keys, seats, ppo.begin(net, jax.random.fold_in(keys["agent"], 2**32 - 1))


def _play(
    env: CompiledEnv,
    net: ActorCritic,
    plan: ppo.Plan,
    params: Any,
    seats: _Seats,
    keys: Any,
    n: Any,
) -> tuple[_Seats, _Played]:
    agent = jax.random.fold_in(jax.random.fold_in(keys["agent"], n), 0)
    world = jax.random.fold_in(keys["env"], n)

    def one(seats: _Seats, t: Any) -> tuple[_Seats, _Played]:
        heads, value = net.apply(params, seats.observation)
        action = net.draw(jax.random.fold_in(agent, t), heads)
        step_keys = jax.random.split(jax.random.fold_in(world, t), plan.envs)
        moved = jax.vmap(env.step)(step_keys, seats.state, _inside(env.action_space, action))
        ended = moved.terminated | moved.truncated
        total = seats.total + moved.reward
        episode = seats.episode + ended
        fresh = jax.vmap(env.reset)(jax.vmap(jax.random.fold_in)(keys["reset"], episode))

        def chosen(new: Any, old: Any) -> Any:
            return jnp.where(ended.reshape(-1, *[1] * (new.ndim - 1)), new, old)

        observation, state = jax.tree.map(chosen, fresh, (moved.observation, moved.state))
        rollout = ppo.Rollout(
            seats.observation,
            action,
            net.log_prob(heads, action),
            value,
            moved.reward,
            # Before a new episode began: a state where one was cut off is worth something.
            net.apply(params, moved.observation)[1],
            moved.terminated,
            ended,
        )
        following = _Seats(state, observation, jnp.where(ended, 0.0, total), episode)
        return following, _Played(rollout, jnp.where(ended, total, jnp.nan))

    following, played = jax.lax.scan(one, seats, jnp.arange(plan.steps))
    return following, played


def _inside(space: gym.Space[Any], actions: Any) -> Any:
    # What a Gaussian draws may lie outside; not every environment of gymnax clips it.
    if not isinstance(space, gym.spaces.Box):
        return actions
    return jnp.clip(actions.reshape(-1, *space.shape), space.low, space.high)


def _learn(
    net: ActorCritic,
    plan: ppo.Plan,
    hyper: ppo.Hyper,
    learner: ppo.Learner,
    keys: Any,
    rollout: ppo.Rollout,
    n: Any,
    done: Any,
) -> ppo.Learner:
    key = jax.random.fold_in(jax.random.fold_in(keys["agent"], n), 1)
    return ppo.learn(net, plan, hyper, learner, key, rollout, done)
