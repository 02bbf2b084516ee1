import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from matplotlib.figure import Figure

import unperturb.lab.envs  # noqa: F401
from unperturb.errors import InvalidOptionError, OutsideSpaceError
from unperturb.lab.envs import six_state


def test_two_of_the_twelve_pairs_pay():
    pays = [
        (state, action)
        for state in range(6)
        for action in range(2)
        if six_state.level(six_state.move(state, action))
    ]
    assert pays == [(0, 0), (4, 1)]


def test_gymnasium_accepts_it():
    check_env(gym.make("unperturb/SixState-v0").unwrapped)


def test_episodes_start_in_state_0_and_are_cut_off():
    env = gym.make("unperturb/SixState-v0")
    assert env.reset(seed=1)[0] == 0
    for step in range(100):
        *_, terminated, truncated, _ = env.step(1)
        assert not terminated
        assert truncated == (step == 99)


def test_an_unknown_action_is_named():
    env = six_state.SixStateEnv()
    env.reset()
    with pytest.raises(OutsideSpaceError, match="action 2"):
        env.step(2)


def test_jax_and_gymnasium_walk_the_same_way():
    actions = np.random.default_rng(0).integers(0, 2, 250)

    def walk(state, action):
        observation, state, reward, terminated, truncated, info = six_state.step(
            jax.random.key(0), state, action
        )
        return state, (observation, reward, terminated, truncated, info["final_observation"])

    _, seen = jax.lax.scan(walk, six_state.reset(jax.random.key(0))[1], jnp.asarray(actions))
    env = gym.make("unperturb/SixState-v0")
    env.reset()
    for i, action in enumerate(actions):
        observation, reward, terminated, truncated, _ = env.step(int(action))
        assert (int(seen[4][i]), float(seen[1][i])) == (observation, reward)
        assert (bool(seen[2][i]), bool(seen[3][i])) == (terminated, truncated)
        if truncated:
            observation, _ = env.reset()
        assert int(seen[0][i]) == observation


@pytest.mark.parametrize("slip", [0.0, 0.1, 1.0])
def test_transitions_are_probabilities(slip):
    P = six_state.transitions(slip)
    assert P.shape == (6, 2, 6)
    np.testing.assert_allclose(P.sum(axis=-1), 1.0)
    np.testing.assert_allclose(P[2, 1], np.eye(6)[3] * (1 - slip) + np.eye(6)[1] * slip)


def test_optimal_q_by_hand():
    gamma = 0.9
    q = six_state.optimal_q(gamma)
    # To and fro around the paying state: 1 now and every second step.
    best = 1 / (1 - gamma**2)
    np.testing.assert_allclose(q[4], [gamma**2 * best, best])
    np.testing.assert_allclose(q[5], gamma * best)
    np.testing.assert_allclose(q[2].max(), gamma**2 * best)


def test_optimal_q_solves_bellmans_equation_with_any_rewards():
    rng = np.random.default_rng(3)
    P = six_state.transitions(0.2)
    rewards = rng.random((6, 2, 6))
    q = six_state.optimal_q(0.8, P, rewards)
    target = (P * (rewards + 0.8 * q.max(axis=1))).sum(axis=-1)
    np.testing.assert_allclose(q, target, rtol=1e-12)


def test_bad_numbers_are_named():
    with pytest.raises(InvalidOptionError, match=r"slip is 1\.5"):
        six_state.transitions(1.5)
    with pytest.raises(InvalidOptionError, match="gamma is 1"):
        six_state.optimal_q(1.0)


def test_the_graph_has_an_arrow_for_each_pair():
    axes = Figure().subplots()
    six_state.draw(axes)
    kinds = [type(patch).__name__ for patch in axes.patches]
    assert kinds.count("Circle") == 6
    assert kinds.count("FancyArrowPatch") == 12
