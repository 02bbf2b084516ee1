"""Agents in JAX, one file for each algorithm. They know nothing of noise."""

from unperturb.agents.base import Agent, Observation, Task, Transition
from unperturb.agents.cem import cem
from unperturb.agents.dqn import dqn
from unperturb.agents.dueling_dqn import dueling_dqn
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

__all__ = [
    "AGENTS",
    "Agent",
    "Observation",
    "Task",
    "Transition",
    "cem",
    "dqn",
    "dueling_dqn",
    "q_learning",
    "sarsa",
]
