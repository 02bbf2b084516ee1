"""The reward column: levels as they are given or guessed, and which rewards are none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from unperturb.errors import InvalidLevelsError, InvalidOptionError
from unperturb.levels import TOLERANCE, RewardLevels, Value
from unperturb.logs.files import Log, Values

MOST_LEVELS = 32
"""More distinct rewards than this are no exact levels."""


def levels_from(given: RewardLevels | Sequence[float] | str | None) -> RewardLevels | None:
    """Read levels as a user writes them.

    "-1,1" lists them; "-17:0:17" or "-17:0:17:upper" cuts a range into intervals.

    Example:
        >>> levels_from("-1,1"), levels_from("-17:0:17:upper")
        (RewardLevels([-1.0, 1.0]), RewardLevels.uniform(-17, 0, 17, value='upper'))
    """
    if given is None or isinstance(given, RewardLevels):
        return given
    if not isinstance(given, str):
        return RewardLevels(sorted(given))
    try:
        if ":" not in given:
            return RewardLevels(sorted(float(part) for part in given.split(",")))
        low, high, count, *value = given.split(":")
        if len(value) > 1:
            raise ValueError
        kind = cast(Value, value[0] if value else "middle")
        return RewardLevels.uniform(float(low), float(high), int(count), kind)
    except (InvalidLevelsError, InvalidOptionError):
        raise
    except ValueError:
        raise InvalidOptionError(
            f"the levels are given as {given!r}",
            "they are a list, or low:high:count with an optional :lower, :middle or :upper",
            "write --levels -1,1 or --levels -17:0:17:upper",
        ) from None


class RewardSurvey:
    """Looks at every reward: all finite, all levels; and which different ones there are."""

    def __init__(self, log: Log, name: str, levels: RewardLevels | None) -> None:
        self.log = log
        self.name = name
        self.levels = levels
        self.clipped = 0
        self._low, self._high = math.inf, -math.inf
        self._seen: np.ndarray | None = np.empty(0)

    def see(self, values: Values, start: int) -> None:
        """Look at the next chunk, whose first row is `start`."""
        rewards = reward_numbers(values)
        if rewards is None:
            word = values.words[values.codes[0]]  # type: ignore[union-attr]
            raise self._bad(start, f"{word[:40]!r}", "a reward is a number", "convert it")
        finite = np.isfinite(rewards)
        if not finite.all():
            row = int(np.argmin(finite))
            raise self._bad(
                start + row, str(rewards[row]), "a reward is a finite number", "drop the row"
            )
        if self.levels is None:
            self._note(rewards)
        elif self.levels.continuous:
            self.clipped += self.levels.outside(rewards)
        else:
            self._check(self.levels, rewards, start)

    def _note(self, rewards: np.ndarray) -> None:
        self._low = min(self._low, float(rewards.min()))
        self._high = max(self._high, float(rewards.max()))
        if self._seen is not None:
            self._seen = np.union1d(self._seen, rewards + 0.0)  # -0 becomes 0
            if len(self._seen) > 100 * MOST_LEVELS:
                self._seen = None

    def _check(self, levels: RewardLevels, rewards: np.ndarray, start: int) -> None:
        cuts = (levels.values[1:] + levels.values[:-1]) / 2
        nearest = levels.values[cuts.searchsorted(rewards)]
        wrong = np.abs(nearest - rewards) > levels.tolerance
        if wrong.any():
            row = int(np.argmax(wrong))
            names = ", ".join(f"{value:g}" for value in levels.values[:8])
            raise self._bad(
                start + row,
                f"{rewards[row]:g}, which is no level",
                f"the levels are {names}{', ...' if len(levels) > 8 else ''}",
                "add it to --levels, or give intervals such as --levels -17:0:17:upper",
            )

    def _bad(self, row: int, found: str, rule: str, remedy: str) -> Exception:
        return self.log.bad_row(row, f"{self.name} is {found}", rule, remedy)

    def result(self) -> RewardLevels:
        """Give the levels: those that were given, or the distinct rewards if they are few."""
        if self.levels is not None:
            return self.levels
        values = None if self._seen is None else _merged(self._seen)
        if values is not None and len(values) == 1:
            raise InvalidLevelsError(
                f"{self.log.path}: every {self.name} is {values[0]:g}",
                "noise shows only where there are two levels or more",
                f"if others can occur, list them: --levels {values[0]:g},{values[0] + 1:g}",
            )
        if values is None or len(values) > MOST_LEVELS:
            low, high = math.floor(self._low), math.ceil(self._high)
            raise InvalidLevelsError(
                f"{self.log.path}: {self.name} has more than {MOST_LEVELS} different values "
                f"between {self._low:g} and {self._high:g}",
                "so many are no exact levels",
                f"cut them into intervals: --levels {low}:{high}:10",
            )
        return RewardLevels(values)


def reward_numbers(values: Values) -> np.ndarray | None:
    """Give rewards as float64, or None where they are text."""
    return values.astype(np.float64, copy=False) if isinstance(values, np.ndarray) else None


def _merged(values: np.ndarray) -> list[float]:
    """Join values that differ by float noise only; the one that is shortest to write stays."""
    noise = 2 * TOLERANCE * float(np.abs(values).max())
    groups = np.split(values, np.flatnonzero(np.diff(values) > noise) + 1)
    return [min(group.tolist(), key=lambda value: len(repr(value))) for group in groups]
