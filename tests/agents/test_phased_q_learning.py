import jax
import jax.numpy as jnp
import numpy as np

from unperturb.agents.phased_q_learning import generative_model, phased_q_learning
from unperturb.lab.envs import six_state

GAMMA = 0.8


def clean(key, next_states):
    return jnp.asarray(six_state.LEVELS)[six_state.level(next_states)]


def test_certain_moves_need_one_call_per_pair():
    model = generative_model(six_state.transitions(), clean)
    found = phased_q_learning(jax.random.key(0), model, 6, m=1, T=80, gamma=GAMMA)
    optimum = six_state.optimal_q(GAMMA)
    np.testing.assert_allclose(found.v, optimum.max(axis=1), atol=1e-5)
    assert int(found.calls) == 12 * 80
    assert [int(found.policy[s]) for s in (0, 1, 3, 4)] == [0, 0, 1, 1]


def test_the_error_shrinks_with_the_square_root_of_m():
    P = six_state.transitions(0.2)
    model = generative_model(P, clean)
    optimum = six_state.optimal_q(GAMMA, P).max(axis=1)

    @jax.jit
    def errors(keys, m):
        found = jax.vmap(lambda key: phased_q_learning(key, model, 6, m, 30, GAMMA).v)(keys)
        return jnp.abs(found - optimum).max(axis=1)

    keys = jax.random.split(jax.random.key(2), 100)
    few, many = (float(jnp.quantile(errors(keys, m), 0.9)) for m in (20, 2_000))
    # 10 expected; a quantile of 100 runs has a relative error near .05, so 7 to 14 is wide.
    assert 7 < few / many < 14
    assert many < 0.08


def test_fewer_phases_give_the_value_of_fewer_steps():
    model = generative_model(six_state.transitions(), clean)
    found = phased_q_learning(jax.random.key(0), model, 6, m=3, T=1, gamma=GAMMA)
    np.testing.assert_allclose(found.v, [1, 0, 0, 0, 1, 0])


def test_next_states_follow_P():
    P = six_state.transitions(0.3)
    model = generative_model(P, clean)
    _, next_states = jax.vmap(model)(jax.random.split(jax.random.key(5), 4_000))
    share = np.asarray((next_states[:, 2, 1] == 3).mean())
    assert set(np.unique(np.asarray(next_states[:, 2, 1]))) == {1, 3}
    # Five standard deviations of a share of .7 in 4,000: false alarm below 1e-6.
    assert abs(share - 0.7) < 5 * np.sqrt(0.21 / 4_000)
