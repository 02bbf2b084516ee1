"""Noise on the rewards of a vector environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from unperturb.wrappers._arguments import Levels, in_groups, levels_of, need_groups, noise_of, plain
from unperturb.wrappers._batches import kept
from unperturb.wrappers._noise import NoiseStreams, perturbed
from unperturb.wrappers.vector._autoreset import Episodes


class PerturbReward(VectorWrapper, gym.utils.RecordConstructorArgs):
    """Shows each reward through a confusion matrix; `infos["clean_reward"]` keeps the true ones.

    Each environment has its own stream of noise, seeded by `reset(seed=...)`: the same as if each
    were wrapped alone. Steps that only reset an environment are left as they are.

    Args:
        env: the vector environment.
        levels: the reward levels, or a list of them.
        confusion: the noise: a `ConfusionMatrix`, an array, or a `ConfusionSchedule`, whose steps
            count from the last seeding.
        groups: for noise that depends on the state, a function (observations, actions) -> group
            indices, given the observations before the actions.

    Example:
        >>> import gymnasium as gym
        >>> import unperturb as up
        >>> envs = gym.make_vec("CartPole-v1", num_envs=4)
        >>> envs = up.vector.PerturbReward(envs, [-1.0, 1.0], up.confusion.binary(e_plus=0.4))
        >>> _ = envs.reset(seed=0)
        >>> _, rewards, _, _, infos = envs.step(np.zeros(4, dtype=np.int64))
        >>> rewards, infos["clean_reward"]
        (array([-1., -1., -1.,  1.]), array([1., 1., 1., 1.]))
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        levels: Levels,
        confusion: Any,
        groups: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        self.levels = levels_of(levels)
        self.confusion = noise_of(confusion, self.levels)
        need_groups(self.confusion, groups)
        gym.utils.RecordConstructorArgs.__init__(
            self, levels=plain(self.levels), confusion=plain(self.confusion), groups=groups
        )
        VectorWrapper.__init__(self, env)
        self._groups = groups
        self._episodes = Episodes(env)
        layer = 0
        while isinstance(env, VectorWrapper):
            layer += isinstance(env, PerturbReward)
            env = env.env
        self._streams = NoiseStreams(self.num_envs, layer)
        self._observations: Any = None

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments; seeds start the noise anew."""
        chosen = self._episodes.reset(options)
        # A list of seeds is fine for every vector environment; only the base class says otherwise.
        observations, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._streams.seed(seed, chosen)
        if self._groups is not None:
            self._observations = kept(observations)
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take a step and perturb its rewards."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        where, ended = self._episodes.step(terminations, truncations)
        groups = None
        if self._groups is not None:
            groups = in_groups(self._groups(self._observations, actions), self.confusion)
            self._observations = kept(observations)
        rows = np.arange(self.num_envs) if where is None else np.flatnonzero(where)
        clean = np.array(rewards, dtype=np.float64)
        noisy = perturbed(clean, rows, self.levels, self.confusion, self._streams, groups)
        if "clean_reward" not in infos and "clean_reward" not in infos.get("final_info", ()):
            infos = self._episodes.annotate(infos, {"clean_reward": clean}, where, ended)
        return observations, noisy, terminations, truncations, infos
