"""Saving and loading: what a state is made of, and whether it fits the corrector that takes it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from unperturb import _store
from unperturb.errors import DamagedFileError, StateMismatchError, UnperturbError

NEEDED = ("config", "counters", "table")
"""What every state has. Those with values of cells have `values`, `first` and `until` too."""
_COUNTERS = 6
_OF_VALUES = ("first", "until")

Arrays = dict[str, np.ndarray]


class Saved(ABC):
    """Something with settings, arrays and parts, that goes on where it stopped."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """Describe all settings in a form that JSON can hold."""

    @classmethod
    @abstractmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Build what `config` described, with nothing seen yet."""

    @abstractmethod
    def _arrays(self) -> Arrays:
        """Give copies of what was learned, but for the parts."""

    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """Give, by name, what has a `state_dict` of its own."""

    @abstractmethod
    def _check(self, state: Mapping[str, Any]) -> None:
        """Refuse arrays that do not fit."""

    @abstractmethod
    def _take(self, state: Mapping[str, Any]) -> None:
        """Take over arrays that fit; the parts have taken theirs."""

    def state_dict(self) -> Arrays:
        """Give all that was learned, as arrays: after loading it, work goes on bit for bit."""
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        return pack(self.config(), self._arrays(), parts)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave; the settings must be the same."""
        check_whole_and_same(state, self.config())
        self._check(state)
        before = self.state_dict()
        try:
            self._load(state)
        except Exception:
            self._load(before)  # all of a state is loaded, or nothing
            raise

    def _load(self, state: Mapping[str, Any]) -> None:
        for name, part in self._parts().items():
            part.load_state_dict(part_of(state, name))
        self._take(state)

    def save(self, path: str | Path) -> Path:
        """Write settings and state to one .npz file, whole or not at all."""
        return _store.save_arrays(path, self.state_dict())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Build a corrector from a file that `save` wrote; it goes on where that one stopped."""
        state = _store.load_arrays(path, needs=NEEDED)
        try:
            built = cls.from_config(settings_in(state))
            built.load_state_dict(state)
        except UnperturbError as error:
            raise DamagedFileError(
                f"{path} holds no corrector ({error})",
                f"it must be a file that {cls.__name__}.save wrote",
                "restore it from a copy, or pass the right file",
            ) from error
        return built


def pack(config: Mapping[str, Any], arrays: Arrays, parts: Mapping[str, Any]) -> Arrays:
    """Put settings, arrays and the states of parts into one flat dictionary of arrays.

    Example:
        >>> state = pack({"d_min": 100}, {"table": np.zeros(2)}, {"cells": {"rows": np.array(3)}})
        >>> sorted(state), settings_in(state), part_of(state, "cells")
        (['cells/rows', 'config', 'table'], {'d_min': 100}, {'rows': array(3)})
    """
    state = {"config": np.array(json.dumps(config, sort_keys=True)), **arrays}
    for name, part in parts.items():
        state.update({f"{name}/{key}": np.array(value) for key, value in part.items()})
    return state


def part_of(state: Mapping[str, Any], name: str) -> Arrays:
    """Take the state of one part out of a packed one."""
    prefix = f"{name}/"
    return {
        key[len(prefix) :]: np.asarray(value)
        for key, value in state.items()
        if key.startswith(prefix)
    }


def settings_in(state: Mapping[str, Any]) -> dict[str, Any]:
    """Read the settings that a packed state was saved with."""
    try:
        settings = json.loads(str(np.asarray(state["config"])))
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise StateMismatchError(
            "the settings in the state can't be read",
            "they are the JSON text that state_dict() wrote",
            "load a state that a RewardCorrector saved",
        )
    return settings


def check_whole_and_same(state: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Refuse a state that lacks something, or was saved with other settings."""
    missing = set(NEEDED) - set(state)
    if "values" in state:
        missing |= set(_OF_VALUES) - set(state)
    if missing:
        raise StateMismatchError(
            f"the state has no {', '.join(sorted(missing))}",
            "it is what state_dict() gives",
            "load a state that a RewardCorrector saved",
        )
    theirs = settings_in(state)
    ours = json.loads(json.dumps(config))
    wrong = [name for name in sorted(ours.keys() | theirs) if ours.get(name) != theirs.get(name)]
    if wrong:
        raise StateMismatchError(
            f"the state was saved with another {', '.join(wrong)}",
            "a state is loaded into a corrector with the same settings",
            "use RewardCorrector.load(path), which builds the corrector as it was saved",
        )


def check_shapes(
    state: Mapping[str, Any], levels: int, cells: int, groups: np.ndarray | None
) -> None:
    """Refuse arrays that do not fit: a table may have one row for each group of cells."""
    table = np.shape(state["table"])
    grouped = groups is not None and len(table) == 2 and table[0] > groups.max()
    by_level = (table[0], levels) if grouped else (levels,)
    for name, shape in (
        ("counters", (_COUNTERS,)),
        ("table", by_level),
        ("first", by_level),
        ("values", (cells,)),
        ("until", (cells,)),
    ):
        if name in state and np.shape(state[name]) != shape:
            raise StateMismatchError(
                f"{name!r} has shape {np.shape(state[name])}",
                f"here it is {shape}",
                "load a state that a RewardCorrector saved",
            )
