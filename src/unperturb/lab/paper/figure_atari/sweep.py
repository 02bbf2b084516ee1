"""What figure-pong and figure-atari-full run."""

from __future__ import annotations

from typing import Any

from unperturb.lab import grid
from unperturb.lab.paper.atari import GAMES, REWARDS, Choice, column, games_of
from unperturb.lab.paper.control import WEIGHTS, Column, units
from unperturb.lab.records import Records

_PONG = "Pong"
_PONG_WEIGHTS = {"small": (0.3, 0.7), "paper": (0.6, 0.7, 0.8, 0.9)}
_NOISES = {"paper": ("symmetric", "rand-one", "rand-all")}
"""Of Pong in the full figure, whose other games meet symmetric noise alone."""


def name(full: bool) -> str:
    """Give the study's name."""
    return "figure-atari-full" if full else "figure-pong"


def default(full: bool) -> str:
    """Give the study's own preset."""
    return "minatar" if full else "small"


def columns(choice: Choice, full: bool) -> list[Column]:
    """Give a column for each game and noise."""
    preset = choice.preset or default(full)
    games = games_of(preset, choice.games, GAMES if full else (_PONG,))
    return [
        column(preset, game, noise)
        for game in games
        for noise in (
            _NOISES.get(preset, ("symmetric",)) if full and game == _PONG else ("symmetric",)
        )
    ]


def weights(choice: Choice, full: bool) -> tuple[float, ...]:
    """Give the weights of the noise."""
    own = WEIGHTS if full else _PONG_WEIGHTS[choice.preset or default(full)]
    return choice.weights or own


def wanted(
    seeds: int | None = None,
    choice: Choice = Choice(),  # noqa: B008
    full: bool = False,
) -> list[dict[str, Any]]:
    """Describe every run."""
    return units(columns(choice, full), REWARDS, weights(choice, full), seeds)


def run(
    records: Records,
    seeds: int | None = None,
    choice: Choice = Choice(),  # noqa: B008
    full: bool = False,
) -> None:
    """Train what is missing."""
    grid.run(wanted(seeds, choice, full), records, name(full))
