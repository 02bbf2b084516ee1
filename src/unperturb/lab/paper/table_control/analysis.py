"""What table-control shows, from saved records alone."""

from __future__ import annotations

from pathlib import Path

from unperturb.lab.paper.scores import CARTPOLE_NOTE, NOTE, score_rows, write_scores
from unperturb.lab.paper.table_control.sweep import COLUMNS, NAME, REWARDS, WEIGHTS
from unperturb.lab.records import Records

_PENDULUM = """\
On Pendulum the score is the mean reward per step. Rewards are rounded up to seventeen levels, but
for `true`, and each seed draws a random noise of its own. `estimated` is the paper's: the vote and
its plain inverse; where that has none, the last good one stays in use. `posterior` counts over the
states of the paper's grid alone: with its bins of the torque a cell is seen four times in a run.
With each estimate it looks at the rewards that the agent keeps once more. DDPG's actor ends in a
tanh. NAF clips its mu, calms its exploration down and believes the lesser of two nets for V, in
every row; at the paper's settings it does not solve the task even with true rewards. Leaving the
torque out of the cells, and how far exploration calms down, were chosen after results on these
seeds were seen; that kept rewards are looked at again was tried on seeds 1000 to 1011.

At .7 the inverse of a rand-one may be huge: at its worst level a surrogate has a standard deviation
between 78 and 1,092 for the six draws here, and rewards lie between -16 and 0. The paper shows one
draw. And there each level is seen as another one more often than as itself, which is for no
estimator to see: rand-one at .7 defeats `estimated` and `posterior`."""


def write(records: Records, out: Path) -> list[Path]:
    """Write table-control.csv, .md, .png and .svg."""
    rows = score_rows(records, NAME, COLUMNS, REWARDS, WEIGHTS)
    title = "Table 1: scores with noisy, known and estimated rewards"
    return write_scores(
        rows, COLUMNS, out / NAME, title, f"{NOTE}\n\n{CARTPOLE_NOTE}\n\n{_PENDULUM}"
    )
