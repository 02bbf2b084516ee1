"""Q-Learning on a table (the paper, Theorem 1).

Unbatched pure functions: `jax.vmap` them over seeds and conditions, `jax.lax.scan` over steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from unperturb.agents.base import Agent, Observation, Task, Transition
from unperturb.agents.policies import noisy_greedy
from unperturb.errors import InvalidOptionError


def q_update(
    q: Any, s: Any, a: Any, r: Any, s_next: Any, done: Any, alpha: Any, gamma: Any
) -> jax.Array:
    """Give Q after one step.

        Q(s, a) <- (1 - alpha) Q(s, a) + alpha [r + gamma max_b Q(s', b)]

    Whatever reward is handed in is learned from; with surrogates this is the rule of Theorem 1.
    Where `done` holds, s' ends the episode and is worth nothing.

    Example:
        >>> q = jnp.array([[0.0, 0.0], [1.0, 3.0]])
        >>> q_update(q, s=0, a=1, r=1.0, s_next=1, done=False, alpha=0.5, gamma=0.5)[0]
        Array([0.  , 1.25], dtype=float32)
    """
    q = jnp.asarray(q)
    if q.ndim != 2 or not jnp.issubdtype(q.dtype, jnp.floating):
        raise InvalidOptionError(
            f"q is {q.dtype} of shape {q.shape}",
            "it is a table of floats (states, actions)",
            "use jax.vmap over seeds and conditions",
        )
    for name, value in (("s", s), ("a", a), ("r", r), ("s_next", s_next), ("done", done)):
        if jnp.ndim(value) != 0:
            raise InvalidOptionError(
                f"{name} has shape {jnp.shape(value)}",
                "an update is made of one transition",
                "use jax.vmap over batches",
            )
    target = r + gamma * jnp.where(done, 0.0, jnp.max(q[s_next]))
    updated: jax.Array = q.at[s, a].add(alpha * (target - q[s, a]))
    return updated


def epsilon_greedy(key: Any, q_row: Any, epsilon: Any) -> jax.Array:
    """Draw an action: any one with probability epsilon, else one of the best; ties are drawn.

    Example:
        >>> int(epsilon_greedy(jax.random.key(0), jnp.array([0.1, 0.2, 0.0]), 0.0))
        1
    """
    q_row = jnp.asarray(q_row)
    explore_key, action_key = jax.random.split(key)
    explores = jax.random.uniform(explore_key) < epsilon
    order = jax.random.uniform(action_key, q_row.shape)
    return jnp.argmax(jnp.where(explores | (q_row == jnp.max(q_row)), order, -1.0))


class Hyper(NamedTuple):
    """The numbers of Q-Learning, by default the paper's.

    `terminal_reward` is what the agent believes ending an episode to be worth, whatever reward it
    is shown then; NaN lets it believe the reward.
    """

    alpha: Any = 0.5
    gamma: Any = 0.9
    epsilon: Any = 0.1
    terminal_reward: Any = float("nan")


def q_learning(task: Task, steps: int = 0, hyper: Hyper | None = None) -> Agent:
    """Build Q-Learning over the cells of the task's grid.

    Example:
        >>> agent = q_learning(Task(features=4, actions=2, cells=6400))
        >>> agent.init(agent.hyper, jax.random.key(0)).shape
        (6400, 2)
    """
    if not task.cells:
        raise InvalidOptionError(
            "the task has no grid", "Q-Learning keeps a table over states", "give it bins"
        )

    def init(hyper: Hyper, key: Any) -> jax.Array:
        return jnp.zeros((task.cells, task.actions))

    def act(hyper: Hyper, q: jax.Array, key: Any, observation: Observation, t: Any) -> jax.Array:
        return noisy_greedy(key, q[observation.cell], hyper.epsilon)

    def learn(hyper: Hyper, q: jax.Array, key: Any, transition: Transition, t: Any) -> jax.Array:
        fixed = transition.terminated & ~jnp.isnan(hyper.terminal_reward)
        return q_update(
            q,
            transition.observation.cell,
            transition.action,
            jnp.where(fixed, hyper.terminal_reward, transition.reward),
            transition.next_observation.cell,
            transition.terminated,
            hyper.alpha,
            hyper.gamma,
        )

    return Agent("q-learning", Hyper() if hyper is None else hyper, init, act, learn)
