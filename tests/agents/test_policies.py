import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unperturb.agents.policies import boltzmann, noisy_greedy

N = 40_000
KEYS = jax.random.split(jax.random.key(0), N)


def shares(policy, values, number):
    drawn = jax.jit(jax.vmap(policy, in_axes=(0, None, None)))(KEYS, jnp.array(values), number)
    return np.bincount(np.asarray(drawn), minlength=len(values)) / N


def five_deviations(p):
    """Five standard deviations of a share; false alarm below 1e-6 each."""
    return 5 * np.sqrt(np.asarray(p) * (1 - np.asarray(p)) / N) + 1e-12


@pytest.mark.parametrize("values", [[0.0, 1.0, -2.0], [500.0, 501.0, 498.0], [-1e4, -1e4, -1e4]])
@pytest.mark.parametrize("tau", [0.5, 1.0])
def test_boltzmann_draws_in_proportion_to_the_exponentials(values, tau):
    p = np.exp((np.array(values) - max(values)) / tau)
    p /= p.sum()
    assert (np.abs(shares(boltzmann, values, tau) - p) <= five_deviations(p)).all()


def test_a_cold_boltzmann_is_greedy():
    np.testing.assert_array_equal(shares(boltzmann, [0.0, 1.0, 0.5], 1e-3), [0, 1, 0])


def test_noisy_greedy_swaps_actions_that_are_close():
    # Two uniform numbers in [0, .1) differ by more than .05 with probability 1/8 either way.
    found = shares(noisy_greedy, [0.0, 0.05], 0.1)
    assert (np.abs(found - [1 / 8, 7 / 8]) <= five_deviations([1 / 8, 7 / 8])).all()
    np.testing.assert_array_equal(shares(noisy_greedy, [0.0, 0.2], 0.1), [0, 1])
