"""Cells inside a compiled loop: the same bins as `unperturb.Cells`, in JAX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from unperturb.cells import Cells
from unperturb.errors import InvalidCellsError

Code = Callable[[Any], Any]


class CompiledCells(NamedTuple):
    """Cells as functions of one observation and one action.

    Attributes:
        states: How many states there are.
        state: observation -> index of its state.
        cell: (index of the state, action) -> index of the cell.
    """

    states: int
    state: Code
    cell: Callable[[Any, Any], Any]


def compiled_cells(cells: Cells) -> CompiledCells:
    """Build the functions for grids and discrete spaces.

    Example:
        >>> coded = compiled_cells(Cells.grid(-1.0, 1.0, bins=[4, 5], actions=2))
        >>> state = coded.state(jnp.array([0.1, 5.0]))
        >>> int(state), int(coded.cell(state, 1))
        (14, 29)
    """
    config = cells.config()
    state, action = config.get("state"), config.get("action")
    if state is None or config.get("next_state"):
        raise _unknown(cells)
    code = _code(state, cells)
    actions = cells.n // cells.states
    if action is None:
        return CompiledCells(cells.states, code, lambda index, action: index)
    action_code = _code(action, cells)
    return CompiledCells(
        cells.states, code, lambda index, action: index * actions + action_code(action)
    )


def _code(config: Mapping[str, Any], cells: Cells) -> Code:
    if config["kind"] == "integer":
        start = config["start"]

        def number(value: Any) -> Any:
            value = jnp.asarray(value)
            if not jnp.issubdtype(value.dtype, jnp.integer):
                raise InvalidCellsError(
                    f"the cells are {cells.describe()}, and one is asked for with {value.dtype}",
                    "a discrete space holds whole numbers",
                    "give the cells bins for it, or actions=None to leave actions out",
                )
            return value.astype(jnp.int32).reshape(()) - start

        return number
    if config["kind"] != "grid":
        raise _unknown(cells)
    low, high, bins = (np.asarray(config[name]) for name in ("low", "high", "bins"))
    scale = (bins / (high - low)).astype(np.float32)
    low32, top = low.astype(np.float32), (bins - 1).astype(np.float32)

    def index(value: Any) -> Any:
        numbers = jnp.ravel(value)
        total: Any = 0
        # One number at a time: XLA sums over so short an axis slowly.
        for i in range(len(bins)):
            place = jnp.clip((numbers[i] - low32[i]) * scale[i], 0.0, top[i])
            total = total * int(bins[i]) + jnp.floor(place).astype(jnp.int32)
        return total

    return index


def _unknown(cells: Cells) -> InvalidCellsError:
    return InvalidCellsError(
        f"the cells are {cells.describe()}",
        "a compiled loop knows grids and discrete spaces",
        "flatten the observations, or use the wrappers",
    )
