"""The settings of a corrector, checked when it is built."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from unperturb._checks import is_number
from unperturb.cells import Cells
from unperturb.confusion import ConfusionSchedule
from unperturb.errors import InvalidConfusionError, InvalidOptionError
from unperturb.estimators import Estimator, Hierarchical, Known, estimator_from
from unperturb.levels import RewardLevels

Method = Literal["surrogate", "posterior"]


def check_parts(levels: Any, cells: Any) -> None:
    """Refuse levels or cells that are none."""
    if not isinstance(levels, RewardLevels) or not isinstance(cells, Cells):
        raise InvalidOptionError(
            f"levels is a {type(levels).__name__} and cells a {type(cells).__name__}",
            "a corrector needs RewardLevels and Cells",
            "write RewardCorrector(RewardLevels([-1.0, 1.0]), Cells.of(env))",
        )


def check_method(method: Any) -> None:
    """Refuse a method that does not exist."""
    if method not in get_args(Method):
        raise InvalidOptionError(
            f"method={method!r}",
            "a reward is corrected by 'surrogate' or by 'posterior'",
            "pass one of them",
        )


def check_memory(d_max: Any, forget: Any) -> None:
    """Refuse two kinds of forgetting at once."""
    if d_max is not None and forget is not None:
        raise InvalidOptionError(
            f"both d_max={d_max} and forget={forget} are given",
            "counts either keep the last rewards of each cell or fade",
            "pass one of them",
        )


def number_of_rewards(name: str, value: Any) -> int:
    """Give a whole number of at least 1, as Python's own, which JSON can hold."""
    if not (is_number(value) and value >= 1 and value % 1 == 0):
        raise InvalidOptionError(
            f"{name} is {value}",
            "it is a whole number of at least 1",
            f"pass {name}=100, or leave it out",
        )
    return int(value)


def number_or_none(name: str, value: Any) -> int | None:
    """Do the same for a setting that may be left out."""
    return None if value is None else number_of_rewards(name, value)


def estimator_for(estimator: Any, confusion: Any, cells: Cells, levels: RewardLevels) -> Estimator:
    """Give the estimator that was asked for, or the known C as one; its settings must fit."""
    found = estimator_from(estimator) if confusion is None else known_from(confusion, cells)
    found.check(cells.n, len(levels))
    return found


def known_from(confusion: Any, cells: Cells) -> Known:
    """Take a known C: one matrix, one for each state, or an estimator that holds it."""
    if isinstance(confusion, ConfusionSchedule):
        raise InvalidConfusionError(
            "the known confusion is a schedule",
            "a known matrix does not change with time",
            "use estimator='streaming', which follows the change",
        )
    if isinstance(confusion, Known):
        return confusion
    matrix = np.asarray(getattr(confusion, "matrix", confusion))
    if matrix.ndim != 3:
        return Known(matrix)
    if matrix.shape[0] != cells.states:
        raise InvalidConfusionError(
            f"there are {matrix.shape[0]} matrices for {cells.states:,} states",
            "state-dependent noise has one matrix for each state of the cells",
            "for coarser groups, pass confusion=estimators.Known(C, groups=...)",
        )
    return Known(matrix, groups=cells.state_of(np.arange(cells.n)))


def groups_of(estimator: Estimator) -> np.ndarray | None:
    """Give the group of each cell, if the estimator has one matrix for each group."""
    return estimator.groups if isinstance(estimator, Hierarchical | Known) else None
