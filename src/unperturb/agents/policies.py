"""How an action is drawn from action values."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def boltzmann(key: Any, values: jax.Array, tau: Any) -> jax.Array:
    """Draw an action with probability proportional to exp(Q / tau).

    Example:
        >>> int(boltzmann(jax.random.key(0), jnp.array([0.0, 30.0]), tau=1.0))
        1
    """
    weights = jnp.exp((values - jnp.max(values)) / tau)
    below = jnp.cumsum(weights)
    # One number decides; `categorical` draws one for each action.
    return jnp.sum(jax.random.uniform(key) * below[-1] >= below[:-1]).astype(jnp.int32)


def noisy_greedy(key: Any, values: jax.Array, epsilon: Any) -> jax.Array:
    """Take the best action after adding uniform noise in [0, epsilon) to each value.

    Example:
        >>> int(noisy_greedy(jax.random.key(0), jnp.array([0.0, 1.0]), epsilon=0.1))
        1
    """
    return jnp.argmax(values + epsilon * jax.random.uniform(key, values.shape)).astype(jnp.int32)
