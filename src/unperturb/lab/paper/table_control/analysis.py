"""What table-control shows, from saved records alone."""

from __future__ import annotations

from pathlib import Path

from unperturb.lab.paper.scores import NOTE, score_rows, write_scores
from unperturb.lab.paper.table_control.sweep import COLUMNS, NAME, REWARDS, WEIGHTS
from unperturb.lab.records import Records

_PENDULUM = """\
On Pendulum the score is the mean reward per step. Rewards are rounded up to seventeen levels, but
for `true`, and each seed draws a random noise of its own. `estimated` is the paper's: the vote and
its plain inverse; where that has none, the last good one stays in use. `posterior` counts over the
states of the paper's grid alone: with its bins of the torque a cell is seen four times in a run.
NAF calms its exploration down and believes the lesser of two nets for V, in every row;
at the paper's settings it does not solve the task even with true rewards. These cells, and how far
exploration calms down, were chosen after results on some of the same seeds were seen: Pendulum's
`posterior` and NAF columns are no test on fresh seeds."""


def write(records: Records, out: Path) -> list[Path]:
    """Write table-control.csv, .md, .png and .svg."""
    rows = score_rows(records, NAME, COLUMNS, REWARDS, WEIGHTS)
    title = "Table 1: scores with noisy, known and estimated rewards"
    return write_scores(rows, COLUMNS, out / NAME, title, f"{NOTE}\n\n{_PENDULUM}")
