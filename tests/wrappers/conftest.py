import gymnasium as gym
import numpy as np
import pytest

import unperturb as up


class Chain(gym.Env):
    """Five states and two actions; the reward is a function of both. Episodes end at random.

    The observation is one array that is overwritten at each step, as some environments do.
    """

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, box=False, ends=0.2):
        self.observation_space = (
            gym.spaces.Box(0, 5, (1,), np.float64) if box else gym.spaces.Discrete(5)
        )
        self.action_space = gym.spaces.Discrete(2)
        self._box, self._ends = box, ends
        self._memory = np.zeros(1)

    def _show(self):
        if not self._box:
            return self._state
        self._memory[0] = self._state
        return self._memory

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._state = int(self.np_random.integers(5))
        return self._show(), {"start": self._state}

    def step(self, action):
        reward = [0.0, 1.0, 2.0][(self._state + int(action)) % 3]
        self._state = int(self.np_random.integers(5))
        ended = self.np_random.random() < self._ends
        early = bool(self.np_random.random() < 0.5)
        return self._show(), reward, ended and early, ended and not early, {"state": self._state}


@pytest.fixture
def chain():
    return Chain


@pytest.fixture
def noise():
    return up.ConfusionMatrix([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.0, 0.2, 0.8]])


@pytest.fixture
def alike():
    """Step two vector environments with the same actions and compare all that they give."""

    def compare(one, other, steps=200, seed=7):
        from gymnasium.utils.env_checker import data_equivalence
        from gymnasium.vector import AutoresetMode

        rng = np.random.default_rng(0)
        first, second = one.reset(seed=seed), other.reset(seed=seed)
        assert data_equivalence(first, second, exact=True)
        for _ in range(steps):
            actions = rng.integers(2, size=one.num_envs)
            first, second = one.step(actions), other.step(actions)
            for a, b in zip(first, second, strict=True):
                assert data_equivalence(a, b, exact=True), (a, b)
            ended = first[2] | first[3]
            if one.unwrapped.autoreset_mode == AutoresetMode.DISABLED and ended.any():
                one.reset(options={"reset_mask": ended})
                other.reset(options={"reset_mask": ended})

    return compare
