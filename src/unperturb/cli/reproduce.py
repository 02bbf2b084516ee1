"""`unperturb reproduce`: train what is missing, then write tables and pictures."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from unperturb.errors import InvalidOptionError
from unperturb.lab.paper import STUDIES, find

_EXAMPLES = """\
examples:
  unperturb reproduce figure-mdp
  unperturb reproduce all
  unperturb reproduce theory figure-mdp --out runs/ --seeds 3
  unperturb reproduce table-atari --games Breakout Asterix --weights 0.3
  unperturb reproduce figure-pong --preset small --seeds 1

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
    parser.add_argument(
        "--preset",
        choices=("paper", "small", "minatar"),
        help="how PPO is trained: as in the paper (days on a GPU), on small Atari frames (about "
        "40 minutes a run on one core), or on MinAtar (minutes for all)",
    )
    parser.add_argument("--games", nargs="+", metavar="GAME", help="of PPO; default: all")
    parser.add_argument(
        "--weights", nargs="+", type=share, metavar="W", help="of PPO's noise; default: the study's"
    )
    parser.set_defaults(run=run)


def positive(text: str) -> int:
    """Parse a whole number above zero."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above zero")
    return number


def share(text: str) -> float:
    """Parse a number from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 1")
    return number


def run(args: argparse.Namespace) -> int:
    """Train and write, one study after the other."""
    from unperturb.lab.paper.atari import Choice
    from unperturb.lab.records import Records

    studies = find(args.names)
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name in Choice._fields
        if (value := getattr(args, name)) is not None
    }
    choice: Choice | None = Choice(**given) if given else None
    for name, study in studies.items():
        if given and not study.presets:
            raise InvalidOptionError(
                f"--{' --'.join(given)} for {name}",
                "these choose among games of PPO",
                f"pass them with {', '.join(n for n, s in STUDIES.items() if s.presets)}",
            )
        if choice and choice.preset and choice.preset not in study.presets:
            raise InvalidOptionError(
                f"preset {choice.preset!r} for {name}",
                f"it has {', '.join(study.presets)}",
                "pass one of these",
            )
    records = Records(args.out / "records")
    for study in studies.values():
        study.run(records, args.seeds, choice)
        show(study.write(records, args.out, choice))
    return 0


def show(paths: list[Path]) -> None:
    """Print the tables that were written, and where everything is."""
    for path in paths:
        if path.suffix == ".md":
            print(path.read_text(encoding="utf-8"))
    print("written: " + ", ".join(str(path) for path in paths) + "\n")
