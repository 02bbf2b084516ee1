import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unperturb.agents.networks import dense, dueling, init_mlp, mlp

SIZES = [3, 16, 8, 2]


def plain(params, x):
    for w, b in params[:-1]:
        x = jnp.maximum(w @ x + b[:, None], 0)
    w, b = params[-1]
    return w @ x + b[:, None]


@pytest.fixture(scope="module")
def params():
    return init_mlp(jax.random.key(0), SIZES)


def test_the_gradient_is_that_of_the_plain_formula(params):
    x = jax.random.normal(jax.random.key(1), (3, 32))

    def loss(net):
        return jax.jit(jax.grad(lambda p, x: jnp.sum(jnp.sin(net(p, x))), argnums=(0, 1)))

    ours, theirs = loss(mlp)(params, x), loss(plain)(params, x)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5), ours, theirs)


def test_the_same_for_many_nets_at_once(params):
    many = jax.tree.map(lambda leaf: jnp.stack([leaf, 2 * leaf]), params)
    x = jax.random.normal(jax.random.key(1), (2, 3, 5))

    def loss(net):
        return jax.jit(jax.vmap(jax.grad(lambda p, x: jnp.sum(net(p, x) ** 2))))

    ours, theirs = loss(mlp)(many, x), loss(plain)(many, x)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5), ours, theirs)


def test_a_column_stands_for_itself(params):
    x = jax.random.normal(jax.random.key(2), (3, 4))
    alone = jnp.concatenate([mlp(params, x[:, i : i + 1]) for i in range(4)], axis=1)
    np.testing.assert_allclose(mlp(params, x), alone, rtol=1e-5, atol=1e-6)


def test_dense_by_hand():
    w, b, x = jnp.array([[1.0, 2.0]]), jnp.array([0.5]), jnp.array([[3.0], [4.0]])
    gradient = jax.grad(lambda *a: dense(*a)[0, 0], argnums=(0, 1, 2))(w, b, x)
    for found, expected in zip(gradient, ([[3, 4]], [1], [[1], [2]]), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_weights_fill_the_range_of_glorot():
    w, b = init_mlp(jax.random.key(0), [200, 100])[0]
    limit = (6 / 300) ** 0.5
    assert 0.999 * limit < float(jnp.abs(w).max()) <= limit
    # A uniform variable's mean over 20,000; five standard deviations: false alarm below 1e-6.
    assert abs(float(w.mean())) < 5 * limit / (3 * 20_000) ** 0.5
    np.testing.assert_array_equal(b, 0)


def test_layers_and_seeds_differ():
    first, second, *_ = init_mlp(jax.random.key(0), [4, 4, 4])
    assert not np.array_equal(first[0], second[0])
    assert not np.array_equal(first[0], init_mlp(jax.random.key(1), [4, 4])[0][0])


def test_dueling_advantages_have_mean_zero():
    params = init_mlp(jax.random.key(3), [3, 16, 4])
    x = jax.random.normal(jax.random.key(4), (3, 6))
    values, out = dueling(params, x), mlp(params, x)
    np.testing.assert_allclose(values.mean(axis=0), out[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(values[1] - values[0], out[2] - out[1], rtol=1e-4, atol=1e-5)
