"""`unperturb reproduce`: train what is missing, then write tables and pictures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from unperturb.lab.paper import find

_EXAMPLES = """\
examples:
  unperturb reproduce figure-mdp
  unperturb reproduce all
  unperturb reproduce theory figure-mdp --out runs/ --seeds 3

Finished units are kept under OUT/records; saying it again trains only what is missing.
`unperturb list` names every table and figure.
"""


def add(commands: Any) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "reproduce",
        help="train what is missing, then write NAME.csv, NAME.md, NAME.png",
        description="Reproduce tables and figures of the paper.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="+", metavar="NAME", help="see `unperturb list`; all for all"
    )
    parser.add_argument("--out", type=Path, default=Path("runs"), help="default: runs/")
    parser.add_argument(
        "--seeds", type=positive, metavar="N", help="instead of the study's own number"
    )
    parser.set_defaults(run=run)


def positive(text: str) -> int:
    """Parse a whole number above zero."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above zero")
    return number


def run(args: argparse.Namespace) -> int:
    """Train and write, one study after the other."""
    from unperturb.lab.records import Records

    studies = find(args.names)
    records = Records(args.out / "records")
    for study in studies.values():
        study.run(records, args.seeds)
        show(study.write(records, args.out))
    return 0


def show(paths: list[Path]) -> None:
    """Print the tables that were written, and where everything is."""
    for path in paths:
        if path.suffix == ".md":
            print(path.read_text(encoding="utf-8"))
    print("written: " + ", ".join(str(path) for path in paths) + "\n")
