import gymnasium as gym
import numpy as np
import pytest

from unperturb.errors import InvalidOptionError
from unperturb.lab.envs.vector import vector


def test_gymnasium_keeps_the_last_observation_of_an_episode():
    envs = vector("CartPole-v1", envs=2)
    envs.reset(seed=0)
    lengths, t = [], np.zeros(2)
    for _ in range(60):
        stepped = envs.step(np.zeros(2, int))
        t += 1
        ended = stepped.terminated | stepped.truncated
        np.testing.assert_array_equal(np.isnan(stepped.returns), ~ended)
        for row in np.flatnonzero(ended):
            assert stepped.returns[row] == t[row]
            assert abs(stepped.final[row]).max() > 0.2  # fallen
            assert abs(stepped.observation[row]).max() < 0.06  # a new start
            lengths.append(t[row])
        t[ended] = 0
    assert lengths
    envs.close()


def test_a_seed_gives_the_same_games_and_its_neighbour_others():
    starts = [vector("CartPole-v1", envs=4).reset(seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(starts[0], starts[1])
    # Gymnasium would give seeds 0 and 1 three of four environments in common.
    assert not np.isin(starts[2], starts[0]).any()


def test_continuous_actions_are_clipped_into_their_space():
    envs = vector("Pendulum-v1", envs=2)
    envs.reset(seed=0)
    far = envs.step(np.array([[1e6], [-1e6]]))
    assert np.isfinite(far.reward).all()


def test_atari_shows_signs_and_scores_whole_games():
    envs = vector("ALE/Carnival-v5", envs=4, frame=42)
    seen = envs.reset(seed=0)
    assert seen.shape == (4, 4, 42, 42)
    assert seen.dtype == np.uint8
    rng = np.random.default_rng(0)
    scores, signs = [], set()
    for _ in range(1500):
        stepped = envs.step(rng.integers(envs.action_space.n, size=4))
        signs |= set(stepped.reward.tolist())
        scores += stepped.returns[~np.isnan(stepped.returns)].tolist()
        if len(scores) > 3:
            break
    envs.close()
    assert signs <= {-1.0, 0.0, 1.0}
    # The game pays 20 points and more at a time.
    assert scores
    assert max(scores) > 100


def test_a_lost_life_ends_an_episode_and_the_game_goes_on():
    envs = vector("ALE/Seaquest-v5", envs=4, frame=42)
    envs.reset(seed=0)
    rng = np.random.default_rng(0)
    lives, games = 0, 0
    for _ in range(1500):
        stepped = envs.step(rng.integers(envs.action_space.n, size=4))
        lives += int(stepped.terminated.sum())
        games += int((~np.isnan(stepped.returns)).sum())
    envs.close()
    assert lives > games > 0


def test_an_unknown_game_is_one_clear_error():
    with pytest.raises(InvalidOptionError, match="there is no Atari game 'ALE/Nothing-v5'"):
        vector("ALE/Nothing-v5", envs=1)
    with pytest.raises(gym.error.Error):
        vector("Nothing-v0", envs=1)
