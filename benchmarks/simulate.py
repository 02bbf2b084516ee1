"""Count tables as in the estimation study: uneven visits, one true level per cell."""

from __future__ import annotations

import numpy as np


def counts(
    C: np.ndarray, levels: np.ndarray, observations: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw what each cell showed; visits are uneven, with Gamma(0.5) weights."""
    visits = rng.gamma(0.5, size=len(levels))
    n = rng.multinomial(observations, visits / visits.sum())
    return rng.multinomial(n, C[levels]).astype(float)


def true_levels(frequencies: list[float], cells: int, rng: np.random.Generator) -> np.ndarray:
    """Draw each cell's true level."""
    return rng.choice(len(frequencies), size=cells, p=frequencies)


def error(estimate: np.ndarray, C: np.ndarray, levels: np.ndarray) -> float:
    """Give the mean absolute error over the rows of levels that occur."""
    rows = np.unique(levels)
    return float(np.abs(estimate - C)[rows].mean())


def floor(table: np.ndarray, C: np.ndarray, levels: np.ndarray) -> float:
    """Give the error of whoever knows every cell's true level and only counts."""
    rows = np.unique(levels)
    seen = np.stack([table[levels == z].sum(axis=0) for z in rows])
    size = seen.sum(axis=1, keepdims=True)
    # A row that nobody saw can't be counted; it is left at the identity, as the vote does.
    share = np.where(size > 0, seen / np.maximum(size, 1), np.eye(len(C))[rows])
    return float(np.abs(share - C[rows]).mean())
