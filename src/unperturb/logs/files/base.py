"""What every kind of log can do: give chunks of columns, and write a copy with columns added."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unperturb.errors import BadRowError, DamagedFileError, MissingExtraError

CHUNK = 131_072
"""Rows that are in memory at a time."""


class Words(NamedTuple):
    """A column of text: row b says words[codes[b]]."""

    codes: np.ndarray
    words: list[str]


Values = np.ndarray | Words


class Restart(Exception):  # noqa: N818 - no mistake of anybody's
    """The reader has learned something about the file; the pass begins again."""


class Added:
    """The columns to add, by look-up: row b of the log gets tables[name][pairs[b]].

    Example:
        >>> added = Added({"x": np.array([0.5, 1.5])}, iter([np.array([0, 1, 1]), np.array([0])]))
        >>> added.take(2), added.take(2)
        (array([0, 1]), array([1, 0]))
    """

    def __init__(self, tables: Mapping[str, np.ndarray], pairs: Iterator[np.ndarray]) -> None:
        self.tables = tables
        self.pairs = pairs
        self._left: np.ndarray = np.empty(0, dtype=np.int64)

    def take(self, rows: int) -> np.ndarray:
        """Give the pairs of the next `rows` rows, wherever the chunks end."""
        while len(self._left) < rows:
            more = next(self.pairs, None)
            if more is None:
                break
            self._left = np.concatenate([self._left, more])
        taken, self._left = self._left[:rows], self._left[rows:]
        return taken


class Log(ABC):
    """A log of transitions on disk, read a chunk at a time.

    Attributes:
        path: What the user called it.
        widths: Its columns: 0 for one value in each row, else how many numbers a row holds.
        chunk: About how many rows are read at a time.
        taken: Names that a copy has and that are no columns.
    """

    kind: ClassVar[str]
    widths: dict[str, int]
    taken: frozenset[str] = frozenset()

    def __init__(self, path: Path, chunk: int = CHUNK) -> None:
        self.path = path
        self.chunk = chunk

    @abstractmethod
    def chunks(self, names: Sequence[str]) -> Iterator[dict[str, Values]]:
        """Give these columns, chunk by chunk: (rows,) or (rows, width) numbers, or words."""

    @abstractmethod
    def write(self, out: Path, added: Added, name: str) -> None:
        """Write a copy with columns added to a path that does not exist yet.

        `name` is what the user calls the copy, which may move there later.
        """

    def must_be_numbers(self, name: str) -> None:  # noqa: B027 - most files say what they hold
        """Say that this column holds numbers, whatever it looks like."""

    def where(self, row: int) -> str:
        """Say where a row is; rows count from 0, as in pandas and NumPy."""
        return f"row {row}"

    def bad_row(self, row: int, found: str, rule: str, remedy: str) -> BadRowError:
        """Make the error for something in a row."""
        return BadRowError(f"{self.path}, {self.where(row)}: {found}", rule, remedy)

    def missing(self, row: int, name: str) -> BadRowError:
        """Make the error for a value that is not there."""
        return self.bad_row(
            row, f"{name} is empty", "each row has a value", "fill it in or drop the row"
        )

    def no_rows(self) -> DamagedFileError:
        """Make the error for a log without transitions."""
        return DamagedFileError(
            f"{self.path} has no rows",
            "an audit needs rewards",
            "check what wrote it, or pass another file",
        )

    def damaged(self, what: object) -> DamagedFileError:
        """Make the error for a file that can't be read."""
        text = " ".join(str(what).split()) or type(what).__name__
        return DamagedFileError(
            f"{self.path} can't be read ({text[:200]})",
            f"it must be a whole {self.kind} file",
            "write it again, or restore it from a copy",
        )


def needed(package: str, extra: str, what: str) -> MissingExtraError:
    """Make the error for a package that is not installed."""
    return MissingExtraError(
        f"{package} is not installed", f"{what} needs it", f"pip install 'unperturb[{extra}]'"
    )


def from_numpy(array: np.ndarray) -> Values | None:
    """Give numbers as bool, integers or float64, and text as words; None for other types."""
    if array.dtype.kind in "biu":
        return array
    if array.dtype.kind == "f":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind in "US" and array.ndim == 1:
        words, codes = np.unique(array, return_inverse=True)
        if words.dtype.kind == "S":
            words = np.char.decode(words, "utf-8", "replace")
        return Words(codes, words.tolist())
    return None


def from_arrow(column: Any, log: Log, name: str, start: int, width: int) -> Values:
    """Give an Arrow array or chunked array as values; `start` is its first row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if column.null_count:
        first = pc.index(column.is_null(), True).as_py()
        raise log.missing(start + first, name)
    if width or pa.types.is_fixed_size_list(column.type) or pa.types.is_list(column.type):
        return _from_lists(column, log, name, start, width or 1)
    kind = column.type
    if pa.types.is_boolean(kind):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if pa.types.is_integer(kind):
        return np.asarray(column.to_numpy())
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    if not pa.types.is_dictionary(kind):
        column = column.cast(pa.string()).dictionary_encode()
    words = column.dictionary.cast(pa.string()).to_pylist()
    return Words(column.indices.to_numpy(zero_copy_only=False), words)


def _from_lists(column: Any, log: Log, name: str, start: int, width: int) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(lengths != width)
    if wrong.size:
        raise log.bad_row(
            start + int(wrong[0]),
            f"{name} holds {lengths[wrong[0]]} numbers",
            f"the first row holds {width}, and all rows hold the same",
            "correct the row or drop it",
        )
    flat = column.flatten()
    if flat.null_count:
        first = pc.index(flat.is_null(), True).as_py()
        raise log.missing(start + first // width, name)
    numbers = np.asarray(flat.cast(pa.float64()).to_numpy(zero_copy_only=False))
    return numbers if width == 1 else numbers.reshape(-1, width)
