"""Phased Q-Learning with a generative model (the paper, Definition 2 and Algorithm 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

GenerativeModel = Callable[[Any], tuple[jax.Array, jax.Array]]
"""G(M): takes a key, calls every (s, a) once, gives rewards and next states, both (S, A)."""


class Phased(NamedTuple):
    """What Algorithm 2 returns.

    Attributes:
        v: V-hat (S,), the value of each state with all phases ahead.
        policy: The greedy action (S,) of the last phase computed, t = 0.
        calls: How often the generative model was called: S x A x m x T.
    """

    v: jax.Array
    policy: jax.Array
    calls: jax.Array


def generative_model(P: Any, reward: Callable[[Any, jax.Array], jax.Array]) -> GenerativeModel:
    """Build G(M) from P (S, A, S') and a sampler of rewards.

    `reward(key, next_states)` takes the next states (S, A) and gives a reward for each; whether it
    is true, noisy or a surrogate is nobody's business here.

    Example:
        >>> P = jnp.array([[[0.0, 1.0]], [[1.0, 0.0]]])  # two states, one action, to and fro
        >>> model = generative_model(P, lambda key, next_states: 1.0 * next_states)
        >>> rewards, next_states = model(jax.random.key(0))
        >>> next_states.tolist(), rewards.tolist()
        ([[1], [0]], [[1.0], [0.0]])
    """
    below = jnp.cumsum(jnp.asarray(P), axis=-1)[..., :-1]

    def call(key: Any) -> tuple[jax.Array, jax.Array]:
        move_key, reward_key = jax.random.split(key)
        chance = jax.random.uniform(move_key, below.shape[:-1])
        next_states = jnp.sum(chance[..., None] >= below, axis=-1)
        return reward(reward_key, next_states), next_states

    return call


def phased_q_learning(
    key: Any, model: GenerativeModel, states: int, m: Any, T: int, gamma: Any
) -> Phased:
    """Run T phases backwards in time, each with m calls for every (s, a).

        P-hat(s, a, s') = #[(s, a) -> s'] / m
        V-hat_t(s) = max_a sum_s' P-hat(s, a, s') [r + gamma V-hat_{t+1}(s')],  V-hat_T = 0

    where r is the mean reward of the m calls. `m` may be a traced number, so that one compilation
    serves every sample size.

    Example:
        >>> P = jnp.array([[[0.0, 1.0]], [[1.0, 0.0]]])
        >>> model = generative_model(P, lambda key, next_states: 1.0 * next_states)
        >>> found = phased_q_learning(jax.random.key(0), model, states=2, m=1, T=60, gamma=0.5)
        >>> found.v, int(found.calls)  # 1 / (1 - 1/4) and half of it
        (Array([1.3333..., 0.6666...], dtype=float32), 120)
    """
    shape = jax.eval_shape(model, key)[0].shape

    def phase(v: jax.Array, phase_key: Any) -> tuple[jax.Array, jax.Array]:
        def call(i: Any, sums: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            rewards, next_states = model(jax.random.fold_in(phase_key, i))
            visits = next_states[..., None] == jnp.arange(states)
            return sums[0] + rewards, sums[1] + visits

        start = (jnp.zeros(shape), jnp.zeros((*shape, states)))
        total, visits = jax.lax.fori_loop(0, m, call, start)
        q = (total + gamma * visits @ v) / m
        return jnp.max(q, axis=1), jnp.argmax(q, axis=1)

    v, policies = jax.lax.scan(phase, jnp.zeros(states), jax.random.split(key, T))
    calls = jnp.asarray(shape[0] * shape[1] * T) * m
    return Phased(v, policies[-1], calls)
