import gymnasium as gym

import unperturb as up

envs = gym.make_vec("CartPole-v1", num_envs=16)
envs = up.vector.PerturbReward(envs, [-1, 1], up.confusion.binary(e_plus=0.4))
envs = up.vector.CorrectReward(envs, [-1, 1], method="posterior")  # one estimate from all 16
