"""What lanes see rewards through, and what their correctors make of what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from unperturb.lab import channel
from unperturb.lab.channel import Lens

if TYPE_CHECKING:
    from unperturb.lab.training import Lane, Problem

CHUNK = 1000
"""The most steps between two looks at a run."""


@partial(jax.jit, donate_argnums=0)
def _with_row(table: jax.Array, i: Any, row: jax.Array) -> jax.Array:
    return table.at[i].set(row)


class Eyes:
    """Through what the lanes see rewards at present, and what their correctors make of it."""

    def __init__(self, problem: Problem, lanes: Sequence[Lane]) -> None:
        self._levels = problem.levels
        self._correctors = [lane.corrector for lane in lanes]
        by_cell = any(c is not None and c.method == "posterior" for c in self._correctors)
        width = problem.cells.n if by_cell and problem.cells is not None else 1
        each = [
            channel.lens(problem.levels, lane.noise, width, lane.raw, lane.table) for lane in lanes
        ]
        lens = Lens(*map(np.stack, zip(*each, strict=True)))
        # On a fine grid this is most of the lens by far. It stays where it is used, and the value
        # of a cell is written in place.
        self.lens = lens._replace(values=jnp.array(lens.values))
        M = len(problem.levels)
        self.confusion = [[np.eye(M)] for _ in lanes]
        self.estimated = [[0] for _ in lanes]
        # What each corrector has not counted yet. The values of its cells depend on when it counts,
        # so it does that at steps of its own, whatever other lanes the chunks are cut for.
        self._waiting: list[list[np.ndarray]] = [[] for _ in lanes]
        # What each lane was shown in the steps that its agent keeps; -1 where there was none yet.
        # Only a posterior looks back: the paper corrects each reward once, when it comes.
        kept = problem.agent.memory if by_cell else 0
        self._kept = np.full((len(lanes), kept), -1, np.int32)

    @property
    def until_refresh(self) -> float:
        """How many more steps there are until some corrector estimates C."""
        return min(
            (
                corrector.until_refresh - sum(map(len, waiting))
                for corrector, waiting in zip(self._correctors, self._waiting, strict=True)
                if corrector is not None
            ),
            default=np.inf,
        )

    def take(self, codes: np.ndarray, t: int) -> np.ndarray | None:
        """Count what was observed; where C was estimated anew, take its tables.

        Where a posterior was, give the rewards of all kept steps as they are seen now. An early
        estimate may be far off, and an agent that kept what it made of rewards would learn from
        that for most of its life.
        """
        M = len(self._levels)
        lens, told = None, None
        memory = self._kept.shape[1]
        if memory:
            self._kept[:, np.arange(t - len(codes), t) % memory] = codes.T
        for i, corrector in enumerate(self._correctors):
            if corrector is None:
                continue
            self._waiting[i].append(codes[:, i])
            own = np.concatenate(self._waiting[i]).astype(np.int64)
            if len(own) < corrector.until_refresh and t % CHUNK:
                continue
            self._waiting[i] = []
            cell, seen = np.divmod(own, M)
            before = corrector.refreshes
            corrector.take(cell, seen, self._levels.values[seen])
            anew = corrector.refreshes > before
            if anew:
                self.confusion[i].append(corrector.confusion)
                self.estimated[i].append(t)
            elif corrector.method != "posterior":
                continue
            # New arrays: the loop may still be reading the old ones.
            lens = lens or self.lens._replace(
                table=self.lens.table.copy(), first=self.lens.first.copy()
            )
            tables = corrector.tables
            lens.table[i], lens.first[i] = tables.surrogate, tables.first
            if tables.values is not None:
                values = _with_row(lens.values, i, tables.values.astype(np.float32))
                lens = lens._replace(values=values)
                if anew and memory:
                    if told is None:
                        told = np.full(self._kept.shape, np.nan, np.float32)
                    cell, seen = np.divmod(self._kept[i], M)
                    value = tables.values[cell]
                    value = np.where(np.isnan(value), tables.first[seen], value)
                    told[i] = np.where(self._kept[i] >= 0, value, np.nan)
        self.lens = lens or self.lens
        return told
