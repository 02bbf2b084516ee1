"""What table-control runs."""

from __future__ import annotations

from typing import Any

from unperturb.lab import grid
from unperturb.lab.paper.control import CARTPOLE, PENDULUM_TABLE, units
from unperturb.lab.records import Records
from unperturb.lab.units import Reward

NAME = "table-control"
COLUMNS = (*CARTPOLE, *PENDULUM_TABLE)
REWARDS: tuple[Reward, ...] = ("noisy", "known", "estimated", "posterior", "true")
WEIGHTS = (0.1, 0.3, 0.7)


def wanted(seeds: int | None = None) -> list[dict[str, Any]]:
    """Describe every run."""
    return units(COLUMNS, REWARDS, WEIGHTS, seeds)


def run(records: Records, seeds: int | None = None) -> None:
    """Train what is missing."""
    grid.run(wanted(seeds), records, NAME)
