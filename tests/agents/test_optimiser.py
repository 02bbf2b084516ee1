import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from unperturb.agents.base import Task
from unperturb.agents.bounds import bounds, within
from unperturb.agents.networks import init_mlp
from unperturb.agents.optimiser import adam, clipped, no_moments, towards
from unperturb.errors import InvalidOptionError


def norm_of(tree):
    return float(jnp.linalg.norm(jax.flatten_util.ravel_pytree(tree)[0]))


NET = init_mlp(jax.random.key(0), [3, 8, 2])


def test_adam_is_that_of_optax():
    theirs = optax.adam(1e-2)
    params, ours_params = NET, NET
    state, moments = theirs.init(NET), no_moments(NET)
    for t in range(5):
        gradient = jax.tree.map(
            lambda leaf, t=t: jax.random.normal(jax.random.key(t), leaf.shape), NET
        )
        update, state = theirs.update(gradient, state)
        params = optax.apply_updates(params, update)
        ours_params, moments = adam(ours_params, gradient, moments, 1e-2, t)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4), ours_params, params)


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_the_norm_over_all_leaves_is_clipped(factor):
    gradient = jax.tree.map(lambda leaf: factor * leaf, NET)
    small = clipped(gradient, 1.0)
    norm = norm_of(gradient)
    np.testing.assert_allclose(norm_of(small), min(norm, 1.0), rtol=1e-5)
    share = min(1.0, 1.0 / norm)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b * share, rtol=1e-4), small, gradient)


def test_a_gradient_of_zero_stays_zero():
    nothing = jax.tree.map(jnp.zeros_like, NET)
    jax.tree.map(lambda leaf: np.testing.assert_array_equal(leaf, 0), clipped(nothing, 1.0))


def test_towards():
    np.testing.assert_allclose(towards(jnp.array([1.0]), jnp.array([3.0]), 0.1), [1.2])


def test_bounds_of_actions():
    inside = bounds(Task(features=3, actions=2, low=[-2.0, 0.0], high=[2.0, 1.0]))
    np.testing.assert_allclose(inside.outward(jnp.array([-1.0, 0.5])), [-2.0, 0.75])


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        ((), (), r"actions of 1 numbers lie between \[\] and \[\]"),
        ([-np.inf], [1.0], "two finite bounds"),
        ([1.0], [1.0], "a lower bound is below"),
        ([0.0, 0.0], [1.0, 1.0], "actions of 1 numbers"),
    ],
)
def test_bounds_that_are_none(low, high, message):
    with pytest.raises(InvalidOptionError, match=message):
        bounds(Task(features=3, actions=1, low=low, high=high))


@pytest.mark.parametrize("start", [-30.0, 30.0])
def test_a_clipped_output_comes_back(start):
    x, descent = jnp.array(start), jax.grad(lambda x: (within(x) - 0.25) ** 2)
    for _ in range(100):
        x = x - 0.3 * descent(x)
    np.testing.assert_allclose(x, 0.25, atol=1e-4)


def test_and_is_not_driven_out_farther():
    np.testing.assert_array_equal(jax.grad(lambda x: -within(x))(2.0), 0)
    np.testing.assert_array_equal(jax.grad(lambda x: within(x))(-2.0), 0)
