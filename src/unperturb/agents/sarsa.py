"""Deep SARSA: on-policy, one gradient step on each transition, no replay."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from unperturb.agents.base import Agent, Observation, Task, Transition
from unperturb.agents.networks import Params, init_mlp, mlp
from unperturb.agents.policies import boltzmann

HIDDEN = (16, 16, 16)


class Hyper(NamedTuple):
    """The numbers of SARSA, by default the paper's.

    Attributes:
        beta2: Adam's memory of squared gradients: it forgets a share 1 - beta2 with each step.
            Without replay most steps teach little and a rare one, such as a fall, a lot. Above
            .999 falls are remembered from one to the next, and steps stay small in between.
        limit_ends: 1 where a time limit is learned from as if it ended the episode: what the
            interface of the paper's time could not tell apart.
    """

    learning_rate: Any = 1e-3
    beta2: Any = 0.999
    gamma: Any = 0.99
    tau: Any = 1.0
    warm_up: Any = 10
    limit_ends: Any = 0.0


class State(NamedTuple):
    """The net, Adam's moments, and the action that is settled for the next step.

    `settled` is no action (-1) where an episode begins.
    """

    params: Params
    adam: Any
    settled: jax.Array


def sarsa(task: Task, steps: int = 0, hyper: Hyper | None = None) -> Agent:
    """Build SARSA: Q(s, a) <- r + gamma Q(s', a'), and a' is the action that is then taken.

    Example:
        >>> agent = sarsa(Task(features=4, actions=2))
        >>> int(agent.init(agent.hyper, jax.random.key(0)).settled)
        -1
    """
    sizes = [task.features, *HIDDEN, task.actions]

    def init(hyper: Hyper, key: Any) -> State:
        params = init_mlp(key, sizes)
        return State(params, optax.scale_by_adam().init(params), jnp.asarray(-1))

    def draw(hyper: Hyper, params: Params, key: Any, features: jax.Array) -> Any:
        values = mlp(params, features[:, None])[:, 0]
        return boltzmann(key, values, hyper.tau), values

    def act(hyper: Hyper, state: State, key: Any, observation: Observation, t: Any) -> jax.Array:
        fresh, _ = draw(hyper, state.params, key, observation.features)
        return jnp.where(state.settled < 0, fresh, state.settled)

    def learn(hyper: Hyper, state: State, key: Any, transition: Transition, t: Any) -> State:
        after, values = draw(hyper, state.params, key, transition.next_observation.features)
        worthless = transition.terminated | (transition.truncated & (hyper.limit_ends > 0))
        wanted = transition.reward + hyper.gamma * jnp.where(worthless, 0.0, values[after])

        def loss(params: Params) -> jax.Array:
            own = mlp(params, transition.observation.features[:, None])[:, 0]
            error: jax.Array = own[transition.action] - wanted
            return error**2

        optimiser = optax.scale_by_adam(b2=hyper.beta2)
        update, adam = optimiser.update(jax.grad(loss)(state.params), state.adam)
        rate = jnp.where(t >= hyper.warm_up, hyper.learning_rate, 0.0)
        params = jax.tree.map(lambda p, u: p - rate * u, state.params, update)
        ended = transition.terminated | transition.truncated
        return State(params, adam, jnp.where(ended, -1, after))

    return Agent("sarsa", Hyper() if hyper is None else hyper, init, act, learn)
