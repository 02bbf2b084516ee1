"""The reward channel inside a compiled loop: what lies between environment and agent.

A true reward becomes a level, the level an observed one, and the observed one a look-up in tables
that change only when C is estimated anew. Which reward an agent learns from is thus a matter of
numbers, not of code, and one compilation serves all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from unperturb.levels import RewardLevels


class Lens(NamedTuple):
    """What a reward is seen through; one for each run.

    Attributes:
        raw: Whether the reward is shown as it is.
        shown: The rows of C, summed up: level i is seen as level j where a number drawn from
            [0, 1) falls between columns j - 1 and j.
        table: The value given for each observed level.
        first: The value given in a cell that has none, for each observed level.
        values: The value given in each cell; NaN where it has none. Without cells it has length 1.
    """

    raw: Any
    shown: Any
    table: Any
    first: Any
    values: Any


class Window(NamedTuple):
    """The last observed levels of each cell, for the paper's variance reduction.

    Attributes:
        ring: The levels, (cells, size + 1): one slot more than the window has, for the level that
            is about to leave it.
        visits: How often each cell was visited, (cells,).
        counts: How often each level stands in the ring of each cell, (cells, M).
    """

    ring: Any
    visits: Any
    counts: Any


class Given(NamedTuple):
    """What came of one reward: the level, what was observed, and what the agent gets."""

    seen: Any
    reward: Any
    window: Window | None
    stray: Any


def empty_window(cells: int, M: int, size: int) -> Window:
    """Give a window that has seen nothing; slots that were never written hold M.

    Example:
        >>> empty_window(cells=10, M=2, size=100).ring.shape
        (10, 101)
    """
    return Window(
        jnp.full((cells, size + 1), M, jnp.int8),
        jnp.zeros(cells, jnp.int32),
        jnp.zeros((cells, M), jnp.float32),
    )


def level_of(levels: RewardLevels, reward: Any) -> tuple[Any, Any]:
    """Give the level of a reward, and whether it is none: what `levels.index` refuses.

    Example:
        >>> [int(x) for x in level_of(RewardLevels([-1.0, 1.0]), jnp.float32(1.0))]
        [1, 0]
    """
    cuts = jnp.asarray(levels.cuts, jnp.float32)
    above = reward >= cuts if levels.closed_below else reward > cuts
    level = jnp.sum(above).astype(jnp.int32)
    if levels.continuous:
        return level, ~jnp.isfinite(reward)
    off = jnp.abs(jnp.asarray(levels.values, jnp.float32)[level] - reward)
    return level, ~(off <= 2 * levels.tolerance)


def pass_through(
    levels: RewardLevels, lens: Lens, window: Window | None, reward: Any, chance: Any, cell: Any
) -> Given:
    """Send one true reward through the channel; `chance` is the number drawn for the noise."""
    level, stray = level_of(levels, reward)
    seen = jnp.sum(chance >= lens.shown[level]).astype(jnp.int32)
    value = lens.values[jnp.minimum(cell, lens.values.shape[0] - 1)]
    if window is None:
        given = jnp.where(jnp.isnan(value), lens.first[seen], value)
    else:
        window = _remember(window, cell, seen)
        own = window.counts[cell]
        given = own @ lens.table / jnp.sum(own)
    return Given(seen, jnp.where(lens.raw, reward, given), window, stray)


def _remember(window: Window, cell: Any, seen: Any) -> Window:
    # XLA copies a whole array that is read before it is written, so each is written first. What
    # leaves the window is read from the slot that comes next. A slot that was never written holds
    # M, which lies outside the table and is dropped.
    slots = window.ring.shape[1]
    visits = window.visits.at[cell].add(1)
    place = visits[cell] % slots
    ring = window.ring.at[cell, place].set(seen.astype(jnp.int8))
    left = ring[cell, (place + 1) % slots].astype(jnp.int32)
    counts = window.counts.at[cell, seen].add(1.0).at[cell, left].add(-1.0, mode="drop")
    return Window(ring, visits, counts)


def lens(
    levels: RewardLevels,
    noise: Any,
    cells: int,
    raw: bool = False,
    table: Any = None,
    first: Any = None,
    values: Any = None,
) -> Lens:
    """Build a lens of NumPy arrays; by default observed rewards are given as they are.

    Example:
        >>> lens(RewardLevels([-1.0, 1.0]), np.eye(2), cells=1).table
        array([-1.,  1.], dtype=float32)
    """
    table = levels.values if table is None else table
    return Lens(
        np.asarray(raw),
        np.cumsum(noise, axis=1)[:, :-1].astype(np.float32),
        np.asarray(table, np.float32),
        np.asarray(table if first is None else first, np.float32),
        np.full(cells, np.nan, np.float32) if values is None else np.asarray(values, np.float32),
    )
