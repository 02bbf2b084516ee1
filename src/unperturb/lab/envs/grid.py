"""Cells inside a compiled loop: the same bins as `unperturb.Cells`, in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from unperturb.cells import Cells
from unperturb.errors import InvalidCellsError


def compiled_states(cells: Cells) -> Callable[[Any], Any]:
    """Give the function from one observation to its state, for grids and discrete states.

    Example:
        >>> state = compiled_states(Cells.grid(-1.0, 1.0, bins=[4, 5], actions=2))
        >>> int(state(jnp.array([0.1, 5.0])))
        14
    """
    config = cells.config()
    state = config.get("state", {})
    if state.get("kind") == "integer":
        start = state.get("start", 0)
        return lambda observation: jnp.asarray(observation, jnp.int32).reshape(()) - start
    if state.get("kind") != "grid":
        raise InvalidCellsError(
            f"the cells are {cells.describe()}",
            "a compiled loop knows grids and discrete states",
            "flatten the observations, or use the wrappers",
        )
    low, high = np.asarray(state["low"]), np.asarray(state["high"])
    bins = np.asarray(state["bins"])
    scale = (bins / (high - low)).astype(np.float32)
    strides = np.append(np.cumprod(bins[::-1])[-2::-1], 1).astype(np.int32)

    def index(observation: Any) -> Any:
        x = (jnp.ravel(observation) - low.astype(np.float32)) * scale
        x = jnp.clip(x, 0.0, (bins - 1).astype(np.float32))
        # One number at a time: XLA sums over so short an axis slowly.
        places = jnp.floor(x).astype(jnp.int32)
        total = places[0] * strides[0]
        for i in range(1, len(bins)):
            total = total + places[i] * strides[i]
        return total

    return index
