"""What every agent has in common: pure functions of arrays, written for one run.

`jax.vmap` runs them over seeds and conditions. The step number `t` stays out of the vmap: all runs
share it, so that a replay buffer is written in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Task(NamedTuple):
    """What an agent is told about its environment.

    Attributes:
        features: How many numbers describe an observation.
        actions: How many actions there are; where they are continuous, how many numbers make one.
        cells: How many states the grid has that a table is kept over; 0 if there is none.
        low: The least value of each of those numbers; empty where actions are choices.
        high: The greatest.
    """

    features: int
    actions: int
    cells: int = 0
    low: Any = ()
    high: Any = ()


class Observation(NamedTuple):
    """An observation: numbers for a network, and the grid cell for a table."""

    features: Any
    cell: Any


class Transition(NamedTuple):
    """One step: s, a, r, s', and whether s' ended the episode or was only cut off.

    A state where an episode was cut off is worth something; one that ended it is not.
    """

    observation: Observation
    action: Any
    reward: Any
    next_observation: Observation
    terminated: Any
    truncated: Any


class Agent(NamedTuple):
    """An algorithm for a task.

    Attributes:
        name: As the command line calls it.
        hyper: Its numbers, a pytree of arrays; an argument of every function, so that changing
            them compiles nothing anew.
        init: (hyper, key) -> state.
        act: (hyper, state, key, observation, t) -> action.
        learn: (hyper, state, key, transition, t) -> state.
    """

    name: str
    hyper: Any
    init: Callable[..., Any]
    act: Callable[..., Any]
    learn: Callable[..., Any]
