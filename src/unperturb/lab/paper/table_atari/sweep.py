"""What table-atari runs."""

from __future__ import annotations

from typing import Any

from unperturb.lab import grid
from unperturb.lab.paper.atari import REWARDS, TABLE_GAMES, Choice, column, games_of
from unperturb.lab.paper.control import Column, units
from unperturb.lab.records import Records

NAME = "table-atari"
DEFAULT = "minatar"
WEIGHTS = (0.1, 0.3, 0.7)


def columns(choice: Choice) -> list[Column]:
    """Give a column for each game."""
    preset = choice.preset or DEFAULT
    return [column(preset, game) for game in games_of(preset, choice.games, TABLE_GAMES)]


def wanted(seeds: int | None = None, choice: Choice = Choice()) -> list[dict[str, Any]]:  # noqa: B008
    """Describe every run."""
    return units(columns(choice), REWARDS, choice.weights or WEIGHTS, seeds)


def run(records: Records, seeds: int | None = None, choice: Choice = Choice()) -> None:  # noqa: B008
    """Train what is missing."""
    grid.run(wanted(seeds, choice), records, NAME)
