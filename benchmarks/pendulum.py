"""DDPG on Pendulum at the paper's settings: steps per second beside Stable-Baselines3.

    python benchmarks/pendulum.py

Both in one run on the same machine, compiling left out. Ours sums over 12 seeds on all cores;
Stable-Baselines3 trains one at a time, on one thread, where it is fastest. Both have the same
networks, a batch of 32 and one gradient step for each step. Writes results/benchmarks/pendulum.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from summed import steps_per_second

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "results" / "benchmarks" / "pendulum.md"
SEEDS, STEPS = 12, 20_000
SB3_WARM_UP, SB3_STEPS = 500, 4_000
BAR, AIM = 100, 150
REWARDS = ("true", "noisy", "known", "estimated", "posterior")


def units(reward: str) -> list[dict]:
    from unperturb.lab.units import unit

    return [
        unit("Pendulum-v1", "ddpg", STEPS, seed, reward, "rand-one", weight=0.3)
        for seed in range(SEEDS)
    ]


def sb3() -> float:
    """Give the steps per second of one run at the same settings."""
    import numpy as np
    import torch
    from stable_baselines3 import DDPG
    from stable_baselines3.common.noise import OrnsteinUhlenbeckActionNoise

    torch.set_num_threads(1)
    noise = OrnsteinUhlenbeckActionNoise(np.zeros(1), np.full(1, 0.15), theta=0.15, dt=0.01)
    model = DDPG(
        "MlpPolicy",
        "Pendulum-v1",
        learning_rate=5e-4,
        buffer_size=100_000,
        learning_starts=100,
        batch_size=32,
        tau=1e-3,
        gamma=0.99,
        train_freq=1,
        gradient_steps=1,
        action_noise=noise,
        policy_kwargs={"net_arch": {"pi": [16, 16, 16], "qf": [32, 32, 32]}},
        seed=0,
        device="cpu",
    )
    model.learn(SB3_WARM_UP)
    start = time.perf_counter()
    model.learn(SB3_STEPS)
    return SB3_STEPS / (time.perf_counter() - start)


def main() -> None:
    """Measure, print and write."""
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    cores = len(os.sched_getaffinity(0))
    lines = ["# DDPG on Pendulum at the paper's settings", ""]

    def say(line: str) -> None:
        print(line, flush=True)
        lines.append(line)

    say(f"{SEEDS} seeds, {STEPS:,} steps, {cores} cores, without compiling. A gradient step of 32")
    say("transitions for each step; actor 16-16-16, critic 32-32-32. Noise is rand-one, weight .3.")
    say(f"The bar is {BAR} times Stable-Baselines3, the aim {AIM}.")
    say("")
    say("| what | reward | steps a second | times SB3 |")
    say("|---|---|---:|---:|")
    one = sb3()
    say(f"| Stable-Baselines3, 1 seed | true | {one:,.0f} | 1 |")
    for reward in REWARDS:
        speed = steps_per_second(units(reward))
        say(f"| unperturb | {reward} | {speed:,.0f} | {speed / one:,.0f} |")
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text("\n".join(lines) + "\n")
    print(f"written: {OUT}", file=sys.stderr)


if __name__ == "__main__":
    main()
