"""What is run for the paper's Atari results: PPO on each game, at one of three presets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from unperturb.errors import InvalidOptionError
from unperturb.lab.on_policy.presets import PRESETS, play_preset
from unperturb.lab.paper.control import Column
from unperturb.lab.units import PPO, Reward

REWARDS: tuple[Reward, ...] = ("true", "noisy", "known", "estimated", "posterior")
GAMES = ("AirRaid", "Alien", "Carnival", "MsPacman", "Pong", "Phoenix", "Seaquest")
TABLE_GAMES = ("Alien", "Carnival", "Phoenix", "MsPacman", "Seaquest")
"""The five of Table 2."""
SMALL_GAMES = ("Asterix", "Breakout", "Freeway", "SpaceInvaders")
"""Those of MinAtar whose rewards are 0 and 1."""
_SEEDS = {"paper": 3, "small": 1, "minatar": 5}
_IDS = {"paper": "ALE/{}-v5", "small": "ALE/{}-v5", "minatar": "{}-MinAtar"}


class Choice(NamedTuple):
    """What a user may choose of a study; None is the study's own.

    Attributes:
        preset: How PPO is trained, and on what.
        games: Which games.
        weights: Which weights of the noise.

    Example:
        >>> Choice(preset="small").games is None
        True
    """

    preset: str | None = None
    games: tuple[str, ...] | None = None
    weights: tuple[float, ...] | None = None


def games_of(preset: str, games: Sequence[str] | None, among: Sequence[str]) -> tuple[str, ...]:
    """Give the games to run: those asked for, or all that the study has at this preset.

    Example:
        >>> games_of("minatar", None, GAMES)
        ('Asterix', 'Breakout', 'Freeway', 'SpaceInvaders')
    """
    if preset not in _IDS:
        raise InvalidOptionError(
            f"preset {preset!r}", f"the presets are {', '.join(_IDS)}", "pass one of these"
        )
    fitting = SMALL_GAMES if preset == "minatar" else tuple(among)
    strangers = [game for game in games or () if game not in fitting]
    if strangers:
        raise InvalidOptionError(
            f"{', '.join(strangers)} at preset {preset!r}",
            f"this study has {', '.join(fitting)} there",
            "pass some of these",
        )
    return tuple(dict.fromkeys(games or fitting))


def column(preset: str, game: str, noise: str = "symmetric") -> Column:
    """Give the column of a game.

    Example:
        >>> column("minatar", "Breakout").env
        'Breakout-MinAtar'
    """
    env = _IDS[preset].format(game)
    own = PRESETS[preset] if preset == "minatar" else play_preset(env, preset)
    return Column(env, PPO, game, own.steps, noise, dict(own.hyper), _SEEDS[preset], dict(own.play))


def file_name(name: str, choice: Choice, default: str) -> str:
    """Give the name of a study's files; a preset that is not its own stands at the end.

    Example:
        >>> file_name("table-atari", Choice(preset="paper"), "minatar")
        'table-atari-paper'
    """
    return name if choice.preset in (None, default) else f"{name}-{choice.preset}"
