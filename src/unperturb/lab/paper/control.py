"""What the paper runs on CartPole and Pendulum: a column of its tables for each agent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from unperturb.lab.units import Reward, unit

WEIGHTS = (0.1, 0.3, 0.7, 0.9)
SEEDS = 10


class Column(NamedTuple):
    """One agent at the paper's settings.

    Attributes:
        env: The environment.
        agent: The algorithm.
        title: What a reader calls it.
        steps: How long it trains.
        noise: What kind of noise it meets.
        hyper: Where it departs from the agent's own numbers.
        seeds: How many runs there are unless told otherwise.
        play: How an agent plays that plays many environments at a time.
    """

    env: str
    agent: str
    title: str
    steps: int
    noise: str = "binary"
    hyper: dict[str, float] = {}  # noqa: RUF012
    seeds: int = SEEDS
    play: dict[str, int | str] = {}  # noqa: RUF012

    @property
    def place(self) -> str:
        """What tables call the environment."""
        return self.env.removeprefix("ALE/").split("-")[0]


CARTPOLE = (
    # The paper's agent believes that a fall is worth -20, whatever reward is shown then.
    Column("CartPole-v0", "q-learning", "Q-Learning", 30_000, hyper={"terminal_reward": -20.0}),
    Column("CartPole-v0", "cem", "CEM", 100_000),
    # The paper's Gym did not tell a time limit from an end. For SARSA that matters: on clean
    # rewards it scores 156 then, and 136 where it looks beyond the limit (20 seeds). And the paper
    # names Adam, but not all its numbers. With Keras's beta2 = .999 SARSA scores 151 on clean
    # rewards, with .9999 163 (120 seeds, none of them those on which it was chosen).
    Column(
        "CartPole-v0",
        "sarsa",
        "SARSA",
        50_000,
        hyper={"limit_ends": 1.0, "beta2": 0.9999},
    ),
    # Likewise an epsilon of .1: DQN scores 193 on clean rewards and Dueling DQN 194, with the usual
    # one 188 and 187 (100 such seeds).
    Column("CartPole-v0", "dqn", "DQN", 10_000, hyper={"epsilon": 0.1}),
    Column("CartPole-v0", "dueling-dqn", "Dueling DQN", 10_000, hyper={"epsilon": 0.1}),
)
_PENDULUM_STEPS, _PENDULUM_SEEDS = 150_000, 6


def _pendulum(agent: str, noise: str) -> Column:
    return Column(
        "Pendulum-v1",
        agent,
        agent.upper(),
        _PENDULUM_STEPS,
        noise,
        seeds=_PENDULUM_SEEDS,
    )


PENDULUM = (
    _pendulum("ddpg", "symmetric"),
    _pendulum("ddpg", "rand-one"),
    _pendulum("ddpg", "rand-all"),
    _pendulum("naf", "rand-all"),
)
PENDULUM_TABLE = (PENDULUM[1], PENDULUM[3])
"""The two that the paper's Table 1 has."""
MIRRORED = ("binary", "symmetric")
"""The noises that are a mirror image of less noise above one half; random ones are not."""


def conditions(
    column: Column, rewards: Iterable[Reward], weights: Iterable[float]
) -> Iterator[dict[str, Any]]:
    """Give the arguments of `unit` for every condition of a column.

    A weight above one half can't be told from its mirror image where noise mirrors the levels.
    There whatever is estimated runs twice: honestly, and with the stated assumption that most
    rewards are reversed. Of a random noise that would be a wrong thing to assume.

    Example:
        >>> [c["prior"] for c in conditions(CARTPOLE[3], ["posterior"], [0.3, 0.7])]
        [None, None, 'reverse']
        >>> [c["prior"] for c in conditions(PENDULUM[2], ["posterior"], [0.3, 0.7])]
        [None, None]
    """
    rewards = list(rewards)
    mirrored = column.noise in MIRRORED
    for weight in weights:
        for reward in rewards:
            if reward == "true":
                continue
            estimates = reward in ("estimated", "estimated+vrt", "posterior")
            twice = estimates and mirrored and weight > 0.5
            for prior in (None, "reverse") if twice else (None,):
                yield {"reward": reward, "weight": weight, "prior": prior}
    if "true" in rewards:
        yield {"reward": "true", "weight": 0.0, "prior": None}


def unit_of(column: Column, seed: int, condition: dict[str, Any]) -> dict[str, Any]:
    """Describe one run of a column."""
    return unit(
        column.env,
        column.agent,
        column.steps,
        seed,
        noise=column.noise,
        hyper=column.hyper,
        play=column.play or None,
        **condition,
    )


def units(
    columns: Iterable[Column],
    rewards: Iterable[Reward],
    weights: Iterable[float],
    seeds: int | None = None,
) -> list[dict[str, Any]]:
    """Describe every run of these columns once; those that differ in noise share the true one."""
    rewards, weights = list(rewards), list(weights)
    every = [
        unit_of(column, seed, condition)
        for column in columns
        for condition in conditions(column, rewards, weights)
        for seed in range(seeds or column.seeds)
    ]
    return list({json.dumps(one, sort_keys=True): one for one in every}.values())
