"""Noise that makes a deterministic policy try things: the Ornstein-Uhlenbeck process."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def ornstein_uhlenbeck(key: Any, noise: jax.Array, theta: Any, sigma: Any, dt: Any) -> jax.Array:
    """Take one Euler step of dx = -theta x dt + sigma dW, which drifts back to zero.

    Its standard deviation rises like sigma sqrt(t) at first and ends at sigma / sqrt(2 theta)
    (Uhlenbeck and Ornstein, 1930; Lillicrap et al., 2016, section 7).

    Example:
        >>> ornstein_uhlenbeck(jax.random.key(0), jnp.array([1.0]), theta=0.5, sigma=0.0, dt=0.1)
        Array([0.95], dtype=float32)
    """
    kick = jax.random.normal(key, noise.shape)
    drifted: jax.Array = noise - theta * noise * dt + sigma * jnp.sqrt(dt) * kick
    return drifted
