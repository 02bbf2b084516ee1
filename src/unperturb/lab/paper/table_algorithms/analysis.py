"""What table-algorithms shows: each agent, its setting, and where its code is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unperturb.lab import report
from unperturb.lab.paper.atari import GAMES, column
from unperturb.lab.paper.control import CARTPOLE, PENDULUM, Column
from unperturb.lab.records import Records
from unperturb.lab.units import preset

NAME = "table-algorithms"
_COLUMNS = (*CARTPOLE, *PENDULUM, *(column("paper", game) for game in GAMES))


def write(records: Records, out: Path) -> list[Path]:
    """Write table-algorithms.csv and .md."""
    note = "Every agent is a file of its name under `unperturb/agents`."
    title = "Table 3: which agent runs where, at the paper's settings"
    return report.write_table([_row(column) for column in _COLUMNS], out / NAME, title, note)


def _row(column: Column) -> dict[str, Any]:
    known = preset(column.env, column.agent)
    assert known is not None
    return {
        "env": column.env,
        "agent": column.agent,
        "steps": column.steps,
        "seeds": column.seeds,
        "levels": len(known.levels),
        "noise": column.noise,
        "cells": known.cells.describe(),
    }
