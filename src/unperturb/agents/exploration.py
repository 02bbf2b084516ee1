"""Noise that makes a deterministic policy try things: the Ornstein-Uhlenbeck process."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp


def ornstein_uhlenbeck(
    kick: jax.Array, noise: jax.Array, theta: Any, sigma: Any, dt: Any
) -> jax.Array:
    """Take one Euler step of dx = -theta x dt + sigma dW; it drifts back to zero.

    `kick` is drawn from the standard normal distribution.

    Its standard deviation rises like sigma sqrt(t) at first and ends at sigma / sqrt(2 theta)
    (Uhlenbeck and Ornstein, 1930; Lillicrap et al., 2016, section 7).

    Example:
        >>> ornstein_uhlenbeck(jnp.zeros(1), jnp.array([1.0]), theta=0.5, sigma=0.3, dt=0.1)
        Array([0.95], dtype=float32)
    """
    drifted: jax.Array = noise - theta * noise * dt + sigma * jnp.sqrt(dt) * kick
    return drifted
