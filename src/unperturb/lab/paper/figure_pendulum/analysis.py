"""What figure-pendulum and figure-pendulum-full show, from saved records alone."""

from __future__ import annotations

from pathlib import Path

from unperturb.lab.paper.curves import write_curves
from unperturb.lab.paper.figure_pendulum.sweep import COLUMNS, NAME, REWARDS, weights
from unperturb.lab.records import Records


def write(records: Records, out: Path, full: bool = False) -> list[Path]:
    """Write the curves as CSV, Markdown, PNG and SVG."""
    stem = out / (f"{NAME}-full" if full else NAME)
    title = "Learning curves on Pendulum: mean reward per step"
    return write_curves(records, stem, title, COLUMNS, REWARDS, weights(full))
