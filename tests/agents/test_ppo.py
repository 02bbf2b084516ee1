"""PPO: its mathematics against hand-computed numbers, and rooms whose values are known."""

from functools import cache

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import probes
import pytest

from unperturb import RewardLevels
from unperturb.agents import ppo
from unperturb.agents.actor_critic import NATURE, SMALL, actor_critic, is_frame
from unperturb.errors import InvalidOptionError
from unperturb.lab.envs.compiled import CompiledEnv, Moved
from unperturb.lab.on_policy.compiled import CompiledPPO
from unperturb.lab.training import Lane

LEVELS = RewardLevels([0.0, 1.0])
WEIGHT = 0.15
PLAN = ppo.Plan(envs=16, steps=32, minibatches=4, epochs=4)
HYPER = ppo.Hyper(gamma=probes.GAMMA, rate=5e-3, rate_end=1e-4, clip=0.2, clip_end=0.2, entropy=0.0)


def played(**given):
    zero = np.zeros((3, 2), np.float32)
    names = ppo.Rollout._fields
    return ppo.Rollout(**(dict.fromkeys(names, zero) | given))


def test_advantages_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    reward, value, following = rng.normal(size=(3, 20, 4))
    terminated, truncated = rng.random((2, 20, 4)) < 0.15
    ended = terminated | truncated
    rollout = played(
        reward=reward, value=value, next_value=following, terminated=terminated, ended=ended
    )
    hyper = ppo.Hyper(gamma=0.9, lam=0.7)
    expected = np.zeros((20, 4))
    for env in range(4):
        for t in range(20):
            weight = 1.0
            for k in range(t, 20):
                after = 0.0 if terminated[k, env] else following[k, env]
                expected[t, env] += weight * (reward[k, env] + 0.9 * after - value[k, env])
                if ended[k, env]:
                    break
                weight *= 0.9 * 0.7
    np.testing.assert_allclose(ppo.gae(hyper, rollout), expected, atol=1e-5)


def test_nothing_follows_an_end_but_something_follows_a_cut_off():
    one = np.ones((1, 2), np.float32)
    rollout = played(
        **dict.fromkeys(("observation", "action", "log_prob", "value", "reward"), 0 * one),
        next_value=one,
        terminated=np.array([[True, False]]),
        ended=np.array([[True, True]]),
    )
    np.testing.assert_allclose(ppo.gae(ppo.Hyper(gamma=0.5), rollout), [[0.0, 0.5]])


def test_each_row_is_in_one_minibatch_of_each_pass():
    plan = ppo.Plan(envs=4, steps=8, minibatches=2, epochs=3)
    order = np.asarray(ppo.shuffled(plan, jax.random.key(0))).reshape(3, -1)
    np.testing.assert_array_equal(np.sort(order, axis=1), np.tile(np.arange(32), (3, 1)))


def test_the_rate_falls_to_its_end():
    net = actor_critic(gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(2))
    learner = ppo.begin(net, jax.random.key(0))
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 8, 2)).astype(np.float32)
    batch = ppo.Batch(x, np.zeros(8, np.int32), noise[:, 0] - 1, noise[:, 1], noise[:, 0])

    def moved(done):
        after = ppo.step(net, ppo.Hyper(rate=1e-2, rate_end=0.0), learner, batch, done)
        pairs = zip(jax.tree.leaves(after.params), jax.tree.leaves(learner.params), strict=True)
        return max(float(jnp.abs(new - old).max()) for new, old in pairs)

    assert moved(0.0) == pytest.approx(1e-2, rel=0.01)
    assert moved(0.5) == pytest.approx(5e-3, rel=0.01)
    assert moved(1.0) == 0


def test_a_ratio_beyond_the_clip_has_no_gradient():
    net = actor_critic(gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(2))
    params = net.init(jax.random.key(0))
    x, chosen = np.ones((2, 2), np.float32), np.array([0, 0], np.int32)
    heads, value = net.apply(params, x)
    hyper = ppo.Hyper(value=0.0, entropy=0.0)

    def size(shift):
        batch = ppo.Batch(
            x, chosen, net.log_prob(heads, chosen) - shift, value, np.array([1.0, 1.5])
        )
        gradient = jax.grad(ppo.loss, argnums=3)(net, hyper, 0.1, params, batch)
        return sum(float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(gradient))

    # Both ratios are e^.5: the better action may not become likelier still, the worse one may fade.
    batch = ppo.Batch(x, chosen, net.log_prob(heads, chosen) - 0.5, value, np.array([1.0, 1.0]))
    still = jax.grad(ppo.loss, argnums=3)(net, hyper, 0.1, params, batch)
    assert sum(float(jnp.abs(leaf).sum()) for leaf in jax.tree.leaves(still)) == 0
    assert size(0.5) > 0


@pytest.mark.parametrize(
    ("space", "vision"),
    [
        (gym.spaces.Box(0, 255, (4, 84, 84), np.uint8), NATURE),
        (gym.spaces.Box(0, 255, (4, 42, 42), np.uint8), SMALL),
        (gym.spaces.Box(0, 255, (84, 84, 3), np.uint8), NATURE),
        (gym.spaces.Box(0, 1, (10, 10, 4), np.float32), NATURE),
        (gym.spaces.Discrete(5), NATURE),
    ],
)
@pytest.mark.parametrize(
    "actions", [gym.spaces.Discrete(6), gym.spaces.Box(-1.0, 1.0, (2,), np.float32)]
)
def test_nets_fit_every_space(space, vision, actions):
    net = actor_critic(space, actions, vision)
    seen = np.stack([space.sample() for _ in range(3)])
    heads, value = net.apply(net.init(jax.random.key(0)), seen)
    action = net.draw(jax.random.key(1), heads)
    assert value.shape == net.log_prob(heads, action).shape == net.entropy(heads).shape == (3,)
    assert action.shape == (3, *actions.shape)


def test_small_grids_are_no_frames():
    assert not is_frame(gym.spaces.Box(0, 255, (10, 10, 4), np.uint8))
    assert not is_frame(gym.spaces.Box(0, 1, (84, 84, 4), np.float32))


@pytest.mark.parametrize(
    ("observations", "actions", "message"),
    [
        (gym.spaces.Tuple([gym.spaces.Discrete(2)] * 2), gym.spaces.Discrete(2), "observation"),
        (gym.spaces.Discrete(2), gym.spaces.MultiDiscrete([2, 3]), "action space is MultiDisc"),
    ],
)
def test_spaces_that_no_net_fits_are_refused(observations, actions, message):
    with pytest.raises(InvalidOptionError, match=message):
        actor_critic(observations, actions)


def test_choices_may_begin_anywhere():
    net = actor_critic(gym.spaces.Discrete(3, start=1), gym.spaces.Discrete(2, start=5))
    zero = actor_critic(gym.spaces.Discrete(3), gym.spaces.Discrete(2))
    params, seen = net.init(jax.random.key(0)), np.array([1, 2, 3])
    heads, value = net.apply(params, seen)
    np.testing.assert_array_equal(value, zero.apply(params, seen - 1)[1])
    drawn = net.draw(jax.random.key(1), jnp.zeros((100, 2)))
    assert set(drawn.tolist()) == {5, 6}
    np.testing.assert_array_equal(
        net.log_prob(heads, np.array([5, 6, 6])), zero.log_prob(heads, np.array([0, 1, 1]))
    )


def test_a_batch_is_cut_into_equal_parts():
    with pytest.raises(InvalidOptionError, match="4 minibatches of 15 transitions"):
        ppo.shuffled(ppo.Plan(envs=3, steps=5, minibatches=4), jax.random.key(0))


def test_densities_are_those_of_numpy():
    net = actor_critic(gym.spaces.Box(-1, 1, (2,)), gym.spaces.Box(-1.0, 1.0, (3,)))
    mean, log_std, x = np.random.default_rng(0).normal(size=(3, 5, 3))
    density = -0.5 * ((x - mean) / np.exp(log_std)) ** 2 - log_std - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(net.log_prob((mean, log_std), x), density.sum(1), rtol=1e-5)
    entropy = (0.5 * np.log(2 * np.pi * np.e) + log_std).sum(1)
    np.testing.assert_allclose(net.entropy((mean, log_std)), entropy, rtol=1e-5)


@cache
def trained():
    """Give V and the chance of action 1 in each room, (rewards, seeds, rooms), and C."""
    cells, lanes, C = probes.lanes(LEVELS, WEIGHT, actions=2)
    env = probes.choice_rooms()
    net = actor_critic(env.observation_space, env.action_space)
    trainer = CompiledPPO(env, net, PLAN, HYPER, LEVELS, cells)
    trainer.run(lanes, steps=60_000)
    heads, V = jax.vmap(lambda params: net.apply(params, np.arange(probes.ROOMS)))(
        trainer.learner.params
    )
    shape = (len(probes.REWARDS), -1, probes.ROOMS)
    return np.reshape(V, shape), np.reshape(jax.nn.softmax(heads)[..., 1], shape), C


@pytest.mark.parametrize("reward", probes.REWARDS)
def test_the_value_of_each_room_is_learned(reward):
    V, _, C = trained()
    expected = probes.values(probes.shown(C, LEVELS, reward))
    # The surrogate of one reward has a standard deviation of .51; some 8,000 are seen of each room.
    atol = 0.05 if reward == "true" else 0.15
    for own in V[probes.REWARDS.index(reward)]:
        np.testing.assert_allclose(own, expected, atol=atol)


@pytest.mark.parametrize("reward", probes.REWARDS)
def test_the_right_action_is_found_in_each_room(reward):
    _, chance, _ = trained()
    own = chance[probes.REWARDS.index(reward)]
    assert (own[:, 4] > 0.95).all()
    assert (own[:, 5] < 0.05).all()


def test_compiled_environments_get_actions_of_their_space():
    """This one costs a tenth of the square of the action, so .1 at most."""
    space = gym.spaces.Box(-1.0, 1.0, (1,))

    def step(key, state, action):
        pays = -0.1 * jnp.squeeze(action) ** 2
        cut = jnp.ones((), bool)
        return Moved(jnp.zeros(1), state, pays, ~cut, cut)

    def reset(key):
        return jnp.zeros(1), jnp.zeros(())

    env = CompiledEnv("square", reset, step, jnp.ravel, space, space)
    levels = RewardLevels.uniform(-10, 0, 2, value="middle")
    net = actor_critic(env.observation_space, env.action_space)
    trainer = CompiledPPO(env, net, ppo.Plan(envs=4, steps=32), HYPER, levels)
    (outcome,) = trainer.run([Lane(0, np.eye(2), raw=True)], 128)
    assert outcome.returns.min() == pytest.approx(-0.1)


def test_points_are_found_where_actions_are_numbers():
    env = probes.point_rooms()
    net = actor_critic(env.observation_space, env.action_space)
    cells, lanes, _ = probes.lanes(probes.POINT_LEVELS, WEIGHT, (probes.LOW, probes.HIGH, 4))
    trainer = CompiledPPO(env, net, PLAN, HYPER, probes.POINT_LEVELS, cells)
    trainer.run(lanes[:2], steps=150_000)  # on true rewards
    heads, _ = jax.vmap(lambda params: net.apply(params, np.arange(probes.ROOMS)))(
        trainer.learner.params
    )
    np.testing.assert_allclose(
        heads[0][:, probes.CHOICES], np.stack([probes.TARGETS] * 2), atol=0.15
    )
