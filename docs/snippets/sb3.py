from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from unperturb.integrations.sb3 import AuditCallback, CorrectRewardVecEnv

venv = make_vec_env("FrozenLake-v1", n_envs=4)  # any environment whose reward you distrust
venv = CorrectRewardVecEnv(venv, [0, 1], method="posterior")
PPO("MlpPolicy", venv, n_steps=64).learn(512, callback=AuditCallback(log_freq=100))
print(venv.audit())
