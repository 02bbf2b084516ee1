"""Train with Stable-Baselines3 on CartPole, and a table on FrozenLake: clean, noisy, corrected.

    python benchmarks/sb3_training.py [--only ppo|dqn|lake] [--seeds 5] [--jobs 2]

Each finished run is a JSON file under results/sb3/runs and is not trained again. The tables are
written from those files alone: results/sb3/scores.csv has one row per run, summary.csv and
summary.md one per reward.

CartPole: the true reward is always +1; 40 % are flipped to -1 (e- = 0, e+ = 0.4). The score is the
mean true return of the last 30 training episodes. PPO has the settings of RL Baselines3 Zoo.

FrozenLake 8x8, not slippery: a step pays 0 or 1, flipped with e- = 0.1 and e+ = 0.3. The score is 1
if the greedy policy reaches the goal.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import time
from pathlib import Path

import gymnasium as gym
import numpy as np

import unperturb as up

HERE = Path(__file__).resolve().parent.parent / "results" / "sb3"
REWARDS = ("clean", "noisy", "surrogate", "posterior")
LEVELS = [-1.0, 1.0]
FLIPPED = 0.4
PPO_STEPS = 100_000
DQN_STEPS = 60_000
LAKE_EPISODES = 10_000


def cartpole(reward: str, n_envs: int, seed: int):
    from stable_baselines3.common.env_util import make_vec_env

    from unperturb.integrations.sb3 import CorrectRewardVecEnv, PerturbRewardVecEnv

    venv = make_vec_env("CartPole-v1", n_envs=n_envs, seed=seed)
    if reward != "clean":
        venv = PerturbRewardVecEnv(venv, LEVELS, up.confusion.binary(e_plus=FLIPPED))
    if reward in ("surrogate", "posterior"):
        venv = CorrectRewardVecEnv(venv, LEVELS, method=reward)
    return venv


def train_cartpole(agent: str, reward: str, seed: int) -> dict:
    import torch
    from stable_baselines3 import DQN, PPO
    from stable_baselines3.common.callbacks import BaseCallback

    torch.set_num_threads(1)

    class Returns(BaseCallback):
        """Notes the true return of each episode, which Monitor records beneath the noise."""

        def __init__(self) -> None:
            super().__init__()
            self.returns: list[float] = []

        def _on_step(self) -> bool:
            infos = self.locals["infos"]
            self.returns += [float(i["episode"]["r"]) for i in infos if "episode" in i]
            return True

    if agent == "ppo":
        venv = cartpole(reward, 8, seed)
        model = PPO(
            "MlpPolicy",
            venv,
            n_steps=32,
            batch_size=256,
            gae_lambda=0.8,
            gamma=0.98,
            n_epochs=20,
            learning_rate=lambda left: 1e-3 * left,
            clip_range=lambda left: 0.2 * left,
            seed=seed,
            device="cpu",
        )
        steps = PPO_STEPS
    else:
        venv = cartpole(reward, 1, seed)
        model = DQN(
            "MlpPolicy",
            venv,
            # Ten-step returns and a slow target: with one-step returns clean runs ended anywhere
            # between 190 and 500, whatever the rewards.
            n_steps=10,
            learning_rate=lambda left: 2e-3 * left,
            batch_size=128,
            buffer_size=60_000,
            learning_starts=1000,
            gamma=0.99,
            target_update_interval=500,
            train_freq=4,
            gradient_steps=2,
            exploration_fraction=0.2,
            exploration_final_eps=0.01,
            policy_kwargs={"net_arch": [64, 64]},
            seed=seed,
            device="cpu",
        )
        steps = DQN_STEPS
    returns = Returns()
    model.learn(steps, callback=returns)
    result = {"score": float(np.mean(returns.returns[-30:])), "episodes": len(returns.returns)}
    if reward in ("surrogate", "posterior"):
        result["confusion"] = venv.corrector.confusion.tolist()
    return result


def train_lake(agent: str, reward: str, seed: int) -> dict:
    env = gym.make("FrozenLake-v1", map_name="8x8", is_slippery=False)
    if reward != "clean":
        env = up.PerturbReward(env, [0.0, 1.0], up.confusion.binary(e_minus=0.1, e_plus=0.3))
    if reward in ("surrogate", "posterior"):
        env = up.CorrectReward(env, [0.0, 1.0], method=reward)
    rng = np.random.default_rng(seed)
    q = np.zeros((64, 4))
    goal_episodes = 0
    for episode in range(LAKE_EPISODES):
        explore = max(0.05, 1 - 2 * episode / LAKE_EPISODES)
        state, _ = env.reset(seed=seed if episode == 0 else None)
        ended = False
        while not ended:
            best = np.flatnonzero(q[state] == q[state].max())
            action = int(rng.integers(4) if rng.random() < explore else rng.choice(best))
            after, r, terminated, truncated, _ = env.step(action)
            target = r + (0.0 if terminated else 0.95 * q[after].max())
            q[state, action] += 0.1 * (target - q[state, action])
            state, ended = after, terminated or truncated
        goal_episodes += int(state == 63)
    state, _ = env.unwrapped.reset(seed=0)
    path = [int(state)]
    for _ in range(200):
        state, *_, terminated, _, _ = env.unwrapped.step(int(q[state].argmax()))
        path.append(int(state))
        if terminated:
            break
    result = {"score": float(path[-1] == 63), "goal_episodes": goal_episodes, "path": path}
    if reward in ("surrogate", "posterior"):
        result["confusion"] = env.corrector.confusion.tolist()
    return result


def run(job: tuple[str, str, int]) -> str:
    agent, reward, seed = job
    path = HERE / "runs" / f"{agent}-{reward}-{seed}.json"
    if path.exists():
        return f"{path.name} is there"
    start = time.perf_counter()
    train = train_lake if agent == "lake" else train_cartpole
    result = {"agent": agent, "reward": reward, "seed": seed, **train(agent, reward, seed)}
    result["seconds"] = round(time.perf_counter() - start, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(result, indent=1))
    part.replace(path)
    return f"{path.name}: {result['score']:.1f} in {result['seconds']} s"


def summarise() -> None:
    paths = sorted((HERE / "runs").glob("*.json"))
    runs = [json.loads(path.read_text()) for path in paths]
    head = ["agent", "reward", "seed", "score", "seconds", "e_minus", "e_plus"]
    with (HERE / "scores.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        for r in runs:
            C = r.get("confusion")
            rates = [round(C[0][1], 4), round(C[1][0], 4)] if C else ["", ""]
            writer.writerow(
                [*(r[name] for name in head[:3]), round(r["score"], 2), r["seconds"], *rates]
            )
    rows = []
    for agent in ("ppo", "dqn", "lake"):
        scores = {
            reward: [r["score"] for r in runs if (r["agent"], r["reward"]) == (agent, reward)]
            for reward in REWARDS
        }
        for reward, own in scores.items():
            if own:
                clean = np.mean(scores["clean"]) if scores["clean"] else np.nan
                share = float(np.mean(own) / clean)
                rows.append(
                    [agent, reward, len(own), np.mean(own), min(own), max(own), round(share, 3)]
                )
    head = ["agent", "reward", "seeds", "mean", "lowest", "highest", "share_of_clean"]
    with (HERE / "summary.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(
            [*row[:3], *(round(float(x), 2) for x in row[3:6]), row[6]] for row in rows
        )
    names = {
        "ppo": "PPO, CartPole-v1",
        "dqn": "DQN, CartPole-v1",
        "lake": "Q-table, FrozenLake-v1 8x8",
    }
    lines = [
        "| agent | reward | seeds | mean | lowest | highest | of clean |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for agent, reward, seeds, mean, low, high, share in rows:
        digits = 2 if agent == "lake" else 0
        numbers = " | ".join(f"{x:.{digits}f}" for x in (mean, low, high))
        lines.append(f"| {names[agent]} | {reward} | {seeds} | {numbers} | {share:.1%} |")
    text = "\n".join(lines) + "\n"
    (HERE / "summary.md").write_text(text)
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=["ppo", "dqn", "lake"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rewards", nargs="*", default=REWARDS)
    options = parser.parse_args()
    agents = [options.only] if options.only else ["lake", "ppo", "dqn"]
    jobs = [(a, r, s) for a in agents for s in range(options.seeds) for r in options.rewards]
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        for line in pool.imap_unordered(run, jobs):
            print(line, flush=True)
    summarise()


if __name__ == "__main__":
    main()
