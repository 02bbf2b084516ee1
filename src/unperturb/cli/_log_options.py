"""What `audit` and `correct` have in common: how to read a log, and what is said of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unperturb.errors import InvalidOptionError

if TYPE_CHECKING:
    from unperturb.logs import LogAnalysis, Suspect

HELP = """\
LOG is a CSV, Parquet or NPZ file, the folder of a Minari dataset, or its id. It is streamed, so it
may be larger than memory. Rows count from 0, as in pandas and NumPy.

A cell is what is assumed to have one true reward: a state and an action. Integers, whole numbers
and text are kept as they are; other numbers are cut into bins.

--anchors names a small file with transitions whose true reward you know. It has the columns of the
cell by their names in the log, and true_reward; as CSV
  state,action,true_reward
  3,1,1
or as JSON
  [{"state": 3, "action": 1, "true_reward": 1}]
"""
_NEGATIVE = ("--levels",)


def add_log_options(parser: argparse.ArgumentParser) -> None:
    """Add LOG and the options that say how to read it."""
    parser.add_argument("log", metavar="LOG")
    columns = parser.add_argument_group("columns (guessed from common names if left out)")
    columns.add_argument(
        "--state", metavar="COL[,COL...]", help="such as obs, x,y or obs[0],obs[2]"
    )
    columns.add_argument("--action", metavar="COL[,COL...]")
    columns.add_argument("--reward", metavar="COL")
    columns.add_argument(
        "--next-state",
        metavar="COL[,COL...]",
        nargs="?",
        const=True,
        help="the reward depends on where a step leads, too; without COL it is guessed",
    )
    model = parser.add_argument_group("rewards and cells")
    model.add_argument(
        "--levels",
        help="a list such as -1,1, or intervals low:high:count[:lower|middle|upper] such as "
        "-17:0:17:upper; by default the distinct rewards, if they are few",
    )
    model.add_argument(
        "--bins",
        metavar="N|COL=N[,COL=N...]",
        help="bins of a continuous column (default: 10 for each of the state, 20 for an action, "
        "fewer if there are many); COL=N also cuts a column of integers",
    )
    model.add_argument(
        "--estimator",
        choices=("dawid-skene", "majority-vote"),
        default="dawid-skene",
        help="default: dawid-skene; majority-vote is the paper's",
    )
    model.add_argument(
        "--prior",
        choices=("diagonal", "reverse"),
        default="diagonal",
        help="diagonal (default): most rewards are right; reverse: most are wrong",
    )
    model.add_argument("--anchors", metavar="FILE", help="transitions whose true reward is known")
    parser.add_argument(
        "--suspects", type=_whole, default=0, metavar="N", help="list the N most suspicious rows"
    )
    parser.set_defaults(stopped="nothing was written")


def analyse(args: argparse.Namespace) -> tuple[LogAnalysis, list[str]]:
    """Read and audit the log; what was guessed goes to stderr, and is given back."""
    from unperturb.logs import LogAnalysis

    said: list[str] = []
    analysis = LogAnalysis(
        args.log,
        state=args.state,
        action=args.action,
        reward=args.reward,
        next_state=args.next_state,
        levels=args.levels,
        bins=_bins(args.bins),
        estimator=args.estimator,
        prior=args.prior,
        anchors=args.anchors,
        say=said.append,
    )
    # After a mistake its one line stands alone, so what was guessed is said only now.
    print(*said, sep="\n", file=sys.stderr)
    if analysis.audit.ambiguous:
        print("ambiguous: say what you know by --anchors FILE or --prior reverse", file=sys.stderr)
    return analysis, said


def suspects_text(suspects: Sequence[Suspect]) -> str:
    """Give the suspects as a table."""
    from unperturb.logs.page import shown

    head = ("row", "state", "action", "reward", "likely true", "suspicion")
    rows = [
        (
            *(str(s.row), shown(s.state), shown(s.action)),
            *(f"{s.reward:g}", f"{s.true_level:g}", f"{s.suspicion:.4f}"),
        )
        for s in suspects
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(word.rjust(width) for word, width in zip(row, widths, strict=True))
        for row in (head, *rows)
    )


def joined(argv: Sequence[str]) -> list[str]:
    """Write `--levels -1,1` as `--levels=-1,1`: argparse would take -1,1 for an option.

    Example:
        >>> joined(["audit", "log.csv", "--levels", "-1,1"])
        ['audit', 'log.csv', '--levels=-1,1']
    """
    words: list[str] = []
    for word in argv:
        if words and words[-1] in _NEGATIVE and word[:1] == "-" and word[1:2] in set("0123456789."):
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0")
    return int(text)


def _bins(text: str | None) -> Any:
    if text is None:
        return None
    try:
        if "=" not in text:
            return int(text)
        pairs = (part.rsplit("=", 1) for part in text.split(","))
        return {name.strip(): int(number) for name, number in pairs}
    except ValueError:
        raise InvalidOptionError(
            f"the bins are given as {text!r}",
            "they are one whole number, or one for each column",
            "write --bins 10 or --bins x=10,y=5",
        ) from None
