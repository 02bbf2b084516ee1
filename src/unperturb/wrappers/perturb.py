"""Noise on the reward of one environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym

from unperturb.wrappers._arguments import Levels, in_groups, levels_of, need_groups, noise_of, plain
from unperturb.wrappers._batches import kept
from unperturb.wrappers._noise import noise_generator


class PerturbReward(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Shows each reward through a confusion matrix; `info["clean_reward"]` keeps the true one.

    `reset(seed=...)` seeds the noise, too: the same seed gives the same noise. It has a stream of
    its own, so the environment goes on as it would without noise.

    Args:
        env: the environment.
        levels: the reward levels, or a list of them.
        confusion: the noise: a `ConfusionMatrix`, an array, or a `ConfusionSchedule`, whose steps
            count from the last seeding.
        groups: for noise that depends on the state, a function (observation, action) -> index of
            the group, given the observation before the action.

    Example:
        >>> import gymnasium as gym
        >>> import unperturb as up
        >>> env = gym.make("CartPole-v1")
        >>> env = up.PerturbReward(env, [-1.0, 1.0], up.confusion.binary(e_plus=0.3))
        >>> _ = env.reset(seed=0)
        >>> steps = [env.step(i % 2) for i in range(8)]
        >>> [reward for _, reward, *_ in steps]
        [1.0, 1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0]
        >>> steps[2][4]["clean_reward"]
        1.0
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        levels: Levels,
        confusion: Any,
        groups: Callable[[Any, Any], int] | None = None,
    ) -> None:
        self.levels = levels_of(levels)
        self.confusion = noise_of(confusion, self.levels)
        need_groups(self.confusion, groups)
        gym.utils.RecordConstructorArgs.__init__(
            self, levels=plain(self.levels), confusion=plain(self.confusion), groups=groups
        )
        gym.Wrapper.__init__(self, env)
        self._groups = groups
        self._values: list[float] = self.levels.values.tolist()
        self._layer = 0
        while isinstance(env, gym.Wrapper):
            self._layer += isinstance(env, PerturbReward)
            env = env.env
        self._rng = noise_generator(None, self._layer)
        self._steps = 0
        self._observation: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment; a seed starts the noise anew."""
        observation, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._rng = noise_generator(seed, self._layer)
            self._steps = 0
        if self._groups is not None:
            self._observation = kept(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step and perturb its reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        clean = float(reward)
        group = None
        if self._groups is not None:
            group = in_groups(self._groups(self._observation, action), self.confusion)
            self._observation = kept(observation)
        level = self.levels.index_one(clean)
        seen = self.confusion.draw_one(level, self._rng, group, self._steps)
        self._steps += 1
        # Where another noise lies beneath, its clean reward is the clean one.
        info = {"clean_reward": clean, **info}
        return observation, self._values[seen], terminated, truncated, info
