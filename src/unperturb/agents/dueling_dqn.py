"""Dueling DQN: one net says what a state is worth and what each action adds (Wang et al., 2016)."""

from __future__ import annotations

from unperturb.agents.base import Agent, Task
from unperturb.agents.dqn import Hyper, value_agent
from unperturb.agents.networks import dueling


def dueling_dqn(task: Task, steps: int, hyper: Hyper | None = None) -> Agent:
    """Build Dueling DQN with averaged advantages; in all else it is DQN.

    Example:
        >>> import jax
        >>> agent = dueling_dqn(Task(features=4, actions=2), steps=1000)
        >>> state = agent.init(agent.hyper, jax.random.key(0))
        >>> state.params[-1][0].shape  # V and two advantages
        (3, 16)
    """
    return value_agent("dueling-dqn", dueling, task.actions + 1, task, steps, hyper)
