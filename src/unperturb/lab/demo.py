"""A small demonstration: DQN on CartPole with 30 % of the rewards flipped.

Clean, noisy and corrected rewards, side by side. The corrected runs estimate C from the rewards
they see; they are told neither C nor the true rewards.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unperturb.lab import grid, report
from unperturb.lab.paper.control import CARTPOLE, units
from unperturb.lab.paper.reading import Group, curve, groups, scores
from unperturb.lab.records import Records
from unperturb.lab.units import Reward

NAME = "demo"
SEEDS = 10
WEIGHT = 0.3
_COLUMN = next(column for column in CARTPOLE if column.agent == "dqn")
_NAMES: dict[Reward, str] = {"true": "clean", "noisy": "noisy", "posterior": "corrected"}
_LEARNED = 150.0
_NOTE = f"""\
DQN on CartPole, {SEEDS} seeds, {_COLUMN.steps:,} steps. The true reward is always +1;
{WEIGHT:.0%} of the rewards were flipped to -1.
score: steps survived, mean of the last 30 episodes (200 is the most), with its 95 % interval.
learned: the steps after which the last 10 episodes reach a score of {_LEARNED:g}, mean of seeds.
e+: the share of flipped rewards that the corrected runs found out, from the noisy rewards alone."""


def run(records: Records, seeds: int = SEEDS) -> None:
    """Train what is missing."""
    grid.run(units([_COLUMN], _NAMES, [WEIGHT], seeds), records, NAME)


def write(records: Records, out: Path) -> list[Path]:
    """Write demo.csv, .md, .png and .svg from saved records."""
    found = {group[1]["reward"]: group for group in groups(records, [_COLUMN], _NAMES, [WEIGHT])}
    ordered = {name: found[reward] for reward, name in _NAMES.items() if reward in found}
    rows = [_row(name, group) for name, group in ordered.items()]
    stem = out / NAME
    title = "Clean, noisy and corrected rewards"
    return [
        *report.write_table(rows, stem, title, _NOTE, digits=3),
        *report.write_figure(stem, (9, 3.8), lambda figure: _draw(figure, ordered, rows)),
    ]


def _steps() -> np.ndarray:
    return np.linspace(0, _COLUMN.steps, 101)[1:]


def _curves(group: Group) -> np.ndarray:
    return np.stack([curve(run, _steps()) for run in group[2]])


def _row(name: str, group: Group) -> dict[str, Any]:
    own = scores(group[2])
    low, high = report.interval_of_mean(own)
    learned = _curves(group) >= _LEARNED
    first = np.where(learned.any(axis=1), _steps()[learned.argmax(axis=1)], _COLUMN.steps)
    rates = [run.arrays["confusion"][-1, 1, 0] for run in group[2]]
    return {
        "reward": name,
        "score": float(own.mean()),
        "low": low,
        "high": high,
        "learned": float(first.mean()),
        "e+": float(np.mean(rates)) if group[1]["reward"] == "posterior" else None,
    }


def _draw(figure: Any, ordered: dict[str, Group], rows: list[dict[str, Any]]) -> None:
    left, right = figure.subplots(1, 2, width_ratios=[0.64, 0.36])
    for name, group in ordered.items():
        colour = report.COLOURS[group[1]["reward"]]
        curves = _curves(group)
        whole = np.isfinite(curves).all(axis=0)
        report.band(left, _steps()[whole], curves[:, whole], colour, name)
    left.set(xlabel="step", ylabel="steps survived", ylim=(0, 205), xlim=(0, _COLUMN.steps))
    left.set_title(f"DQN on CartPole, {WEIGHT:.0%} of the rewards flipped")
    left.legend(loc="lower right")
    colours = [report.COLOURS[group[1]["reward"]] for group in ordered.values()]
    right.barh([row["reward"] for row in rows], [row["learned"] for row in rows], color=colours)
    right.invert_yaxis()
    right.set(xlabel="steps", title=f"until a score of {_LEARNED:g}")
