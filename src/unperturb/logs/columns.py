"""Which columns of a log are the state, the action and the reward: as named, or guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from unperturb.errors import InvalidOptionError, MissingColumnError
from unperturb.logs.files import Log, Values

COMMON = {
    "state": ("state", "states", "obs", "observation", "observations", "s"),
    "action": ("action", "actions", "act", "a"),
    "reward": ("reward", "rewards", "rew", "r", "observed_reward"),
    "next_state": (
        *("next_state", "next_states", "next_obs", "next_observation", "next_observations"),
        *("s_next", "s2", "sp"),
    ),
}
"""Names that are recognised, likeliest first; obs_0, obs_1, ... count as one."""

_WIDEST = 64
_SHOWN = 20


class Column(NamedTuple):
    """A column of a log, or one part of a column that holds several numbers."""

    name: str
    part: int | None = None

    def __str__(self) -> str:
        return self.name if self.part is None else f"{self.name}[{self.part}]"

    def of(self, chunk: Mapping[str, Values]) -> Values:
        """Take the column out of a chunk."""
        values = chunk[self.name]
        return values if self.part is None else np.asarray(values)[:, self.part]


class Columns(NamedTuple):
    """The columns that matter."""

    state: list[Column]
    action: list[Column]
    reward: Column
    next_state: list[Column]
    guessed: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names to read, each once."""
        parts = [*self.state, *self.action, self.reward, *self.next_state]
        return list(dict.fromkeys(column.name for column in parts))

    def describe(self) -> str:
        """Describe the choice in one line."""
        roles = {
            "state": self.state,
            "action": self.action,
            "reward": [self.reward],
            "next state": self.next_state,
        }
        return "; ".join(
            f"{role} = {_shown([str(column) for column in columns])}"
            + (" (guessed)" if role.replace(" ", "_") in self.guessed else "")
            for role, columns in roles.items()
            if columns
        )


def choose_columns(
    log: Log,
    state: str | Sequence[str] | None = None,
    action: str | Sequence[str] | None = None,
    reward: str | None = None,
    next_state: str | Sequence[str] | bool | None = None,
) -> Columns:
    """Find the columns by name, or guess them; without an action the state alone is the cell.

    The next state is part of the cell only if asked for: by name, or True to guess it.
    """
    given = {
        "state": _listed(state),
        "action": _listed(action),
        "reward": _listed(reward),
        "next_state": _listed(None if isinstance(next_state, bool) else next_state),
    }
    found: dict[str, list[Column]] = {}
    guessed = []
    for role, names in given.items():
        if names:
            found[role] = [column for name in names for column in _named(log, name, role)]
        elif role == "next_state" and next_state is not True:
            found[role] = []
        else:
            found[role] = _guess(log, role)
            guessed.append(role)
    if len(found["reward"]) != 1:
        raise InvalidOptionError(
            f"{len(found['reward'])} columns are named as the reward",
            "there is one reward in each row",
            "name one, such as --reward 'rewards[0]'",
        )
    if found["next_state"] and len(found["next_state"]) != len(found["state"]):
        raise InvalidOptionError(
            f"{len(found['next_state'])} columns of the next state and {len(found['state'])} of "
            "the state",
            "both are made of the same numbers, in the same order",
            "name as many columns with --next-state as with --state",
        )
    return Columns(
        found["state"], found["action"], found["reward"][0], found["next_state"], tuple(guessed)
    )


def _listed(names: str | Sequence[str] | None) -> list[str]:
    if names is None:
        return []
    parts = names.split(",") if isinstance(names, str) else list(names)
    return [part.strip() for part in parts if part.strip()]


def _guess(log: Log, role: str) -> list[Column]:
    by_lower = {name.lower(): name for name in reversed(log.widths)}
    for stem in COMMON[role]:
        if stem in by_lower:
            return _parts(log, by_lower[stem])
        numbered = [
            (int(match[1]), name)
            for name in log.widths
            if (match := re.fullmatch(rf"{stem}[_.\[]?(\d+)\]?", name, re.IGNORECASE))
        ]
        # The parts of a dictionary or a tuple, as Minari has them.
        nested = [name for name in log.widths if name.lower().startswith(f"{stem}.")]
        chosen = [name for _, name in sorted(numbered)] or nested
        if chosen:
            return [column for name in chosen for column in _parts(log, name)]
    if role == "action":
        return []
    option = f"--{role.replace('_', '-')}"
    raise MissingColumnError(
        f"{log.path} has no column that looks like a {role.replace('_', ' ')}",
        f"the columns are {_shown(list(log.widths))}",
        f"name it: {option} COLUMN",
    )


def _named(log: Log, name: str, role: str) -> list[Column]:
    if name in log.widths:
        return _parts(log, name)
    match = re.fullmatch(r"(.+)\[(\d+)\]", name)
    if match and int(match[2]) < log.widths.get(match[1], 0):
        return [Column(match[1], int(match[2]))]
    raise MissingColumnError(
        f"{log.path} has no column {name!r}",
        f"the columns are {_shown([_sized(log, each) for each in log.widths])}",
        f"pass one of them to --{role.replace('_', '-')}",
    )


def _parts(log: Log, name: str) -> list[Column]:
    width = log.widths[name]
    if width > _WIDEST:
        raise InvalidOptionError(
            f"{log.path}: {name} holds {width:,} numbers in each row",
            f"at most {_WIDEST} are cut into cells",
            f"name those that the reward depends on: --state '{name}[0],{name}[3]'",
        )
    return [Column(name, part) for part in range(width)] if width else [Column(name)]


def _sized(log: Log, name: str) -> str:
    return f"{name} ({log.widths[name]} numbers)" if log.widths[name] else name


def _shown(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
