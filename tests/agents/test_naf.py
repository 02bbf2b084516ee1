import jax
import jax.numpy as jnp
import numpy as np
import probes
import pytest

from unperturb.agents import Observation, Task, Transition
from unperturb.agents.bounds import within
from unperturb.agents.naf import Hyper, Nets, State, advantage, naf, q_values
from unperturb.agents.networks import init_mlp, mlp


def test_the_advantage_by_its_formula():
    rng = np.random.default_rng(0)
    entries, away = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
    expected = []
    for b in range(4):
        L = np.zeros((3, 3))
        L[np.tril_indices(3)] = entries[:, b]
        L[np.diag_indices(3)] = np.exp(np.diag(L))
        expected.append(-0.5 * away[:, b] @ L @ L.T @ away[:, b])
    np.testing.assert_allclose(
        advantage(jnp.asarray(entries), jnp.asarray(away)), expected, rtol=1e-5
    )


def test_the_best_action_is_mu_and_is_worth_v():
    keys = jax.random.split(jax.random.key(0), 4)
    nets = Nets(
        init_mlp(keys[0], [2, 1]),
        jax.tree.map(lambda leaf: 0.3 * leaf, init_mlp(keys[1], [2, 2])),
        init_mlp(keys[2], [2, 3]),
        init_mlp(keys[3], [2, 1]),
    )
    seen = jnp.array([[0.3], [-0.8]])
    best = within(mlp(nets.best, seen))
    worth = [mlp(net, seen)[0] for net in (nets.value, nets.second)]
    np.testing.assert_allclose(q_values(nets, seen, best), worth, rtol=1e-6)
    tried = best + 0.3 * jax.random.normal(jax.random.key(1), (2, 50))
    assert (np.array(q_values(nets, jnp.tile(seen, (1, 50)), tried)) < np.array(worth)).all()


def test_exploration_calms_down():
    task = Task(features=1, actions=1, low=(-1.0,), high=(1.0,))
    agent = naf(task, steps=1000)
    state = agent.init(agent.hyper, jax.random.key(0))
    seen = Observation(jnp.zeros(1), 0)
    stays = Transition(seen, jnp.zeros(1), 0.0, seen, False, True)

    def kick(hyper, t):
        # The episode has just ended, so all noise there is comes of one kick.
        chance = agent.draw(jax.random.key(1))[1]
        return abs(float(agent.learn(hyper, state, chance, stays, t).noise[0]))

    assert kick(agent.hyper, 500) == pytest.approx(kick(agent.hyper, 0) * 0.65)
    assert kick(agent.hyper._replace(calm=1.0), 1000) == 0
    assert kick(agent.hyper._replace(calm=0.0), 1000) == pytest.approx(kick(agent.hyper, 0))


def learned(state: State):
    V = np.asarray(mlp(state.nets.value, probes.SEEN)[0])
    return V, np.asarray(within(mlp(state.nets.best, probes.SEEN)))


@pytest.fixture(scope="module")
def rooms():
    hyper = Hyper(learning_rate=1e-3, gamma=probes.GAMMA, soft_target=0.02, sigma=7.0)
    return probes.train_points(lambda task, steps: naf(task, steps, hyper), learned)


@pytest.mark.parametrize("reward", probes.REWARDS)
def test_the_value_of_each_room_is_learned(rooms, reward):
    probes.check_values(rooms, reward)


@pytest.mark.parametrize("reward", probes.REWARDS)
def test_the_right_point_is_found_in_each_room(rooms, reward):
    probes.check_points(rooms, reward)
