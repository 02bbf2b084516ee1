"""How the values of a column become whole numbers, and those of a row the number of its cell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unperturb._codecs import Grid
from unperturb.errors import InvalidCellsError, InvalidOptionError
from unperturb.logs.columns import Column, Columns
from unperturb.logs.files import Log, Values, Words

MOST_VALUES = 100_000
"""Different values that a column may have before it must be cut into bins."""
_MOST_KEYS = 2**48
"""Times the number of levels, the key of a cell must fit into 63 bits."""


class Distinct:
    """Each value that occurs is one code.

    Example:
        >>> Distinct(np.array([10, 20, 40])).codes(np.array([40, 10]))
        array([2, 0])
    """

    def __init__(self, values: np.ndarray | list[str]) -> None:
        self.values = values
        self.size = len(values)
        self._places = (
            {word: i for i, word in enumerate(values)} if isinstance(values, list) else None
        )

    def codes(self, values: Values) -> np.ndarray:
        """Give the code of each value; -1 for one that does not occur in the log."""
        if isinstance(values, Words):
            places = self._places or {}
            own = np.array([places.get(word, -1) for word in values.words], dtype=np.int64)
            return np.asarray(own[values.codes])
        known = np.asarray(self.values)
        found = np.minimum(known.searchsorted(values), len(known) - 1)
        return np.where(known[found] == values, found, -1)

    def describe(self) -> str:
        """Describe the codes in a few words."""
        return f"{self.size:,} values"


class Binned:
    """Equal bins between the smallest and the largest value.

    Example:
        >>> Binned(0.0, 1.0, 4).codes(np.array([0.0, 0.3, 1.0]))
        array([0, 1, 3])
    """

    def __init__(self, low: float, high: float, bins: int) -> None:
        if low == high:
            low, high, bins = low - 0.5, high + 0.5, 1
        self._grid = Grid(low, high, bins)
        self.size = self._grid.size

    def codes(self, values: Values) -> np.ndarray:
        """Give the bin of each value."""
        return self._grid.batch(np.asarray(values, dtype=np.float64))

    def describe(self) -> str:
        """Describe the bins in a few words."""
        return f"{self.size} bins from {self._grid.low[0]:g} to {self._grid.high[0]:g}"


Coder = Distinct | Binned


class Tracker:
    """Looks at all values of a column, and then says how to code them.

    Words, integers and whole numbers are kept apart; other numbers are binned.
    """

    def __init__(self, log: Log, name: str, bins: int | None) -> None:
        self.log = log
        self.name = name
        self._bins = bins
        self._words: dict[str, None] = {}
        self._whole = True
        self._floats = False
        self._seen: np.ndarray | None = None
        self.low, self.high = math.inf, -math.inf

    def see(self, values: Values, start: int) -> None:
        """Look at the next chunk, whose first row is `start`."""
        if isinstance(values, Words):
            if self._bins is not None:
                raise InvalidOptionError(
                    f"{self.name} holds text, such as {values.words[0][:40]!r}",
                    "only numbers can be cut into bins",
                    f"leave it out of --bins: {self.log.path} is read with each text as one value",
                )
            self._words.update(dict.fromkeys(values.words))
            self._limit(len(self._words))
            return
        if values.dtype.kind == "f":
            self._floats = True
            finite = np.isfinite(values)
            if not finite.all():
                row = int(np.argmin(finite))
                raise self.log.bad_row(
                    start + row,
                    f"{self.name} is {values[row]}",
                    "it is a finite number",
                    "correct the row or drop it",
                )
            self._whole = self._whole and bool((np.floor(values) == values).all())
        self.low = min(self.low, float(values.min()))
        self.high = max(self.high, float(values.max()))
        if self._bins is None and self._whole:
            new = np.unique(values)
            self._seen = new if self._seen is None else np.union1d(self._seen, new)
            if self._floats and len(self._seen) > MOST_VALUES:
                self._whole = False
            self._limit(len(self._seen) if self._whole else 0)

    def _limit(self, number: int) -> None:
        if number > MOST_VALUES:
            cure = "leave it out of --state" if self._words else f"cut it: --bins {self.name}=10"
            raise InvalidCellsError(
                f"{self.log.path}: {self.name} has more than {MOST_VALUES:,} different values",
                "so many states would hardly be seen twice",
                cure,
            )

    @property
    def continuous(self) -> bool:
        """Whether the column must be binned."""
        return not self._words and (self._bins is not None or not self._whole)

    def coder(self, bins: int) -> Coder:
        """Give the coder; `bins` is for a continuous column that was given none by name."""
        if self.continuous:
            return Binned(self.low, self.high, self._bins or bins)
        if self._words:
            return Distinct(sorted(self._words))
        assert self._seen is not None
        return Distinct(self._seen)


class Keys:
    """The number of each row's cell: the codes of its state, action and next state, joined."""

    def __init__(self, columns: Columns, coders: Sequence[Coder]) -> None:
        states, actions = len(columns.state), len(columns.action)
        self.columns: list[Column] = [*columns.state, *columns.action, *columns.next_state]
        self.coders = [*coders, *(coders[:states] if columns.next_state else ())]
        self.split = (states, states + actions)
        possible = math.prod(coder.size for coder in self.coders)
        if possible > _MOST_KEYS:
            raise InvalidCellsError(
                f"{len(self.columns)} columns give 10^{len(str(possible)) - 1} possible cells",
                f"at most {_MOST_KEYS:.1g} can be told apart",
                "use fewer --bins, or name only the columns that the reward depends on",
            )

    def of(self, chunk: Mapping[str, Values]) -> np.ndarray:
        """Give the key of each row; -1 where a value does not occur in the log."""
        return self.join([column.of(chunk) for column in self.columns])

    def join(self, values: Sequence[Values]) -> np.ndarray:
        """Give the keys for one array of values for each column."""
        key: Any = 0
        known: Any = True
        for own, coder in zip(values, self.coders, strict=True):
            codes = coder.codes(own)
            key = key * coder.size + codes
            known = known & (codes >= 0)
        return np.where(known, key, -1)

    def describe(self) -> str:
        """Describe the cells in one line."""
        parts = zip(self.columns[: self.split[1]], self.coders, strict=False)
        return ", ".join(f"{column}: {coder.describe()}" for column, coder in parts)
