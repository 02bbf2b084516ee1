"""What figure-cartpole and figure-cartpole-full run."""

from __future__ import annotations

from typing import Any

from unperturb.lab import grid
from unperturb.lab.paper.control import CARTPOLE, WEIGHTS, units
from unperturb.lab.records import Records
from unperturb.lab.units import Reward

NAME = "figure-cartpole"
REWARDS: tuple[Reward, ...] = ("true", "noisy", "estimated", "posterior")
SHOWN = (0.3, 0.7)
"""The weights that the short figure shows."""


def weights(full: bool) -> tuple[float, ...]:
    """Give the weights of the short or the full figure."""
    return WEIGHTS if full else SHOWN


def wanted(seeds: int | None = None, full: bool = False) -> list[dict[str, Any]]:
    """Describe every run."""
    return units(CARTPOLE, REWARDS, weights(full), seeds)


def run(records: Records, seeds: int | None = None, full: bool = False) -> None:
    """Train what is missing."""
    grid.run(wanted(seeds, full), records, NAME)
