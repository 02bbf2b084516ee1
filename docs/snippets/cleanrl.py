import gymnasium as gym

import unperturb as up


def make_env(env_id, seed, idx, capture_video=False, run_name=""):
    env = gym.wrappers.RecordEpisodeStatistics(gym.make(env_id))  # keeps the observed return
    env = up.CorrectReward(env, [-1, 1], method="posterior")  # the one line to add
    env.action_space.seed(seed)
    return lambda: env
