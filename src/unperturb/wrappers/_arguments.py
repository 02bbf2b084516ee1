"""What the wrappers take, and the same in a form that JSON holds.

Gymnasium records a wrapper's arguments in `env.spec`, compares them, and writes them as JSON. So
they are recorded as plain lists and dictionaries, and those are taken as arguments too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unperturb.cells import Cells
from unperturb.confusion import ConfusionMatrix, ConfusionSchedule, Noise, as_confusion
from unperturb.errors import InvalidConfusionError, InvalidOptionError, OutsideSpaceError
from unperturb.estimators import Estimator
from unperturb.levels import RewardLevels

Levels = RewardLevels | Sequence[float] | Mapping[str, Any]


def levels_of(levels: Levels) -> RewardLevels:
    """Take levels, a list of them, or what `config()` gave.

    Example:
        >>> levels_of([-1.0, 1.0])
        RewardLevels([-1.0, 1.0])
    """
    if isinstance(levels, RewardLevels):
        return levels
    return RewardLevels.from_config(levels) if isinstance(levels, Mapping) else RewardLevels(levels)


def cells_of(cells: Cells | Mapping[str, Any]) -> Cells:
    """Take cells, or what `config()` gave."""
    return Cells.from_config(cells) if isinstance(cells, Mapping) else cells


def noise_of(confusion: Any, levels: RewardLevels) -> Noise:
    """Take a matrix, a schedule, or {first step: matrix}, for these levels."""
    if isinstance(confusion, ConfusionSchedule):
        noise: Noise = confusion
    elif isinstance(confusion, Mapping):
        noise = ConfusionSchedule({int(step): matrix for step, matrix in confusion.items()})
    else:
        noise = as_confusion(confusion)
    if noise.levels != len(levels):
        raise InvalidConfusionError(
            f"the confusion matrix is for {noise.levels} levels, and there are {len(levels)}",
            "it has one row and one column for each level",
            "use the same levels for both",
        )
    return noise


def need_groups(noise: Noise, groups: Any) -> None:
    """Refuse noise that depends on the state without a function that says which group it is."""
    if (noise.groups is None) == (groups is None):
        return
    kind = "one matrix" if noise.groups is None else f"a matrix for each of {noise.groups} groups"
    raise InvalidOptionError(
        f"the noise has {kind} and groups is {groups!r}",
        "groups picks the matrix of a group of states",
        "pass groups=function(observation, action) with confusion.per_group(...), or neither",
    )


def in_groups(found: Any, noise: Noise) -> Any:
    """Check group indices; a negative one would silently count from the end."""
    count = noise.groups or 0
    array = np.asarray(found)
    wrong = array[(array < 0) | (array >= count)]
    if wrong.size:
        raise OutsideSpaceError(
            f"group {wrong.ravel()[0]}",
            f"the groups of this noise run from 0 to {count - 1}",
            "check the function passed as groups",
        )
    return found


def plain(value: Any) -> Any:
    """Give an argument in a form that JSON holds; functions stay as they are."""
    if isinstance(value, RewardLevels | Cells | Estimator):
        return value.config()
    if isinstance(value, ConfusionSchedule):
        return {str(step): plain(matrix) for step, matrix in value.changes.items()}
    if isinstance(value, ConfusionMatrix):
        return value.matrix.tolist()
    return value.tolist() if isinstance(value, np.ndarray) else value
