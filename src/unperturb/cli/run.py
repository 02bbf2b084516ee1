"""`unperturb run`: one agent in one environment."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from unperturb.cli.reproduce import positive, share

_ABOUT = """\
Train an agent on rewards that are true, noisy or corrected, with several seeds side by side.

ENV is an id of gymnax (CartPole-v1, Acrobot-v1, Pendulum-v1, Breakout-MinAtar ...), which is
compiled whole, or of Gymnasium (FrozenLake-v1, ALE/Pong-v5 ...). AGENT is one of q-learning, cem,
sarsa, dqn, dueling-dqn for discrete actions; ddpg, naf for continuous ones; ppo for all of them.
"""
_EXAMPLES = """\
examples:
  unperturb run CartPole-v0 dqn                                   on true rewards
  unperturb run CartPole-v0 dqn --reward noisy --weight 0.3       30 % of rewards are flipped
  unperturb run CartPole-v0 dqn --reward posterior --weight 0.3   the same, corrected
  unperturb run CartPole-v0 dqn --reward posterior --weight 0.7 --prior reverse
  unperturb run FrozenLake-v1 q-learning --reward posterior --noise symmetric --weight 0.2
  unperturb run Breakout-MinAtar ppo --reward noisy --weight 0.3
  unperturb run ALE/Pong-v5 ppo --preset small --reward known --weight 0.7 --seeds 1
  unperturb run Pendulum-v1 ddpg --reward known --noise rand-all --weight 0.3 --json
"""


def add(commands: Any) -> None:
    """Add this command to the parser."""
    parser = commands.add_parser(
        "run",
        help="one agent, any supported environment",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("env", metavar="ENV")
    parser.add_argument("agent", metavar="AGENT")
    parser.add_argument(
        "--reward",
        default="true",
        choices=("true", "noisy", "known", "estimated", "posterior"),
        help="what the agent is shown (default: true). known is given C; estimated is the paper's "
        "vote and C^-1 R; posterior is what the library advises",
    )
    parser.add_argument(
        "--noise",
        choices=("binary", "symmetric", "rand-one", "rand-all"),
        help="how rewards are perturbed; binary flips the high one of two levels (default: the "
        "paper's for this environment, else binary for two levels and symmetric for more)",
    )
    parser.add_argument(
        "--weight", type=share, default=0.3, metavar="W", help="of the noise, 0 to 1 (default .3)"
    )
    parser.add_argument(
        "--prior",
        choices=("diagonal", "reverse"),
        help="what the estimator may assume: most rewards are right (default), or reversed",
    )
    parser.add_argument(
        "--smooth", type=positive, metavar="N", help="give the mean of the last N rewards of (s, a)"
    )
    parser.add_argument("--steps", type=positive, metavar="N", help="default: the paper's")
    parser.add_argument(
        "--preset",
        choices=("paper", "small", "minatar"),
        help="settings of ppo: the paper's for Atari (84 x 84, hours on a GPU), small ones "
        "(42 x 42, the default) or those for MinAtar",
    )
    parser.add_argument("--seeds", type=positive, default=5, metavar="N", help="default: 5")
    parser.add_argument(
        "--levels",
        metavar="A,B,...|LOW:HIGH:COUNT:POINT",
        help="reward levels, such as -1,1 or -17:0:17:upper (default: the paper's, or those that "
        "random play meets)",
    )
    parser.add_argument("--bins", type=positive, metavar="N", help="of each number of a state")
    parser.add_argument("--jobs", type=positive, metavar="N", help="processes (default: cores)")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="default: runs/")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Train and print."""
    from unperturb.lab import single
    from unperturb.lab.records import Records
    from unperturb.logs.rewards import levels_from

    units = single.units_of(
        args.env,
        args.agent,
        args.seeds,
        steps=args.steps,
        reward=args.reward,
        noise=args.noise,
        weight=args.weight,
        prior=None if args.prior == "diagonal" else args.prior,
        smooth=args.smooth,
        levels=levels_from(args.levels),
        bins=args.bins,
        play=args.preset,
    )
    result = single.run(units, Records(args.out / "records"), args.jobs)
    if args.json:
        print(json.dumps(result, indent=2))
        return 0
    print(_text(result))
    if result["trained"] < args.seeds:
        print(f"{args.seeds - result['trained']} of them had run before", file=sys.stderr)
    return 0


def _text(result: dict[str, Any]) -> str:
    settings = result["settings"]
    noise = (
        ""
        if settings["noise"] == "none"
        else f", {settings['noise']} noise of weight {settings['weight']:g}"
    )
    lines = [
        f"{result['agent']} on {result['env']}, reward: {result['reward']}{noise}",
        "score of the last 30 episodes, by seed: "
        + " ".join("-" if one is None else f"{one:.4g}" for one in result["scores"]),
    ]
    if result["mean"] is not None:
        lines.append(f"mean: {result['mean']:.4g}")
    if result["confusion"] is not None:
        rows = "  ".join(
            "[" + " ".join(f"{x:.2f}" for x in row) + "]" for row in result["confusion"]
        )
        lines.append(f"C, estimated: {rows}")
    if result["steps_per_second"] is not None:
        speed = f"{result['steps_per_second']:,.0f} steps a second"
        lines.append(f"{result['seconds']:.1f} s, {speed} over all seeds, compiling included")
    return "\n".join(lines)
