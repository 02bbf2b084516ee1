"""What figure-pendulum and figure-pendulum-full run."""

from __future__ import annotations

from typing import Any

from unperturb.lab import grid
from unperturb.lab.paper.control import PENDULUM, WEIGHTS, units
from unperturb.lab.records import Records
from unperturb.lab.units import Reward

NAME = "figure-pendulum"
COLUMNS = PENDULUM
REWARDS: tuple[Reward, ...] = ("true", "noisy", "known", "estimated", "posterior")
SHOWN = (0.3, 0.7)
"""The weights that the short figure shows."""


def weights(full: bool) -> tuple[float, ...]:
    """Give the weights of the short or the full figure."""
    return WEIGHTS if full else SHOWN


def wanted(seeds: int | None = None, full: bool = False) -> list[dict[str, Any]]:
    """Describe every run."""
    return units(COLUMNS, REWARDS, weights(full), seeds)


def run(records: Records, seeds: int | None = None, full: bool = False) -> None:
    """Train what is missing."""
    grid.run(wanted(seeds, full), records, NAME)
