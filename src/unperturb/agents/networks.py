"""Small multilayer perceptrons, laid out for speed on a CPU: batches are columns.

With x of shape (inputs, batch), the forward pass and both products of the backward pass run along
contiguous memory. The gradient that JAX derives itself holds a product of two transposes, which XLA
computes several times slower on a CPU; `dense` has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp

Layer = tuple[jax.Array, jax.Array]
Params = tuple[Layer, ...]


@jax.custom_vjp
def dense(w: jax.Array, b: jax.Array, x: jax.Array) -> jax.Array:
    """Give w x + b for w (outputs, inputs), b (outputs,) and x (inputs, batch).

    Example:
        >>> dense(jnp.array([[1.0, 2.0]]), jnp.array([0.5]), jnp.array([[1.0], [1.0]]))
        Array([[3.5]], dtype=float32)
    """
    return w @ x + b[:, None]


def _forward(w: jax.Array, b: jax.Array, x: jax.Array) -> tuple[jax.Array, Any]:
    return dense(w, b, x), (w, x)


def _backward(kept: Any, g: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    w, x = kept
    # The barrier keeps XLA from folding the transpose into the product, where it is slow.
    transposed: jax.Array = jax.lax.optimization_barrier(w.T)  # type: ignore[no-untyped-call]
    return g @ x.T, g @ jnp.ones(g.shape[1], g.dtype), transposed @ g


dense.defvjp(_forward, _backward)


def init_mlp(key: jax.Array, sizes: Sequence[int]) -> Params:
    """Draw Glorot-uniform weights and zero biases, as Keras does by default.

    Example:
        >>> [w.shape for w, _ in init_mlp(jax.random.key(0), [4, 16, 2])]
        [(16, 4), (2, 16)]
    """
    layers = []
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        limit = (6 / (inputs + outputs)) ** 0.5
        w = jax.random.uniform(
            jax.random.fold_in(key, i), (outputs, inputs), minval=-limit, maxval=limit
        )
        layers.append((w, jnp.zeros(outputs)))
    return tuple(layers)


def mlp(params: Params, x: jax.Array) -> jax.Array:
    """Give the outputs (outputs, batch) for inputs (inputs, batch); ReLU between the layers."""
    for w, b in params[:-1]:
        x = jax.nn.relu(dense(w, b, x))
    return dense(*params[-1], x)


def dueling(params: Params, x: jax.Array) -> jax.Array:
    """Give Q(s, a) = V(s) + A(s, a) - mean_b A(s, b) from a net whose first output is V.

    Example:
        >>> params = ((jnp.array([[1.0], [2.0], [4.0]]), jnp.zeros(3)),)
        >>> dueling(params, jnp.array([[1.0]]))[:, 0]
        Array([0., 2.], dtype=float32)
    """
    out = mlp(params, x)
    value, advantage = out[:1], out[1:]
    # A product with ones: XLA sums over so short an axis slowly.
    return value + advantage - jnp.mean(advantage, axis=0, keepdims=True)
