"""The correction of the rewards of a vector environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from unperturb.cells import Cells
from unperturb.corrector import RewardCorrector
from unperturb.wrappers._arguments import Levels
from unperturb.wrappers._batches import kept, with_rows
from unperturb.wrappers._correction import Correction, Corrects
from unperturb.wrappers.vector._autoreset import Episodes


class CorrectReward(Corrects, VectorWrapper, gym.utils.RecordConstructorArgs):
    """Estimates how the reward lies, from all environments together, and gives corrected rewards.

    `infos` holds the `observed_reward` and its `level`, an index. The arguments, and the cells
    chosen where none are given, are those of the wrapper for one environment. Steps that only
    reset an environment are neither counted nor corrected.

    Example:
        >>> import gymnasium as gym
        >>> import numpy as np
        >>> import unperturb as up
        >>> envs = gym.make_vec("CartPole-v1", num_envs=8)
        >>> envs = up.vector.PerturbReward(envs, [-1.0, 1.0], up.confusion.binary(e_plus=0.4))
        >>> envs = up.vector.CorrectReward(envs, [-1.0, 1.0], cells=up.Cells.cartpole())
        >>> _ = envs.reset(seed=0)
        >>> for i in range(200):
        ...     _, rewards, _, _, infos = envs.step(np.full(8, i % 2))
        >>> envs.audit().confusion[1].round(1)
        array([0.4, 0.6])
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        levels: Levels | None = None,
        cells: Cells | Mapping[str, Any] | None = None,
        *,
        corrector: RewardCorrector | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        correction = Correction(env, env.num_envs, levels, cells, corrector, options)
        gym.utils.RecordConstructorArgs.__init__(self, **correction.recorded(cells, corrector))
        VectorWrapper.__init__(self, env)
        self._correction = correction
        self._episodes = Episodes(env)
        self._observations: Any = None

    def reset(
        self, *, seed: int | list[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments; what was learned stays."""
        self._episodes.reset(options)
        # A list of seeds is fine for every vector environment; only the base class says otherwise.
        observations, infos = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._observations = kept(observations)
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Take a step and correct its rewards."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        where, ended = self._episodes.step(terminations, truncations)
        correction = self._correction
        seen = np.array(rewards, dtype=np.float64)
        after = observations
        if correction.sees_next and self._episodes.mode == AutoresetMode.SAME_STEP and ended.any():
            rows = np.flatnonzero(ended).tolist()
            after = with_rows(observations, rows, [infos["final_obs"][row] for row in rows])
        corrected, level = correction.batch(self._observations, actions, seen, after, where)
        if correction.sees_states:
            self._observations = kept(observations)
        entries = {"observed_reward": seen, "level": level}
        infos = self._episodes.annotate(infos, entries, where, ended)
        return observations, corrected, terminations, truncations, infos

    def __repr__(self) -> str:
        return f"<CorrectReward({self._correction.describe()}), {self.env}>"
