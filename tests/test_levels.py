"""Reward levels: exact ones survive float noise, intervals clip and count, bad input is named."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unperturb.errors import (
    InvalidLevelsError,
    InvalidOptionError,
    NonFiniteRewardError,
    UnknownRewardError,
)
from unperturb.levels import TOLERANCE, RewardLevels

# Whole numbers times a scale: levels that float noise can't merge.
level_lists = st.builds(
    lambda numbers, scale: [n * scale for n in sorted(numbers)],
    st.sets(st.integers(-1000, 1000), min_size=2, max_size=17),
    st.sampled_from([1e-3, 0.1, 1.0, 3.7, 1e6]),
)
ranges = st.tuples(
    st.floats(-1e4, 1e4), st.floats(0.1, 1e4), st.integers(2, 40), st.sampled_from(
        ["lower", "middle", "upper"]
    )
)  # fmt: skip


@given(level_lists, st.data())
def test_exact_levels_survive_float32_and_forgiven_noise(values, data):
    levels = RewardLevels(values)
    order = data.draw(st.permutations(range(len(values))))
    noise = data.draw(st.sampled_from([0.0, 0.99, -0.99])) * levels.tolerance
    expected = list(order)
    assert levels.index(levels.values[order].astype(np.float32)).tolist() == expected
    assert levels.index(levels.values[order] + noise).tolist() == expected
    assert [levels.index_one(float(np.float32(values[i]))) for i in order] == expected


@given(level_lists, st.integers(0, 16), st.sampled_from([2.0, -2.0]))
def test_more_than_float_noise_is_refused(values, which, times):
    levels = RewardLevels(values)
    wrong = values[which % len(values)] + times * levels.tolerance * 1.01
    if np.abs(levels.values - wrong).min() <= levels.tolerance:
        return
    for ask in (levels.index_one, lambda r: levels.index([r])):
        with pytest.raises(UnknownRewardError, match="is no level; the levels are"):
            ask(wrong)


@given(ranges, st.lists(st.floats(-3e4, 3e4), max_size=20))
def test_intervals_are_the_same_for_one_and_many(bounds, rewards):
    low, width, count, value = bounds
    if width / count <= 4 * TOLERANCE * max(abs(low), abs(low + width)):
        return
    levels = RewardLevels.uniform(low, low + width, count, value=value)
    index = levels.index(rewards)
    assert index.tolist() == [levels.index_one(r) for r in rewards]
    assert levels.outside(rewards) == sum(levels.outside(r) for r in rewards)
    # Each reward lies in the interval of its level, give or take the tolerance.
    edges = np.linspace(low, low + width, count + 1)
    clipped = np.clip(rewards, low, low + width)
    slack = 2 * levels.tolerance
    assert (edges[index] - slack <= clipped).all()
    assert (clipped <= edges[index + 1] + slack).all()
    # A level's own value belongs to it, in float32 too.
    assert levels.index(levels.values.astype(np.float32)).tolist() == list(range(count))


def test_intervals_round_as_their_name_says():
    upper = RewardLevels.uniform(-17, 0, 17, value="upper")
    assert upper.values.tolist() == list(range(-16, 1))
    assert upper.values[upper.index([-0.5, -1.0, -1.001, -17.0, -16.0])].tolist() == [
        0,
        -1,
        -1,
        -16,
        -16,
    ]
    lower = RewardLevels.uniform(0, 4, 4, value="lower")
    assert lower.values.tolist() == [0, 1, 2, 3]
    assert lower.index([0.0, 0.99, 1.0, 3.5, 4.0]).tolist() == [0, 0, 1, 3, 3]
    middle = RewardLevels.uniform(0, 4, 4)
    assert middle.values.tolist() == [0.5, 1.5, 2.5, 3.5]
    assert middle.index([0.0, 1.0, 1.01, 4.0]).tolist() == [0, 0, 1, 3]


def test_outside_counts_what_is_clipped():
    levels = RewardLevels.uniform(0, 4, 4)
    rewards = [-0.1, 0.0, 4.0, 4.0 + 1e-9, 4.1, 1e30]
    assert levels.index(rewards).tolist() == [0, 0, 3, 3, 3, 3]
    assert levels.outside(rewards) == 3
    assert RewardLevels([0.0, 1.0]).outside([0.0, 1.0]) == 0


@pytest.mark.parametrize("kind", [RewardLevels([-1.0, 1.0]), RewardLevels.uniform(-1, 1, 4)])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_refused(kind, bad):
    with pytest.raises(NonFiniteRewardError, match=rf"reward at index 1 is {bad}; a reward is a"):
        kind.index([1.0, bad])
    with pytest.raises(NonFiniteRewardError, match=rf"reward is {bad}; a reward is a finite"):
        kind.index_one(bad)


def test_an_unknown_reward_names_itself_and_the_nearest_level():
    levels = RewardLevels([-1.0, 0.0, 1.0])
    with pytest.raises(UnknownRewardError) as caught:
        levels.index([1.0, 0.7])
    assert str(caught.value) == (
        "reward 0.7 at index 1 is no level; the levels are -1, 0, 1 and the nearest is 1. "
        "add it to RewardLevels, or use RewardLevels.uniform for a continuous reward"
    )
    with pytest.raises(UnknownRewardError, match=r"0, 1, 2, 3, 4, 5, 6, 7, \.\.\. and the nearest"):
        RewardLevels(range(9)).index_one(-4.0)


def test_shapes_are_kept_and_zero_dimensional_arrays_are_numbers():
    levels = RewardLevels([0.0, 1.0])
    assert levels.index([[1, 0], [0, 1]]).tolist() == [[1, 0], [0, 1]]
    assert levels.index(1.0) == 1
    assert levels.index([]).tolist() == []
    assert levels.index_one(np.array(1.0)) == 1
    assert levels.index_one(np.float32(1.0)) == 1
    assert levels.index_one(True) == 1


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([1.0], "reward levels have shape (1,)"),
        ([[0.0, 1.0]], "reward levels have shape (1, 2)"),
        ([], "reward levels have shape (0,)"),
        ([0.0, math.nan], "hold a value that is not finite"),
        ([1.0, 0.0], "do not ascend"),
        ([0.0, 0.0], "do not ascend"),
        (["low", "high"], "are no numbers"),
        ([[0.0], [0.0, 1.0]], "are no numbers"),
        ([1e6, 1e6 + 1], "two reward levels lie 1 apart"),
    ],
)
def test_bad_levels_are_named(values, found):
    with pytest.raises(InvalidLevelsError) as caught:
        RewardLevels(values)
    assert found in caught.value.found


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, 1, 4), InvalidLevelsError, r"the range of the levels is \[1, 1\]; a range has two"),
        ((0, math.inf, 4), InvalidLevelsError, r"is \[0, inf\]; a range has two finite ends"),
        ((0, 1, 1), InvalidLevelsError, "1 intervals were asked for; there must be two or more"),
        ((0, 1, 2.5), InvalidLevelsError, "2.5 intervals were asked for"),
        ((0, 1, math.inf), InvalidLevelsError, "inf intervals were asked for"),
        ((0, 1, math.nan), InvalidLevelsError, "nan intervals were asked for"),
        ((0, 1, "many"), InvalidLevelsError, "many intervals were asked for"),
        ((0, 1, 4, "mean"), InvalidOptionError, "value='mean'; an interval is represented by"),
    ],
)
def test_bad_intervals_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        RewardLevels.uniform(*arguments)


@given(level_lists, ranges)
def test_config_survives_json(values, bounds):
    low, width, count, value = bounds
    kinds = [RewardLevels(values)]
    if width / count > 4 * TOLERANCE * max(abs(low), abs(low + width)):
        kinds.append(RewardLevels.uniform(low, low + width, count, value))
    for levels in kinds:
        again = RewardLevels.from_config(json.loads(json.dumps(levels.config())))
        assert again == levels
        assert hash(again) == hash(levels)
        assert again.values.tolist() == levels.values.tolist()
        assert len(again) == len(levels)


@pytest.mark.parametrize(
    "config", [{}, {"uniform": [0, 1]}, {"uniform": [0, 1, 4]}, {"levels": [0, 1]}, {"uniform": 3}]
)
def test_what_describes_no_levels_is_named(config):
    with pytest.raises(InvalidLevelsError, match="describes no levels"):
        RewardLevels.from_config(config)


def test_levels_are_compared_by_what_they_hold():
    assert RewardLevels([0, 1]) == RewardLevels([0.0, 1.0])
    assert RewardLevels([0.5, 1.5]) != RewardLevels.uniform(0, 2, 2)  # the same values
    assert RewardLevels([0, 1]) != [0, 1]
    assert RewardLevels.uniform(0, 2, 2).continuous
    assert not RewardLevels([0, 1]).continuous
    assert repr(RewardLevels([0, 1])) == "RewardLevels([0.0, 1.0])"
    assert repr(RewardLevels.uniform(0, 2, 2)) == "RewardLevels.uniform(0, 2, 2, value='middle')"


def test_the_input_is_copied_and_the_values_are_read_only():
    given_values = np.array([0.0, 1.0])
    levels = RewardLevels(given_values)
    given_values[0] = -5
    assert levels.values.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        levels.values[0] = 2
    rewards = np.array([1.0, 0.0])
    levels.index(rewards)
    assert rewards.tolist() == [1, 0]
