"""What table-vrt shows, from saved records alone."""

from __future__ import annotations

from pathlib import Path

from unperturb.lab.paper.control import CARTPOLE
from unperturb.lab.paper.scores import CARTPOLE_NOTE, NOTE, score_rows, write_scores
from unperturb.lab.paper.table_vrt.sweep import NAME, REWARDS, WEIGHTS
from unperturb.lab.records import Records


def write(records: Records, out: Path) -> list[Path]:
    """Write table-vrt.csv, .md, .png and .svg."""
    rows = score_rows(records, NAME, CARTPOLE, REWARDS, WEIGHTS)
    title = "Table 4: variance reduction, and what the posterior does in its place"
    return write_scores(rows, CARTPOLE, out / NAME, title, f"{NOTE}\n\n{CARTPOLE_NOTE}")
