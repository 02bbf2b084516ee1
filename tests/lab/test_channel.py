import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unperturb import Cells, RewardCorrector, RewardLevels, confusion
from unperturb.errors import UnperturbError
from unperturb.lab import channel

KINDS = [
    RewardLevels([-1.0, 1.0]),
    RewardLevels([-20.0, 0.0, 0.1, 3.0]),
    RewardLevels.uniform(-17, 0, 17, value="upper"),
    RewardLevels.uniform(-17, 0, 17, value="lower"),
    RewardLevels.uniform(-17, 0, 5),
    RewardLevels.uniform(0.0, 1.0, 7, value="upper"),
]
level_of = {
    levels: jax.jit(jax.vmap(lambda r, levels=levels: channel.level_of(levels, r)))
    for levels in KINDS
}


def same_levels(levels, rewards):
    rewards = np.asarray(rewards, np.float32)
    level, stray = level_of[levels](rewards)
    np.testing.assert_array_equal(level, levels.index(rewards))
    assert not stray.any()


@pytest.mark.parametrize("levels", KINDS, ids=str)
def test_the_levels_own_values_in_float32(levels):
    values = levels.values.astype(np.float32)
    same_levels(levels, values)
    np.testing.assert_array_equal(level_of[levels](values)[0], np.arange(len(levels)))


@pytest.mark.parametrize("levels", [kind for kind in KINDS if kind.continuous], ids=str)
def test_the_neighbours_of_the_edges_in_float32(levels):
    low, high, count = levels.config()["uniform"]
    edges = np.linspace(low, high, count + 1).astype(np.float32)
    inf = np.float32(np.inf)
    near = [edges, np.nextafter(edges, inf), np.nextafter(edges, -inf), edges + 1e-3, edges - 1e-3]
    same_levels(levels, np.concatenate(near))


@pytest.mark.parametrize("levels", [kind for kind in KINDS if kind.continuous], ids=str)
@given(rewards=st.lists(st.floats(-40, 40, width=32), min_size=8, max_size=8))
def test_any_reward_of_intervals(levels, rewards):
    same_levels(levels, rewards)


@pytest.mark.parametrize("levels", KINDS, ids=str)
@pytest.mark.parametrize("reward", [0.57, np.nan, np.inf, -np.inf])
def test_what_index_refuses_is_stray(levels, reward):
    _, stray = channel.level_of(levels, jnp.float32(reward))
    try:
        levels.index(np.float32(reward))
    except UnperturbError:
        assert stray
    else:
        assert not stray


def passed(levels, lens, rewards, chance, cells, size=None):
    """Send rewards through the channel one after another."""
    window = None if size is None else channel.empty_window(4, len(levels), size)
    lens = jax.tree.map(jnp.asarray, lens)

    def step(window, item):
        given = channel.pass_through(levels, lens, window, *item)
        return given.window, given._replace(window=None)

    rewards = jnp.asarray(rewards, jnp.float32)
    items = (rewards, jnp.asarray(chance, jnp.float32), jnp.asarray(cells))
    return jax.lax.scan(step, window, items)[1]


def test_observed_levels_follow_C():
    rng = np.random.default_rng(0)
    levels, n = KINDS[4], 50_000
    C = confusion.rand_all(5, 0.6, rng).matrix
    i = rng.integers(5, size=n)
    lens = channel.lens(levels, C, cells=1)
    seen = np.asarray(passed(levels, lens, levels.values[i], rng.uniform(size=n), i * 0).seen)
    for level in range(5):
        own = seen[i == level]
        shares = np.bincount(own, minlength=5) / len(own)
        # Five standard deviations of a share, 25 shares: false alarm below 2e-5.
        assert (np.abs(shares - C[level]) <= 5 * (0.25 / len(own)) ** 0.5).all()


def test_each_way_of_giving_a_reward():
    levels = KINDS[0]
    flipped = np.eye(2)[::-1]
    rewards, cells = [1.0, -1.0, 1.0], [0, 1, 2]
    for options, expected in (
        ({"raw": True}, [1.0, -1.0, 1.0]),
        ({}, [-1.0, 1.0, -1.0]),
        ({"table": [7.0, 8.0]}, [7.0, 8.0, 7.0]),
        ({"table": [7.0, 8.0], "values": [0.5, np.nan, 0.25]}, [0.5, 8.0, 0.25]),
        ({"table": [7.0, 8.0], "first": [1.0, 2.0], "values": [0.5, np.nan, 0.2]}, [0.5, 2.0, 0.2]),
    ):
        lens = channel.lens(levels, flipped, cells=3, **options)
        given = passed(levels, lens, rewards, [0.5] * 3, cells)
        np.testing.assert_allclose(given.reward, expected)
        np.testing.assert_array_equal(given.seen, [0, 1, 0])


@pytest.mark.parametrize("size", [1, 3, 100])
def test_the_window_gives_what_a_smoothing_corrector_gives(size):
    rng = np.random.default_rng(1)
    levels, n = KINDS[1], 600
    C = confusion.rand_all(4, 0.3, rng).matrix
    true, cells, chance = rng.integers(4, size=n), rng.integers(4, size=n), rng.uniform(size=n)
    corrector = RewardCorrector(levels, Cells.discrete(4, 1), confusion=C, smooth=size)
    lens = channel.lens(levels, C, cells=1, table=corrector.tables.surrogate)
    given = passed(levels, lens, levels.values[true], chance, cells, size)
    seen = levels.values[np.asarray(given.seen)]
    expected = [corrector.one(cell, 0, r) for cell, r in zip(cells.tolist(), seen, strict=True)]
    np.testing.assert_allclose(given.reward, expected, rtol=1e-4, atol=1e-4)
