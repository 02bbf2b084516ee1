"""DQN in one file, in the manner of CleanRL, on CartPole with a lying reward.

    pip install 'unperturb[sb3]'     # for torch
    python examples/cleanrl_dqn.py --reward noisy
    python examples/cleanrl_dqn.py --reward posterior

40 % of the rewards are flipped to -1. What is new beside a plain DQN are the two lines in
`make_env`. The true return is printed; the agent never sees it.
"""

from __future__ import annotations

import argparse
import random

import gymnasium as gym
import numpy as np
import torch
from torch import nn

import unperturb as up

LEVELS = [-1.0, 1.0]


def make_env(reward: str) -> gym.Env:
    env = gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1"))  # beneath: the true return
    if reward != "clean":
        env = up.PerturbReward(env, LEVELS, up.confusion.binary(e_plus=0.4))
    if reward in ("surrogate", "posterior"):
        env = up.CorrectReward(env, LEVELS, method=reward)
    return env


class QNetwork(nn.Module):
    def __init__(self, env: gym.Env, width: int = 128) -> None:
        super().__init__()
        inputs, outputs = int(np.prod(env.observation_space.shape)), int(env.action_space.n)
        self.layers = nn.Sequential(
            nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, 84), nn.ReLU(),
            nn.Linear(84, outputs),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def main(
    reward: str = "posterior",
    steps: int = 40_000,
    seed: int = 1,
    start: int = 1_000,
    batch: int = 128,
    gamma: float = 0.99,
) -> dict:
    random.seed(seed)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    env = make_env(reward)
    network, target = QNetwork(env), QNetwork(env)
    target.load_state_dict(network.state_dict())
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)

    observations = np.zeros((2, steps, *env.observation_space.shape), dtype=np.float32)
    actions = np.zeros(steps, dtype=np.int64)
    rewards, ends = np.zeros(steps, dtype=np.float32), np.zeros(steps, dtype=np.float32)
    returns: list[float] = []

    observation, _ = env.reset(seed=seed)
    for step in range(steps):
        explore = max(0.02, 1 - step / (0.4 * steps))
        if rng.random() < explore:
            action = int(rng.integers(env.action_space.n))
        else:
            with torch.no_grad():
                action = int(network(torch.as_tensor(observation)).argmax())
        after, paid, terminated, truncated, info = env.step(action)
        observations[:, step] = observation, after
        actions[step], rewards[step], ends[step] = action, paid, terminated
        observation = after
        if terminated or truncated:
            returns.append(float(info["episode"]["r"]))
            observation, _ = env.reset()
            if len(returns) % 50 == 0:
                mean = np.mean(returns[-50:])
                print(f"step {step:6}: true return {mean:6.1f}, mean of 50 episodes", flush=True)

        if step > start and step % 4 == 0:
            rows = rng.integers(step, size=batch)
            before, later = (torch.as_tensor(part[rows]) for part in observations)
            with torch.no_grad():
                best = target(later).max(dim=1).values
                goal = torch.as_tensor(rewards[rows]) + gamma * best * (
                    1 - torch.as_tensor(ends[rows])
                )
            value = network(before).gather(1, torch.as_tensor(actions[rows])[:, None])[:, 0]
            loss = nn.functional.mse_loss(value, goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if step % 500 == 0:
            target.load_state_dict(network.state_dict())

    if env.has_wrapper_attr("audit"):
        print(env.get_wrapper_attr("audit")())
    env.close()
    return {"episodes": len(returns), "last": float(np.mean(returns[-30:])) if returns else 0.0}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--reward", choices=["clean", "noisy", "surrogate", "posterior"], default="posterior"
    )
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(main(options.reward, options.steps, options.seed))
