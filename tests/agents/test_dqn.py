"""What is DQN's own; its values are probed beside those of the others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unperturb.agents import Observation, Task, Transition, dqn
from unperturb.agents.dqn import Hyper

RATE = 1e-3


def step_after(error, epsilon):
    """Give how far the last bias moves in the first step, where Q errs by so much."""
    agent = dqn(Task(4, 2), steps=10, hyper=Hyper(learning_rate=RATE, epsilon=epsilon, warm_up=0))
    key = jax.random.key(0)
    state = agent.init(agent.hyper, key)
    here = Observation(jnp.zeros(4), jnp.asarray(0))  # where Q is 0
    ended, going_on = jnp.asarray(True), jnp.asarray(False)
    met = Transition(here, jnp.asarray(0), jnp.float32(error), here, ended, going_on)
    return float(agent.learn(agent.hyper, state, key, met, 0).params[-1][1][0])


@pytest.mark.parametrize("error", [0.01, 10.0])
def test_epsilon_makes_steps_small_where_errors_are(error):
    gradient = 2 * error
    for epsilon in (1e-8, 0.1):
        expected = RATE * gradient / (gradient + epsilon)
        np.testing.assert_allclose(step_after(error, epsilon), expected, rtol=1e-3)
