"""What the array standard lacks, for NumPy, JAX and torch alike.

The mathematics of this library is written once, against the namespace of its input
(`array_api_compat`). Only the few functions here look at which library that is. JAX and torch are
never imported from here unless an array of theirs was handed in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import array_api_compat.numpy
import numpy as np
import scipy.special
from array_api_compat import array_namespace, is_jax_array, is_torch_array

Array = Any
"""An array of NumPy, JAX or torch."""

_BLOCK = 12_000


def namespace(*arrays: Array) -> Any:
    """Give the array namespace that these arrays share."""
    # For a few cells, to look at every library would take as long as the arithmetic.
    if all(type(array) is np.ndarray for array in arrays):
        return array_api_compat.numpy
    return array_namespace(*arrays)


def as_floats(values: Any, like: Array | None = None) -> Array:
    """Turn lists, tuples and `__array__` objects into floats; keep JAX and torch arrays as such."""
    if is_jax_array(values) or is_torch_array(values):
        xp = array_namespace(values)
        return values if xp.isdtype(values.dtype, "real floating") else values * 1.0
    array = np.asarray(values, dtype=np.float64, order="C")
    if like is not None and is_torch_array(like) and not array.flags.writeable:
        array = array.copy()  # torch warns of memory that it may not write to
    if like is not None and (is_jax_array(like) or is_torch_array(like)):
        return array_namespace(like).asarray(array, dtype=like.dtype)
    return array


def is_concrete(array: Array) -> bool:
    """Say whether the values can be looked at, which inside `jax.jit` they can't."""
    jax = sys.modules.get("jax")
    return jax is None or not isinstance(array, jax.core.Tracer)


def to_numpy(array: Array) -> np.ndarray:
    """Copy an array of any library to NumPy."""
    if is_torch_array(array):
        array = array.detach().cpu()
    return np.asarray(array)


def _special(array: Array) -> Any:
    if is_jax_array(array):
        import jax.scipy.special

        return jax.scipy.special
    if is_torch_array(array):
        import torch.special

        return torch.special
    return scipy.special


def digamma(x: Array) -> Array:
    """Give the derivative of the logarithm of the gamma function."""
    return _special(x).digamma(x)


def gammaln(x: Array) -> Array:
    """Give the logarithm of the gamma function."""
    return _special(x).gammaln(x)


def logsumexp(x: Array, axis: int) -> Array:
    """Give log(sum(exp(x))) along an axis, without overflow."""
    xp = array_namespace(x)
    top = xp.max(x, axis=axis, keepdims=True)
    return xp.log(xp.sum(xp.exp(x - top), axis=axis)) + xp.squeeze(top, axis=axis)


def row_sums(table: Array) -> Array:
    """Sum each row; with a handful of columns a product is several times faster than a sum."""
    return table @ namespace(table).ones(table.shape[1], dtype=table.dtype)


def scatter_add(x: Array, index: Array, amount: Array) -> Array:
    """Give x with `amount` added at `index` along the first axis; repeated indices add up."""
    if is_jax_array(x):
        return x.at[index].add(amount)
    if is_torch_array(x):
        return x.index_put((index,), amount, accumulate=True)
    out = np.array(x)
    np.add.at(out, index, amount)
    return out


def blocks(table: Array) -> list[slice]:
    """Cut the rows of a table into blocks whose temporaries stay in the cache.

    That is several times faster, and matrix products this small don't wait for a second core. A
    compiler does its own cutting, so a JAX array comes in one piece.
    """
    rows = table.shape[0]
    size = max(_BLOCK // table.shape[1], 1) if isinstance(table, np.ndarray) else rows
    return [slice(first, first + size) for first in range(0, rows, size)]


def loop(step: Callable[[Any], tuple[Any, Array]], state: Any, limit: int, like: Array) -> Any:
    """Apply `state, done = step(state)` until done, `limit` times at most.

    On JAX this is one compiled `while_loop`, so that it works inside `jax.jit`.
    """
    if is_jax_array(like):
        import jax
        import jax.numpy as jnp

        def body(carry: tuple[Any, Array, Array]) -> tuple[Any, Array, Array]:
            inner, done = step(carry[0])
            return inner, done, carry[2] + 1

        start = (state, jnp.asarray(False), jnp.asarray(0))
        return jax.lax.while_loop(lambda c: ~c[1] & (c[2] < limit), body, start)[0]
    for _ in range(limit):
        state, done = step(state)
        if done:
            break
    return state
