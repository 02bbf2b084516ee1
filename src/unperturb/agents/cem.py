"""The cross-entropy method: draw nets from a Gaussian, keep what the best of them have in common.

One episode tries one net. After each generation the Gaussian is fitted to its elite.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp

from unperturb.agents.base import Agent, Observation, Task, Transition
from unperturb.agents.networks import init_mlp, mlp

HIDDEN = (16, 16, 16)
ELITE = 2
"""5 % of a generation of 50."""
_TABLE = 1 << 18


class Hyper(NamedTuple):
    """The numbers of CEM, by default the paper's."""

    generation: Any = 50
    warm_up: Any = 2000
    spread: Any = 1.0


class State(NamedTuple):
    """The Gaussian, the net that is being tried, and the best of this generation."""

    mean: jax.Array
    spread: jax.Array
    candidate: jax.Array
    total: jax.Array
    episodes: jax.Array
    elite: jax.Array
    elite_totals: jax.Array


def cem(task: Task, steps: int = 0, hyper: Hyper | None = None) -> Agent:
    """Build CEM over a 16-16-16 net whose largest output names the action.

    Example:
        >>> agent = cem(Task(features=4, actions=2))
        >>> agent.init(agent.hyper, jax.random.key(0)).mean.shape
        (658,)
    """
    example, unflatten = jax.flatten_util.ravel_pytree(
        init_mlp(jax.random.key(0), [task.features, *HIDDEN, task.actions])
    )
    n = example.size
    # Candidates take their Gaussian numbers from one shared table, at a random place. Drawing
    # hundreds of them anew would cost more than everything else in the loop.
    table = jax.random.normal(jax.random.key(0), (_TABLE,))

    def draw(key: Any, mean: jax.Array, spread: jax.Array) -> jax.Array:
        place = jax.random.randint(key, (), 0, _TABLE - n)
        return mean + spread * jax.lax.dynamic_slice(table, (place,), (n,))

    def init(hyper: Hyper, key: Any) -> State:
        mean, spread = jnp.zeros(n), jnp.full(n, hyper.spread)
        zero = jnp.zeros(())
        none = jnp.full(ELITE, -jnp.inf)
        return State(mean, spread, draw(key, mean, spread), zero, zero, jnp.zeros((ELITE, n)), none)

    def act(hyper: Hyper, state: State, key: Any, observation: Observation, t: Any) -> jax.Array:
        return jnp.argmax(mlp(unflatten(state.candidate), observation.features[:, None])[:, 0])

    def learn(hyper: Hyper, state: State, key: Any, transition: Transition, t: Any) -> State:
        ended = transition.terminated | transition.truncated
        total = state.total + transition.reward
        worst = jnp.argmin(state.elite_totals)
        enters = ended & (total > state.elite_totals[worst])
        place = (jnp.arange(ELITE) == worst) & enters
        elite = jnp.where(place[:, None], state.candidate, state.elite)
        totals = jnp.where(place, total, state.elite_totals)
        episodes = state.episodes + ended
        # Until the warm-up is over a generation goes on.
        done = ended & (episodes >= hyper.generation) & (t >= hyper.warm_up)
        mean = jnp.where(done, jnp.mean(elite, axis=0), state.mean)
        spread = jnp.where(done, jnp.std(elite, axis=0), state.spread)
        return State(
            mean,
            spread,
            jnp.where(ended, draw(key, mean, spread), state.candidate),
            jnp.where(ended, 0.0, total),
            jnp.where(done, 0.0, episodes),
            elite,
            jnp.where(done, -jnp.inf, totals),
        )

    return Agent("cem", Hyper() if hyper is None else hyper, init, act, learn)
