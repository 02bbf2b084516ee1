"""How one observation or action becomes one integer: a codec for each kind of Gymnasium space.

A codec knows its `size`, encodes a batch (`batch`) and, in pure Python, a single value (`one`), and
describes itself (`config`, `describe`). Both ways of encoding give the same integer.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from operator import index
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from unperturb import _checks
from unperturb.errors import BatchMismatchError, InvalidCellsError, OutsideSpaceError

IntArray = npt.NDArray[np.int64]

whole = partial(_checks.whole, error=InvalidCellsError)

LIMIT = 50_000_000
"""The most cells that a key may have: a count table of two levels then takes 800 MB."""


class Codec(ABC):
    """Turns the values of one space into the integers 0 .. size - 1."""

    size: int
    what: str
    """What is encoded, for messages: "observation", "action" or a part of them."""
    wanted: str
    """What a value must be, for messages."""
    kind: ClassVar[str]
    options: ClassVar[tuple[str, ...]]
    """The constructor's arguments, each also an attribute, that `config` gives."""
    nouns: ClassVar[tuple[str, str]] = ("states", "actions")
    detail = ""

    @abstractmethod
    def batch(self, values: Any) -> IntArray:
        """Encode B values. The result may share memory with the input: don't write into it."""

    @abstractmethod
    def one(self, value: Any) -> int:
        """Encode one value."""

    def config(self) -> dict[str, Any]:
        """Describe the codec in values that JSON can hold."""
        return {"kind": self.kind, **{name: deepcopy(getattr(self, name)) for name in self.options}}

    def describe(self) -> str:
        """Describe the codec in a few words."""
        return f"{self.size:,} {self.nouns[self.what.startswith('action')]}{self.detail}"

    def _outside(self, value: Any) -> OutsideSpaceError:
        remedy = f"check it, or build the cells for the {self.what}s that occur"
        return OutsideSpaceError(f"{self.what} {value}", f"it must be {self.wanted}", remedy)


def limited(factors: Sequence[int], what: str) -> int:
    """Give the product of the factors, if it is no more than `LIMIT`."""
    product = math.prod(factors)
    if product > LIMIT:
        shown = " x ".join(f"{f:,}" for f in factors[:12]) + (" x ..." if len(factors) > 12 else "")
        number = f"{product:,}" if product < 10**15 else f"about 10^{len(str(product)) - 1}"
        found = f"{what}: {shown} = {number} cells"
        raise InvalidCellsError(found, f"at most {LIMIT:,} cells can be counted", "use fewer bins")
    return product


def as_array(values: Any, kinds: str, wanted: str, what: str) -> npt.NDArray[Any]:
    """Give an array of one of the dtype kinds, or say what was wanted."""
    try:
        array = np.asarray(values)
        # NumPy takes an empty list for floats.
        if array.dtype.kind in kinds or array.shape == (0,):
            return array
        found = f"have the type {array.dtype}"
    except (ValueError, TypeError, RuntimeError) as error:
        found = f"form no array ({error})"
    raise OutsideSpaceError(f"{what}s {found}", f"they must be {wanted}", "convert them")


class Integer(Codec):
    """A Discrete space: start .. start + n - 1."""

    kind = "integer"
    options = ("n", "start")

    def __init__(self, n: int, start: int = 0, what: str = "observation") -> None:
        self.what = what
        self.size = self.n = limited([whole(n, 1, f"the number of {what}s")], what)
        self.start = index(start)
        self.wanted = f"an integer in [{self.start}, {self.start + self.n - 1}]"

    def batch(self, values: Any) -> IntArray:
        array = as_array(values, "iub", "integers", self.what)
        if array.ndim != 1:
            raise self._outside(f"batch of the shape {array.shape} instead of (B,)")
        codes: IntArray = array.astype(np.int64, copy=False)
        if self.start:
            codes = codes - self.start
        # Seen as unsigned, negative numbers are huge: one comparison finds both ends.
        if codes.size and np.maximum.reduce(codes.view(np.uint64)) >= self.size:
            raise self._outside(array[(codes < 0) | (codes >= self.size)][0])
        return codes

    def one(self, value: Any) -> int:
        try:
            code = index(value) - self.start
        except TypeError:
            if not isinstance(value, np.bool_):  # which has no __index__
                raise self._outside(value) from None
            code = int(value) - self.start
        if 0 <= code < self.size:
            return code
        raise self._outside(value)


class Grid(Codec):
    """A Box space: each number falls into one of equal bins, floor((x - low) * scale)."""

    kind = "grid"
    nouns = ("grid cells", "action bins")
    options: ClassVar[tuple[str, ...]] = ("low", "high", "bins", "shape")

    def __init__(
        self, low: Any, high: Any, bins: Any, shape: Any = None, what: str = "observation"
    ) -> None:
        self.what = what
        try:
            lows = np.array(low, dtype=np.float64).ravel()
            highs = np.array(high, dtype=np.float64).ravel()
            lows, highs, counts = np.broadcast_arrays(lows, highs, np.asarray(bins).ravel())
            self.shape = [len(lows)] if shape is None else list(shape)
            if len(lows) == 0 or math.prod(self.shape) != len(lows):
                raise ValueError(f"{len(lows)} numbers, shape {self.shape}")
        except (ValueError, TypeError) as error:
            raise InvalidCellsError(
                f"low, high and bins of the {what} do not fit together ({error})",
                "each is one number, or one for each dimension",
                "give lists of equal length",
            ) from None
        self.low: list[float] = lows.tolist()
        self.high: list[float] = highs.tolist()
        self.bins = [whole(n, 1, f"bins of the {what}") for n in counts.tolist()]
        scale = []
        for i, (a, b, n) in enumerate(zip(self.low, self.high, self.bins, strict=True)):
            if not (a < b and math.isfinite(b - a) and math.isfinite(n / (b - a))):
                raise InvalidCellsError(
                    f"{what} dimension {i} runs from {a} to {b}",
                    "a grid needs finite bounds with low < high",
                    "pass the range in which the values lie",
                )
            scale.append(n / (b - a))
        self.size = limited(self.bins, what)
        many = "number" if len(self.bins) == 1 else "numbers"
        self.detail = f" over {len(self.bins)} {many} ({' x '.join(map(str, self.bins))} bins)"
        self.wanted = f"{len(self.bins)} {many} (shape {tuple(self.shape)}), none of them NaN"
        self._shapes = {tuple(self.shape), (len(self.bins),)}
        if len(self.bins) == 1:
            self._shapes |= {(), (1,)}  # one number may come with or without its axis
        self._dimensions = list(zip(self.low, scale, self.bins, strict=True))
        self._vector = len(self.shape) == 1 and self.shape[0] > 1
        # One column for each quantity, so that rows of the transposed batch broadcast against it.
        self._lows = np.array(self.low)[:, None]
        self._scales = np.array(scale)[:, None]
        self._tops = np.array(self.bins, dtype=np.float64)[:, None] - 1.0
        self._strides = np.array(
            [math.prod(self.bins[i + 1 :]) for i in range(len(self.bins))], float
        )

    def batch(self, values: Any) -> IntArray:
        array = self._rows(values, "fiub", "numbers")
        x = np.array(array.T, dtype=np.float64, order="C")
        with np.errstate(over="ignore"):  # a huge number becomes inf: the edge bin either way
            x -= self._lows
            x *= self._scales
        np.maximum(x, 0.0, out=x)
        np.minimum(x, self._tops, out=x)
        np.floor(x, out=x)
        # Whole numbers below 2^53 are exact in float64, and its product is the faster one.
        codes = self._strides @ x
        if codes.size and math.isnan(np.maximum.reduce(codes)):
            raise self._outside(array[np.isnan(array).any(axis=1)][0].tolist())
        return codes.astype(np.int64)

    def one(self, value: Any) -> int:
        if self._vector and type(value) is np.ndarray:
            numbers = value.tolist()
        else:
            array = as_array(value, "fiub", "numbers", self.what)
            if array.shape not in self._shapes:
                raise self._outside(f"of the shape {array.shape}")
            numbers = array.reshape(-1).tolist()
        if len(numbers) != len(self.bins):
            raise self._outside(value)
        code = 0
        try:
            for number, (low, scale, bins) in zip(numbers, self._dimensions, strict=True):
                place = (number - low) * scale
                if place < bins:
                    code = code * bins + (int(place) if place > 0.0 else 0)
                elif place >= bins:
                    code = code * bins + bins - 1
                else:
                    raise self._outside(value)
        except TypeError:
            raise self._outside(value) from None
        return code

    def _rows(self, values: Any, kinds: str, wanted: str) -> npt.NDArray[Any]:
        array = as_array(values, kinds, wanted, self.what)
        if array.ndim == 2 and array.shape[1] == len(self.bins):
            return array
        if array.shape == (0,):
            return array.reshape(0, len(self.bins))
        if array.ndim == 0 or array.shape[1:] not in self._shapes:
            raise self._outside(f"batch of the shape {array.shape}")
        return array.reshape(len(array), len(self.bins))


class Integers(Grid):
    """A MultiDiscrete or MultiBinary space: a grid whose bins are one wide, and nothing outside."""

    kind = "integers"
    options = ("nvec", "start", "shape")
    nouns = ("states", "actions")

    def __init__(self, nvec: Any, start: Any, shape: Any, what: str = "observation") -> None:
        super().__init__([0] * len(nvec), nvec, nvec, shape, what)
        self.nvec, self.start = self.bins, [index(s) for s in start]
        self._ranges = list(zip(self.start, self.nvec, strict=True))
        self.detail = f" ({' x '.join(map(str, self.nvec))})"
        self.wanted = "integers in " + ", ".join(f"[{s}, {s + n - 1}]" for s, n in self._ranges)

    def batch(self, values: Any) -> IntArray:
        rows = self._rows(values, "iub", "integers")
        shifted = rows.astype(np.int64) - np.array(self.start, dtype=np.int64)
        bad = ((shifted < 0) | (shifted >= np.array(self.nvec))).any(axis=1)
        if bad.any():
            raise self._outside(rows[bad][0].tolist())
        return super().batch(shifted)

    def one(self, value: Any) -> int:
        array = as_array(value, "iub", "integers", self.what)
        if array.shape not in self._shapes:
            raise self._outside(f"of the shape {array.shape}")
        code = 0
        for number, (start, n) in zip(array.ravel().tolist(), self._ranges, strict=True):
            if not 0 <= number - start < n:
                raise self._outside(value)
            code = code * n + number - start
        return code


class Parts(Codec):
    """A Tuple or Dict space: one codec for each part."""

    kind = "parts"
    options = ("keys",)

    def __init__(self, parts: Sequence[Codec], keys: Any, what: str = "observation") -> None:
        self.what = what
        self.parts = list(parts)
        self.keys = list(keys) if keys is not None else None
        self._named = list(zip(keys or range(len(self.parts)), self.parts, strict=True))
        if not self.parts:
            raise InvalidCellsError(f"the {what} has no parts", "it needs one", "add a space")
        self.size = limited([part.size for part in self.parts], what)
        self.detail = f" of {len(self.parts)} parts"
        kind = "tuple of" if self.keys is None else f"dict with the keys {self.keys}:"
        self.wanted = f"a {kind} {len(self.parts)} parts"

    def batch(self, values: Any) -> IntArray:
        self._check(values)
        codes = [part.batch(values[key]) for key, part in self._named]
        if len({len(code) for code in codes}) > 1:
            raise BatchMismatchError(
                f"the parts of the {self.what} have {[len(code) for code in codes]} rows",
                "all parts of a batch are equally long",
                "pass one row for each transition",
            )
        total = codes[0]
        for code, part in zip(codes[1:], self.parts[1:], strict=True):
            total = total * part.size + code
        return total

    def one(self, value: Any) -> int:
        self._check(value)
        code = 0
        for key, part in self._named:
            code = code * part.size + part.one(value[key])
        return code

    def _check(self, value: Any) -> None:
        if self.keys is None:
            good = isinstance(value, tuple | list) and len(value) == len(self.parts)
        else:
            good = isinstance(value, Mapping) and value.keys() == set(self.keys)
        if not good:
            raise self._outside(list(value) if isinstance(value, Mapping) else type(value))

    def config(self) -> dict[str, Any]:
        return {**super().config(), "parts": [part.config() for part in self.parts]}


def codec_from_config(config: Any, what: str) -> Codec:
    """Build the codec that a `config()` describes."""
    options = dict(config)
    kind = options.pop("kind")
    if kind == "parts":
        keys = options.pop("keys")
        names = keys if keys is not None else range(len(options["parts"]))
        pairs = zip(names, options.pop("parts"), strict=True)
        parts = [codec_from_config(part, f"{what}[{key!r}]") for key, part in pairs]
        return Parts(parts, keys, what=what, **options)
    kinds: dict[str, Any] = {c.kind: c for c in (Integer, Grid, Integers)}
    codec: Codec = kinds[kind](**options, what=what)
    return codec
