import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unperturb import Cells
from unperturb.errors import InvalidCellsError
from unperturb.lab.envs.grid import compiled_cells


def coded(cells, observations, actions):
    codes = compiled_cells(cells)

    def one(observation, action):
        return codes.cell(codes.state(observation), action)

    return np.asarray(jax.jit(jax.vmap(one))(jnp.asarray(observations), jnp.asarray(actions)))


def near_an_edge(cells, x, bins, low, high):
    """Say which values lie so near an edge that float32 may put them on either side."""
    place = (x - low) / (np.asarray(high) - low) * bins
    return (np.abs(place - np.round(place)) < 1e-4).any(axis=1)


HIGH = {"cartpole": np.array([2.4, 1.0, 2.0, 3.5]), "pendulum": np.array([1.0, 1.0, 8.0])}
BINS = {"cartpole": [8, 8, 10, 10], "pendulum": [20, 20, 40]}


@pytest.mark.parametrize("name", ["cartpole", "pendulum"])
def test_grids_are_those_of_cells(name):
    rng = np.random.default_rng(0)
    cells, high = getattr(Cells, name)(), HIGH[name]
    # Some lie outside and belong to the edge bins.
    seen = rng.uniform(-1.3 * high, 1.3 * high, size=(5000, len(high))).astype(np.float32)
    if name == "cartpole":
        actions = rng.integers(2, size=5000)
    else:
        actions = rng.uniform(-2.5, 2.5, size=(5000, 1)).astype(np.float32)
    same = coded(cells, seen, actions) == cells.index(seen, actions)
    unsure = near_an_edge(cells, seen, BINS[name], -high, high)
    if name == "pendulum":
        unsure |= near_an_edge(cells, actions, [20], -2.0, 2.0)
    assert same[~unsure].all()
    assert same.mean() > 0.999


def test_bounds_and_beyond():
    cells = Cells.grid([-1.0, 0.0], [1.0, 3.0], [4, 3], actions=2)
    seen = np.array([[-1, 0], [1, 3], [-1e9, 1e9], [1e9, -1e9], [0, 1.5]], np.float32)
    actions = np.array([0, 1, 0, 1, 0])
    np.testing.assert_array_equal(coded(cells, seen, actions), cells.index(seen, actions))


def test_discrete_spaces_with_a_start():
    env = gym.Env()
    env.observation_space = gym.spaces.Discrete(5, start=3)
    env.action_space = gym.spaces.Discrete(3)
    cells = Cells.of(env)
    seen, actions = np.repeat(np.arange(3, 8), 3), np.tile(np.arange(3), 5)
    np.testing.assert_array_equal(coded(cells, seen, actions), cells.index(seen, actions))


def test_actions_of_several_numbers_and_none_at_all():
    rng = np.random.default_rng(0)
    seen = rng.integers(4, size=200)
    actions = rng.uniform(0.01, 0.99, size=(200, 2)).astype(np.float32)
    several = Cells.discrete(4, actions=([0.0, 0.0], [1.0, 1.0], [3, 5]))
    np.testing.assert_array_equal(coded(several, seen, actions), several.index(seen, actions))
    alone = Cells.discrete(4, actions=None)
    np.testing.assert_array_equal(coded(alone, seen, seen), alone.index(seen))


@pytest.mark.parametrize("cells", [Cells.adjacent(), Cells.discrete(3, 2, next_state=True)])
def test_cells_that_a_loop_cannot_compute_are_named(cells):
    with pytest.raises(InvalidCellsError, match="grids and discrete spaces"):
        compiled_cells(cells)


def test_a_discrete_space_refuses_a_torque():
    # Cut down to a whole number it would lead into another state's cell.
    codes = compiled_cells(Cells.grid([-1.0], [1.0], [4], actions=2))
    with pytest.raises(InvalidCellsError, match="float32"):
        codes.cell(0, jnp.array([-1.5]))
