import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unperturb.agents.q_learning import epsilon_greedy, q_update
from unperturb.errors import InvalidOptionError
from unperturb.lab.envs import six_state

Q = jnp.array([[1.0, 2.0], [3.0, 5.0], [0.0, -1.0]])


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
@pytest.mark.parametrize(("done", "expected"), [(False, 2.4), (True, 1.9)])
def test_q_update_by_hand(wrap, done, expected):
    # (1 - .2) 2 + .2 (1.5 + .5 * 5)  = 2.4; at the end 1.6 + .2 * 1.5 = 1.9
    new = wrap(q_update)(Q, 0, 1, 1.5, 1, done, 0.2, 0.5)
    np.testing.assert_allclose(new, [[1.0, expected], [3.0, 5.0], [0.0, -1.0]], rtol=1e-6)
    assert Q[0, 1] == 2.0


def test_q_update_over_seeds():
    many = jnp.stack([Q, Q + 1])
    new = jax.vmap(q_update, in_axes=(0, None, None, 0, None, None, None, None))(
        many, 2, 0, jnp.array([1.0, 2.0]), 0, False, 1.0, 0.5
    )
    np.testing.assert_allclose(new[:, 2, 0], [2.0, 3.5])


def test_wrong_shapes_are_named():
    with pytest.raises(InvalidOptionError, match=r"q is float32 of shape \(1, 3, 2\)"):
        q_update(Q[None], 0, 1, 1.0, 1, False, 0.1, 0.9)
    with pytest.raises(InvalidOptionError, match="q is int32"):
        q_update(jnp.zeros((2, 2), dtype=jnp.int32), 0, 1, 1.0, 1, False, 0.1, 0.9)
    with pytest.raises(InvalidOptionError, match=r"r has shape \(3,\)"):
        q_update(Q, 0, 1, jnp.ones(3), 1, False, 0.1, 0.9)


def test_epsilon_greedy_frequencies():
    keys = jax.random.split(jax.random.key(0), 20_000)
    row = jnp.array([0.0, 2.0, 2.0])
    drawn = jax.vmap(epsilon_greedy, in_axes=(0, None, None))(keys, row, 0.3)
    shares = np.bincount(np.asarray(drawn), minlength=3) / 20_000
    # The tie is broken evenly: .1, .45, .45. Five standard deviations: false alarm below 1e-5.
    np.testing.assert_allclose(shares, [0.1, 0.45, 0.45], atol=5 * 0.0036)
    greedy = jax.vmap(epsilon_greedy, in_axes=(0, None, None))(keys, row, 0.0)
    assert set(np.unique(np.asarray(greedy))) == {1, 2}


def test_q_learning_reaches_the_optimal_q():
    gamma = 0.7

    def step(carry, key):
        q, s = carry
        a = epsilon_greedy(key, q[s], 0.5)
        s_next = six_state.move(s, a)
        r = jnp.asarray(six_state.LEVELS)[six_state.level(s_next)]
        return (q_update(q, s, a, r, s_next, False, 0.5, gamma), s_next), None

    start = (jnp.zeros((6, 2)), jnp.asarray(0))
    (q, _), _ = jax.lax.scan(step, start, jax.random.split(jax.random.key(1), 3_000))
    np.testing.assert_allclose(q, six_state.optimal_q(gamma), atol=1e-4)
