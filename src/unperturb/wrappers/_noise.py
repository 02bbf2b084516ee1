"""Random streams for simulated noise: seeded like the environment, apart from its own stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from unperturb.confusion import Noise
from unperturb.levels import RewardLevels

_NOISE = 0x6E6F697365
"""Keeps the stream of the noise apart from what else is drawn from the same seed."""
_AHEAD = 256


def noise_generator(seed: int | None, layer: int) -> np.random.Generator:
    """Give the generator of the noise in an environment that was reset with `seed`.

    `layer` counts the noise wrappers beneath: stacked ones draw independently.
    """
    return np.random.default_rng(None if seed is None else [int(seed), _NOISE, layer])


class NoiseStreams:
    """A stream for each environment of a vector, each the same as if it were alone.

    Numbers are drawn ahead in blocks: a generator gives the same ones either way.
    """

    def __init__(self, num_envs: int, layer: int) -> None:
        self._layer = layer
        self._generators = [noise_generator(None, layer) for _ in range(num_envs)]
        self._ahead = np.empty((num_envs, _AHEAD))
        self._place = np.full(num_envs, _AHEAD)
        self.steps = np.zeros(num_envs, dtype=np.int64)
        """Rewards perturbed since each environment was last seeded."""

    def seed(self, seeds: Any, chosen: np.ndarray | None = None) -> None:
        """Start anew from seeds as Gymnasium's vector reset takes them: s gives s, s + 1, ..."""
        if seeds is None:
            return
        many = isinstance(seeds, Sequence | np.ndarray)
        each = list(seeds) if many else [seeds + i for i in range(len(self._generators))]
        for i, seed in enumerate(each):
            if seed is not None and (chosen is None or chosen[i]):
                self._generators[i] = noise_generator(seed, self._layer)
                self._place[i] = _AHEAD
                self.steps[i] = 0

    def draw(self, rows: np.ndarray) -> np.ndarray:
        """Draw one number in [0, 1) for each of these environments."""
        for i in rows[self._place[rows] == _AHEAD]:
            self._ahead[i] = self._generators[i].random(_AHEAD)
            self._place[i] = 0
        places = self._place[rows]
        self._place[rows] = places + 1
        return np.asarray(self._ahead[rows, places])


def perturbed(
    rewards: np.ndarray,
    rows: np.ndarray,
    levels: RewardLevels,
    noise: Noise,
    streams: NoiseStreams,
    groups: Any = None,
) -> np.ndarray:
    """Give a copy of the rewards in which these rows went through the noise."""
    result = np.array(rewards, dtype=np.float64)
    own = None if groups is None else np.asarray(groups)[rows]
    true = levels.index(result[rows])
    seen = noise.shown(true, streams.draw(rows), own, streams.steps[rows])
    streams.steps[rows] += 1
    result[rows] = levels.values[seen]
    return result
