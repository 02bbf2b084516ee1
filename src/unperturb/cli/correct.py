"""`unperturb correct`: the same log with corrected rewards."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from unperturb.cli._log_options import HELP, add_log_options, analyse, suspects_text

_ABOUT = """\
Write a copy of a log with four columns more:
  corrected_reward  the reward to learn from
  true_level        the most probable true reward
  level_posterior   its probability
  suspicion         the probability that the observed reward is wrong
A Minari dataset gets them as infos, whose first entry is that of the reset. The copy is of the same
kind as the log, and is written to a temporary name and renamed when it is whole.

"""
_EXAMPLES = """\
examples:
  unperturb correct log.csv -o corrected.csv
  unperturb correct log.npz -o corrected.npz --method surrogate --levels -1,1
  unperturb correct D4RL/minigrid/fourrooms-v0 -o fourrooms/corrected-v0 --suspects 20
"""


def add(commands: Any) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "correct",
        help="the same log with corrected rewards, posterior levels and a suspicion score",
        description=_ABOUT + HELP,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_log_options(parser)
    parser.add_argument("-o", "--out", required=True, metavar="OUT", help="where to write the copy")
    parser.add_argument(
        "--method",
        choices=("posterior", "surrogate"),
        default="posterior",
        help="posterior (default): the posterior mean of the cell's true reward; surrogate: the "
        "paper's unbiased surrogate of each observed reward",
    )
    parser.add_argument("--force", action="store_true", help="replace OUT if it exists")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the log, write the copy, and say what it holds."""
    from unperturb.logs.output import output_path

    # What would be refused in the end is refused before the log is read.
    output_path(Path(args.log), args.out, args.force)
    analysis, _ = analyse(args)
    suspects = analysis.suspects(args.suspects)
    written = analysis.write(args.out, args.method, args.force)
    audit = analysis.audit
    for finding in audit.findings:
        if finding.severity != "note":
            print(f"{finding.severity}: {finding.message}", file=sys.stderr)
    if audit.suggestion == "raw":
        print(f"The audit would leave the rewards as they are. {audit.reason}", file=sys.stderr)
    print(
        f"{written}: {analysis.rows:,} rows, of whose rewards about {analysis.wrong_share:.1%} "
        f"look wrong; corrected by {args.method}"
    )
    if suspects:
        print(f"\nThe {len(suspects)} most suspicious rows:\n{suspects_text(suspects)}")
    return 0
