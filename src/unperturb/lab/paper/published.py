"""The numbers that the paper prints, to be shown beside the measured ones."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_WHERE = ("env", "agent", "noise", "weight")


class Place(NamedTuple):
    """Which number of a table: the same columns as a score table's CSV.

    Example:
        >>> published("table-control")[Place("CartPole", "dqn", "binary", 0.7, "noisy")]
        17.2
    """

    env: str
    agent: str
    noise: str
    weight: float
    reward: str


@cache
def published(table: str) -> dict[Place, float]:
    """Give a table of the paper, such as "table-control", by place; dashes are left out."""
    text = files(__package__).joinpath("published.toml").read_text(encoding="utf-8")
    numbers = {}
    for row in tomllib.loads(text)[table]["rows"]:
        env, agent, noise, weight = (row.pop(column) for column in _WHERE)
        for reward, value in row.items():
            numbers[Place(env, agent, noise, weight, reward)] = float(value)
    return numbers


@cache
def lifts() -> dict[tuple[float, str], float]:
    """Give the lift over noisy that Table 2 prints, in percent, by weight and reward.

    Example:
        >>> lifts()[0.3, "known"]
        119.8
    """
    text = files(__package__).joinpath("published.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["table-atari"]["lift"]
    return {
        (row["weight"], reward): float(row[reward])
        for row in rows
        for reward in row
        if reward != "weight"
    }
