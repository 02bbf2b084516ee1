import gymnasium as gym
import jax
import numpy as np
import pytest

from unperturb.errors import InvalidOptionError
from unperturb.lab.envs.compiled import compiled_env, has, sample


def played(name, actions, seed=0):
    """Play on from one reset, beyond any end; give all that comes."""
    env = compiled_env(name)
    observation, state = env.reset(jax.random.key(seed))

    def step(state, action):
        moved = env.step(jax.random.key(0), state, action)
        return moved.state, moved._replace(state=None)

    return np.asarray(observation), jax.lax.scan(step, state, np.asarray(actions))[1]


def test_cartpole_moves_as_gymnasiums_does():
    actions = np.random.default_rng(0).integers(2, size=12)
    first, found = played("CartPole-v0", actions)
    env = gym.make("CartPole-v1").unwrapped
    env.reset(seed=0)
    env.state = tuple(first.astype(float))
    for i, action in enumerate(actions):
        observation, reward, terminated, *_ = env.step(int(action))
        np.testing.assert_allclose(found.observation[i], observation, rtol=1e-4, atol=1e-5)
        assert float(found.reward[i]) == reward
        assert bool(found.terminated[i]) == terminated
        if terminated:
            break


def test_pendulum_moves_as_gymnasiums_does():
    actions = np.random.default_rng(0).uniform(-3, 3, size=(30, 1)).astype(np.float32)
    first, found = played("Pendulum-v1", actions)
    env = gym.make("Pendulum-v1").unwrapped
    env.reset(seed=0)
    env.state = np.array([np.arctan2(first[1], first[0]), first[2]], np.float64)
    for i, action in enumerate(actions):
        observation, reward, *_ = env.step(action)
        np.testing.assert_allclose(found.observation[i], observation, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(found.reward[i], reward, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("name", "limit"), [("CartPole-v0", 200), ("Pendulum-v1", 200)])
def test_time_limits_cut_off_and_do_not_end(name, limit):
    shape = (limit, 1) if name == "Pendulum-v1" else (limit,)
    _, found = played(name, np.zeros(shape, np.float32 if len(shape) > 1 else np.int32))
    np.testing.assert_array_equal(found.truncated, np.arange(1, limit + 1) >= limit)
    assert name == "CartPole-v0" or not found.terminated.any()


def test_spaces_and_features():
    env = compiled_env("Pendulum-v1")
    assert env.width == 3
    assert env.action_space.shape == (1,)
    np.testing.assert_array_equal(env.action_space.high, [2.0])
    assert env.features(np.zeros((3, 1))).shape == (3,)


def test_a_sample_repeats_itself():
    first, again = (sample(compiled_env("CartPole-v0"), 40).observations for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first, axis=0)) == 40


def test_an_unknown_name_is_refused():
    assert not has("FrozenLake-v1")
    with pytest.raises(InvalidOptionError, match="gymnax has no environment 'FrozenLake-v1'"):
        compiled_env("FrozenLake-v1")
