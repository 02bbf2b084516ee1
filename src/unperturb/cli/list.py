"""`unperturb list`: every table and figure of the paper."""

from __future__ import annotations

import argparse
from typing import Any

from unperturb.lab.paper import STUDIES, Study


def add(commands: Any) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "list",
        help="every table and figure of the paper: what it runs, how long it takes here",
        description="List every table and figure of the paper by the name `reproduce` takes.",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    rows = [(name, _time(study), study.title, study.runs) for name, study in STUDIES.items()]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        print(
            "  ".join(word.ljust(width) for word, width in zip(row, widths, strict=False)), end=""
        )
        print(f"  {row[3]}")
    print(
        "\nTimes were measured on two CPU cores, nothing trained before. Studies share their runs:"
    )
    print("all figures of CartPole and table-vrt together took 3.3 minutes.")
    return 0


def _time(study: Study) -> str:
    if not study.available:
        return "not yet"
    if study.minutes is None:
        return "not timed"
    if study.minutes > 90:
        return f"{study.minutes / 60:.2g} h"
    if study.minutes < 1:
        return f"{study.minutes * 60:.0f} s"
    return f"{study.minutes:.2g} min"
