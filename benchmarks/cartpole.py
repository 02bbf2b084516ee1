"""DQN on CartPole at the paper's settings: steps per second beside Stable-Baselines3 and rejax.

    python benchmarks/cartpole.py [--only ours sb3 rejax seeds]

All in one run on the same machine, compiling left out. Ours and rejax sum over 30 seeds, on all
cores; Stable-Baselines3 trains one at a time, on one thread, where it is fastest. rejax needs an
older gymnax, so it has an environment of its own: `make bench` builds .venv-rejax.
Writes results/benchmarks/cartpole.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from summed import steps_per_second

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "results" / "benchmarks" / "cartpole.md"
SEEDS, STEPS = 30, 10_000
SB3_STEPS = 4_000
REWARDS = ("true", "noisy", "known", "estimated", "posterior")


def units(reward: str, seeds: range, steps: int) -> list[dict]:
    from unperturb.lab.units import unit

    return [unit("CartPole-v0", "dqn", steps, seed, reward=reward, weight=0.3) for seed in seeds]


def sb3() -> float:
    """Give the steps per second of one run at the same settings."""
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(1)
    model = DQN(
        "MlpPolicy",
        "CartPole-v1",
        learning_rate=1e-3,
        buffer_size=50_000,
        learning_starts=10,
        batch_size=32,
        tau=0.01,
        target_update_interval=1,
        gamma=0.99,
        train_freq=1,
        gradient_steps=1,
        policy_kwargs={"net_arch": [16, 16, 16]},
        seed=0,
        device="cpu",
    )
    model.learn(500)
    start = time.perf_counter()
    model.learn(SB3_STEPS)
    return SB3_STEPS / (time.perf_counter() - start)


def rejax(buffer: int) -> float:
    """Give rejax's steps per second over as many seeds."""
    python = ROOT / ".venv-rejax" / "bin" / "python"
    if not python.exists():
        raise SystemExit("there is no .venv-rejax: say `make bench`, which builds it")
    command = [python, ROOT / "benchmarks" / "rejax_dqn.py", f"--seeds={SEEDS}"]
    shown = subprocess.run(
        [*command, f"--steps={STEPS}", f"--buffer={buffer}"],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(shown.stdout.splitlines()[-1])["steps_per_second"]


def cost_of_seeds(seeds: int) -> tuple[float, float]:
    """Give the seconds that so many seeds take from nothing, and the peak memory in GiB."""
    from unperturb.lab import grid
    from unperturb.lab.records import Records

    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        grid.run(units("true", range(seeds), STEPS), Records(folder), "seeds")
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return seconds, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = ("ours", "sb3", "rejax", "seeds")
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    only = parser.parse_args().only
    lines = ["# DQN on CartPole at the paper's settings", ""]

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    say(f"{SEEDS} seeds, {STEPS:,} steps, {len(os.sched_getaffinity(0))} cores, without compiling.")
    say("")
    if "sb3" in only:
        one = sb3()
    if "rejax" in only:
        paper, small = rejax(50_000), rejax(STEPS)
    say("| what | reward | steps a second | times SB3 | times rejax |")
    say("|---|---|---:|---:|---:|")
    if "sb3" in only:
        say(f"| Stable-Baselines3, 1 seed | true | {one:,.0f} | 1 | |")
    if "rejax" in only:
        say(f"| rejax, replay 50,000 | true | {paper:,.0f} | | 1 |")
        say(f"| rejax, replay {STEPS:,} | true | {small:,.0f} | | |")
    for reward in REWARDS if "ours" in only else ():
        speed = steps_per_second(units(reward, range(SEEDS), STEPS))
        beside = [f"{speed / one:,.0f}" if "sb3" in only else ""]
        beside += [f"{speed / paper:,.0f}" if "rejax" in only else ""]
        say(f"| unperturb | {reward} | {speed:,.0f} | {beside[0]} | {beside[1]} |")
    if "seeds" in only:
        say("")
        say("| seeds | seconds from nothing, compiling included | a seed | peak GiB, a process |")
        say("|---:|---:|---:|---:|")
        for seeds in (10, 100, 1000):
            seconds, peak = cost_of_seeds(seeds)
            say(f"| {seeds:,} | {seconds:.1f} | {seconds / seeds:.3f} | {peak:.2f} |")
    if set(only) == set(names):
        OUT.write_text("\n".join(lines) + "\n")
        print(f"written: {OUT}", file=sys.stderr)


if __name__ == "__main__":
    main()
