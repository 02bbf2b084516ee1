"""When the next estimate is due."""

from __future__ import annotations

from typing import NamedTuple

from unperturb.estimators import Estimator, Known
from unperturb.estimators.streaming import CHUNK

SOON = 100
"""The least number of rewards between two estimates, unless told otherwise."""


class Schedule(NamedTuple):
    """How many rewards there are between two estimates.

    Attributes:
        every: So many, or for ever so long where it is infinite.
        grows: Whether it is a tenth of all rewards once that is more.
        d_min: How many rewards there are before the first estimate.

    Example:
        >>> schedule = Schedule(every=100, grows=True, d_min=150)
        >>> schedule.due(0), schedule.due(150), schedule.due(5000)
        (150, 250, 5500)
    """

    every: float
    grows: bool
    d_min: int

    def due(self, last: int) -> float:
        """Give the number of rewards at which to estimate, if the last time was at `last`."""
        interval = max(self.every, last // 10) if self.grows else self.every
        return max(last + interval, self.d_min)


def schedule(
    estimator: Estimator, *, refresh: int | None, d_min: int, keeps_all: bool, follows_cells: bool
) -> Schedule:
    """Choose when to estimate.

    Args:
        estimator: what is run.
        refresh: what the user asked for.
        d_min: how many rewards to see first.
        keeps_all: whether counts keep all rewards, of which a few more change ever less.
        follows_cells: whether each cell has a value of its own to keep up to date.
    """
    if isinstance(estimator, Known) and not follows_cells:
        return Schedule(float("inf"), False, d_min)
    if refresh is not None:
        return Schedule(refresh, False, d_min)
    if estimator.streaming:
        return Schedule(CHUNK, False, d_min)
    return Schedule(SOON, keeps_all, d_min)
