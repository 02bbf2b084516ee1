"""Which cells a CorrectReward takes where it is given none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from unperturb.cells import Cells
from unperturb.errors import InvalidOptionError
from unperturb.estimators import Estimator

FIRST = 500
"""How many observations to look at where a space has no bounds to cut into bins."""
_SMALL = 16
"""Beyond so many numbers even two bins of each make more cells than can be visited."""
_MOST_CELLS = 100_000
_MOST_BINS = 10


def choose_cells(env: Any, num_envs: int = 1, sample: Any = None) -> Cells | None:
    """Choose cells from the spaces of an environment; None where observations must be seen first.

    Discrete spaces are exact. Up to 16 numbers form a grid, from the bounds of the space or, where
    it has none, from the sample. For images and more numbers adjacent observations are one state.

    Example:
        >>> import gymnasium as gym
        >>> choose_cells(gym.make("FrozenLake-v1"))
        Cells(16 states times 4 actions)
    """
    space = getattr(env, "single_observation_space", None) or env.observation_space
    boxes = list(_boxes(space))
    numbers = sum(math.prod(box.shape) for box in boxes)
    if numbers > _SMALL or any(len(box.shape) > 1 for box in boxes):
        return Cells.adjacent(envs=num_envs)
    if sample is None and any(_unbounded(box) for box in boxes):
        return None
    bins = max(2, min(_MOST_BINS, int(_MOST_CELLS ** (1 / max(1, numbers)) + 1e-9)))
    return Cells.of(env, bins=bins, sample=sample)


def _boxes(space: spaces.Space[Any]) -> Iterator[spaces.Box]:
    if isinstance(space, spaces.Box):
        yield space
    elif isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.spaces
        for part in parts.values() if isinstance(parts, Mapping) else parts:
            yield from _boxes(part)


def _unbounded(box: spaces.Box) -> bool:
    # The largest float32 stands for "no bound" in some spaces.
    return bool((box.low < -3e38).any() or (box.high > 3e38).any())


def refuse_cells_to_come(options: Mapping[str, Any]) -> None:
    """Refuse options that speak of single cells, where none are chosen yet."""
    for name in ("estimator", "confusion"):
        given = options.get(name)
        settings = given.config() if isinstance(given, Estimator) else given
        if isinstance(settings, Mapping):
            parts = {word: settings.get(word) for word in ("anchors", "groups")}
            found = [word for word, part in parts.items() if part is not None and len(part)]
        else:
            matrix: Any = getattr(given, "matrix", given)
            found = ["one matrix for each state"] if np.ndim(matrix) == 3 else []
        if found:
            raise InvalidOptionError(
                f"{name} has {found[0]}, which belong to cells",
                f"here cells are chosen after the first {FIRST} observations",
                "pass cells=, too",
            )
