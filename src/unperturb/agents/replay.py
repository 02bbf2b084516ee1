"""A replay buffer that is written in place: one flat row for each transition.

The row is `t` modulo the capacity, a number that all runs share. Under `vmap` an index of each
run's own would turn the write into a copy of the whole buffer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from unperturb.agents.base import Transition


class Batch(NamedTuple):
    """Sampled transitions as columns: observations (features, batch), all else (batch,).

    Continuous actions are columns too: (numbers, batch).
    """

    observation: jax.Array
    action: jax.Array
    reward: jax.Array
    next_observation: jax.Array
    terminated: jax.Array


def empty(capacity: int, features: int, actions: int = 1) -> jax.Array:
    """Give a buffer (capacity, 2 features + 2 + actions), for actions of so many numbers.

    Example:
        >>> empty(100, 4).shape
        (100, 11)
    """
    return jnp.zeros((capacity, 2 * features + 2 + actions))


def store(buffer: jax.Array, transition: Transition, t: Any) -> jax.Array:
    """Write a transition over the oldest one."""
    parts = (
        jnp.ravel(transition.observation.features),
        jnp.ravel(transition.next_observation.features),
        jnp.ravel(transition.action),
        jnp.ravel(transition.reward),
        jnp.ravel(transition.terminated),
    )
    row = jnp.concatenate([part.astype(buffer.dtype) for part in parts])
    return jax.lax.dynamic_update_slice(buffer, row[None], (t % buffer.shape[0], 0))


def relabelled(buffer: jax.Array, rewards: jax.Array) -> jax.Array:
    """Put other rewards in the place of those stored; NaN leaves one as it is.

    Example:
        >>> rewards = jnp.array([5.0, jnp.nan])
        >>> relabelled(empty(2, features=1).at[:, -2].set(1.0), rewards)[:, -2]
        Array([5., 1.], dtype=float32)
    """
    return buffer.at[:, -2].set(jnp.where(jnp.isnan(rewards), buffer[:, -2], rewards))


def sample(buffer: jax.Array, key: jax.Array, t: Any, size: int) -> Batch:
    """Draw from what was stored in steps 0 to t, with replacement.

    Without replacement the whole buffer would have to be gone through. The bias of taking 32 random
    bits modulo a small number is below 1e-5.
    """
    bits = jax.random.bits(key, (size,))
    batch = sample_continuous(buffer, bits, t, (buffer.shape[1] - 3) // 2)
    return batch._replace(action=batch.action[0].astype(jnp.int32))


def sample_continuous(buffer: jax.Array, bits: jax.Array, t: Any, features: int) -> Batch:
    """Take likewise, by 32 random bits for each, where an action is several numbers.

    `features` says where it begins.
    """
    stored = jnp.minimum(t + 1, buffer.shape[0]).astype(jnp.uint32)
    index = (bits % stored).astype(jnp.int32)
    rows = buffer.at[index].get(mode="promise_in_bounds").T
    return Batch(
        rows[:features], rows[2 * features : -2], rows[-2], rows[features : 2 * features], rows[-1]
    )
