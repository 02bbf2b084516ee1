"""What study-levels runs: DDPG on Pendulum, its reward cut into few or many levels."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from unperturb.lab import grid
from unperturb.lab.paper.control import PENDULUM, units
from unperturb.lab.records import Records
from unperturb.lab.units import Reward, unit
from unperturb.levels import RewardLevels

NAME = "study-levels"
COLUMN = PENDULUM[2]
SEEDS = 3
WEIGHT = 0.3
COUNTS = (5, 9, 17, 33, 65)
Value = Literal["upper", "middle"]
LOW, HIGH = -17.0, 0.0


class Sight(NamedTuple):
    """What an agent is shown: a name for readers, the reward, and the weight of the noise."""

    name: str
    reward: Reward
    weight: float


# Without noise the known C is the identity: all that is wrong is the rounding.
_ROUNDED = Sight("rounded", "known", 0.0)
SIGHTS: dict[Value, tuple[Sight, ...]] = {
    "upper": (
        _ROUNDED,
        Sight("known", "known", WEIGHT),
        Sight("posterior", "posterior", WEIGHT),
    ),
    # What stands for an interval does not change what is counted.
    "middle": (_ROUNDED,),
}


def levels(count: int, value: Value) -> RewardLevels:
    """Cut the range of Pendulum's reward into so many intervals.

    Example:
        >>> levels(17, "upper").values[-2:]
        array([-1.,  0.])
    """
    return RewardLevels.uniform(LOW, HIGH, count, value=value)


def units_of(
    count: int, value: Value, sight: Sight, seeds: int | None = None
) -> list[dict[str, Any]]:
    """Describe the runs of one condition."""
    return [
        unit(
            COLUMN.env,
            COLUMN.agent,
            COLUMN.steps,
            seed,
            sight.reward,
            COLUMN.noise,
            sight.weight,
            hyper=COLUMN.hyper,
            levels=levels(count, value),
        )
        for seed in range(seeds or SEEDS)
    ]


def unrounded(seeds: int | None = None) -> list[dict[str, Any]]:
    """Describe the runs that are shown true rewards; the Pendulum columns have the same."""
    return units([COLUMN], ["true"], [], seeds or SEEDS)


def wanted(seeds: int | None = None) -> list[dict[str, Any]]:
    """Describe every run."""
    cut = [
        one
        for count in COUNTS
        for value, sights in SIGHTS.items()
        for sight in sights
        for one in units_of(count, value, sight, seeds)
    ]
    return [*unrounded(seeds), *cut]


def run(records: Records, seeds: int | None = None) -> None:
    """Train what is missing."""
    grid.run(wanted(seeds), records, NAME)
