"""Stable-Baselines3: noise and correction as VecEnv wrappers, and a callback that logs the audit.

Order matters with VecNormalize: correct the raw reward first, normalise outside.

    venv = VecNormalize(CorrectRewardVecEnv(venv, [-1.0, 1.0]))
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unperturb.cells import Cells
from unperturb.corrector import RewardCorrector
from unperturb.errors import InvalidOptionError, MissingExtraError
from unperturb.wrappers._arguments import Levels, in_groups, levels_of, need_groups, noise_of
from unperturb.wrappers._batches import kept, with_rows
from unperturb.wrappers._correction import Correction, Corrects
from unperturb.wrappers._noise import NoiseStreams, perturbed

try:
    from stable_baselines3.common.callbacks import CheckpointCallback
    from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecNormalize
except ImportError as error:
    raise MissingExtraError(
        f"Stable-Baselines3 can't be imported ({error})",
        "unperturb.integrations.sb3 builds on it",
        "pip install 'unperturb[sb3]'",
    ) from error

_ALL_ENTRIES = 4
"""Up to so many levels every entry of C is logged, beyond only the diagonal."""


class _Remembers(VecEnvWrapper):  # type: ignore[misc]
    """Keeps what a step began with, since its reward belongs to that."""

    def __init__(self, venv: VecEnv) -> None:
        super().__init__(venv)
        self._observations: Any = None
        self._actions: Any = None

    def reset(self) -> Any:
        """Reset the environments; what was learned of the reward stays."""
        observations = self.venv.reset()
        self._observations = kept(observations)
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Start a step."""
        self._actions = kept(actions)
        self.venv.step_async(actions)


class PerturbRewardVecEnv(_Remembers):
    """Shows each reward through a confusion matrix; `infos[i]["clean_reward"]` keeps the true one.

    The arguments are those of `unperturb.vector.PerturbReward`; `seed()` seeds the noise, too. A
    `Monitor` inside goes on to record the true return.

    Example:
        >>> import unperturb as up
        >>> from stable_baselines3.common.env_util import make_vec_env
        >>> venv = make_vec_env("CartPole-v1", n_envs=4, seed=0)
        >>> venv = PerturbRewardVecEnv(venv, [-1.0, 1.0], up.confusion.binary(e_plus=0.4))
        >>> _ = venv.seed(0), venv.reset()
        >>> venv.step(np.zeros(4, dtype=np.int64))[1]
        array([-1., -1., -1.,  1.], dtype=float32)
    """

    def __init__(
        self,
        venv: VecEnv,
        levels: Levels,
        confusion: Any,
        groups: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        super().__init__(venv)
        self.levels = levels_of(levels)
        self.confusion = noise_of(confusion, self.levels)
        need_groups(self.confusion, groups)
        self._groups = groups
        below = sum(isinstance(inner, PerturbRewardVecEnv) for inner in _stack(venv))
        self._streams = NoiseStreams(self.num_envs, below)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the environments and the noise; the environments take it at the next reset."""
        seeds: Sequence[int | None] = self.venv.seed(seed)
        self._streams.seed(seeds)
        return seeds

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Finish the step and perturb its rewards."""
        observations, rewards, dones, infos = self.venv.step_wait()
        groups = None
        if self._groups is not None:
            groups = in_groups(self._groups(self._observations, self._actions), self.confusion)
            self._observations = kept(observations)
        rows = np.arange(self.num_envs)
        noisy = perturbed(rewards, rows, self.levels, self.confusion, self._streams, groups)
        clean = np.asarray(rewards, dtype=np.float64).tolist()
        infos = [
            {"clean_reward": reward, **info} for reward, info in zip(clean, infos, strict=True)
        ]
        return observations, noisy.astype(rewards.dtype), dones, infos


class CorrectRewardVecEnv(Corrects, _Remembers):
    """Estimates how the reward lies, from all environments together, and gives corrected rewards.

    `infos[i]` holds the `observed_reward` and its `level`, an index. The arguments are those of
    `unperturb.vector.CorrectReward`. Put `VecNormalize` outside, never inside.

    Example:
        >>> from stable_baselines3.common.env_util import make_vec_env
        >>> venv = CorrectRewardVecEnv(make_vec_env("FrozenLake-v1", n_envs=2), [0.0, 1.0])
        >>> _ = venv.reset()
        >>> venv.step(np.array([0, 0]))[3][0]["observed_reward"]
        0.0
        >>> venv.cells
        Cells(16 states times 4 actions)
    """

    def __init__(
        self,
        venv: VecEnv,
        levels: Levels | None = None,
        cells: Cells | Mapping[str, Any] | None = None,
        *,
        corrector: RewardCorrector | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(venv)
        self._correction = Correction(venv, venv.num_envs, levels, cells, corrector, options)
        if any(isinstance(inner, VecNormalize) for inner in _stack(venv)):
            warnings.warn(
                "VecNormalize lies inside CorrectRewardVecEnv: normalised rewards are no reward "
                "levels, and the cells of normalised observations drift. Write "
                "VecNormalize(CorrectRewardVecEnv(venv, levels)) instead",
                UserWarning,
                stacklevel=2,
            )

    def save_corrector(self, path: str | Path) -> None:
        """Write what was learned to an .npz file, once there is anything."""
        if self.corrector is not None:
            self.corrector.save(path)

    def load_corrector(self, path: str | Path) -> None:
        """Go on with a corrector that `save_corrector` wrote."""
        loaded = RewardCorrector.load(path)
        self._correction = Correction(self.venv, self.num_envs, self.levels, None, loaded, {})

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Finish the step and correct its rewards."""
        observations, rewards, dones, infos = self.venv.step_wait()
        correction = self._correction
        seen = np.array(rewards, dtype=np.float64)
        after = observations
        if correction.sees_next and dones.any():
            rows = np.flatnonzero(dones).tolist()
            finals = [infos[row]["terminal_observation"] for row in rows]
            after = with_rows(observations, rows, finals)
        corrected, level = correction.batch(self._observations, self._actions, seen, after, None)
        if correction.sees_states:
            self._observations = kept(observations)
        infos = [
            {**info, "observed_reward": reward, "level": own}
            for info, reward, own in zip(infos, seen.tolist(), level.tolist(), strict=True)
        ]
        return observations, corrected.astype(rewards.dtype), dones, infos


class AuditCallback(CheckpointCallback):  # type: ignore[misc]
    """Logs the audit under "audit/", and saves the corrector along with the model.

    To the model's logger (TensorBoard, CSV, stdout) go the estimated matrix with its 95 %
    interval, by how many nats it beats its best rival, whether that leaves it ambiguous, and the
    share of rewards that were corrected.

    With `save_freq` it is a `CheckpointCallback`, too: beside each `rl_model_1000_steps.zip` it
    writes `rl_model_corrector_1000_steps.npz`. When a model loaded from such a checkpoint goes on
    (`learn(..., reset_num_timesteps=False)`), the corrector of that step is restored.

    Args:
        log_freq: calls of `env.step()` between two audits.
        save_freq: calls of `env.step()` between two checkpoints; None saves none.
        save_path: the folder of the checkpoints.
        name_prefix: how their names begin.
        **options: further arguments of `CheckpointCallback`.

    Example:
        >>> callback = AuditCallback(log_freq=2000, save_freq=10_000, save_path="checkpoints")
    """

    def __init__(
        self,
        log_freq: int = 1000,
        save_freq: int | None = None,
        save_path: str | Path | None = None,
        name_prefix: str = "rl_model",
        **options: Any,
    ) -> None:
        if log_freq < 1 or (save_freq is not None and save_freq < 1):
            raise InvalidOptionError(
                f"log_freq is {log_freq} and save_freq {save_freq}",
                "they are numbers of steps, at least 1",
                "pass log_freq=1000",
            )
        if (save_freq is None) != (save_path is None):
            raise InvalidOptionError(
                f"save_freq is {save_freq} and save_path {save_path}",
                "checkpoints need both",
                "pass both or neither",
            )
        path = None if save_path is None else str(save_path)
        super().__init__(save_freq or 0, path, name_prefix, **options)
        self.log_freq = log_freq

    def _on_training_start(self) -> None:
        self._env = _correcting(self.training_env)
        if self.save_path is None or not self.num_timesteps:
            return
        corrector = self._env.corrector
        path = Path(self._corrector_path())
        if path.exists() and (corrector is None or not corrector.steps):
            self._env.load_corrector(path)

    def _on_step(self) -> bool:
        if self.n_calls % self.log_freq == 0 and self._env.corrector is not None:
            self._log(self._env)
        if self.save_path is None:
            return True
        if self.n_calls % self.save_freq == 0:
            self._env.save_corrector(self._corrector_path())
        return bool(super()._on_step())

    def _corrector_path(self) -> str:
        return str(self._checkpoint_path("corrector_", extension="npz"))

    def _log(self, env: CorrectRewardVecEnv) -> None:
        assert env.corrector is not None
        audit = env.audit()
        M = len(audit.levels)
        for j in range(M):
            for k in range(M) if M <= _ALL_ENTRIES else (j,):
                low, high = audit.interval[j, k]
                name = f"audit/C_{j}_{k}"
                self.logger.record(name, float(audit.confusion[j, k]))
                self.logger.record(f"{name}_low", float(low))
                self.logger.record(f"{name}_high", float(high))
        self.logger.record("audit/margin", float(audit.margin))
        self.logger.record("audit/ambiguous", int(audit.ambiguous))
        share = env.corrector.corrected / max(env.corrector.steps, 1)
        self.logger.record("audit/corrected_share", share)


def _stack(venv: Any) -> list[Any]:
    """Give a VecEnv and all that it wraps, outermost first."""
    found = [venv]
    while isinstance(found[-1], VecEnvWrapper):
        found.append(found[-1].venv)
    return found


def _correcting(venv: Any) -> CorrectRewardVecEnv:
    for inner in _stack(venv):
        if isinstance(inner, CorrectRewardVecEnv):
            return inner
    raise InvalidOptionError(
        f"the model's environment is a {type(venv).__name__} without CorrectRewardVecEnv",
        "AuditCallback audits what CorrectRewardVecEnv corrects",
        "write CorrectRewardVecEnv(venv, levels) around the environment",
    )
