"""What table-atari shows, from saved records alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unperturb.lab import report
from unperturb.lab.paper.atari import REWARDS, Choice, file_name
from unperturb.lab.paper.published import lifts
from unperturb.lab.paper.reading import say
from unperturb.lab.paper.scores import NOTE, score_rows, write_scores
from unperturb.lab.paper.table_atari.sweep import DEFAULT, NAME, WEIGHTS, columns
from unperturb.lab.records import Records

_ATARI = """\
Scores are returns of whole games on true, unclipped rewards. `estimated` is the paper's adjacency
embedding: 32 adjacent frames of one environment are one state, the last 1,000 states are kept, C is
voted anew every 100 steps; `posterior` is the library's default estimator on the same states. Both
see rewards alone. A state of 32 frames mixes reward levels, which no vote over it can tell apart:
where rewards are rare it takes all of them for the common one. The paper's own code does not vote
over states at all; it assumes that C is symmetric, and on Pong it is handed the true C."""
_LIFT = """\
How many percent the mean score lies above that on noisy rewards, mean over games. The paper's are
those of five Atari games. A game with a noisy score of zero has no lift and is left out."""
_SMALL = """\
Why it is less than the paper's on MinAtar: two things speak against C^-1 R at half a million steps.
Noise of weight w between 0 and 1 pays w on the average for every step that pays nothing: a bonus
for staying alive, and who stays alive in Breakout scores. And the surrogate of a symmetric C varies
by sqrt(w (1 - w)) / |1 - 2 w| at every step, 1.1 at .3 and .7, where a game pays 1 now and then. In
SpaceInvaders, which pays often, `known` scores half as much again as noisy at .3, six times as much
at .7. In Freeway, where a point comes after a whole crossing, it finds none. The paper trains a
hundred times as long."""


def lift_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the lift over noisy of each weight and reward.

    Example:
        >>> noisy = {"env": "Pong", "weight": 0.3, "reward": "noisy", "prior": None, "mean": 2.0}
        >>> lift_rows([noisy, noisy | {"reward": "known", "mean": 5.0}])
        [{'weight': 0.3, 'reward': 'known', 'games': 1, 'lift': 150.0, 'paper': 119.8}]
    """
    noisy = {(row["env"], row["weight"]): row["mean"] for row in rows if row["reward"] == "noisy"}
    found: dict[tuple[float, str], list[float]] = {}
    for row in rows:
        base = noisy.get((row["env"], row["weight"]), 0.0)
        if row["reward"] not in ("true", "noisy") and base > 0:
            lift = 100 * (row["mean"] - base) / base
            found.setdefault((row["weight"], say(row)), []).append(lift)
    printed = lifts()
    return [
        {
            "weight": weight,
            "reward": name,
            "games": len(each),
            "lift": float(np.mean(each)),
            "paper": printed.get((weight, name)),
        }
        for (weight, name), each in found.items()
    ]


def write(records: Records, out: Path, choice: Choice = Choice()) -> list[Path]:  # noqa: B008
    """Write table-atari.csv, .md, .png and .svg, and the lift as table-atari-lift.csv."""
    games = columns(choice)
    weights = choice.weights or WEIGHTS
    rows = score_rows(records, NAME, games, REWARDS, weights)
    stem = out / file_name(NAME, choice, DEFAULT)
    lift = lift_rows(rows)
    table = report.as_markdown(lift, digits=4) if lift else "(no game with both)"
    note = f"{NOTE}\n\n{_ATARI}\n\n## Lift over noisy rewards\n\n{table}\n\n{_LIFT}"
    if (choice.preset or DEFAULT) == "minatar":
        note += f"\n\n{_SMALL}"
    title = "Table 2: scores of PPO"
    paths = write_scores(rows, games, stem, title, note)
    if lift:
        paths.append(report.write_text(f"{stem}-lift.csv", report.as_csv(lift)))
    return paths
