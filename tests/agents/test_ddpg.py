import jax
import jax.numpy as jnp
import numpy as np
import probes
import pytest

from unperturb.agents import Task
from unperturb.agents.ddpg import Hyper, Nets, State, ddpg, gradients
from unperturb.agents.networks import mlp
from unperturb.agents.replay import Batch


def test_the_gradients_by_hand():
    # A critic Q = 2 s + 3 a and an actor tanh(w s): all can be written down.
    def line(*weights):
        return ((jnp.array([weights]), jnp.zeros(1)),)

    nets = Nets(line(0.0), line(2.0, 3.0))
    s, a, r = jnp.array([[1.0, 2.0]]), jnp.array([[0.5, -0.5]]), jnp.array([1.0, 1.0])
    batch = Batch(s, a, r, jnp.array([[1.0, 1.0]]), jnp.array([0.0, 1.0]))
    gradient = gradients(nets, nets, batch, gamma=0.5)
    # Wanted: 1 + .5 * 2 = 2, and 1 where the episode ended. Found: 3.5 and 2.5. Errors 1.5, 1.5.
    np.testing.assert_allclose(gradient.critic[0][0], [[1.5 * (1 + 2), 1.5 * (0.5 - 0.5)]])
    np.testing.assert_allclose(gradient.critic[0][1], [3.0])
    # dQ/da = 3 and dtanh(w s)/dw = s at w = 0; the mean over s = 1, 2; downhill is minus that.
    np.testing.assert_allclose(gradient.actor[0][0], [[-4.5]])


def test_the_numbers_of_a_step_are_those_of_its_key():
    agent = ddpg(Task(features=1, actions=2, low=(-1.0, 0.0), high=(1.0, 1.0)), steps=100)
    chances = [agent.draw(jax.random.key(seed))[1] for seed in (0, 0, 1)]
    assert chances[0].bits.shape == (32,)
    assert chances[0].kick.shape == (2,)
    np.testing.assert_array_equal(chances[0].bits, chances[1].bits)
    assert not np.array_equal(chances[0].bits, chances[2].bits)


def learned(state: State):
    actions = jnp.tanh(mlp(state.nets.actor, probes.SEEN))
    V = mlp(state.nets.critic, jnp.concatenate([probes.SEEN, actions]))[0]
    return np.asarray(V), np.asarray(actions)


@pytest.fixture(scope="module")
def rooms():
    hyper = Hyper(learning_rate=1e-3, gamma=probes.GAMMA, soft_target=0.02, sigma=7.0)
    return probes.train_points(lambda task, steps: ddpg(task, steps, hyper), learned)


@pytest.mark.parametrize("reward", probes.REWARDS)
def test_the_value_of_each_room_is_learned(rooms, reward):
    probes.check_values(rooms, reward)


@pytest.mark.parametrize("reward", probes.REWARDS)
def test_the_right_point_is_found_in_each_room(rooms, reward):
    probes.check_points(rooms, reward)
