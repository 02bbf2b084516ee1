import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from scipy.stats import binomtest

import unperturb as up

LEVELS = [0.0, 1.0, 2.0]


def matrices(noise):
    return {
        "plain": (noise, None, None),
        "schedule": ({0: noise, 30: np.eye(3), 90: np.eye(3)[::-1]}, None, None),
        "groups": (
            up.confusion.per_group([noise, np.eye(3)[::-1]]),
            lambda state, action: (state + action) % 2,
            lambda states, actions: (states + actions) % 2,
        ),
    }


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("kind", ["plain", "schedule", "groups"])
@pytest.mark.parametrize("layers", [1, 2])
def test_wrap_then_vectorise_equals_vectorise_then_wrap(chain, noise, alike, mode, kind, layers):
    confusion, one_group, groups = matrices(noise)[kind]

    def wrapped():
        env = chain()
        for _ in range(layers):
            env = up.PerturbReward(env, LEVELS, confusion, one_group)
        return env

    inside = SyncVectorEnv([wrapped] * 4, autoreset_mode=mode)
    outside = SyncVectorEnv([chain] * 4, autoreset_mode=mode)
    for _ in range(layers):
        outside = up.vector.PerturbReward(outside, LEVELS, confusion, groups)
    alike(inside, outside, steps=400)
    alike(inside, outside, steps=20, seed=[3, None, 1, 3])


def test_incoming_arrays_are_left_alone(chain, noise):
    envs = SyncVectorEnv([chain] * 3)
    given = []
    step = envs.step

    def spy(actions):
        given.append(step(actions))
        given.append((given[-1][1].copy(), dict(given[-1][4])))
        return given[-2]

    envs.step = spy
    noisy = up.vector.PerturbReward(envs, LEVELS, noise)
    noisy.reset(seed=0)
    for _ in range(50):
        noisy.step(np.zeros(3, dtype=np.int64))
        (_, rewards, _, _, infos), (before, keys) = given[-2:]
        assert np.array_equal(rewards, before)
        assert infos.keys() == keys.keys()


def test_reset_steps_are_left_as_they_are(chain, noise):
    envs = up.vector.PerturbReward(SyncVectorEnv([chain] * 4), LEVELS, noise)
    envs.reset(seed=0)
    resetting = np.zeros(4, dtype=bool)
    seen = 0
    for _ in range(200):
        _, rewards, terminated, truncated, infos = envs.step(np.zeros(4, dtype=np.int64))
        mask = infos.get("_clean_reward", np.zeros(4, dtype=bool))
        assert np.array_equal(mask, ~resetting)
        assert (rewards[resetting] == 0).all()
        seen += int(resetting.sum())
        resetting = terminated | truncated
    assert seen > 50


def test_noise_has_the_rates_it_was_given(noise):
    # One binomial test at 1e-7.
    envs = gym.make_vec("CartPole-v1", 64, vectorization_mode="vector_entry_point")
    envs = up.vector.PerturbReward(envs, [-1.0, 1.0], up.confusion.binary(e_plus=0.4))
    envs.reset(seed=0)
    flips = total = 0
    for _ in range(600):
        _, rewards, _, _, infos = envs.step(envs.action_space.sample())
        mask = infos["_clean_reward"]
        flips += int((rewards[mask] == -1).sum())
        total += int(mask.sum())
    assert total > 30_000
    assert binomtest(flips, total, 0.4).pvalue > 1e-7
