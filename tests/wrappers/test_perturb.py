import gymnasium as gym
import numpy as np
import pytest
from scipy.stats import binomtest

import unperturb as up
from unperturb.errors import (
    InvalidConfusionError,
    InvalidOptionError,
    OutsideSpaceError,
    UnknownRewardError,
)

LEVELS = [0.0, 1.0, 2.0]


def rollout(env, steps, seed):
    state, _ = env.reset(seed=seed)
    out = []
    for i in range(steps):
        state, reward, terminated, truncated, info = env.step(i % 2)
        out.append((state, reward, terminated, truncated, info))
        if terminated or truncated:
            state, _ = env.reset()
    return out


def test_clean_reward_is_the_environments_own_and_nothing_else_changes(chain, noise):
    noisy = rollout(up.PerturbReward(chain(), LEVELS, noise), 300, seed=3)
    clean = rollout(chain(), 300, seed=3)
    for (s1, r1, *ends1, info1), (s2, r2, *ends2, info2) in zip(noisy, clean, strict=True):
        assert (s1, ends1) == (s2, ends2)
        assert info1 == {**info2, "clean_reward": r2}
        assert r1 in LEVELS
    assert any(r1 != r2 for (_, r1, *_), (_, r2, *_) in zip(noisy, clean, strict=True))


def test_same_seed_same_noise(chain, noise):
    env = up.PerturbReward(chain(), LEVELS, noise)
    first = rollout(env, 100, seed=5)
    assert rollout(env, 100, seed=5) == first
    assert rollout(up.PerturbReward(chain(), LEVELS, noise), 100, seed=5) == first
    assert [x[1] for x in rollout(env, 100, seed=6)] != [x[1] for x in first]


def test_a_reset_without_a_seed_goes_on_with_the_stream(chain, noise):
    env = up.PerturbReward(chain(ends=0), [0.0, 1.0, 2.0], noise)
    env.reset(seed=0)
    first = [env.step(0)[1] for _ in range(40)]
    env.reset()
    assert [env.step(0)[1] for _ in range(40)] != first


def test_noise_has_the_rates_it_was_given(chain, noise):
    # Nine binomial tests, each at 1e-7: a false alarm for one seed in a million.
    steps = rollout(up.PerturbReward(chain(), LEVELS, noise), 30_000, seed=0)
    clean = np.array([info["clean_reward"] for *_, info in steps])
    seen = np.array([reward for _, reward, *_ in steps])
    for j in range(3):
        for k in range(3):
            hits, total = int((seen[clean == j] == k).sum()), int((clean == j).sum())
            assert binomtest(hits, total, noise.matrix[j, k]).pvalue > 1e-7


def test_stacked_noise_draws_independently_and_keeps_the_clean_reward():
    # True is 1 always; twice a flip of 1/2 gives 1 for a quarter. A shared stream would give 1/2.
    # One binomial test at 1e-7.
    flip = [[1.0, 0.0], [0.5, 0.5]]
    env = up.PerturbReward(gym.make("CartPole-v1"), [0, 1], flip)
    env = up.PerturbReward(env, [0, 1], flip)
    steps = rollout(env, 2000, seed=1)
    assert binomtest(sum(int(s[1]) for s in steps), 2000, 0.25).pvalue > 1e-7
    assert {s[4]["clean_reward"] for s in steps} == {1.0}


def test_groups_see_the_observation_before_the_action(chain):
    asked = []

    def groups(observation, action):
        asked.append((float(observation[0]), action))
        return int(observation[0] >= 3)

    same, flipped = np.eye(3), np.eye(3)[::-1]
    env = up.PerturbReward(chain(box=True), LEVELS, up.confusion.per_group([same, flipped]), groups)
    before = float(env.reset(seed=0)[0][0])
    for i in range(200):
        after, reward, terminated, truncated, info = env.step(i % 2)
        clean = info["clean_reward"]
        assert asked[-1] == (before, i % 2)
        assert reward == (2 - clean if before >= 3 else clean)
        if terminated or truncated:
            after, _ = env.reset()
        before = float(after[0])


def test_a_schedule_counts_from_the_last_seeding(chain):
    changes = {0: np.eye(3), 5: np.eye(3)[::-1]}
    env = up.PerturbReward(chain(ends=0), LEVELS, changes)
    for _ in range(2):
        env.reset(seed=0)
        pairs = [(s[1], s[4]["clean_reward"]) for s in (env.step(0) for _ in range(10))]
        assert all(seen == clean for seen, clean in pairs[:5])
        assert all(seen == 2 - clean for seen, clean in pairs[5:])


def test_continuous_levels_give_level_values():
    levels = up.RewardLevels.uniform(-17, 0, 17, value="upper")
    env = up.PerturbReward(gym.make("Pendulum-v1"), levels, np.eye(17))
    env.reset(seed=0)
    for _ in range(20):
        _, reward, _, _, info = env.step(np.zeros(1, dtype=np.float32))
        assert reward == np.ceil(info["clean_reward"])


@pytest.mark.parametrize(
    ("confusion", "groups", "error", "words"),
    [
        (np.eye(2), None, InvalidConfusionError, "2 levels, and there are 3"),
        (np.stack([np.eye(3)] * 2), None, InvalidOptionError, "each of 2 groups"),
        (np.eye(3), lambda s, a: 0, InvalidOptionError, "has one matrix"),
    ],
)
def test_wrong_arguments_are_refused(chain, confusion, groups, error, words):
    with pytest.raises(error, match=words):
        up.PerturbReward(chain(), LEVELS, confusion, groups)
    with pytest.raises(error, match=words):
        up.vector.PerturbReward(gym.vector.SyncVectorEnv([chain]), LEVELS, confusion, groups)


def test_a_group_that_does_not_exist_is_refused(chain):
    env = up.PerturbReward(chain(), LEVELS, np.stack([np.eye(3)] * 2), lambda s, a: -1)
    env.reset()
    with pytest.raises(OutsideSpaceError, match="group -1; the groups of this noise run from 0"):
        env.step(0)


def test_a_reward_that_is_no_level_is_refused():
    env = up.PerturbReward(gym.make("CartPole-v1"), [0.0, 2.0], np.eye(2))
    env.reset()
    with pytest.raises(UnknownRewardError, match="reward 1 is no level"):
        env.step(0)
