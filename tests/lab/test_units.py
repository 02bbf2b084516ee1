import json

import numpy as np
import pytest

from unperturb.errors import InvalidOptionError
from unperturb.lab.units import (
    condition_key,
    corrector_of,
    episode_scores,
    lane_of,
    noise_matrix,
    preset,
    problem_key,
    score,
    trainer_of,
    unit,
)
from unperturb.levels import RewardLevels


def cartpole(seed=0, **options):
    return unit("CartPole-v0", "dqn", 100, seed, **options)


def test_a_unit_is_json_and_comes_back():
    settings = cartpole(reward="posterior", weight=0.3, hyper={"tau": 0.5})
    assert json.loads(json.dumps(settings)) == settings


def test_true_rewards_are_the_same_run_whatever_noise_there_would_be():
    assert cartpole(weight=0.3) == cartpole(weight=0.9, noise="symmetric", smooth=100)


def test_an_assumption_belongs_to_what_is_estimated():
    assert cartpole(reward="noisy", weight=0.7, prior="reverse")["prior"] is None
    assert cartpole(reward="estimated", weight=0.7, prior="reverse")["prior"] == "reverse"


def test_variance_reduction_takes_a_hundred_rewards():
    assert cartpole(reward="noisy+vrt", weight=0.3)["smooth"] == 100
    assert cartpole(reward="noisy", weight=0.3)["smooth"] is None


def test_seeds_and_conditions_share_a_compilation_but_smoothing_does_not():
    first, other = cartpole(0, reward="noisy", weight=0.3), cartpole(1, reward="known", weight=0.7)
    assert problem_key(first) == problem_key(other)
    assert trainer_of(first) is trainer_of(other)
    assert condition_key(first) != condition_key(other)
    assert problem_key(first) != problem_key(cartpole(reward="noisy+vrt", weight=0.3))


@pytest.mark.parametrize("noise", ["rand-one", "rand-all"])
def test_each_seed_draws_its_own_matrix_whatever_it_is_shown(noise):
    def matrix(seed, reward):
        return noise_matrix(
            unit("Pendulum-v1", "ddpg", 100, seed, reward=reward, noise=noise, weight=0.3)
        )

    np.testing.assert_array_equal(matrix(0, "noisy"), matrix(0, "posterior"))
    assert (matrix(0, "noisy") != matrix(1, "noisy")).any()
    np.testing.assert_allclose(matrix(0, "noisy").sum(axis=1), 1)


def test_only_the_known_reward_is_told_the_matrix():
    known = lane_of(cartpole(reward="known", weight=0.3))
    np.testing.assert_allclose(known.noise @ known.table, [-1, 1])
    for reward in ("noisy", "estimated", "posterior"):
        lane = lane_of(cartpole(reward=reward, weight=0.3))
        assert lane.table is None
        assert not lane.raw


def test_what_estimates():
    vote = corrector_of(cartpole(reward="estimated", weight=0.7, prior="reverse"))
    assert vote.estimator.config() == {"name": "majority-vote", "anchors": None, "prior": "reverse"}
    assert vote.n_eff is None  # the paper's plain inverse
    assert corrector_of(cartpole(reward="posterior", weight=0.3)).method == "posterior"
    assert corrector_of(cartpole(reward="noisy", weight=0.3)) is None


def test_scores():
    returns, ends = np.array([-200.0, -100.0]), np.array([200, 400])
    np.testing.assert_array_equal(episode_scores({"env": "Pendulum-v1"}, returns, ends), [-1, -0.5])
    np.testing.assert_array_equal(episode_scores({"env": "CartPole-v0"}, returns, ends), returns)
    assert score({"env": "CartPole-v0"}, returns, ends, last=1) == -100
    assert np.isnan(score({"env": "CartPole-v0"}, returns[:0], ends[:0]))


def test_what_can_not_be_is_refused():
    with pytest.raises(InvalidOptionError, match="reward 'best'"):
        cartpole(reward="best")
    with pytest.raises(InvalidOptionError, match="levels of Acrobot-v1 are not known"):
        unit("Acrobot-v1", "dqn", 100, 0)
    with pytest.raises(InvalidOptionError, match="noise 'binary' for 3 levels"):
        noise_matrix(
            cartpole(reward="noisy", levels=RewardLevels([-1.0, 0.0, 1.0]), noise="binary")
        )
    with pytest.raises(InvalidOptionError, match="agent 'ddpg' for the action space Discrete"):
        trainer_of(unit("CartPole-v0", "ddpg", 100, 0))


def test_a_posterior_on_pendulum_counts_over_states_alone():
    known = preset("Pendulum-v1")
    assert (known.pooled.n, known.cells.n) == (16_000, 320_000)
    seen = np.array([[0.3, -0.4, 1.0]])
    assert known.pooled.index(seen) == known.cells.index(seen, np.array([[-2.0]])) // 20
