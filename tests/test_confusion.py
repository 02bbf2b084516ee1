"""Confusion matrices: checked, drawn from with the right frequencies, and scheduled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unperturb import confusion
from unperturb.confusion import MAX_CONDITION, ConfusionMatrix, ConfusionSchedule
from unperturb.errors import (
    InvalidConfusionError,
    InvalidOptionError,
    SingularConfusionError,
    UnknownRewardError,
)

seeds = st.integers(0, 2**32)


def generator(seed=0):
    return np.random.default_rng(seed)


@given(st.integers(2, 17), st.floats(0, 1), seeds)
def test_random_noise_is_an_invertible_mixture(M, weight, seed):
    for build in (confusion.rand_one, confusion.rand_all):
        try:
            C = build(M, weight, generator(seed))
        except SingularConfusionError:
            assert build is confusion.rand_one
            assert weight == pytest.approx(0.5) or weight > 0.99  # no draw can be inverted
            continue
        np.testing.assert_allclose(C.matrix.sum(axis=1), 1, atol=1e-12)
        assert C.condition < MAX_CONDITION
        assert build(M, weight, generator(seed)) == C
        off = C.matrix - (1 - weight) * np.eye(M)
        assert (off >= -1e-12).all()
        if build is confusion.rand_one and weight > 1e-9:
            assert (np.diag(off) < 1e-12).all()  # into another level, and into one only
            assert ((off > 1e-12).sum(axis=1) == 1).all()


def test_named_matrices():
    assert confusion.binary(0.1, 0.3).matrix.tolist() == [[0.9, 0.1], [0.3, 0.7]]
    assert confusion.binary().matrix.tolist() == [[1, 0], [0, 1]]
    np.testing.assert_allclose(
        confusion.symmetric(3, 0.2).matrix, [[0.8, 0, 0.2], [0, 1, 0], [0.2, 0, 0.8]]
    )
    # Noise above one half is fine; only the middle is singular.
    assert confusion.binary(0.9, 0.8).condition < 10


@given(st.integers(2, 5), st.integers(1, 4), seeds)
def test_one_draw_equals_a_batch(M, groups, seed):
    rng = generator(seed)
    single = ConfusionMatrix(rng.dirichlet(np.ones(M), size=M))
    grouped = ConfusionMatrix(rng.dirichlet(np.ones(M), size=(groups, M)))
    levels, states = rng.integers(M, size=30), rng.integers(groups, size=30)
    one, many = generator(1), generator(1)
    assert single.draw(levels, many).tolist() == [single.draw_one(z, one) for z in levels]
    assert grouped.draw(levels, many, states).tolist() == [
        grouped.draw_one(z, one, g) for z, g in zip(levels, states, strict=True)
    ]
    assert single.draw(levels.reshape(5, 6), many).shape == (5, 6)


def test_draws_have_the_frequencies_of_their_row():
    C = ConfusionMatrix([[[0.5, 0.3, 0.2], [0, 1, 0], [0.1, 0, 0.9]], np.eye(3)])
    n = 60_000
    for group in (0, 1):
        for level in range(3):
            drawn = C.draw(np.full(n, level), generator(), np.full(n, group))
            share = np.bincount(drawn, minlength=3) / n
            # 5 standard errors for each of 18 shares: false-alarm rate 1e-5. Zeros are exact.
            p = C.matrix[group, level]
            assert (np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / n)).all()


def test_groups_are_needed_and_counted():
    C = confusion.per_group([confusion.binary(0.1, 0.1), np.eye(2), confusion.binary(0.0, 0.4)])
    assert (C.groups, C.levels) == (3, 2)
    assert confusion.binary(0.1, 0.1).groups is None
    for ask in (lambda: C.draw([0], generator()), lambda: C.draw_one(0, generator())):
        with pytest.raises(InvalidOptionError, match=r"no group was given; this noise .* 3 groups"):
            ask()


def test_levels_that_no_row_belongs_to_are_named():
    C, schedule = confusion.binary(0.1, 0.1), confusion.schedule({0: confusion.binary(0.1, 0.1)})
    for noise in (C, schedule):
        for level in (-1, 2):
            message = rf"true level {level}; the levels of this noise are numbered from 0 to 1"
            with pytest.raises(UnknownRewardError, match=message):
                noise.draw([0, level], generator())
            with pytest.raises(UnknownRewardError, match=message):
                noise.draw_one(level, generator())
        with pytest.raises(UnknownRewardError, match=r"true levels have the type float64; they"):
            noise.draw([0.0, 1.0], generator())
        with pytest.raises(InvalidOptionError, match=r"rng is int; noise is drawn from an explici"):
            noise.draw([0, 1], 7)
    assert C.draw([], generator()).tolist() == []
    with pytest.raises(InvalidOptionError, match=r"step -5; steps count from 0"):
        schedule.at(-5)


def test_a_schedule_holds_each_matrix_from_its_step_on():
    first, second = confusion.binary(0.1, 0.3), confusion.binary(0.9, 1.0)
    schedule = confusion.schedule({100: second, 0: first})
    assert [schedule.at(t) for t in (0, 99, 100, 10**9)] == [first, first, second, second]
    assert first.at(5) is first
    assert (schedule.levels, schedule.groups) == (2, None)
    assert schedule.changes == {0: first, 100: second}
    zeros = np.zeros(2000, int)
    for step in (99, 100):
        expected = schedule.at(step).draw(zeros, generator())
        np.testing.assert_array_equal(schedule.draw(zeros, generator(), step=step), expected)
        assert schedule.draw_one(0, generator(), step=step) == expected[0]
    assert schedule == ConfusionSchedule({0: first, 100: second})
    assert schedule != confusion.schedule({0: first})
    assert hash(schedule) == hash(ConfusionSchedule({0: first, 100: second}))


def test_it_is_an_array_and_a_value():
    source = np.array([[0.9, 0.1], [0.3, 0.7]])
    C = ConfusionMatrix(source)
    source[0] = 0
    assert np.asarray(C).tolist() == [[0.9, 0.1], [0.3, 0.7]]
    assert np.asarray(C, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        C.matrix[0, 0] = 1
    assert ConfusionMatrix(C) == C
    assert hash(C) == hash(ConfusionMatrix(C))
    assert ConfusionMatrix(np.eye(2)) != C
    assert source.tolist() != C
    levels = np.array([0, 1])
    C.draw(levels, generator())
    assert levels.tolist() == [0, 1]
    assert repr(C).startswith("ConfusionMatrix([[0.9, 0.1]")


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1.0]], r"has shape \(1, 1\); it is \(M, M\) for M >= 2"),
        ([[0.5, 0.5]], r"has shape \(1, 2\)"),
        ([0.5, 0.5], r"has shape \(2,\)"),
        (np.zeros((0, 2, 2)), "holds nothing; its entries"),
        ([[1.1, -0.1], [0, 1]], r"holds -0\.1; its entries are probabilities"),
        ([[np.nan, 1], [0, 1]], "holds nan"),
        ([[0.9, 0.2], [0, 1]], r"row 0 of the confusion matrix sums to 1\.1; each row holds"),
        ([np.eye(2), [[1, 0], [0.3, 0.3]]], r"row 1 of group 1 of .* sums to 0\.6"),
    ],
)
def test_what_is_no_confusion_matrix_is_named(matrix, message):
    with pytest.raises(InvalidConfusionError, match=message):
        ConfusionMatrix(matrix)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: confusion.binary(0.5, 0.5), SingularConfusionError, r"e- \+ e\+ = 1 is singular"),
        (lambda: confusion.symmetric(3, 0.5), SingularConfusionError, "omega = 0.5 is singular"),
        (lambda: confusion.binary(-0.1, 0), InvalidOptionError, r"e_minus is -0\.1; it is a prob"),
        (lambda: confusion.binary(0, 1.1), InvalidOptionError, r"e_plus is 1\.1"),
        (
            lambda: confusion.symmetric(1, 0.1),
            InvalidOptionError,
            "M is 1; noise needs two or more",
        ),
        (lambda: confusion.rand_all(2, 30, generator()), InvalidOptionError, "weight is 30"),
        (lambda: confusion.rand_one(2, 0.3, 7), InvalidOptionError, "rng is int; random matrices"),
        (lambda: confusion.schedule({5: np.eye(2)}), InvalidOptionError, "starts at step 5; the f"),
        (lambda: confusion.schedule({}), InvalidOptionError, "starts at step none"),
        (lambda: confusion.schedule([np.eye(2)]), InvalidOptionError, "the schedule is a list; it"),
        (lambda: confusion.per_group([]), InvalidConfusionError, r"has shape \(0,\); it is"),
        (lambda: confusion.per_group([np.eye(2), np.eye(3)]), InvalidConfusionError, "no array"),
        (lambda: ConfusionMatrix("eye"), InvalidConfusionError, "no array of numbers"),
        (
            lambda: confusion.schedule({0: np.eye(2), 9: np.eye(3)}),
            InvalidConfusionError,
            r"have shapes \[\(2, 2\), \(3, 3\)\]; all matrices of a schedule",
        ),
    ],
)
def test_bad_noise_is_named(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_noise_that_no_draw_can_invert_says_so(monkeypatch):
    monkeypatch.setattr(confusion.kinds, "_REDRAWS", 20)
    message = r"rand-one noise with omega = 0\.5, drawn 20 times, is singular"
    with pytest.raises(SingularConfusionError, match=message):
        confusion.rand_one(2, 0.5, generator())
