"""A policy and a value of one observation, for any space of observations and actions.

Frames go through convolutions that policy and value share; everything else is flattened and goes
through a perceptron for each of the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from unperturb.agents.convolution import Layer, after, convolve
from unperturb.errors import InvalidOptionError

_FRAME = 36
"""The least side, in pixels, of what is taken for a frame: what the Nature net needs."""
_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


class Vision(NamedTuple):
    """The net that frames go through: convolutions, then one layer of so many units."""

    layers: tuple[Layer, ...]
    units: int


NATURE = Vision((Layer(32, 8, 4), Layer(64, 4, 2), Layer(64, 3, 1)), 512)
"""That of Mnih et al. (2015), for frames of 84 x 84."""
SMALL = Vision((Layer(16, 6, 3), Layer(32, 4, 2), Layer(32, 3, 1)), 256)
"""A smaller one, for frames of 42 x 42."""
HIDDEN = (64, 64)


class ActorCritic(NamedTuple):
    """Functions of a batch of observations; what they know of actions they are told as `heads`.

    Attributes:
        init: key -> params.
        apply: (params, observations) -> (heads, values).
        draw: (key, heads) -> actions.
        log_prob: (heads, actions) -> the logarithm of their probability or density.
        entropy: heads -> the entropy of the policy, of each row.
    """

    init: Callable[[Any], Any]
    apply: Callable[[Any, Any], tuple[Any, Any]]
    draw: Callable[[Any, Any], Any]
    log_prob: Callable[[Any, Any], Any]
    entropy: Callable[[Any], Any]


def is_frame(space: gym.Space[Any]) -> bool:
    """Say whether observations are pictures: three axes of bytes, large enough to be seen.

    Example:
        >>> is_frame(gym.spaces.Box(0, 255, (4, 84, 84), np.uint8))
        True
        >>> is_frame(gym.spaces.Box(0, 1, (10, 10, 4), bool))
        False
    """
    shape = space.shape or ()
    return len(shape) == 3 and space.dtype == np.uint8 and sorted(shape)[1] >= _FRAME


def actor_critic(
    observations: gym.Space[Any], actions: gym.Space[Any], vision: Vision = NATURE
) -> ActorCritic:
    """Build the nets for these spaces.

    Example:
        >>> space = gym.spaces.Box(-1.0, 1.0, (4,))
        >>> net = actor_critic(space, gym.spaces.Discrete(2))
        >>> heads, values = net.apply(net.init(jax.random.key(0)), jnp.zeros((3, 4)))
        >>> heads.shape, values.shape, net.draw(jax.random.key(1), heads).shape
        ((3, 2), (3,), (3,))
    """
    if not isinstance(observations, gym.spaces.Box | gym.spaces.Discrete | gym.spaces.MultiBinary):
        raise _misfit("observation", observations, "Box, Discrete or MultiBinary")
    if not isinstance(actions, gym.spaces.Box | gym.spaces.Discrete):
        raise _misfit("action", actions, "Box or Discrete")
    discrete = isinstance(actions, gym.spaces.Discrete)
    outputs = int(actions.n) if discrete else math.prod(actions.shape or ())  # type: ignore[union-attr]
    init, apply = (
        _seeing(tuple(observations.shape or ()), outputs, vision)
        if is_frame(observations)
        else _feeling(observations, outputs)
    )
    if discrete:
        first = int(actions.start)  # type: ignore[union-attr]
        return ActorCritic(
            init,
            apply,
            lambda key, logits: _draw_choice(key, logits) + first,
            lambda logits, chosen: _log_prob_choice(logits, chosen - first),
            _entropy_choice,
        )

    def init_gaussian(key: Any) -> Any:
        return init(key), jnp.zeros(outputs)

    def apply_gaussian(params: Any, x: Any) -> tuple[Any, Any]:
        mean, value = apply(params[0], x)
        return (mean, jnp.broadcast_to(params[1], mean.shape)), value

    return ActorCritic(
        init_gaussian, apply_gaussian, _draw_gaussian, _log_prob_gaussian, _entropy_gaussian
    )


def _misfit(what: str, space: gym.Space[Any], fitting: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"the {what} space is {space}",
        f"a policy and a value are built for {fitting}",
        "flatten it with a wrapper of Gymnasium, or take another environment",
    )


def _dense(key: Any, inputs: int, outputs: int, gain: float) -> tuple[jax.Array, jax.Array]:
    return jax.nn.initializers.orthogonal(gain)(key, (inputs, outputs)), jnp.zeros(outputs)


def _seeing(shape: tuple[int, ...], outputs: int, vision: Vision) -> Any:
    # Gymnasium stacks frames along the first axis; other pictures have their colours last.
    first = shape[0] < shape[2]
    channels = shape[0] if first else shape[2]
    height, width = shape[1:] if first else shape[:2]
    flat = after(height, vision.layers) * after(width, vision.layers) * vision.layers[-1].channels

    def init(key: Any) -> Any:
        keys = jax.random.split(key, len(vision.layers) + 3)
        seen = []
        for (before, layer), own in zip(
            pairwise((Layer(channels, 0, 0), *vision.layers)), keys, strict=False
        ):
            inputs = layer.size**2 * before.channels
            kernel, bias = _dense(own, inputs, layer.channels, 2**0.5)
            shape = (layer.size, layer.size, before.channels, layer.channels)
            seen.append((kernel.reshape(shape), bias))
        return (
            tuple(seen),
            _dense(keys[-3], flat, vision.units, 2**0.5),
            _dense(keys[-2], vision.units, outputs, 0.01),
            _dense(keys[-1], vision.units, 1, 1.0),
        )

    def apply(params: Any, x: Any) -> tuple[Any, Any]:
        seen, hidden, policy, value = params
        x = jnp.moveaxis(x, 1, -1) if first else x
        x = x.astype(jnp.float32) / 255
        for (kernel, bias), layer in zip(seen, vision.layers, strict=True):
            x = jax.nn.relu(convolve(kernel, x, layer.stride) + bias)
        x = jax.nn.relu(_linear(hidden, x.reshape(len(x), flat)))
        return _linear(policy, x), _linear(value, x)[:, 0]

    return init, apply


def _feeling(space: gym.Space[Any], outputs: int) -> Any:
    width = int(gym.spaces.flatdim(space))
    choices, first = (
        (int(space.n), int(space.start)) if isinstance(space, gym.spaces.Discrete) else (None, 0)
    )

    def init(key: Any) -> Any:
        policy, value = jax.random.split(key)
        return _perceptron(policy, (width, *HIDDEN, outputs), 0.01), _perceptron(
            value, (width, *HIDDEN, 1), 1.0
        )

    def apply(params: Any, x: Any) -> tuple[Any, Any]:
        x = jnp.asarray(x)
        if choices is not None:
            x = jax.nn.one_hot(x.reshape(len(x)) - first, choices)
        x = x.reshape(len(x), width).astype(jnp.float32)
        return _through(params[0], x), _through(params[1], x)[:, 0]

    return init, apply


def _perceptron(key: Any, sizes: Sequence[int], last: float) -> Any:
    keys = jax.random.split(key, len(sizes) - 1)
    gains = [2**0.5] * (len(sizes) - 2) + [last]
    return tuple(
        _dense(own, inputs, units, gain)
        for own, (inputs, units), gain in zip(keys, pairwise(sizes), gains, strict=True)
    )


def _linear(layer: tuple[Any, Any], x: Any) -> Any:
    return x @ layer[0] + layer[1]


def _through(layers: Any, x: Any) -> Any:
    for layer in layers[:-1]:
        x = jnp.tanh(_linear(layer, x))
    return _linear(layers[-1], x)


def _draw_choice(key: Any, logits: Any) -> Any:
    return jax.random.categorical(key, logits).astype(jnp.int32)


def _log_prob_choice(logits: Any, actions: Any) -> Any:
    # A product with ones and zeros: gathers are slow, and so is their gradient.
    chosen = jax.nn.one_hot(actions, logits.shape[-1])
    return jnp.sum(jax.nn.log_softmax(logits) * chosen, axis=-1)


def _entropy_choice(logits: Any) -> Any:
    return -jnp.sum(jax.nn.softmax(logits) * jax.nn.log_softmax(logits), axis=-1)


def _draw_gaussian(key: Any, heads: Any) -> Any:
    mean, log_std = heads
    return mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)


def _log_prob_gaussian(heads: Any, actions: Any) -> Any:
    mean, log_std = heads
    return jnp.sum(
        -0.5 * ((actions - mean) / jnp.exp(log_std)) ** 2 - log_std - _HALF_LOG_TAU, axis=-1
    )


def _entropy_gaussian(heads: Any) -> Any:
    return jnp.sum(heads[1] + 0.5 + _HALF_LOG_TAU, axis=-1)
