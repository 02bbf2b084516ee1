"""The `unperturb` command: it parses, calls and prints; the work is done elsewhere."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from unperturb.cli import audit, correct, demo, list, report, reproduce, run
from unperturb.cli._log_options import joined
from unperturb.errors import MissingExtraError, UnperturbError

_COMMANDS = (demo, list, reproduce, run, report, audit, correct)
_EXTRA = frozenset({"jax", "jaxlib", "gymnax", "matplotlib", "tqdm"})
_EXAMPLES = """\
examples:
  unperturb demo                               what it does for you, in under a minute
  unperturb list                               every table and figure of the paper
  unperturb reproduce figure-mdp theory        train what is missing, then write them to runs/
  unperturb reproduce figure-mdp --seeds 3     a quicker look
  unperturb run CartPole-v0 dqn --reward posterior --weight 0.3      one agent
  unperturb report runs                        tables and pictures again, from saved records
  unperturb audit log.csv --suspects 20        how noisy the rewards of a log are, and which
  unperturb correct log.csv -o better.csv      the same log with corrected rewards

A run can be stopped at any time with Ctrl-C and goes on where it stopped.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; give its exit status: 0, 2 for a mistake, 130 when interrupted."""
    parser = _parser()
    args = parser.parse_args(joined(sys.argv[1:] if argv is None else argv))
    # All but the paper's preset is sized for a CPU, where small loops run faster; the user may
    # overrule.
    if getattr(args, "preset", None) != "paper":
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        status: int = args.run(args)
    except UnperturbError as error:
        print(f"unperturb: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in _EXTRA:
            raise
        missing = MissingExtraError(
            f"{error.name} is not installed",
            f"`unperturb {args.command}` needs the lab",
            "pip install 'unperturb[lab]'",
        )
        print(f"unperturb: {missing}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        kept = getattr(args, "stopped", "finished units are kept, say it again to go on")
        print(f"\nunperturb: stopped; {kept}", file=sys.stderr)
        return 130
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="unperturb",
        description="Learn from rewards you can't trust.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in _COMMANDS:
        module.add(commands)
    return parser
