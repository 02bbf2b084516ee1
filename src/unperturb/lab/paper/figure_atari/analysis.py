"""What figure-pong and figure-atari-full show, from saved records alone."""

from __future__ import annotations

from pathlib import Path

from unperturb.lab.paper.atari import REWARDS, Choice, file_name
from unperturb.lab.paper.curves import write_curves
from unperturb.lab.paper.figure_atari.sweep import columns, default, name, weights
from unperturb.lab.records import Records


def write(
    records: Records,
    out: Path,
    choice: Choice = Choice(),  # noqa: B008
    full: bool = False,
) -> list[Path]:
    """Write the curves as CSV, Markdown, PNG and SVG."""
    stem = out / file_name(name(full), choice, default(full))
    games, shown = columns(choice, full), weights(choice, full)
    title = "Learning curves of PPO" if full else "Learning curves of PPO on Pong"
    return write_curves(records, stem, title, games, REWARDS, shown)
