"""Environments that a compiled loop can step: those of gymnax, without their autoreset.

The loop starts episodes itself, with a random stream of its own: the n-th episode of a seed begins
in the same state whatever the agent did before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from unperturb.errors import InvalidOptionError

_LIMITED = {"CartPole-v0": ("CartPole-v1", 200)}
"""Gymnax has the newer version only; the older one differs in its time limit."""


class Moved(NamedTuple):
    """What a step leads to."""

    observation: Any
    state: Any
    reward: Any
    terminated: Any
    truncated: Any


class CompiledEnv(NamedTuple):
    """An environment as pure functions of one run.

    Attributes:
        name: Its id.
        reset: key -> (observation, state).
        step: (key, state, action) -> Moved; episodes don't start by themselves.
        features: observation -> a flat vector for a network.
        observation_space: In Gymnasium's terms.
        action_space: In Gymnasium's terms.
    """

    name: str
    reset: Callable[[Any], tuple[Any, Any]]
    step: Callable[[Any, Any, Any], Moved]
    features: Callable[[Any], Any]
    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]

    @property
    def width(self) -> int:
        """How many numbers the features are."""
        return int(gym.spaces.flatdim(self.observation_space))


def has(name: str) -> bool:
    """Say whether gymnax knows this environment.

    Example:
        >>> has("CartPole-v0"), has("FrozenLake-v1")
        (True, False)
    """
    import gymnax

    return name in _LIMITED or name in gymnax.registered_envs


def compiled_env(name: str) -> CompiledEnv:
    """Build an environment of gymnax by its id; "CartPole-v0" ends after 200 steps.

    Example:
        >>> env = compiled_env("CartPole-v0")
        >>> observation, state = env.reset(jax.random.key(0))
        >>> moved = env.step(jax.random.key(1), state, 1)
        >>> moved.observation.shape, float(moved.reward), env.width
        ((4,), 1.0, 4)
    """
    import gymnax
    from gymnax.environments.spaces import gymnax_space_to_gym_space

    if not has(name):
        raise InvalidOptionError(
            f"gymnax has no environment {name!r}",
            f"it has {', '.join(gymnax.registered_envs)}",
            "pass one of these, or an id that Gymnasium knows",
        )
    inner, limit = _LIMITED.get(name, (name, None))
    env, params = gymnax.make(inner)
    if limit is not None:
        params = params.replace(max_steps_in_episode=limit)
    space = gymnax_space_to_gym_space(env.observation_space(params))

    def step(key: Any, state: Any, action: Any) -> Moved:
        observation, state, reward, terminated, _ = env.step_env(key, state, action, params)
        return Moved(
            observation,
            state,
            jnp.asarray(reward, jnp.float32).reshape(()),
            jnp.asarray(terminated, bool).reshape(()),
            jnp.asarray(env.is_truncated(state, params), bool).reshape(()),
        )

    def features(observation: Any) -> Any:
        if isinstance(space, gym.spaces.Discrete):
            return jax.nn.one_hot(jnp.asarray(observation, jnp.int32).reshape(()), int(space.n))
        return jnp.ravel(observation).astype(jnp.float32)

    return CompiledEnv(
        name,
        lambda key: env.reset_env(key, params),
        step,
        features,
        space,
        gymnax_space_to_gym_space(env.action_space(params)),
    )


class Sample(NamedTuple):
    """What random play meets: from it bins and levels are chosen where nothing else tells them."""

    observations: np.ndarray
    rewards: np.ndarray


def sample(env: CompiledEnv, count: int = 500) -> Sample:
    """Play at random.

    Example:
        >>> sample(compiled_env("CartPole-v0"), count=30).observations.shape
        (30, 4)
    """
    rng = np.random.default_rng(0)
    env.action_space.seed(0)
    observations, rewards = [], []
    _, state = env.reset(jax.random.key(rng.integers(2**31)))
    step = jax.jit(env.step)
    for _ in range(count):
        moved = step(jax.random.key(rng.integers(2**31)), state, env.action_space.sample())
        observations.append(np.asarray(moved.observation))
        rewards.append(float(moved.reward))
        state = moved.state
        if moved.terminated or moved.truncated:
            _, state = env.reset(jax.random.key(rng.integers(2**31)))
    return Sample(np.stack(observations), np.array(rewards))
