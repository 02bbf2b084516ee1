"""Convolutions over batches of frames: (batch, height, width, channels)."""

from __future__ import annotations

from typing import NamedTuple

import jax


class Layer(NamedTuple):
    """A convolution without padding: how many kernels, their size, and the stride."""

    channels: int
    size: int
    stride: int


def after(side: int, layers: tuple[Layer, ...]) -> int:
    """Give the side that a square frame has after these layers.

    Example:
        >>> after(84, (Layer(32, 8, 4), Layer(64, 4, 2), Layer(64, 3, 1)))
        7
    """
    for layer in layers:
        side = (side - layer.size) // layer.stride + 1
    return side


def convolve(kernel: jax.Array, x: jax.Array, stride: int) -> jax.Array:
    """Slide a kernel (size, size, channels in, channels out) over frames.

    Example:
        >>> import jax.numpy as jnp
        >>> convolve(jnp.ones((8, 8, 4, 32)), jnp.ones((1, 84, 84, 4)), stride=4).shape
        (1, 20, 20, 32)
    """
    result: jax.Array = jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return result
