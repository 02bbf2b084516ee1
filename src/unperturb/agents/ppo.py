"""Proximal policy optimisation (Schulman et al., 2017), as pure functions of one run.

A run plays several environments for some steps, then learns from what came of that: advantages
(`gae`), then several passes over shuffled minibatches (`step`). `learn` does both in one compiled
loop. Whoever keeps convolutions out of loops, where XLA computes them slowly on a CPU, calls the
pieces.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from unperturb.agents.actor_critic import ActorCritic
from unperturb.agents.optimiser import Moments, adam, clipped, no_moments
from unperturb.errors import InvalidOptionError

_EPSILON = 1e-5


class Plan(NamedTuple):
    """How much is played before anything is learned, and how it is cut up.

    Attributes:
        envs: Environments side by side.
        steps: Steps of each between two updates.
        minibatches: Parts that a pass is cut into.
        epochs: Passes over what was played.

    Example:
        >>> Plan().batch
        1024
    """

    envs: int = 8
    steps: int = 128
    minibatches: int = 4
    epochs: int = 4

    @property
    def batch(self) -> int:
        """Transitions between two updates."""
        return self.envs * self.steps


class Hyper(NamedTuple):
    """The numbers of PPO; learning rate and clip go to their ends along a straight line."""

    gamma: Any = 0.99
    lam: Any = 0.95
    rate: Any = 2.5e-4
    rate_end: Any = 0.0
    clip: Any = 0.1
    clip_end: Any = 0.0
    entropy: Any = 0.01
    value: Any = 0.5
    norm: Any = 0.5


class Learner(NamedTuple):
    """What a run knows: the nets, Adam's moments, and how many gradients it followed."""

    params: Any
    moments: Moments
    gradients: Any


class Rollout(NamedTuple):
    """What was played, (steps, envs) each.

    Attributes:
        observation: What the policy saw.
        action: What it did.
        log_prob: How likely that was to it.
        value: What it held the state for worth.
        reward: What came of it, as the agent is shown it.
        next_value: What it holds the state for worth that this led to; where an episode was cut
            off, that of the last state, not of the first of the next episode.
        terminated: Whether the episode ended there, so that nothing follows.
        ended: Whether it ended or was cut off.
    """

    observation: Any
    action: Any
    log_prob: Any
    value: Any
    reward: Any
    next_value: Any
    terminated: Any
    ended: Any


class Batch(NamedTuple):
    """Transitions to learn from, in one row each."""

    observation: Any
    action: Any
    log_prob: Any
    value: Any
    advantage: Any


def begin(net: ActorCritic, key: Any) -> Learner:
    """Draw the nets of a run."""
    params = net.init(key)
    return Learner(params, no_moments(params), jnp.zeros((), jnp.int32))


def gae(hyper: Hyper, rollout: Rollout) -> jax.Array:
    """Give the advantages A_t = delta_t + gamma lambda A_(t+1) (Schulman et al., 2016, Eqn 16).

    Example:
        >>> column = lambda *x: jnp.array(x, jnp.float32)[:, None]
        >>> zero = column(0, 0)
        >>> played = Rollout(zero, zero, zero, zero, column(0, 1), zero, zero, column(0, 1))
        >>> gae(Hyper(gamma=0.5, lam=0.5), played)[:, 0]
        Array([0.25, 1.  ], dtype=float32)
    """
    going = 1.0 - jnp.asarray(rollout.ended, jnp.float32)
    living = 1.0 - jnp.asarray(rollout.terminated, jnp.float32)
    delta = rollout.reward + hyper.gamma * living * rollout.next_value - rollout.value

    def back(following: Any, row: Any) -> tuple[Any, Any]:
        delta, going = row
        own = delta + hyper.gamma * hyper.lam * going * following
        return own, own

    _, advantages = jax.lax.scan(back, jnp.zeros_like(delta[0]), (delta, going), reverse=True)
    return jnp.asarray(advantages)


def rows(hyper: Hyper, rollout: Rollout) -> Batch:
    """Give all transitions of a rollout, one in each row."""

    def flat(x: Any) -> Any:
        return x.reshape(-1, *x.shape[2:])

    every = Batch(
        rollout.observation, rollout.action, rollout.log_prob, rollout.value, gae(hyper, rollout)
    )
    return Batch(*jax.tree.map(flat, tuple(every)))


def loss(net: ActorCritic, hyper: Hyper, clip: Any, params: Any, batch: Batch) -> Any:
    """Give the clipped objective, the clipped value error and the entropy, in one number."""
    heads, value = net.apply(params, batch.observation)
    ratio = jnp.exp(net.log_prob(heads, batch.action) - batch.log_prob)
    advantage = batch.advantage - jnp.mean(batch.advantage)
    advantage = advantage / (jnp.std(batch.advantage) + 1e-8)
    gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)
    target = batch.value + batch.advantage
    near = batch.value + jnp.clip(value - batch.value, -clip, clip)
    error = 0.5 * jnp.maximum((value - target) ** 2, (near - target) ** 2)
    return jnp.mean(hyper.value * error - gain - hyper.entropy * net.entropy(heads))


def step(net: ActorCritic, hyper: Hyper, learner: Learner, batch: Batch, done: Any) -> Learner:
    """Follow the gradient of one minibatch; `done` is how much of the training is over, 0 to 1."""
    rate = hyper.rate + done * (hyper.rate_end - hyper.rate)
    clip = hyper.clip + done * (hyper.clip_end - hyper.clip)
    gradient = jax.grad(loss, argnums=3)(net, hyper, clip, learner.params, batch)
    gradient = clipped(gradient, hyper.norm)
    params, moments = adam(
        learner.params, gradient, learner.moments, rate, learner.gradients, _EPSILON
    )
    return Learner(params, moments, learner.gradients + 1)


def shuffled(plan: Plan, key: Any) -> jax.Array:
    """Give the rows of each minibatch of each pass, (epochs x minibatches, rows).

    Example:
        >>> shuffled(Plan(envs=2, steps=8, minibatches=4, epochs=3), jax.random.key(0)).shape
        (12, 4)
    """
    if plan.batch % plan.minibatches:
        raise InvalidOptionError(
            f"{plan.minibatches} minibatches of {plan.batch} transitions",
            "a pass is cut into parts of one size",
            "choose minibatches that divide envs x steps",
        )
    orders = jax.vmap(lambda own: jax.random.permutation(own, plan.batch))(
        jax.random.split(key, plan.epochs)
    )
    return orders.reshape(plan.epochs * plan.minibatches, -1)


def learn(
    net: ActorCritic,
    plan: Plan,
    hyper: Hyper,
    learner: Learner,
    key: Any,
    rollout: Rollout,
    done: Any,
) -> Learner:
    """Learn from what was played, in one loop."""
    every = rows(hyper, rollout)

    def one(learner: Learner, chosen: Any) -> tuple[Learner, None]:
        batch = jax.tree.map(lambda leaf: leaf[chosen], every)
        return step(net, hyper, learner, batch, done), None

    following: Learner
    following, _ = jax.lax.scan(one, learner, shuffled(plan, key))
    return following
