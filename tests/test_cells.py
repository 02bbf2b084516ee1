"""Cells: batched and single indices agree, round trips hold, and bad input is named."""

import copy
import json
import pickle
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unperturb.cells import Cells
from unperturb.errors import (
    BatchMismatchError,
    InvalidCellsError,
    OutsideSpaceError,
    StateMismatchError,
)


def env_of(observation_space, action_space=None):
    return SimpleNamespace(
        observation_space=observation_space, action_space=action_space or spaces.Discrete(2)
    )


def stack(space, values):
    return concatenate(space, values, create_empty_array(space, n=len(values)))


SPACES = {
    "discrete": spaces.Discrete(5, start=-2),
    "multi-discrete": spaces.MultiDiscrete([3, 4], start=[1, -1]),
    "multi-discrete 2-d": spaces.MultiDiscrete([[3, 4], [2, 2]]),
    "multi-binary": spaces.MultiBinary(4),
    "multi-binary 2-d": spaces.MultiBinary([2, 3]),
    "box": spaces.Box(-1.0, 2.0, (3,)),
    "box of one": spaces.Box(-1.0, 2.0, (1,)),
    "box without axes": spaces.Box(-1.0, 2.0, ()),
    "box 2-d": spaces.Box(-1.0, 2.0, (2, 2)),
    "box of integers": spaces.Box(0, 9, (2,), dtype=np.int64),
    "tuple": spaces.Tuple([spaces.Discrete(3), spaces.Box(0.0, 1.0, (2,))]),
    "dict": spaces.Dict(
        {"a": spaces.Discrete(3), "b": spaces.Tuple([spaces.MultiBinary(2), spaces.Discrete(2)])}
    ),
}

ALL = {
    "cartpole": Cells.cartpole(),
    "pendulum": Cells.pendulum(),
    "discrete": Cells.discrete(16, 4),
    "no action": Cells.discrete(16, None),
    "next state": Cells.grid([0, 0], [1, 2], [3, 4], actions=3, next_state=True),
    "adjacent": Cells.adjacent(batch=3, memory=4, envs=2),
    **{name: Cells.of(env_of(space)) for name, space in SPACES.items()},
}


# ---- indices


def test_grid_numbers_cells_with_the_last_dimension_and_the_action_fastest():
    cells = Cells.grid([0.0, 0.0], [2.0, 3.0], [2, 3], actions=2)
    assert cells.n == 12
    assert cells.states == 6
    assert cells.index([[0.5, 0.5], [0.5, 1.5], [1.5, 0.5]], [0, 1, 0]).tolist() == [0, 3, 6]


def test_next_state_is_the_last_part_of_the_key():
    cells = Cells.discrete(3, 2, next_state=True)
    assert cells.n == 18
    assert cells.index([2], [1], [1]).tolist() == [16]
    assert cells.index_one(2, 1, 1) == 16
    assert cells.state_of(16) == 2
    assert cells.state_of(np.array([0, 16])).tolist() == [0, 2]


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("next_state", [False, True])
def test_every_space_encodes_one_as_in_a_batch(name, next_state):
    space = SPACES[name]
    space.seed(0)
    actions = spaces.Box(-1.0, 1.0, (2,), seed=0)
    bins = 3 if next_state else None
    cells = Cells.of(env_of(space, actions), bins=bins, action_bins=2, next_state=next_state)
    before = [space.sample() for _ in range(40)]
    after = [space.sample() for _ in range(40)]
    taken = [actions.sample() for _ in range(40)]
    batch = stack(space, before)
    kept = copy.deepcopy(batch)
    index = cells.index(batch, stack(actions, taken), stack(space, after))
    assert str(kept) == str(batch)
    assert index.dtype == np.int64
    assert index.tolist() == [
        cells.index_one(*row) for row in zip(before, taken, after, strict=True)
    ]
    assert (index >= 0).all()
    assert (index < cells.n).all()
    assert cells.fresh.size == 0


@pytest.mark.parametrize(
    "name", ["discrete", "multi-discrete", "multi-discrete 2-d", "multi-binary 2-d"]
)
def test_discrete_spaces_have_a_cell_for_each_value(name):
    space = SPACES[name]
    cells = Cells.of(env_of(space, spaces.Discrete(1)))
    space.seed(1)
    values = {str(v): cells.index_one(v, 0) for v in (space.sample() for _ in range(2000))}
    assert len(values) == len(set(values.values())) == cells.n


numbers = st.floats(allow_nan=False, width=64) | st.floats(-4.0, 4.0, width=32)


@given(
    arrays(np.float64, (7, 4), elements=numbers), arrays(np.int64, 7, elements=st.integers(0, 1))
)
def test_cartpole_one_equals_batch(observations, actions):
    cells = ALL["cartpole"]
    index = cells.index(observations, actions)
    assert index.tolist() == [
        cells.index_one(o, a) for o, a in zip(observations, actions, strict=True)
    ]


@given(
    st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 60), st.sampled_from(["f4", "f8"])
)
def test_bin_edges_are_the_same_for_one_and_batch(low, width, bins, dtype):
    high = low + width
    cells = Cells.grid([low, 0], [high, 1], [bins, 2], actions=None)
    edges = low + np.arange(-1, bins + 2) * ((high - low) / bins)
    x = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
    rows = np.stack([x, np.full_like(x, 0.5)], axis=1).astype(dtype)
    index = cells.index(rows)
    assert index.tolist() == [cells.index_one(row) for row in rows]
    scaled = np.floor((rows[:, 0].astype(np.float64) - low) * (bins / (high - low)))
    assert index.tolist() == (np.clip(scaled, 0, bins - 1) * 2 + 1).astype(int).tolist()


def test_lists_and_scalars_of_other_types_give_the_same_cell():
    cells = ALL["cartpole"]
    row = np.array([0.1, -0.3, 0.25, 1.7], dtype=np.float32)
    assert cells.index_one(list(row), 1) == cells.index_one(row, np.int32(1))
    one = Cells.grid(-1.0, 1.0, 10, actions=(-2.0, 2.0, 5))
    assert one.index_one(0.5, [1.0]) == one.index_one(np.array([0.5]), 1.0)
    assert one.index([0.5], [1.0]).tolist() == one.index([[0.5]], [[1.0]]).tolist()
    flags = Cells.discrete(2, 2)
    assert flags.index([True], [False]).tolist() == [2]
    assert flags.index_one(np.bool_(True), np.array(0)) == 2


def test_infinities_fall_into_the_edge_bins_and_so_do_huge_numbers():
    cells = Cells.grid([-1.0, -1.0], [1.0, 1.0], 10, actions=None)
    rows = np.array([[np.inf, -np.inf], [1e308, -1e308], [1.0, -1.0]])
    assert cells.index(rows).tolist() == [90, 90, 90]
    assert [cells.index_one(row) for row in rows] == [90, 90, 90]


def test_the_index_is_never_the_input_itself():
    states = np.arange(3)
    index = Cells.discrete(3, None).index(states)
    assert not np.shares_memory(index, states)


def test_empty_batches_have_empty_indices():
    assert Cells.cartpole().index(np.empty((0, 4)), np.empty(0, int)).shape == (0,)
    assert Cells.discrete(3, 2).index(np.empty(0, int), np.empty(0, int)).shape == (0,)


@pytest.mark.parametrize("name", ALL)
def test_an_empty_list_is_an_empty_batch(name):
    cells = Cells.from_config(ALL[name].config())
    nothing = {"tuple": ([], []), "dict": {"a": [], "b": ([], [])}}.get(name, [])
    index = cells.index(nothing, [], nothing)
    assert (index.shape, index.dtype) == ((0,), np.int64)


def test_empty_arrays_must_have_the_shape_of_a_batch_all_the_same():
    for cells, shape in ((Cells.cartpole(), (0, 3)), (Cells.discrete(3, 2), (0, 1))):
        with pytest.raises(OutsideSpaceError, match=r"batch of the shape \(0, "):
            cells.index(np.empty(shape, int), [])


# ---- from spaces


def test_of_takes_the_single_spaces_of_a_vector_environment():
    vector = gym.make_vec("FrozenLake-v1", num_envs=3)
    assert Cells.of(vector) == Cells.of(gym.make("FrozenLake-v1")) == Cells.discrete(16, 4)
    vector.close()


@pytest.mark.parametrize(
    ("dimensions", "bins"), [(1, 10), (4, 10), (5, 10), (6, 6), (8, 4), (17, 2)]
)
def test_default_bins_shrink_with_the_dimensions(dimensions, bins):
    cells = Cells.of(env_of(spaces.Box(0.0, 1.0, (dimensions,))))
    assert cells.states == bins**dimensions


@pytest.mark.parametrize(("dimensions", "bins"), [(1, 20), (2, 20), (3, 7), (6, 2)])
def test_default_action_bins_shrink_too(dimensions, bins):
    cells = Cells.of(env_of(spaces.Discrete(1), spaces.Box(0.0, 1.0, (dimensions,))))
    assert cells.n == bins**dimensions


def test_a_sample_bounds_the_open_dimensions_only():
    space = spaces.Box(np.array([-4.0, -np.inf]), np.array([4.0, np.inf]), dtype=np.float64)
    sample = np.array([[0.0, -1.0], [1.0, 1.0]])
    cells = Cells.of(env_of(space), bins=[8, 12], sample=sample)
    assert cells == Cells.grid([-4.0, -1.2], [4.0, 1.2], [8, 12], actions=2)


def test_a_constant_sample_still_has_width():
    space = spaces.Box(-np.inf, np.inf, (1,))
    cells = Cells.of(env_of(space), bins=4, sample=[[3.0], [3.0]])
    assert cells.index_one([3.0], 0) == 4  # bin 2 of 4, times two actions


def test_a_sample_of_a_dict_space_is_a_dict():
    space = spaces.Dict({"x": spaces.Box(-np.inf, np.inf, (2,)), "y": spaces.Discrete(2)})
    sample = {"x": np.array([[0.0, 0.0], [1.0, 1.0]]), "y": np.array([0, 1])}
    assert Cells.of(env_of(space), bins=3, sample=sample).states == 18
    with pytest.raises(InvalidCellsError, match="without the space's parts"):
        Cells.of(env_of(space), sample=np.zeros((3, 2)))


# ---- descriptions


@pytest.mark.parametrize("name", ALL)
def test_config_survives_json(name):
    cells = ALL[name]
    back = Cells.from_config(json.loads(json.dumps(cells.config())))
    assert back == cells
    assert back.n == cells.n
    assert repr(back) == repr(cells) == f"Cells({cells.describe()})"
    assert back.config() == json.loads(json.dumps(cells.config()))


@pytest.mark.parametrize("name", ALL)
def test_cells_can_be_copied_and_pickled(name):
    cells = ALL[name]
    assert copy.deepcopy(cells) == cells
    assert pickle.loads(pickle.dumps(cells)) == cells


def test_a_config_is_a_copy():
    cells = Cells.cartpole()
    cells.config()["state"]["bins"][0] = 99
    assert cells == Cells.cartpole()
    assert cells != Cells.pendulum()
    assert cells != "cells"


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (
            Cells.cartpole(),
            "6,400 grid cells over 4 numbers (8 x 8 x 10 x 10 bins) times 2 actions",
        ),
        (Cells.discrete(16, 0), "16 states"),
        (Cells.discrete(16, 4, True), "16 states times 4 actions times 16 next states"),
        (Cells.of(env_of(SPACES["tuple"])), "300 states of 2 parts times 2 actions"),
        (Cells.adjacent(), "the last 1,000 groups of 32 adjacent observations"),
    ],
)
def test_descriptions(cells, text):
    assert cells.describe() == text


def test_presets():
    assert Cells.cartpole().n == 12_800
    assert Cells.pendulum().n == 16_000 * 20
    assert Cells.pendulum().index_one(np.array([1.0, 0.0, 0.0]), np.array([2.0])) == 319_999 - (
        20 * (9 * 40 + 19)
    )


# ---- the adjacency queue


def test_adjacent_rows_share_a_state():
    cells = Cells.adjacent(batch=2, memory=3)
    assert cells.index(np.zeros((5, 4, 4))).tolist() == [0, 0, 1, 1, 2]
    assert cells.fresh.tolist() == []
    assert cells.index(np.zeros((2, 4, 4))).tolist() == [2, 0]
    assert cells.fresh.tolist() == [0]
    assert cells.index_one(None) == 0
    assert cells.fresh.tolist() == []
    assert cells.index_one(None) == 1
    assert cells.fresh.tolist() == [1]
    assert (cells.n, cells.states, cells.state_of(2)) == (3, 3, 2)


@given(
    batch=st.integers(1, 4),
    spare=st.integers(1, 4),
    sizes=st.lists(st.integers(0, 4), max_size=12),
    envs=st.integers(1, 3),
)
def test_adjacent_batch_equals_single_steps(batch, spare, sizes, envs):
    memory = envs * (5 + spare)
    whole, single = (Cells.adjacent(batch, memory, envs) for _ in range(2))
    for size in sizes:
        rows, fresh = [], []
        for _ in range(size * envs):
            rows.append(single.index_one(None))
            fresh += single.fresh.tolist()
        assert whole.index(np.zeros((size * envs, 2))).tolist() == rows
        assert whole.fresh.tolist() == fresh
    assert whole.state_dict() == single.state_dict()


def test_each_environment_fills_a_state_of_its_own():
    cells = Cells.adjacent(batch=2, memory=4, envs=2)
    assert [cells.index(np.zeros((2, 1))).tolist() for _ in range(4)] == [
        [0, 1],
        [0, 1],
        [2, 3],
        [2, 3],
    ]
    assert cells.index({"a": np.zeros((2, 5)), "b": np.zeros(2)}).tolist() == [0, 1]
    assert cells.fresh.tolist() == [0, 1]


def test_adjacent_goes_on_after_a_reload():
    cells = Cells.adjacent(batch=3, memory=5)
    cells.index(np.zeros(7))
    other = Cells.from_config(cells.config())
    other.load_state_dict(cells.state_dict())
    for _ in range(20):
        assert other.index_one(None) == cells.index_one(None)
        assert other.fresh.tolist() == cells.fresh.tolist()


def test_adjacent_says_when_a_batch_does_not_fit():
    with pytest.raises(BatchMismatchError, match="3 rows for 2 environments"):
        Cells.adjacent(envs=2).index(np.zeros(3))
    cells = Cells.adjacent(batch=2, memory=3)
    with pytest.raises(BatchMismatchError, match="overwrite its own states"):
        cells.index(np.zeros(7))
    assert cells.index(np.zeros(6)).tolist() == [0, 0, 1, 1, 2, 2]
    with pytest.raises(OutsideSpaceError, match="observations is None"):
        cells.index(None)


# ---- errors

GRID = Cells.grid([0.0, 0.0], [1.0, 1.0], 10, actions=2)
OUTSIDE = [
    (GRID, [0.1, np.nan], 0, r"observation \[0.1, nan\]; .*none of them NaN"),
    (GRID, [0.1, 0.2, 0.3], 0, "2 numbers"),
    (GRID, [[0.1, 0.2]], 0, "2 numbers"),
    (GRID, ["a", "b"], 0, "numbers"),
    (GRID, [0.1, 0.2], 2, r"action 2; it must be an integer in \[0, 1\]"),
    (GRID, [0.1, 0.2], -1, r"action -1; it must be an integer in \[0, 1\]"),
    (GRID, [0.1, 0.2], 0.5, "integer"),
    (GRID, [[1, 2], [3]], 0, "numbers"),
    (GRID, [0.1, 0.2], None, "part of the key"),
    (Cells.of(env_of(SPACES["discrete"])), 3, 0, r"observation 3; .* in \[-2, 2\]"),
    (Cells.of(env_of(SPACES["multi-discrete"])), [0, 0], 0, r"\[0, 0\].*\[1, 3\], \[-1, 2\]"),
    (Cells.of(env_of(SPACES["multi-discrete"])), [1, 3], 0, r"\[1, 3\], \[-1, 2\]"),
    (Cells.of(env_of(SPACES["multi-binary"])), [0.0, 1.0, 0.0, 1.0], 0, "integers"),
    (Cells.of(env_of(SPACES["multi-binary"])), [0, 1], 0, "shape"),
    (Cells.discrete(3, 2, next_state=True), 0, 0, "part of the key"),
]


@pytest.mark.parametrize(("cells", "observation", "action", "message"), OUTSIDE)
def test_values_outside_are_named(cells, observation, action, message):
    with pytest.raises(OutsideSpaceError, match=message):
        cells.index_one(observation, action)
    with pytest.raises(OutsideSpaceError, match=message):
        cells.index([observation], None if action is None else [action])


def test_parts_must_be_whole():
    pair = Cells.of(env_of(SPACES["tuple"]))
    with pytest.raises(OutsideSpaceError, match="a tuple of 2 parts"):
        pair.index_one((1,), 0)
    with pytest.raises(OutsideSpaceError, match=r"observation\[0\] 3"):
        pair.index_one((3, [0.0, 0.0]), 0)
    with pytest.raises(BatchMismatchError, match=r"\[1, 2\] rows"):
        pair.index(([1], [[0.0, 0.0], [0.0, 0.0]]), [0])
    with pytest.raises(OutsideSpaceError, match="dict with the keys"):
        Cells.of(env_of(SPACES["dict"])).index({"a": [1]}, [0])


def test_lengths_must_agree():
    with pytest.raises(BatchMismatchError, match="2 observations and 3 actions"):
        GRID.index([[0.0, 0.0]] * 2, [0, 1, 0])
    with pytest.raises(BatchMismatchError, match="2 observations and 1 next_observations"):
        Cells.discrete(3, 2, next_state=True).index([0, 1], [0, 1], [0])


INVALID = {
    "too many": (lambda: Cells.grid([0] * 3, [1] * 3, 400), "400 x 400 x 400 = 64,000,000 cells"),
    "too many pairs": (lambda: Cells.discrete(10**7, 10), "10,000,000 x 10 = 100,000,000 cells"),
    "far too many": (lambda: Cells.of(env_of(spaces.MultiBinary(2000))), r"about 10\^602 cells"),
    "ram": (lambda: Cells.of(env_of(spaces.Box(0, 255, (128,), np.uint8))), "use fewer bins"),
    "low above high": (lambda: Cells.grid([0, 1], [1, 0], 3), "dimension 1 runs from 1.0 to 0.0"),
    "infinite": (lambda: Cells.grid([0], [np.inf], 3), "finite bounds"),
    "overflowing": (lambda: Cells.grid([-1e308], [1e308], 3), "finite bounds"),
    "lengths": (lambda: Cells.grid([0, 0], [1, 1, 1], 3), "do not fit together"),
    "empty": (lambda: Cells.grid([], [], 3), "do not fit together"),
    "no bins": (lambda: Cells.grid([0], [1], 0), "whole number >= 1"),
    "half bins": (lambda: Cells.grid([0], [1], 2.5), "2.5"),
    "no states": (lambda: Cells.discrete(0, 2), "number of observations is 0"),
    "negative actions": (lambda: Cells.discrete(3, -2), "actions is -2"),
    "action pair": (lambda: Cells.discrete(3, (0, 1)), "pass all three"),
    "next": (lambda: Cells.discrete(3, 2, next_state="yes"), "next_state is 'yes'"),
    "no spaces": (lambda: Cells.of(3), "lacks spaces"),
    "text": (lambda: Cells.of(env_of(spaces.Text(3))), "Text"),
    "image": (
        lambda: Cells.of(env_of(spaces.Box(0, 255, (84, 84), np.uint8))),
        r"Cells.adjacent\(batch=32\)",
    ),
    "unbounded": (
        lambda: Cells.of(gym.make("CartPole-v1")),
        r"observation dimension 1 is bounded by \[-inf, inf\]; .*Cells.grid.*sample=",
    ),
    "unbounded action": (
        lambda: Cells.of(env_of(spaces.Discrete(2), spaces.Box(-np.inf, np.inf, (1,)))),
        r"action dimension 0 .*actions=\(low, high, bins\)",
    ),
    "bad sample": (
        lambda: Cells.of(gym.make("CartPole-v1"), sample=np.full((3, 4), np.nan)),
        "not finite",
    ),
    "narrow sample": (
        lambda: Cells.of(gym.make("CartPole-v1"), sample=np.zeros((6, 2))),
        "rows of 4",
    ),
    "queue": (lambda: Cells.adjacent(batch=0), "batch is 0"),
    "ring": (lambda: Cells.adjacent(memory=2, envs=3), "memory >= 3"),
}


@pytest.mark.parametrize("name", INVALID)
def test_impossible_cells_are_refused(name):
    build, message = INVALID[name]
    with pytest.raises(InvalidCellsError, match=message):
        build()


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"kind": "other"},
        {"kind": "adjacent", "batch": 1},
        {"kind": "space", "state": {"kind": "integer"}, "action": None, "next_state": False},
        {"kind": "space", "state": {"kind": "none"}, "action": None, "next_state": False},
        {**Cells.cartpole().config(), "extra": 1},
        {**Cells.cartpole().config(), "state": 3},
        None,
    ],
)
def test_bad_configs_are_refused(config):
    with pytest.raises(InvalidCellsError):
        Cells.from_config(config)


def test_bad_states_are_refused():
    with pytest.raises(StateMismatchError, match="no state"):
        Cells.cartpole().load_state_dict({"rows": np.array(3)})
    Cells.cartpole().load_state_dict({})
    for state in ({}, {"rows": np.array(-1)}, {"rows": np.zeros(2, int)}, {"rows": np.array(0.5)}):
        with pytest.raises(StateMismatchError, match="needs rows"):
            Cells.adjacent().load_state_dict(state)
