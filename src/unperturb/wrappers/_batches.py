"""Observations and actions of any Gymnasium space: copied, joined, and replaced by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np


def kept(value: Any) -> Any:
    """Copy what an environment gave: it may write the next observation into the same memory."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return {key: kept(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(kept(part) for part in value)
    return value


def joined(items: Sequence[Any], join: Callable[[Sequence[np.ndarray]], np.ndarray]) -> Any:
    """Join single values (`np.stack`) or batches (`np.concatenate`) to one batch.

    Example:
        >>> joined([{"x": 1}, {"x": 2}], np.stack)
        {'x': array([1, 2])}
    """
    first = items[0]
    if isinstance(first, Mapping):
        return {key: joined([item[key] for item in items], join) for key in first}
    if isinstance(first, tuple):
        return tuple(joined(parts, join) for parts in zip(*items, strict=True))
    return join([np.asarray(item) for item in items])


def with_rows(batch: Any, rows: Sequence[int], values: Sequence[Any]) -> Any:
    """Give a copy of a batch in which some rows are replaced.

    Example:
        >>> with_rows(np.array([1, 2, 3]), [1], [7])
        array([1, 7, 3])
    """
    if isinstance(batch, Mapping):
        return {key: with_rows(batch[key], rows, [value[key] for value in values]) for key in batch}
    if isinstance(batch, tuple):
        parts = enumerate(batch)
        return tuple(with_rows(part, rows, [value[i] for value in values]) for i, part in parts)
    result = np.array(batch)
    for row, value in zip(rows, values, strict=True):
        result[row] = value
    return result
