"""What table-vrt runs."""

from __future__ import annotations

from typing import Any

from unperturb.lab import grid
from unperturb.lab.paper.control import CARTPOLE, units
from unperturb.lab.records import Records
from unperturb.lab.units import Reward

NAME = "table-vrt"
REWARDS: tuple[Reward, ...] = ("noisy+vrt", "estimated", "estimated+vrt", "posterior", "true")
WEIGHTS = (0.1, 0.3, 0.7)


def wanted(seeds: int | None = None) -> list[dict[str, Any]]:
    """Describe every run."""
    return units(CARTPOLE, REWARDS, WEIGHTS, seeds)


def run(records: Records, seeds: int | None = None) -> None:
    """Train what is missing."""
    grid.run(wanted(seeds), records, NAME)
