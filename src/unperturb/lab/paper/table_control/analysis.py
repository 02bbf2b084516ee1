"""What table-control shows, from saved records alone."""

from __future__ import annotations

from pathlib import Path

from unperturb.lab.paper.scores import NOTE, score_rows, write_scores
from unperturb.lab.paper.table_control.sweep import COLUMNS, NAME, REWARDS, WEIGHTS
from unperturb.lab.records import Records


def write(records: Records, out: Path) -> list[Path]:
    """Write table-control.csv, .md, .png and .svg."""
    rows = score_rows(records, NAME, COLUMNS, REWARDS, WEIGHTS)
    title = "Table 1: scores with noisy, known and estimated rewards"
    return write_scores(rows, COLUMNS, out / NAME, title, NOTE)
