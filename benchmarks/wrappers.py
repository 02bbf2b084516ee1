"""What the wrappers add to a step of CartPole-v1, against the targets, in one run.

    python benchmarks/wrappers.py [--steps 100000] [--repeats 5] [--out results/benchmarks]

Each repeat steps the bare environment and each wrapped one in turn, from a fresh start. The table
gives the median over repeats of what a wrapper adds to the bare step of the same repeat: on the
whole, which is what the target is for; in the first half, with the first observations to collect
and estimates close together; and in the second, by when they are rare. What counts is the
processor time of this process, so that other work on the machine disturbs little.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import gymnasium as gym
import numpy as np

import unperturb as up

LEVELS = [-1.0, 1.0]
C = up.confusion.binary(e_plus=0.4)
ENVS = 1_024


def one() -> gym.Env:
    return gym.make("CartPole-v1")


def many() -> gym.vector.VectorEnv:
    return gym.make_vec("CartPole-v1", ENVS, vectorization_mode="vector_entry_point")


ONE = {
    "bare": (one, None),
    "PerturbReward": (lambda: up.PerturbReward(one(), LEVELS, C), 3.0),
    "CorrectReward": (lambda: up.CorrectReward(one(), LEVELS), 8.0),
    "CorrectReward, posterior": (lambda: up.CorrectReward(one(), LEVELS, method="posterior"), 8.0),
}
MANY = {
    "bare": (many, None),
    "vector.PerturbReward": (lambda: up.vector.PerturbReward(many(), LEVELS, C), None),
    "vector.CorrectReward": (lambda: up.vector.CorrectReward(many(), LEVELS), 100.0),
    "vector.CorrectReward, posterior": (
        lambda: up.vector.CorrectReward(many(), LEVELS, method="posterior"),
        100.0,
    ),
}


def time_one(env: gym.Env, steps: int) -> float:
    """Give microseconds per step."""
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(2, size=steps).tolist()
    start = time.process_time()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return (time.process_time() - start) / steps * 1e6


def time_many(envs: gym.vector.VectorEnv, steps: int) -> float:
    """Give nanoseconds per step of one environment."""
    rounds = steps // ENVS
    envs.reset(seed=0)
    actions = np.random.default_rng(0).integers(2, size=(rounds, ENVS))
    start = time.process_time()
    for action in actions:
        envs.step(action)
    return (time.process_time() - start) / rounds / ENVS * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    options = parser.parse_args()
    rows = []
    for table, clock, unit, steps in (
        (ONE, time_one, "us", options.steps),
        (MANY, time_many, "ns", 10 * options.steps),
    ):
        times = {name: [] for name in table}
        for _ in range(options.repeats):
            for name, (make, _) in table.items():
                env = make()
                times[name].append([clock(env, steps), clock(env, steps)])
        bare = np.array(times["bare"])
        for name, (_, bar) in table.items():
            own = np.array(times[name])
            step = round(float(np.median(own)), 2)
            halves = own - bare
            added = [np.median(x).round(2) for x in (halves.mean(axis=1), *halves.T)]
            met = "" if bar is None else ("yes" if added[0] <= bar else "NO")
            shown = [""] * 3 if name == "bare" else added
            rows.append([name, unit, 2 * steps, step, *shown, bar or "", met])
    head = ["what", "unit", "steps", "step", "added", "first half", "second half", "target", "met"]
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / "wrappers.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    for row in [head, *rows]:
        print(f"{row[0]:34}" + "".join(f"{cell!s:>13}" for cell in row[1:]))


if __name__ == "__main__":
    main()
