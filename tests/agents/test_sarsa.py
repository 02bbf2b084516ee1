"""What is SARSA's own; its values are probed beside those of the others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unperturb.agents import Observation, Task, Transition, sarsa
from unperturb.agents.networks import mlp
from unperturb.agents.sarsa import Hyper

SEEN = jnp.array([0.3, -0.2, 0.1, 0.4])


def ends_with(reward):
    here = Observation(SEEN, jnp.asarray(0))
    return Transition(here, jnp.asarray(0), reward, here, jnp.asarray(True), jnp.asarray(False))


@pytest.mark.parametrize("beta2", [0.999, 0.9999])
def test_beta2_says_how_long_a_large_error_is_remembered(beta2):
    agent = sarsa(Task(features=4, actions=2), hyper=Hyper(learning_rate=0.0, beta2=beta2))
    key, steps = jax.random.key(0), 200
    state = agent.init(agent.hyper, key)
    learn = jax.jit(agent.learn)
    fell = learn(agent.hyper, state, key, ends_with(jnp.float32(100.0)), 0)
    foreseen = mlp(state.params, SEEN[:, None])[0, 0]
    after = fell
    for t in range(1, steps + 1):
        after = learn(agent.hyper, after, key, ends_with(foreseen), t)
    at_once, later = (np.asarray(each.adam.nu[-1][1][0]) for each in (fell, after))
    assert at_once > 0
    assert later / at_once == pytest.approx(beta2**steps, rel=1e-3)
