"""What every agent has in common: pure functions of arrays, written for one run.

`jax.vmap` runs them over seeds and conditions. The step number `t` stays out of the vmap: all runs
share it, so that a replay buffer is written in place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax


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
        act: (hyper, state, chance, observation, t) -> action.
        learn: (hyper, state, chance, transition, t) -> state.
        draw: key -> what `act` and `learn` take as chance, by default a key for each. Where an
            agent draws its numbers here, they are drawn for many steps at once: on a CPU, hashing
            a few numbers costs about as much as hashing thousands.
        memory: How many of the last steps it keeps and learns from again; 0 where it can't be
            told their rewards anew.
        recall: (state, rewards) -> state: put other rewards in the place of those kept. That of
            step t stands in row t modulo `memory`; NaN leaves a row as it is.
    """

    name: str
    hyper: Any
    init: Callable[..., Any]
    act: Callable[..., Any]
    learn: Callable[..., Any]
    draw: Callable[[Any], Any] = jax.random.split
    memory: int = 0
    recall: Callable[[Any, Any], Any] | None = None
