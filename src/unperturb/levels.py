"""Reward levels: the finite set R_0 < ... < R_{M-1} that a reward is taken from."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from unperturb._checks import is_number
from unperturb.errors import (
    InvalidLevelsError,
    InvalidOptionError,
    NonFiniteRewardError,
    UnknownRewardError,
    UnperturbError,
)

TOLERANCE = 1e-6
"""Float noise that is forgiven, relative to the largest magnitude among the levels."""

Value = Literal["lower", "middle", "upper"]


class RewardLevels:
    """A finite set of reward levels, in ascending order.

    Built from a list, a reward must be one of the levels (up to float noise of 1e-6, relative).
    Built by `uniform`, each level is an interval of a continuous reward and one value stands for
    it (the paper, "Continuous reward"); rewards outside the range are clipped into the outermost
    intervals, and `outside` counts them.

    Example:
        >>> levels = RewardLevels([-1.0, 1.0])
        >>> levels.index([1.0, -1.0, 1.0])
        array([1, 0, 1])
        >>> levels.index([0.5])
        Traceback (most recent call last):
            ...
        unperturb.errors.UnknownRewardError: reward 0.5 is no level; the levels are -1, 1 and the \
nearest is 1. add it to RewardLevels, or use RewardLevels.uniform for a continuous reward
    """

    def __init__(self, values: Sequence[float] | np.ndarray) -> None:
        try:
            array = np.array(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidLevelsError(
                f"reward levels {values!r} are no numbers ({error})",
                "levels are a flat list of numbers",
                "write RewardLevels([-1.0, 1.0])",
            ) from None
        self._edges: np.ndarray | None = None
        self._range: tuple[float, float] | None = None
        self._value: Value | None = None
        self._set(array)
        middles = (array[1:] + array[:-1]) / 2
        self._cuts = middles
        self._cut_list: list[float] = middles.tolist()
        self._find = bisect_left

    def _set(self, array: np.ndarray) -> None:
        if array.ndim != 1 or array.size < 2:
            raise InvalidLevelsError(
                f"reward levels have shape {array.shape}",
                "there must be two or more levels in a flat list",
                "list every reward that can be observed, as in RewardLevels([-1.0, 1.0])",
            )
        if not np.isfinite(array).all():
            raise InvalidLevelsError(
                f"reward levels {array.tolist()} hold a value that is not finite",
                "levels are finite numbers",
                "remove NaN and infinities",
            )
        self.tolerance = TOLERANCE * float(np.abs(array).max())
        gaps = np.diff(array)
        if (gaps > 0).all() and gaps.min() <= 2 * self.tolerance:
            raise InvalidLevelsError(
                f"two reward levels lie {gaps.min():g} apart",
                f"among levels as large as {np.abs(array).max():g}, closer than "
                f"{2 * self.tolerance:g} is float noise",
                "subtract a constant from all rewards, or merge such levels",
            )
        if not (gaps > 0).all():
            raise InvalidLevelsError(
                f"reward levels {array.tolist()} do not ascend",
                "levels are distinct and in ascending order",
                "sort them and remove duplicates: RewardLevels(sorted(set(values)))",
            )
        array.setflags(write=False)
        self.values = array
        self._value_list: list[float] = array.tolist()
        self._exact = {value: i for i, value in enumerate(self._value_list)}

    @classmethod
    def uniform(cls, low: float, high: float, count: int, value: Value = "middle") -> RewardLevels:
        """Cut [low, high] into `count` equal intervals; one of their points stands for each.

        With value="upper" the intervals are (a, b], so Pendulum's reward in (-17, 0] is rounded up
        to an integer; with "lower" they are [a, b); with "middle" they are (a, b].

        Example:
            >>> levels = RewardLevels.uniform(-17, 0, 17, value="upper")
            >>> levels.values[[0, 16]]
            array([-16.,   0.])
            >>> levels.index([-0.3, -16.9, -40.0])
            array([16,  0,  0])
            >>> levels.outside([-0.3, -16.9, -40.0])
            1
        """
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InvalidLevelsError(
                f"the range of the levels is [{low}, {high}]",
                "a range has two finite ends, the lower one first",
                "pass the smallest and the largest reward: RewardLevels.uniform(-17, 0, 17)",
            )
        if not (is_number(count) and count >= 2 and count % 1 == 0):
            raise InvalidLevelsError(
                f"{count} intervals were asked for",
                "there must be two or more",
                "pass a whole number such as 17",
            )
        if value not in ("lower", "middle", "upper"):
            raise InvalidOptionError(
                f"value={value!r}",
                "an interval is represented by its lower, middle or upper point",
                "pass value='lower', 'middle' or 'upper'",
            )
        edges = np.linspace(low, high, int(count) + 1)
        points = {"lower": edges[:-1], "upper": edges[1:], "middle": (edges[1:] + edges[:-1]) / 2}
        self = cls.__new__(cls)
        self._edges = edges
        self._value = value
        self._set(points[value].copy())
        # A level's own value lies on an edge. Float32 may push it across, so the edge is moved out
        # of its way by the tolerance.
        self.tolerance = TOLERANCE * max(abs(low), abs(high))
        self._range = float(edges[0] - self.tolerance), float(edges[-1] + self.tolerance)
        if value == "lower":
            self._cuts = edges[1:-1] - self.tolerance
            self._find = bisect_right
        else:
            self._cuts = edges[1:-1] + self.tolerance
            self._find = bisect_left
        self._cut_list = self._cuts.tolist()
        return self

    @property
    def continuous(self) -> bool:
        """Whether each level stands for an interval."""
        return self._edges is not None

    @property
    def cuts(self) -> np.ndarray:
        """The M - 1 numbers between the levels: a reward above k of them has level k."""
        return self._cuts

    @property
    def closed_below(self) -> bool:
        """Whether a reward that equals a cut belongs to the level above it."""
        return self._value == "lower"

    def __len__(self) -> int:
        return len(self._value_list)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RewardLevels):
            return NotImplemented
        return self.config() == other.config()

    def __hash__(self) -> int:
        return hash((tuple(self._value_list), self._value))

    def __repr__(self) -> str:
        if self._edges is not None:
            low, high = self._edges[0], self._edges[-1]
            return f"RewardLevels.uniform({low:g}, {high:g}, {len(self)}, value={self._value!r})"
        return f"RewardLevels({self._value_list})"

    def index(self, rewards: Any) -> np.ndarray:
        """Give the level index of each reward."""
        array = np.asarray(rewards, dtype=np.float64)
        side: Literal["left", "right"] = "right" if self._value == "lower" else "left"
        index = self._cuts.searchsorted(array, side)
        if self._edges is None:
            if not (np.abs(self.values[index] - array) <= self.tolerance).all():
                self._refuse(array)
        elif not np.isfinite(array).all():
            self._refuse(array)
        return index

    def index_one(self, reward: float) -> int:
        """Give the level index of one reward; the same as `index`, faster for a single number."""
        try:
            exact = self._exact.get(reward)
        except TypeError:  # arrays with a single number can't be looked up
            return self.index_one(float(reward))
        if exact is not None:
            return exact
        index = self._find(self._cut_list, reward)
        if self._edges is None:
            if not abs(self._value_list[index] - reward) <= self.tolerance:
                self._refuse(np.asarray(reward, dtype=np.float64))
        elif not math.isfinite(reward):
            self._refuse(np.asarray(reward, dtype=np.float64))
        return index

    def outside(self, rewards: Any) -> int:
        """Count the rewards that lie outside the range and are clipped into it."""
        if self._range is None:
            return 0
        low, high = self._range
        if isinstance(rewards, float):  # one at a time, an array would cost more than all else
            return int(rewards < low or rewards > high)
        array = np.asarray(rewards, dtype=np.float64)
        return int(np.count_nonzero((array < low) | (array > high)))

    def _refuse(self, array: np.ndarray) -> None:
        flat = array.ravel()
        place = "" if flat.size == 1 else " at index {}"
        bad = np.flatnonzero(~np.isfinite(flat))
        if bad.size:
            raise NonFiniteRewardError(
                f"reward{place.format(bad[0])} is {flat[bad[0]]}",
                "a reward is a finite number",
                "find out why the environment gave it; drop such transitions from a log",
            )
        nearest = np.abs(self.values[:, None] - flat).argmin(axis=0)
        first = np.flatnonzero(np.abs(self.values[nearest] - flat) > self.tolerance)[0]
        shown = ", ".join(f"{value:g}" for value in self._value_list[:8])
        more = ", ..." if len(self) > 8 else ""
        raise UnknownRewardError(
            f"reward {flat[first]:g}{place.format(first)} is no level",
            f"the levels are {shown}{more} and the nearest is {self.values[nearest[first]]:g}",
            "add it to RewardLevels, or use RewardLevels.uniform for a continuous reward",
        )

    def config(self) -> dict[str, Any]:
        """Describe the levels in a form that JSON can hold."""
        if self._edges is None:
            return {"values": list(self._value_list)}
        low, high = float(self._edges[0]), float(self._edges[-1])
        return {"uniform": [low, high, len(self)], "value": self._value}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> RewardLevels:
        """Build the levels that `config` described."""
        try:
            if "values" in config:
                return cls(config["values"])
            low, high, count = config["uniform"]
            return cls.uniform(low, high, count, value=config["value"])
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, UnperturbError):
                raise
            raise InvalidLevelsError(
                f"{config!r} describes no levels ({error!r})",
                "a description has the form that config() gives",
                "pass what config() gave",
            ) from None
