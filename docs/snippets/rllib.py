import gymnasium as gym
from ray import tune
from ray.rllib.algorithms.ppo import PPOConfig

import unperturb as up

tune.register_env(
    "corrected-cartpole",
    lambda config: up.CorrectReward(gym.make("CartPole-v1"), [-1, 1], method="posterior"),
)
config = PPOConfig().environment("corrected-cartpole")
