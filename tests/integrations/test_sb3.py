import csv
import importlib
import sys
import warnings

import gymnasium as gym
import numpy as np
import pytest
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import unperturb as up
from unperturb.errors import InvalidOptionError, MissingExtraError
from unperturb.integrations.sb3 import AuditCallback, CorrectRewardVecEnv, PerturbRewardVecEnv

LEVELS = [-1.0, 1.0]
C = up.confusion.binary(e_plus=0.4)


def noisy(n_envs=4, confusion=C, seed=0):
    return PerturbRewardVecEnv(make_vec_env("CartPole-v1", n_envs, seed), LEVELS, confusion)


def corrected(n_envs=4, **options):
    return CorrectRewardVecEnv(noisy(n_envs), LEVELS, up.Cells.cartpole(), **options)


def walk(venv, steps, seed=0):
    venv.seed(seed)
    venv.reset()
    return [venv.step(np.full(venv.num_envs, i // 2 % 2)) for i in range(steps)]


def test_noise_equals_that_of_the_wrapper_for_one_environment():
    inside = DummyVecEnv([lambda: up.PerturbReward(gym.make("CartPole-v1"), LEVELS, C)] * 3)
    outside = PerturbRewardVecEnv(DummyVecEnv([lambda: gym.make("CartPole-v1")] * 3), LEVELS, C)
    for one, other in zip(walk(inside, 100), walk(outside, 100), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one[:3], other[:3], strict=True))
        for a, b in zip(one[3], other[3], strict=True):
            assert a["clean_reward"] == b["clean_reward"] == 1.0


def test_noise_may_depend_on_the_state():
    matrices = up.confusion.per_group([np.eye(2), np.eye(2)[::-1]])
    venv = PerturbRewardVecEnv(
        make_vec_env("FrozenLake-v1", 2, 0),
        [0.0, 1.0],
        matrices,
        lambda states, actions: states % 2,
    )
    before = venv.reset()
    for _ in range(30):
        after, rewards, _, _ = venv.step(np.array([2, 1]))
        assert np.array_equal(rewards, before % 2)
        before = after


def test_a_monitor_inside_keeps_the_true_return():
    ends = [i["episode"] for *_, infos in walk(corrected(), 200) for i in infos if "episode" in i]
    assert len(ends) > 10
    assert all(end["r"] == end["l"] for end in ends)


def test_infos_and_types():
    venv = corrected(confusion=C)
    hat = up.surrogate_values(C, LEVELS)
    for _, rewards, _, infos in walk(venv, 60):
        assert rewards.dtype == np.float32
        for reward, info in zip(rewards, infos, strict=True):
            assert info["observed_reward"] == LEVELS[info["level"]]
            assert reward == pytest.approx(hat[info["level"]])
    assert venv.corrector.steps == 240


def test_next_states_are_the_true_last_observations():
    cells = up.Cells.discrete(16, 4, next_state=True)
    venv = CorrectRewardVecEnv(
        make_vec_env("FrozenLake-v1", 2, 0, env_kwargs={"is_slippery": False}), [0, 1], cells
    )
    venv.reset()
    for _ in range(12):
        venv.step(np.array([1, 1]))  # down, down, down into the hole at 12
    found = {divmod(cell, 16) for cell in np.flatnonzero(venv.corrector.counts.table().sum(1))}
    assert {after for _, after in found} == {4, 8, 12}


@pytest.mark.parametrize("algorithm", [PPO, DQN])
def test_training_logs_the_audit(algorithm, tmp_path):
    small = {"n_steps": 32, "batch_size": 32} if algorithm is PPO else {"learning_starts": 50}
    venv = VecNormalize(corrected(4 if algorithm is PPO else 1, method="posterior"))
    model = algorithm("MlpPolicy", venv, device="cpu", seed=0, **small)
    model.set_logger(configure(str(tmp_path), ["csv"]))
    model.learn(1024, callback=AuditCallback(log_freq=50), log_interval=1)
    model.logger.close()
    with (tmp_path / "progress.csv").open() as file:
        last = [row for row in csv.DictReader(file) if row["audit/C_1_0"]][-1]
    low, estimate, high = (float(last[f"audit/C_1_0{end}"]) for end in ("_low", "", "_high"))
    assert low < estimate < high
    assert low < 0.45
    assert high > 0.35
    assert float(last["audit/corrected_share"]) > 0.5
    assert {"audit/ambiguous", "audit/margin"} <= last.keys()


def test_the_corrector_comes_back_with_a_checkpoint(tmp_path):
    def callback():
        return AuditCallback(log_freq=1000, save_freq=64, save_path=tmp_path)

    settings = {"n_steps": 32, "batch_size": 32, "device": "cpu"}
    first = corrected()
    PPO("MlpPolicy", first, **settings).learn(512, callback=callback())
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [
        "rl_model_256_steps.zip",
        "rl_model_512_steps.zip",
        "rl_model_corrector_256_steps.npz",
        "rl_model_corrector_512_steps.npz",
    ]
    second = corrected()
    model = PPO.load(tmp_path / "rl_model_512_steps.zip", env=second, device="cpu")
    model.learn(128, callback=callback(), reset_num_timesteps=False)
    assert second.corrector.steps == 512 + 128
    third = corrected()
    third.load_corrector(tmp_path / "rl_model_corrector_512_steps.npz")
    assert np.array_equal(third.corrector.counts.table(), first.corrector.counts.table())


def test_normalisation_in_the_wrong_order_warns():
    with pytest.warns(UserWarning, match="VecNormalize lies inside CorrectRewardVecEnv"):
        CorrectRewardVecEnv(VecNormalize(noisy()), LEVELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VecNormalize(CorrectRewardVecEnv(noisy(), LEVELS))


def test_without_bounds_the_first_observations_are_looked_at():
    venv = CorrectRewardVecEnv(noisy(), LEVELS)
    walk(venv, 120)
    assert venv.corrector is None
    assert venv.audit().observations == 480
    walk(venv, 10, seed=1)
    assert venv.cells.n == 20_000
    assert venv.corrector.steps == 520


def test_wrong_arguments_are_refused(tmp_path):
    model = PPO("MlpPolicy", noisy(), n_steps=8, batch_size=8, device="cpu")
    with pytest.raises(InvalidOptionError, match="without CorrectRewardVecEnv"):
        model.learn(8, callback=AuditCallback())
    with pytest.raises(InvalidOptionError, match="checkpoints need both"):
        AuditCallback(save_freq=10)
    with pytest.raises(InvalidOptionError, match="log_freq is 0"):
        AuditCallback(log_freq=0)


def test_a_missing_library_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.callbacks", None)
    monkeypatch.delitem(sys.modules, "unperturb.integrations.sb3")
    with pytest.raises(MissingExtraError, match=r"pip install 'unperturb\[sb3\]'"):
        importlib.import_module("unperturb.integrations.sb3")
