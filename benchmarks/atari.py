"""PPO: steps per second on Atari at the paper's settings and on MinAtar, beside Stable-Baselines3.

    python benchmarks/atari.py

All are measured in one run on the same machine: Stable-Baselines3's PPO with its Atari wrappers at
the same net, frames, environments, minibatches and epochs; ours on true rewards, and with noise and
an estimate of C; and eight seeds of PPO on MinAtar. Each figure leaves compiling out.
"""

from __future__ import annotations

import argparse
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from summed import steps_per_second
from unperturb.lab import report

GAME = "Pong"
PEER_STEPS = 4096
OWN_STEPS = 8192


def peer() -> float:
    """Time Stable-Baselines3."""
    import ale_py
    import gymnasium as gym
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_atari_env
    from stable_baselines3.common.vec_env import VecFrameStack

    gym.register_envs(ale_py)
    torch.set_num_threads(2)
    envs = VecFrameStack(make_atari_env(f"{GAME}NoFrameskip-v4", n_envs=8, seed=0), n_stack=4)
    model = PPO(
        "CnnPolicy",
        envs,
        n_steps=128,
        n_epochs=4,
        batch_size=256,
        learning_rate=3e-4,
        clip_range=0.1,
        ent_coef=0.01,
        vf_coef=0.5,
        device="cpu",
    )
    model.learn(1024)
    start = time.perf_counter()
    model.learn(PEER_STEPS)
    return PEER_STEPS / (time.perf_counter() - start)


def own(reward: str) -> tuple[float, float]:
    """Time ours; give steps a second, and gigabytes."""
    from unperturb.lab.paper.atari import column
    from unperturb.lab.paper.control import unit_of
    from unperturb.lab.units import lane_of, trainer_of

    weight = 0.0 if reward == "true" else 0.3
    unit = unit_of(column("paper", GAME), 0, {"reward": reward, "weight": weight, "prior": None})
    trainer = trainer_of(unit)
    marks: list[tuple[int, float]] = []
    trainer.run([lane_of(unit)], OWN_STEPS, lambda t, score: marks.append((t, time.perf_counter())))
    (t0, start), (t1, end) = marks[0], marks[-1]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return (t1 - t0) / (end - start), memory


def minatar() -> float:
    """Time eight seeds on Breakout-MinAtar, one process for each core."""
    from unperturb.lab.paper.atari import column
    from unperturb.lab.paper.control import unit_of

    true = {"reward": "true", "weight": 0.0, "prior": None}
    game = column("minatar", "Breakout")
    return steps_per_second([unit_of(game, seed, true) for seed in range(8)])


def alone(function: object, *args: object) -> object:
    """Call a function in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *args).result()  # type: ignore[arg-type]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    args = parser.parse_args()
    first = alone(peer)
    figures = [
        (reward, alone(own, reward)) for reward in ("true", "estimated", "true", "estimated")
    ]
    second = alone(peer)
    base = float(np.mean([first, second]))
    small = minatar()
    rows = [
        {
            "what": "Stable-Baselines3, Pong",
            "steps a second": base,
            "ratio": 1.0,
            "bar": "",
            "GB": None,
        }
    ]
    for reward, (speed, memory) in figures:
        rows.append(
            {
                "what": f"ours, Pong, {reward}",
                "steps a second": speed,
                "ratio": speed / base,
                "bar": "1.3",
                "GB": memory,
            }
        )
    rows.append(
        {
            "what": "ours, Breakout-MinAtar, 8 seeds",
            "steps a second": small,
            "ratio": small / base,
            "bar": "100",
            "GB": None,
        }
    )
    note = (
        "Two CPU cores, one run. Stable-Baselines3 was measured first and last: "
        f"{first:.0f} and {second:.0f} steps a second."
    )
    for path in report.write_table(rows, args.out / "atari", "PPO beside a peer", note, 4):
        print(path)
    print(report.as_markdown(rows, 4))


if __name__ == "__main__":
    main()
