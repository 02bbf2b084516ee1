"""Saved runs by condition: what every table and figure of scores begins with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from unperturb.errors import MissingRecordError
from unperturb.lab.paper.control import Column, conditions, unit_of
from unperturb.lab.records import Record, Records
from unperturb.lab.units import PROTOCOL, Reward, condition_key, episode_scores, score

Group = tuple[Column, dict[str, Any], list[Record]]


def groups(
    records: Records, columns: Iterable[Column], rewards: Iterable[Reward], weights: Iterable[float]
) -> list[Group]:
    """Give (column, condition, its records by seed) for each condition that was run."""
    rewards, weights = list(rewards), list(weights)
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records.all(protocol=PROTOCOL):
        found[condition_key(record.settings)].append(record)
    result = []
    for column in columns:
        for condition in conditions(column, rewards, weights):
            runs = found.get(condition_key(unit_of(column, 0, condition)))
            if runs:
                runs = sorted(runs, key=lambda record: record.settings["seed"])
                result.append((column, condition, runs))
    if not result:
        raise MissingRecordError(
            f"no run of this study is in {records.folder}",
            "tables and figures are made of saved runs",
            "say `unperturb reproduce` with its name",
        )
    return result


def scores(runs: Iterable[Record]) -> np.ndarray:
    """Give the score of each run."""
    return np.array(
        [score(run.settings, run.arrays["returns"], run.arrays["ends"]) for run in runs]
    )


def curve(run: Record, steps: np.ndarray, window: int = 10) -> np.ndarray:
    """Give the mean score of the last episodes that ended by each step; NaN before the first.

    Example:
        >>> run = Record({"env": "CartPole-v0"}, {"returns": np.array([4.0, 6.0]),
        ...     "ends": np.array([4, 10])})
        >>> curve(run, np.array([2, 4, 10]))
        array([nan,  4.,  5.])
    """
    ends = run.arrays["ends"]
    own = episode_scores(run.settings, run.arrays["returns"], ends)
    sums = np.concatenate([[0.0], np.cumsum(own)])
    last = np.searchsorted(ends, steps, side="right")
    first = np.maximum(last - window, 0)
    return np.where(last > 0, (sums[last] - sums[first]) / np.maximum(last - first, 1), np.nan)


def say(condition: dict[str, Any]) -> str:
    """Name what an agent is shown, with what was assumed.

    Example:
        >>> say({"reward": "posterior", "weight": 0.7, "prior": "reverse"})
        'posterior, prior=reverse'
    """
    prior = f", prior={condition['prior']}" if condition["prior"] else ""
    return f"{condition['reward']}{prior}"
