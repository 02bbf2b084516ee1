"""What correction costs per reward, what a refresh costs, and whether memory stays flat.

Usage: python benchmarks/speed.py [--out results/benchmarks]
"""

from __future__ import annotations

import argparse
import itertools
import resource
import subprocess
import sys
import timeit
from pathlib import Path

import numpy as np

import simulate
import unperturb as up

BATCH = 1024
_MEMORY = """
import resource, numpy as np, unperturb as up
rng = np.random.default_rng(0)
corrector = up.RewardCorrector(up.RewardLevels([-1.0, 1.0]), up.Cells.cartpole(){options})
for start in range(0, {rewards}, 1000):
    observations = rng.normal(0, 1, (1000, 4)).astype(np.float32)
    corrector(observations, rng.integers(0, 2, 1000), rng.choice([-1.0, 1.0], 1000))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def best(function: object, number: int) -> float:
    """Give the seconds per call: the best of many short repeats, of which other work spoils few."""
    number = max(1, number // 10)
    return min(timeit.repeat(function, number=number, repeat=70)) / number  # type: ignore[arg-type]


def correctors() -> list[str]:
    rng = np.random.default_rng(0)
    observations = rng.normal(0, 0.5, (BATCH, 4)).astype(np.float32)
    actions = rng.integers(0, 2, BATCH)
    rewards = rng.choice([-1.0, 1.0], BATCH, p=[0.3, 0.7])
    levels = up.RewardLevels([-1.0, 1.0])
    states = rng.integers(0, 64, BATCH)
    rows = []
    for name, cells, seen in (
        ("CartPole grid", up.Cells.cartpole(), observations),
        ("64 discrete states", up.Cells.discrete(64, 2), states),
    ):
        for options in ({}, {"method": "posterior"}, {"smooth": 100}):
            corrector = up.RewardCorrector(levels, cells, refresh=10**9, **options)
            corrector(seen, actions, rewards)
            corrector.refresh()
            one, action, reward = seen[0], actions[0], rewards[0]
            many = best(lambda: corrector(seen, actions, rewards), 200) / BATCH * 1e9  # noqa: B023
            single = best(lambda: corrector.one(one, action, reward), 5000) * 1e6  # noqa: B023
            label = ", ".join(f"{k}={v}" for k, v in options.items()) or "surrogate (default)"
            rows.append(
                f"| {name} | {label} | {many:.1f} | {'yes' if many <= 60 else 'NO'} | "
                f"{single:.2f} | {'yes' if single <= 6 else 'NO'} |"
            )
    return [
        "| cells | method | ns per reward, batch of 1,024 | at most 60 | us for one reward | "
        "at most 6 |",
        "|---|---|---|---|---|---|",
        *rows,
    ]


def refreshes() -> list[str]:
    rows = []
    for cells, M, bar in ((160, 2, 0.5), (16_000, 2, None), (16_000, 3, None), (16_000, 17, 15.0)):
        rng = np.random.default_rng(1)
        C = up.confusion.rand_all(M, 0.3, rng).matrix
        z = rng.integers(0, M, cells)
        table = simulate.counts(C, z, 5 * cells, rng)
        fit = up.estimators.DawidSkene().fit(table)
        vote = up.estimators.MajorityVote()
        # Each refresh sees 1 % more observations than the last, like a stream would show.
        grown = [table + simulate.counts(C, z, max(table.sum() // 100, 1), rng) for _ in range(2)]
        turn = itertools.cycle(grown)
        warm = best(lambda: fit.refresh(next(turn)), 20) * 1e3  # noqa: B023
        voting = best(lambda: vote.fit(table), 20) * 1e3  # noqa: B023
        reached = "" if bar is None else ("yes" if warm <= bar else "NO")
        rows.append(f"| {cells:,} x {M} | {warm:.2f} | {bar or ''} | {reached} | {voting:.2f} |")
    return [
        "| cells x levels | warm refresh, ms | at most | reached | the vote, ms |",
        "|---|---|---|---|---|",
        *rows,
    ]


def memory() -> list[str]:
    rows = []
    for options in ("", ", smooth=100", ", d_max=100", ", forget=2000"):
        peaks = []
        for rewards in (10_000, 10_000_000):
            code = _MEMORY.format(options=options, rewards=rewards)
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            )
            peaks.append(int(done.stdout))
        growth = peaks[1] / peaks[0] - 1
        rows.append(
            f"| {options.lstrip(', ') or 'default'} | {peaks[0] / 1024:.1f} | "
            f"{peaks[1] / 1024:.1f} | {growth:+.2%} | {'yes' if growth <= 0.01 else 'NO'} |"
        )
        print(rows[-1], flush=True)
    return [
        "| settings | peak MiB after 10 thousand rewards | after 10 million | growth | "
        "at most +1 % |",
        "|---|---|---|---|---|",
        *rows,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    options = parser.parse_args()
    lines = ["# What correction costs", ""]
    for part in (correctors, refreshes, memory):
        lines += [*part(), ""]
        print("\n".join(lines[-6:]), flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "speed.md").write_text("\n".join(lines))
    print(
        f"peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"
    )


if __name__ == "__main__":
    main()
