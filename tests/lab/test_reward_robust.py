import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unperturb.lab.envs import six_state
from unperturb.lab.reward_robust import CELLS, Learning, known, learn, streaming, vote

C = np.array([[0.9, 0.1], [0.3, 0.7]])
LEARNING = Learning(lambda visits: (visits + 1.0) ** -0.8, gamma=0.7, epsilon=1.0)


def run(correction, matrix=C, seeds=3, steps=4_000, refresh=100):
    schedule = np.broadcast_to(matrix, (steps, 2, 2))

    @jax.jit
    def all_seeds(numbers):
        return jax.vmap(lambda n: learn(n, schedule, correction, LEARNING, steps, refresh))(numbers)

    return jax.device_get(all_seeds(jnp.arange(seeds)))


def test_without_noise_q_reaches_the_optimum():
    trace = run(known(np.eye(2)), np.eye(2), steps=20_000)
    assert trace.q.shape == (3, 201, 6, 2)
    np.testing.assert_array_equal(trace.q[:, 0], 0)
    np.testing.assert_allclose(
        trace.q[:, -1], np.tile(six_state.optimal_q(0.7), (3, 1, 1)), atol=0.02
    )


@pytest.mark.parametrize("correction", [vote(100, 100), streaming(100, 1e9)])
def test_both_estimators_find_C(correction):
    trace = run(correction, steps=6_000)
    # 500 observations a cell; the standard error of e+ from 2 cells of the vote's 100 is .03.
    np.testing.assert_allclose(trace.confusion[:, -1], np.tile(C, (3, 1, 1)), atol=0.15)
    np.testing.assert_allclose(trace.confusion[:, -1].sum(axis=-1), 1, atol=1e-6)


def test_a_seed_meets_the_same_noise_whatever_is_corrected_and_however_often():
    # With epsilon = 1 actions don't depend on Q, so what is counted must be the same.
    def counting(refresh):
        def observe(state, cell, seen):
            return state.at[cell, seen].add(1.0)

        correction = known(C)._replace(
            start=jnp.zeros((CELLS, 2)),
            observe=observe,
            refresh=lambda state: (
                state,
                state[:2] / jnp.maximum(jnp.sum(state[:2], 1)[:, None], 1),
            ),
        )
        return run(correction, steps=1_000, refresh=refresh).confusion[:, -1]

    np.testing.assert_array_equal(counting(100), counting(500))


def test_the_vote_sees_only_the_last_rewards_of_each_cell():
    correction = vote(d_max=3, d_min=1)
    state = correction.start
    for level in (0, 0, 0, 1, 1):
        state = correction.observe(state, 4, level)
    np.testing.assert_array_equal(state[2][4], [1, 2])
    assert float(state[2].sum()) == 3
    _, confusion = correction.refresh(state)
    np.testing.assert_allclose(confusion, [[1, 0], [1 / 3, 2 / 3]], rtol=1e-6)


def test_the_vote_waits_for_enough_rewards():
    correction = vote(d_max=10, d_min=5)
    state = correction.start
    for _ in range(4):
        state = correction.observe(state, 0, 1)
    np.testing.assert_array_equal(correction.refresh(state)[1], np.eye(2))


def test_a_singular_estimate_is_not_inverted_and_seeds_differ():
    # Nothing usable ever comes, so the rewards stay as they are observed.
    singular, nothing = (
        run(known(used), steps=500).q for used in (np.full((2, 2), 0.5), np.eye(2))
    )
    np.testing.assert_array_equal(singular, nothing)
    assert not np.array_equal(nothing[0], nothing[1])
