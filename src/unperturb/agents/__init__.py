"""Agents in JAX, one file for each algorithm. They know nothing of noise."""

from collections.abc import Callable

from unperturb.agents.base import Agent, Observation, Task, Transition
from unperturb.agents.cem import cem
from unperturb.agents.ddpg import ddpg
from unperturb.agents.dqn import dqn
from unperturb.agents.dueling_dqn import dueling_dqn
from unperturb.agents.naf import naf
from unperturb.agents.q_learning import q_learning
from unperturb.agents.sarsa import sarsa

AGENTS = {
    "q-learning": q_learning,
    "cem": cem,
    "sarsa": sarsa,
    "dqn": dqn,
    "dueling-dqn": dueling_dqn,
}
"""The paper's agents for discrete actions: (task, steps, hyper) -> Agent."""

CONTINUOUS_AGENTS: dict[str, Callable[..., Agent]] = {"ddpg": ddpg, "naf": naf}
"""The paper's agents for continuous actions, built alike."""

__all__ = [
    "AGENTS",
    "CONTINUOUS_AGENTS",
    "Agent",
    "Observation",
    "Task",
    "Transition",
    "cem",
    "ddpg",
    "dqn",
    "dueling_dqn",
    "naf",
    "q_learning",
    "sarsa",
]
