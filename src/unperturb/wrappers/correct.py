"""The correction of the reward of one environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from unperturb.cells import Cells
from unperturb.corrector import RewardCorrector
from unperturb.wrappers._arguments import Levels
from unperturb.wrappers._batches import kept
from unperturb.wrappers._correction import Correction, Corrects


class CorrectReward(Corrects, gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Estimates how the reward lies and gives corrected rewards.

    `info` holds the `observed_reward` and its `level`, an index. Without `cells` they are chosen
    from the spaces: discrete ones are exact; up to 16 numbers form a grid, cut from the bounds of
    the space, or from the first 500 observations where it has none (meanwhile rewards are passed
    through); for images and more numbers, adjacent observations count as one state. `repr(env)`
    says which, and so does the logger "unperturb" at INFO.

    Args:
        env: the environment.
        levels: the reward levels, or a list of them.
        cells: which transitions share a true reward.
        corrector: a `RewardCorrector` to use instead, shared with other environments or loaded
            from a file; then nothing else is given.
        **options: further arguments of `RewardCorrector`, such as method="posterior" or
            confusion=C for a known C.

    Example:
        >>> import gymnasium as gym
        >>> import unperturb as up
        >>> env = gym.make("FrozenLake-v1", is_slippery=False)
        >>> env = up.PerturbReward(env, [0.0, 1.0], up.confusion.binary(e_minus=0.2))
        >>> env = up.CorrectReward(env, [0.0, 1.0], method="posterior")
        >>> env
        <CorrectReward(16 states times 4 actions)<PerturbReward<TimeLimit<OrderEnforcing<\
PassiveEnvChecker<FrozenLakeEnv<FrozenLake-v1>>>>>>>
        >>> _ = env.reset(seed=0)
        >>> steps = [env.step(0) for _ in range(100)] + [env.reset()] + [env.step(0)]
        >>> abs(round(steps[-1][1], 2)), steps[-1][4]["observed_reward"]
        (0.0, 0.0)
        >>> env.audit().confusion[0].round(1)
        array([0.8, 0.2])
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        levels: Levels | None = None,
        cells: Cells | Mapping[str, Any] | None = None,
        *,
        corrector: RewardCorrector | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        correction = Correction(env, 1, levels, cells, corrector, options)
        gym.utils.RecordConstructorArgs.__init__(self, **correction.recorded(cells, corrector))
        gym.Wrapper.__init__(self, env)
        self._correction = correction
        self._observation: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment; what was learned stays."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._observation = kept(observation) if self._correction.sees_states else None
        return observation, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take a step and correct its reward."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        correction = self._correction
        seen = float(reward)
        level = correction.levels.index_one(seen)
        corrected = correction.one(self._observation, action, seen, observation)
        if correction.sees_states:
            self._observation = kept(observation)
        info = {**info, "observed_reward": seen, "level": level}
        return observation, corrected, terminated, truncated, info

    def __str__(self) -> str:
        return f"<CorrectReward({self._correction.describe()}){self.env}>"
