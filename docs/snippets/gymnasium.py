import gymnasium as gym

import unperturb as up

env = gym.make("CartPole-v1")
env = up.PerturbReward(env, [-1, 1], up.confusion.binary(e_plus=0.4))  # your noise, simulated
env = up.CorrectReward(env, [-1, 1], method="posterior")  # estimate it and correct the reward
