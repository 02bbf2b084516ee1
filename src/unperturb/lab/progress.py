"""Progress bars: on stderr, only on a terminal, and only for what takes longer than two seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def progress(items: Iterable[T], label: str, unit: str = "unit") -> Iterator[T]:
    """Go through items under a bar.

    Example:
        >>> sum(progress([1, 2, 3], "adding"))
        6
    """
    from tqdm import tqdm

    # disable=None: no bar where stderr is a file or a pipe.
    bar: Iterable[T] = tqdm(items, desc=label, unit=unit, delay=2, disable=None)
    yield from bar
