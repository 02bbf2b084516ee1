"""PPO of RLlib on a noisy CartPole, corrected, in this process.

    pip install 'unperturb[rllib]' torch
    python examples/rllib_ppo.py --iterations 30

The environment creator wraps the environment, so it works wherever RLlib creates it, and each copy
has its own corrector.
"""

from __future__ import annotations

import argparse

import gymnasium as gym
import ray
from ray import tune
from ray.rllib.algorithms.ppo import PPOConfig

import unperturb as up

LEVELS = up.RewardLevels([-1.0, 1.0])


def main(iterations: int = 30, batch: int = 2000, envs: int = 4, seed: int = 0) -> dict:
    def create(config: dict) -> gym.Env:
        env = gym.make("CartPole-v1")
        env = up.PerturbReward(env, LEVELS, up.confusion.binary(e_plus=0.4))
        return up.CorrectReward(env, LEVELS, up.Cells.cartpole(), method="posterior")

    tune.register_env("noisy-cartpole", create)
    config = (
        PPOConfig()
        .environment("noisy-cartpole")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=envs)
        .learners(num_learners=0)
        .training(train_batch_size_per_learner=batch, minibatch_size=batch // 4, num_epochs=6)
        .debugging(seed=seed)
    )
    ray.init(num_cpus=1, include_dashboard=False, ignore_reinit_error=True)
    algorithm = config.build_algo()
    result: dict = {}
    for i in range(iterations):
        found = algorithm.train()["env_runners"]
        result = {
            "length": float(found["episode_len_mean"]),
            "return": float(found["episode_return_mean"]),
        }
        print(
            f"{i:3}: {result['length']:6.1f} steps an episode, corrected return "
            f"{result['return']:6.1f}"
        )
    audits = algorithm.env_runner.env.unwrapped.call("audit")
    print(audits[0])
    algorithm.stop()
    ray.shutdown()
    return {**result, "observations": [audit.observations for audit in audits]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--iterations", type=int, default=30)
    main(parser.parse_args().iterations)
