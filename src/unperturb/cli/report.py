"""`unperturb report`: tables and pictures again, from saved records alone."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from unperturb.cli.reproduce import show
from unperturb.errors import MissingRecordError
from unperturb.lab.paper import STUDIES


def add(commands: Any) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "report",
        help="tables and pictures again, from saved records alone",
        description="Write all tables and pictures that the records in DIR/records allow.",
        epilog="example: unperturb report runs",
    )
    parser.add_argument("dir", type=Path, metavar="DIR", help="what `reproduce --out` was given")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write what the records allow; say so if that is nothing."""
    from unperturb.lab.paper.atari import Choice
    from unperturb.lab.records import Records

    records = Records(args.dir / "records")
    found = False
    for study in STUDIES.values():
        if not study.trains:
            continue
        choices: list[Choice | None] = [Choice(preset) for preset in study.presets]
        for choice in choices or [None]:
            try:
                paths = study.write(records, args.dir, choice)
            except MissingRecordError:
                continue
            found = True
            show(paths)
    if not found:
        raise MissingRecordError(
            f"there are no records of any table or figure in {records.folder}",
            "a report is made of finished units",
            "say `unperturb reproduce NAME` first, or give the folder it wrote to",
        )
    return 0
