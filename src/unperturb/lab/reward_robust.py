"""Reward-robust Q-Learning on the six-state MDP (the paper, Algorithm 3), compiled whole.

The reward channel sits between environment and agent: a true level becomes an observed one, is
counted, and is looked up in the surrogate values of the present estimate of C. How C is estimated
is a `Correction`: three pure functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from unperturb.agents.q_learning import epsilon_greedy, q_update
from unperturb.estimators.beliefs import prior_beliefs
from unperturb.estimators.majority_vote import majority_vote
from unperturb.estimators.streaming import stream_start, stream_step
from unperturb.lab.envs import six_state
from unperturb.surrogate import surrogate_values

CELLS = six_state.STATES * six_state.ACTIONS
M = len(six_state.LEVELS)
_SMALLEST_DET = 0.05
"""A passing estimate closer to singular than this is not inverted; the last one stays in force."""


class Correction(NamedTuple):
    """How C is found while training: a state, what is done each step, what at each refresh.

    Attributes:
        start: The state before the first step, any pytree.
        observe: (state, cell, observed level) -> state.
        refresh: state -> (state, C).
    """

    start: Any
    observe: Callable[[Any, Any, Any], Any]
    refresh: Callable[[Any], tuple[Any, Any]]


def known(C: Any) -> Correction:
    """Use a given C: the identity leaves rewards as they are observed."""
    return Correction(
        (), lambda state, cell, seen: state, lambda state: (state, jnp.asarray(C, jnp.float32))
    )


def vote(d_max: int, d_min: int) -> Correction:
    """Vote over the last `d_max` rewards of each cell, from `d_min` rewards on (Eqns 4 and 5)."""

    def observe(state: Any, cell: Any, seen: Any) -> Any:
        ring, visits, counts = state
        place = visits[cell] % d_max
        # A slot that was never written holds M, which lies outside the table and is dropped.
        counts = counts.at[cell, ring[cell, place]].add(-1.0, mode="drop")
        counts = counts.at[cell, seen].add(1.0)
        return ring.at[cell, place].set(seen), visits.at[cell].add(1), counts

    def refresh(state: Any) -> tuple[Any, Any]:
        enough = jnp.sum(state[1]) >= d_min
        return state, jnp.where(enough, majority_vote(state[2]).confusion, jnp.eye(M))

    ring = jnp.full((CELLS, d_max), M, dtype=jnp.int32)
    start = (ring, jnp.zeros(CELLS, dtype=jnp.int32), jnp.zeros((CELLS, M)))
    return Correction(start, observe, refresh)


def streaming(chunk: int, memory: float) -> Correction:
    """Streaming Dawid-Skene; each refresh takes in the `chunk` steps since the last one."""
    prior = prior_beliefs(M, like=jnp.zeros(1, jnp.float32))
    decay = (1 - 1 / memory) ** chunk

    def observe(state: Any, cell: Any, seen: Any) -> Any:
        return state[0], state[1].at[cell, seen].add(1.0)

    def refresh(state: Any) -> tuple[Any, Any]:
        stream = stream_step(state[0], state[1], prior, decay)
        return (stream, jnp.zeros_like(state[1])), stream.confusion

    return Correction((stream_start(CELLS, prior), jnp.zeros((CELLS, M))), observe, refresh)


class Learning(NamedTuple):
    """The agent's numbers. `alpha` gives the step size for a pair that was visited n times."""

    alpha: Callable[[Any], Any]
    gamma: float
    epsilon: float


class Trace(NamedTuple):
    """The C in force and Q at step 0 and after each refresh: (refreshes + 1, ...)."""

    confusion: jax.Array
    q: jax.Array


def streams(seed: Any) -> tuple[jax.Array, jax.Array]:
    """Give the random streams of a seed: one for exploration, one for the noise."""
    root = jax.random.key(seed)
    return jax.random.fold_in(root, 0), jax.random.fold_in(root, 1)


def learn(
    seed: Any, schedule: Any, correction: Correction, learning: Learning, steps: int, refresh: int
) -> Trace:
    """Run Algorithm 3 for one seed; `schedule` holds the C in force at each step, (steps, M, M).

    Random numbers belong to a step and a stream, so a seed meets the same noise whatever is
    corrected and however often C is estimated anew.
    """
    explore_key, noise_key = streams(seed)
    schedule = jnp.asarray(schedule, dtype=jnp.float32)
    env = six_state.reset(explore_key)[1]

    def one(carry: Any, inputs: Any) -> tuple[Any, None]:
        q, visits, env, channel, values = carry
        key, chance, C = inputs
        s = env.state
        a = epsilon_greedy(key, q[s], learning.epsilon)
        _, env, _, terminated, _, info = six_state.step(key, env, a)
        s_next = info["final_observation"]
        row = jnp.cumsum(C[six_state.level(s_next)])[:-1]
        seen = jnp.sum(chance >= row)
        channel = correction.observe(channel, s * six_state.ACTIONS + a, seen)
        # Cutting an episode off does not make its last state worth nothing: no `done` here.
        alpha = learning.alpha(visits[s, a])
        q = q_update(q, s, a, values[seen], s_next, terminated, alpha, learning.gamma)
        return (q, visits.at[s, a].add(1), env, channel, values), None

    def block(carry: Any, inputs: Any) -> tuple[Any, Trace]:
        times, matrices = inputs
        keys = jax.vmap(jax.random.fold_in, (None, 0))(explore_key, times)
        chances = jax.vmap(lambda t: jax.random.uniform(jax.random.fold_in(noise_key, t)))(times)
        (q, visits, env, channel, values), _ = jax.lax.scan(one, carry, (keys, chances, matrices))
        channel, confusion = correction.refresh(channel)
        values = _look_up(confusion, values)
        return (q, visits, env, channel, values), Trace(confusion, q)

    # A known C is in force from the first step; an estimator says the identity before it counts.
    channel, confusion = correction.refresh(correction.start)
    q = jnp.zeros((six_state.STATES, six_state.ACTIONS))
    start = (q, q, env, channel, _look_up(confusion, jnp.asarray(six_state.LEVELS)))
    blocks = steps // refresh
    times = jnp.arange(blocks * refresh).reshape(blocks, refresh)
    matrices = schedule[: blocks * refresh].reshape(blocks, refresh, M, M)
    _, trace = jax.lax.scan(block, start, (times, matrices))
    first = Trace(confusion, q)
    whole: Trace = jax.tree.map(lambda one, rest: jnp.concatenate([one[None], rest]), first, trace)
    return whole


def _look_up(confusion: Any, before: Any) -> Any:
    usable = jnp.abs(jnp.linalg.det(confusion)) > _SMALLEST_DET
    safe = jnp.where(usable, confusion, jnp.eye(M))
    return jnp.where(usable, surrogate_values(safe, jnp.asarray(six_state.LEVELS)), before)
