"""Vector environments of Gymnasium, Atari among them, as the lab plays them."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

from unperturb.errors import InvalidOptionError, MissingExtraError

ATARI = "ALE/"
"""What the ids of Atari games begin with."""


class Stepped(NamedTuple):
    """What a step of all environments leads to.

    Attributes:
        observation: What the next actions are chosen by; that of a new episode where one ended.
        reward: The true rewards.
        terminated: Whether nothing follows.
        truncated: Whether the episode was cut off.
        final: The observations before new episodes began; None where none did.
        returns: The true return of a game that is over, NaN elsewhere.
    """

    observation: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    final: np.ndarray | None
    returns: np.ndarray


class Vector(Protocol):
    """Several environments side by side, which start new episodes by themselves."""

    observation_space: gym.Space[Any]
    action_space: gym.Space[Any]

    def reset(self, seed: int) -> np.ndarray:
        """Start all episodes anew."""

    def step(self, actions: np.ndarray) -> Stepped:
        """Take one step in each."""

    def close(self) -> None:
        """Let go of what they hold."""


def vector(name: str, envs: int, frame: int = 84, threads: int = 1) -> Vector:
    """Build an environment by its id: "ALE/Pong-v5" and the like, or any other of Gymnasium.

    Example:
        >>> envs = vector("CartPole-v1", envs=3)
        >>> envs.reset(seed=0).shape, envs.step(np.zeros(3, int)).reward
        ((3, 4), array([1., 1., 1.]))
    """
    if name.startswith(ATARI):
        return AtariVector(name, envs, frame, threads)
    return GymVector(name, envs)


class GymVector:
    """Environments of Gymnasium, one after the other in this process.

    Example:
        >>> envs = GymVector("FrozenLake-v1", envs=2)
        >>> envs.reset(seed=0)
        array([0, 0])
    """

    def __init__(self, name: str, envs: int) -> None:
        self._envs = gym.make_vec(
            name,
            num_envs=envs,
            vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        )
        self.observation_space = self._envs.single_observation_space
        self.action_space = self._envs.single_action_space
        self._total = np.zeros(envs)

    def reset(self, seed: int) -> np.ndarray:
        """Start all episodes anew."""
        self._total[:] = 0
        # Gymnasium's own seeds are seed, seed + 1 ...: those of neighbouring runs would overlap.
        observation, _ = self._envs.reset(seed=_seeds(seed, len(self._total)))  # type: ignore[arg-type]
        return np.asarray(observation)

    def step(self, actions: np.ndarray) -> Stepped:
        """Take one step in each."""
        space = self.action_space
        if isinstance(space, gym.spaces.Box):
            actions = np.asarray(actions).reshape(-1, *space.shape)
            actions = np.clip(actions, space.low, space.high)
        observation, reward, terminated, truncated, infos = self._envs.step(actions)
        self._total += reward
        ended = terminated | truncated
        returns = np.where(ended, self._total, np.nan)
        self._total[ended] = 0
        final = None
        if ended.any():
            final = np.array(observation)
            for row in np.flatnonzero(ended):
                final[row] = infos["final_obs"][row]
        # Gymnasium uses these arrays again.
        return Stepped(
            np.array(observation),
            np.array(reward, np.float64),
            terminated.copy(),
            truncated.copy(),
            final,
            returns,
        )

    def close(self) -> None:
        """Close them."""
        self._envs.close()


class AtariVector:
    """Atari games with the pre-processing of Mnih et al. (2015), in C++ (ale-py).

    Four grey frames, four game frames an action, a maximum over the last two, up to 30 no-ops at
    the start. A lost life ends an episode for the agent; the game goes on. The agent's true reward
    is the sign of the game's; returns are sums of the game's own rewards over whole games.
    """

    def __init__(self, name: str, envs: int, frame: int = 84, threads: int = 1) -> None:
        try:
            from ale_py.roms import get_all_rom_ids
            from ale_py.vector_env import AtariVectorEnv
        except ImportError as error:
            raise MissingExtraError(
                "ale-py is not installed",
                "Atari games come with it",
                "pip install 'unperturb[lab]'",
            ) from error
        if rom_of(name) not in get_all_rom_ids():
            raise InvalidOptionError(
                f"there is no Atari game {name!r}",
                "an id is ALE/ and the name of a game that ale-py has",
                "pass one such as ALE/Pong-v5 or ALE/MsPacman-v5",
            )
        self._envs = AtariVectorEnv(
            rom_of(name),
            envs,
            num_threads=threads,
            img_height=frame,
            img_width=frame,
            life_loss_info=True,
            reward_clipping=False,
            autoreset_mode=AutoresetMode.SAME_STEP,
        )
        self.observation_space = self._envs.single_observation_space
        self.action_space = self._envs.single_action_space
        self._total = np.zeros(envs)
        self._frames = np.zeros(envs, np.int64)

    def reset(self, seed: int) -> np.ndarray:
        """Start all games anew."""
        self._total[:] = 0
        seeds = np.array(_seeds(seed, len(self._total)), np.int32)
        observation, infos = self._envs.reset(seed=seeds)
        self._frames = infos["episode_frame_number"].copy()
        return np.asarray(observation)

    def step(self, actions: np.ndarray) -> Stepped:
        """Take one step in each."""
        observation, reward, terminated, truncated, infos = self._envs.step(
            np.asarray(actions, np.int32)
        )
        self._total += reward
        # A life that is lost ends an episode too; only a new game counts its frames anew.
        frames = infos["episode_frame_number"].copy()
        over = frames < self._frames
        self._frames = frames
        returns = np.where(over, self._total, np.nan)
        self._total[over] = 0
        return Stepped(
            observation,
            np.sign(reward).astype(np.float64),
            terminated,
            truncated,
            infos.get("final_obs"),
            returns,
        )

    def close(self) -> None:
        """Close them."""
        self._envs.close()


def rom_of(name: str) -> str:
    """Give the name of a game's ROM.

    Example:
        >>> rom_of("ALE/MsPacman-v5")
        'ms_pacman'
    """
    game = name.removeprefix(ATARI).split("-")[0]
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in game).lstrip("_")


def _seeds(seed: int, count: int) -> list[int]:
    # The same for a run whatever it is shown, and apart from those of the run beside it.
    return [int(one) for one in np.random.SeedSequence(seed).generate_state(count) >> 1]
