"""What figure-estimation runs."""

from __future__ import annotations

from typing import Any

from unperturb.lab import grid
from unperturb.lab.paper.control import CARTPOLE, units
from unperturb.lab.records import Records
from unperturb.lab.units import Reward

NAME = "figure-estimation"
REWARDS: tuple[Reward, ...] = ("estimated", "posterior")
WEIGHTS = (0.1, 0.3, 0.5, 0.7, 0.9)


def wanted(seeds: int | None = None) -> list[dict[str, Any]]:
    """Describe every run."""
    return units(CARTPOLE, REWARDS, WEIGHTS, seeds)


def run(records: Records, seeds: int | None = None) -> None:
    """Train what is missing."""
    grid.run(wanted(seeds), records, NAME)
