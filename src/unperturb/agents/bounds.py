"""Continuous actions: inside an agent they lie in [-1, 1], outside between the task's bounds."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from unperturb.agents.base import Task, Transition
from unperturb.errors import InvalidOptionError


class Bounds(NamedTuple):
    """The middle of each action's range, and half its width."""

    middle: np.ndarray
    half: np.ndarray

    def outward(self, action: jax.Array, noise: Any = 0.0) -> jax.Array:
        """Give the action that the environment knows; noise is measured in its units."""
        most: jax.Array = jnp.clip(
            self.middle + self.half * action + noise,
            self.middle - self.half,
            self.middle + self.half,
        )
        return most

    def inward(self, transition: Transition) -> Transition:
        """Give the transition with the action that the agent knows."""
        return transition._replace(action=(transition.action - self.middle) / self.half)


@jax.custom_vjp
def within(x: jax.Array) -> jax.Array:
    """Clip to [-1, 1]; the gradient is stopped only where a step along it would lead farther out.

    A tanh that is saturated passes no gradient at all, and an output that was once driven far out
    never comes back.

    Example:
        >>> within(jnp.array([-3.0, 0.5]))
        Array([-1. ,  0.5], dtype=float32)
        >>> jax.grad(lambda x: within(x).sum())(jnp.array([-3.0, 0.5, 3.0]))  # less is better
        Array([0., 1., 1.], dtype=float32)
    """
    return jnp.clip(x, -1.0, 1.0)


def _forward(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    return within(x), x


def _backward(x: jax.Array, g: jax.Array) -> tuple[jax.Array]:
    # A step is taken against the gradient.
    leaves = ((x > 1) & (g < 0)) | ((x < -1) & (g > 0))
    return (jnp.where(leaves, 0.0, g),)


within.defvjp(_forward, _backward)


def bounds(task: Task) -> Bounds:
    """Read the bounds of a task.

    Example:
        >>> bounds(Task(features=3, actions=1, low=(0.0,), high=(4.0,))).outward(jnp.array([0.5]))
        Array([3.], dtype=float32)
    """
    low, high = (np.asarray(end, np.float32).ravel() for end in (task.low, task.high))
    if not (low.shape == high.shape == (task.actions,) and np.isfinite([low, high]).all()):
        raise InvalidOptionError(
            f"actions of {task.actions} numbers lie between {low.tolist()} and {high.tolist()}",
            "an agent with continuous actions needs two finite bounds for each number",
            "give the task low and high",
        )
    if not (low < high).all():
        raise InvalidOptionError(
            f"actions lie between {low.tolist()} and {high.tolist()}",
            "a lower bound is below its upper one",
            "swap them",
        )
    return Bounds((low + high) / 2, (high - low) / 2)
