import jax
import jax.numpy as jnp
import numpy as np

from unperturb.agents.exploration import ornstein_uhlenbeck

THETA, SIGMA, DT = 0.15, 0.3, 0.5


def paths(runs, steps):
    def step(noise, key):
        kick = jax.random.normal(key, noise.shape)
        noise = ornstein_uhlenbeck(kick, noise, THETA, SIGMA, DT)
        return noise, noise

    keys = jax.random.split(jax.random.key(0), steps)
    return np.asarray(jax.jit(lambda: jax.lax.scan(step, jnp.zeros(runs), keys)[1])())


def test_the_standard_deviation_rises_and_settles():
    x = paths(20_000, 200)
    keeps = (1 - THETA * DT) ** 2
    for n in (1, 10, 200):
        exact = SIGMA * np.sqrt(DT * (1 - keeps**n) / (1 - keeps))
        # A standard deviation of 20,000 numbers is off by .5 %; five times that: below 1e-6.
        np.testing.assert_allclose(x[n - 1].std(), exact, rtol=0.025)
        assert abs(x[n - 1].mean()) < 5 * exact / np.sqrt(20_000)
    # The process in continuous time ends at sigma / sqrt(2 theta); the steps add 4 %.
    np.testing.assert_allclose(x[-1].std(), SIGMA / np.sqrt(2 * THETA), rtol=0.07)


def test_neighbours_are_correlated_as_theta_says():
    x = paths(20_000, 200)
    found = np.corrcoef(x[-1], x[-2])[0, 1]
    # The error of a correlation is about (1 - r^2) / sqrt(n) = .001; five times that.
    np.testing.assert_allclose(found, 1 - THETA * DT, atol=0.005)


def test_each_number_has_its_own_noise():
    noise = ornstein_uhlenbeck(jnp.arange(3.0), jnp.zeros(3), THETA, SIGMA, DT)
    np.testing.assert_allclose(noise, SIGMA * np.sqrt(DT) * np.arange(3), rtol=1e-6)
