"""`unperturb demo`: clean, noisy and corrected rewards side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "demo",
        help="what it does for you, in under a minute: clean, noisy and corrected",
        description="Train on clean, noisy and corrected rewards; print a table, draw a picture.",
        epilog="example: unperturb demo --out runs/",
    )
    parser.add_argument("--out", type=Path, default=Path("runs"), help="default: runs/")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Train, print and draw."""
    from unperturb.cli.reproduce import show
    from unperturb.lab import demo
    from unperturb.lab.records import Records

    records = Records(args.out / "records")
    demo.run(records)
    show(demo.write(records, args.out))
    return 0
