"""What is dear, and done once per estimate: from counts to C, and from C to values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from unperturb.corrector.memory import Memory
from unperturb.corrector.values import CellValues
from unperturb.counts import IntArray
from unperturb.denoise import cell_values, level_posterior
from unperturb.estimators import Estimator, Known
from unperturb.estimators.streaming import StreamingDawidSkene
from unperturb.levels import RewardLevels
from unperturb.surrogate import surrogate_values


class Seen(NamedTuple):
    """Cells that have been seen, and how often each of them showed each level."""

    cells: IntArray
    counts: np.ndarray


class Estimation:
    """Runs an estimator over a memory and makes values of what it finds.

    Args:
        estimator: estimates C.
        groups: the group of each cell, where C has one matrix for each.
        memory: what was seen.
        levels: the reward levels.
        eta: the weight of the unbiased part.
        n_eff: regularises the inverse of an estimated C.
    """

    def __init__(
        self,
        estimator: Estimator,
        groups: np.ndarray | None,
        memory: Memory,
        levels: RewardLevels,
        eta: float,
        n_eff: float | None,
    ) -> None:
        self.estimator = estimator
        self._groups = groups
        self._memory = memory
        self._levels = levels
        self._eta = eta
        self._n_eff = n_eff
        self._anchors: Mapping[int, int] = getattr(estimator, "anchors", None) or {}

    @property
    def confusion(self) -> np.ndarray:
        """The present estimate, (M, M), or (groups, M, M)."""
        return np.asarray(self.estimator.confusion_)

    def run(self) -> Seen:
        """Estimate C from what was seen, and give that."""
        memory = self._memory
        # Most cells of a grid are never visited; they cost nothing.
        busy = memory.counts.busy()
        seen = Seen(busy, memory.counts.rows(busy))
        if memory.chunk is None:
            self.estimator.refresh_rows(seen.counts, seen.cells, memory.counts.cells)
        elif (chunk := memory.chunk.table()).any() or not self.estimator.fitted:
            self.estimator.refresh(chunk)
            memory.new_chunk()
        return seen

    def surrogates(self) -> np.ndarray:
        """Give the surrogate of each observed level, (M,), or (groups, M)."""
        known = isinstance(self.estimator, Known)
        return np.asarray(
            surrogate_values(
                self.confusion,
                self._levels.values,
                eta=self._eta,
                n_eff=None if known else self._n_eff,
                level_prior=None if known else self.estimator.level_frequencies_,
            )
        )

    def first_values(self, surrogates: np.ndarray) -> np.ndarray:
        """Give the posterior mean of a cell with one reward, for each observed level.

        A cell first seen since the last estimate gets it, as the next estimate would give it.
        A surrogate in its place would bring its full variance into every new region of the cells.
        """
        joint = np.asarray(self.estimator.level_frequencies_)[..., None] * self.confusion
        shown = joint.sum(axis=-2)
        mean = (joint * self._levels.values[:, None]).sum(axis=-2)
        return np.asarray(np.where(shown > 0, mean / np.maximum(shown, 1e-300), surrogates))

    def values(self, seen: Seen, surrogates: np.ndarray) -> CellValues:
        """Give the corrected reward of every cell that was seen."""
        values = CellValues.unknown(self._memory.counts.cells)
        self._note(values, seen, self.estimator.posterior_of(seen.cells), surrogates)
        return values

    def renew(self, values: CellValues, cells: IntArray, surrogates: np.ndarray) -> None:
        """Look at these cells again, without waiting for the next estimate of C."""
        C = self._own(self.confusion, cells)
        seen = Seen(cells, self._memory.counts.rows(cells))
        if self._memory.chunk is None:
            frequencies = np.asarray(self.estimator.level_frequencies_)
            posterior = level_posterior(seen.counts, C, frequencies)
        else:  # a stream knows more of these cells than the counts, which fade
            known = np.asarray(self.estimator.posterior_)[cells]
            posterior = level_posterior(self._memory.chunk.rows(cells), C, known)
        if self._anchors:
            for i, cell in enumerate(cells.tolist()):
                if cell in self._anchors:
                    posterior[i] = np.eye(len(self._levels))[self._anchors[cell]]
        self._note(values, seen, posterior, surrogates)

    def forget(self, cells: IntArray) -> None:
        """Forget what these cells showed: their numbers now stand for other states."""
        self._memory.clear(cells)
        if isinstance(self.estimator, StreamingDawidSkene):
            self.estimator.forget(cells)

    def _note(
        self, values: CellValues, seen: Seen, posterior: np.ndarray, surrogates: np.ndarray
    ) -> None:
        C = self._own(self.confusion, seen.cells)
        own = self._own(surrogates, seen.cells, ndim=2)
        found = cell_values(seen.counts, posterior, C, own, self._levels.values)
        values.note(seen.cells, found, seen.counts.sum(axis=1))

    def _own(self, of_groups: np.ndarray, cells: IntArray, ndim: int = 3) -> np.ndarray:
        """Give what each cell's group has, where there is a group axis."""
        if of_groups.ndim < ndim:
            return of_groups
        assert self._groups is not None
        return np.asarray(of_groups[self._groups[cells]])
