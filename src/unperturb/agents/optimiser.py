"""Adam, clipping and soft targets, laid out so that each leaf is read and written once."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

T = TypeVar("T")


class Moments(NamedTuple):
    """Adam's running means of the gradient and of its square."""

    first: Any
    second: Any


def no_moments(params: Any) -> Moments:
    """Give the moments before any gradient was seen."""
    return Moments(jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params))


def clipped(gradient: T, limit: Any) -> T:
    """Shrink a gradient whose norm over all leaves exceeds the limit.

    Example:
        >>> clipped((jnp.array([3.0]), jnp.array([4.0])), limit=1.0)
        (Array([0.6], dtype=float32), Array([0.8], dtype=float32))
    """
    norm = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)))
    share = limit / jnp.maximum(norm, limit)
    shrunk: T = jax.tree.map(lambda leaf: leaf * share, gradient)
    return shrunk


def adam(
    params: T, gradient: T, moments: Moments, rate: Any, t: Any, epsilon: float = 1e-8
) -> tuple[T, Moments]:
    """Take step t (from 0) of Adam (Kingma and Ba, 2015, Algorithm 1)."""
    b1, b2 = 0.9, 0.999
    n = jnp.asarray(t + 1, jnp.float32)
    first = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, moments.first, gradient)
    second = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g**2, moments.second, gradient)
    unbias1, unbias2 = 1 / (1 - b1**n), 1 / (1 - b2**n)
    moved = jax.tree.map(
        lambda p, m, v: p - rate * (m * unbias1) / (jnp.sqrt(v * unbias2) + epsilon),
        params,
        first,
        second,
    )
    return moved, Moments(first, second)


def towards(target: T, params: T, share: Any) -> T:
    """Move a slow copy a small share of the way."""
    moved: T = jax.tree.map(lambda old, new: old + share * (new - old), target, params)
    return moved
