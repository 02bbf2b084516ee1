import copy
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import unperturb as up
from unperturb.errors import InvalidCellsError

LEVELS = [0.0, 1.0, 2.0]
NEVER = 10**9


def noisy(chain, noise, mode=AutoresetMode.NEXT_STEP, n=4):
    return up.vector.PerturbReward(SyncVectorEnv([chain] * n, autoreset_mode=mode), LEVELS, noise)


def walk(envs, steps, seed=0):
    rng = np.random.default_rng(seed)
    envs.reset(seed=seed)
    return [envs.step(rng.integers(2, size=envs.num_envs)) for _ in range(steps)]


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("next_state", [False, True])
def test_wrap_then_vectorise_equals_vectorise_then_wrap(chain, noise, alike, mode, next_state):
    cells = up.Cells.discrete(5, 2, next_state=next_state)

    def fresh():
        return up.RewardCorrector(up.RewardLevels(LEVELS), cells, confusion=noise, refresh=NEVER)

    one, other = fresh(), fresh()

    def wrapped():
        return up.CorrectReward(up.PerturbReward(chain(), LEVELS, noise), corrector=one)

    inside = SyncVectorEnv([wrapped] * 4, autoreset_mode=mode)
    outside = up.vector.CorrectReward(noisy(chain, noise, mode), corrector=other)
    alike(inside, outside, steps=400)
    assert np.array_equal(one.counts.table(), other.counts.table())
    assert one.steps == other.steps > 1000


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_the_true_reward_is_recovered(chain, noise, mode):
    envs = up.vector.CorrectReward(noisy(chain, noise, mode), LEVELS, method="posterior")
    for _, rewards, _, _, infos in walk(envs, 1500)[1000:]:
        if "clean_reward" in infos:
            mask = infos["_clean_reward"]
            assert np.abs(rewards - infos["clean_reward"])[mask].max() < 0.05
    assert np.abs(envs.audit().confusion - noise.matrix).max() < 0.08


def test_reset_steps_are_neither_counted_nor_corrected(chain, noise):
    envs = up.vector.CorrectReward(noisy(chain, noise), LEVELS, confusion=noise)
    resetting = np.zeros(4, dtype=bool)
    counted = 0
    for _, rewards, terminated, truncated, _ in walk(envs, 200):
        counted += int((~resetting).sum())
        assert (rewards[resetting] == 0).all()
        resetting = terminated | truncated
    assert envs.corrector.steps == envs.corrector.counts.table().sum() == counted < 800


def test_without_bounds_the_first_observations_are_looked_at():
    envs = gym.make_vec("CartPole-v1", num_envs=8, vectorization_mode="sync")
    envs = up.vector.PerturbReward(envs, [-1.0, 1.0], up.confusion.binary(e_plus=0.3))
    envs = up.vector.CorrectReward(envs, [-1.0, 1.0])
    assert "first 500 observations" in repr(envs)
    steps = walk(envs, 40)
    assert envs.corrector is None
    assert 0 < envs.audit().observations < 320
    assert all(np.array_equal(s[1], s[4]["observed_reward"]) for s in steps)
    walk(envs, 60)
    assert "10,000 grid cells" in repr(envs)
    assert envs.corrector.steps == envs.corrector.counts.table().sum() > 500


def test_dict_observations_and_actions_of_several_parts():
    class Parts(gym.Env):
        observation_space = gym.spaces.Dict(
            a=gym.spaces.Discrete(3), b=gym.spaces.Box(-np.inf, np.inf, (1,), np.float64)
        )
        action_space = gym.spaces.Tuple([gym.spaces.Discrete(2), gym.spaces.Discrete(2)])

        def _show(self):
            return {"a": int(self.np_random.integers(3)), "b": self.np_random.normal(size=1)}

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return self._show(), {}

        def step(self, action):
            return self._show(), 1.0, bool(self.np_random.random() < 0.1), False, {}

    for mode in AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP:
        envs = up.vector.CorrectReward(SyncVectorEnv([Parts] * 4, autoreset_mode=mode), [0.0, 1.0])
        envs.reset(seed=0)
        envs.action_space.seed(0)
        for _ in range(160):
            envs.step(envs.action_space.sample())
        assert "30 states of 2 parts times 4 actions of 2 parts" in repr(envs)


def test_adjacent_observations_belong_to_one_environment(chain, noise):
    envs = noisy(chain, noise)
    with pytest.raises(InvalidCellsError, match="of 1 environments, and there are 4"):
        up.vector.CorrectReward(envs, LEVELS, up.Cells.adjacent())
    envs = up.vector.CorrectReward(envs, LEVELS, up.Cells.adjacent(batch=8, envs=4))
    walk(envs, 80)
    counts = envs.corrector.counts.table().sum(axis=1)
    assert counts.sum() == envs.corrector.steps < 320
    assert (counts[:40] > 0).all()
    assert counts[40:].sum() == 0


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
def test_copies_go_on_alike(copied):
    envs = gym.make_vec("CartPole-v1", 4, vectorization_mode="vector_entry_point")
    envs = up.vector.PerturbReward(envs, [-1.0, 1.0], up.confusion.binary(e_plus=0.3))
    envs = up.vector.CorrectReward(envs, [-1.0, 1.0], up.Cells.cartpole())
    walk(envs, 50)
    other = copied(envs)
    for one, two in zip(walk(envs, 50), walk(other, 50), strict=True):
        assert np.array_equal(one[1], two[1])
    assert other.corrector is not envs.corrector
