"""`unperturb audit`: how noisy the rewards of a log are, how sure that is, and what to do."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from unperturb.cli._log_options import HELP, add_log_options, analyse, suspects_text
from unperturb.errors import OutputError

_PICTURES = (".png", ".svg", ".pdf")
_EXAMPLES = """\
examples:
  unperturb audit log.csv
  unperturb audit log.parquet --state x,y --levels -1,1 --suspects 20
  unperturb audit pendulum.npz --levels -17:0:17:upper --bins 12 --plot audit.png
  unperturb audit D4RL/minigrid/fourrooms-v0 --format html > audit.html
"""


def add(commands: Any) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "audit",
        help="how noisy the rewards of a log are, how sure that is, and what to do",
        description="Audit the rewards of a log.\n\n" + HELP,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_log_options(parser)
    parser.add_argument(
        "--format",
        choices=("text", "json", "html"),
        default="text",
        help="of what is printed; html is one page with the picture inside (default: text)",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw a .png, .svg or .pdf")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the log and print its audit."""
    if args.plot and args.plot.suffix.lower() not in _PICTURES:
        raise OutputError(
            f"{args.plot} ends in {args.plot.suffix or 'nothing'!r}",
            f"a picture is one of {', '.join(_PICTURES)}",
            "give it such an ending",
        )
    analysis, said = analyse(args)
    audit, suspects = analysis.audit, analysis.suspects(args.suspects)
    if args.plot:
        from unperturb.logs.output import renamed

        with renamed(args.plot) as place:
            audit.plot().savefig(place, dpi=150)
    if args.format == "json":
        facts = {
            "log": str(args.log),
            "reading": said,
            **audit.to_dict(),
            "suspects": [suspect._asdict() for suspect in suspects],
        }
        print(json.dumps(facts, indent=2))
    elif args.format == "html":
        from unperturb.logs.page import page

        print(page(audit, suspects, f"Reward audit of {args.log}", said), end="")
    else:
        print(audit)
        if suspects:
            print(f"\nThe {len(suspects)} most suspicious rows:\n{suspects_text(suspects)}")
    return 0
