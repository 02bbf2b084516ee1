"""The streaming pipeline: what comes out, when, and that an error or a reload leaves no trace."""

import math

import numpy as np
import pytest
from correctors import CELLS, LEVELS, C, every, feed, make, stream

from count_tables import same_state
from unperturb import Cells, RewardCorrector, RewardLevels, confusion
from unperturb.errors import (
    BatchMismatchError,
    InvalidCountsError,
    NonFiniteRewardError,
    OutsideSpaceError,
    UnknownRewardError,
)
from unperturb.surrogate import surrogate_values


@every
def test_one_equals_a_batch_of_one(kind):
    one, many = make(kind), make(kind)
    states, actions, _, noisy = stream(150)
    for s, a, r in zip(states, actions, noisy, strict=True):
        single = one.one(int(s), int(a), float(r))
        assert isinstance(single, float)
        assert single == pytest.approx(many([s], [a], [r])[0], abs=1e-12)
    same_state(one.state_dict(), many.state_dict())


def test_rewards_pass_through_until_enough_were_seen():
    corrector = RewardCorrector(LEVELS, CELLS, d_min=100, refresh=40)
    states, actions, _, noisy = stream(300)
    out = np.concatenate(
        [corrector(states[i : i + 1], actions[i : i + 1], noisy[i : i + 1]) for i in range(300)]
    )
    # Due at 40 and every reward after that, but D_min holds it back until the 100th.
    np.testing.assert_array_equal(out[:99], noisy[:99])
    assert not np.isin(out[99:], [0.0, 1.0]).any()
    assert (corrector.steps, corrector.corrected, corrector.refreshes) == (300, 201, 6)
    fresh = RewardCorrector(LEVELS, CELLS)
    np.testing.assert_array_equal(fresh.confusion, np.eye(2))
    np.testing.assert_array_equal(fresh.surrogate, LEVELS.values)


def test_raw_continuous_rewards_pass_through_unrounded():
    levels = RewardLevels.uniform(0, 1, 2)
    corrector = RewardCorrector(levels, Cells.discrete(2, None), d_min=10)
    assert corrector([0, 1], None, [0.3, 0.9]).tolist() == [0.3, 0.9]
    assert corrector.one(0, None, 0.2) == 0.2


def test_the_surrogate_is_the_paper_formula_on_the_estimate():
    corrector = RewardCorrector(LEVELS, CELLS, n_eff=None, eta=0.7)
    out = feed(corrector, 1000, batch=100)
    expected = surrogate_values(corrector.confusion, LEVELS, eta=0.7)
    np.testing.assert_allclose(corrector.surrogate, expected)
    noisy = stream(1000)[3]
    np.testing.assert_allclose(out[-100:], expected[noisy[-100:].astype(int)])
    regular = RewardCorrector(LEVELS, CELLS)
    feed(regular, 1000, batch=100)
    pi = regular.estimator.level_frequencies_
    np.testing.assert_allclose(
        regular.surrogate,
        surrogate_values(regular.confusion, LEVELS, n_eff=100, level_prior=pi),
    )
    # C is estimated from 1,000 rewards to about .02: 5 standard errors.
    assert np.abs(regular.confusion - C.matrix).max() < 0.1


def test_the_posterior_beats_the_surrogate_and_both_beat_the_noise():
    states, actions, true, noisy = stream(6000)
    error = {"noisy": ((noisy - true)[3000:] ** 2).mean()}
    for method in ("surrogate", "posterior"):
        corrector = RewardCorrector(LEVELS, CELLS, method=method)
        out = np.concatenate(
            [
                corrector(states[i : i + 100], actions[i : i + 100], noisy[i : i + 100])
                for i in range(0, 6000, 100)
            ]
        )[3000:]
        error[method] = ((out - true[3000:]) ** 2).mean()
        bias = [out[true[3000:] == z].mean() - z for z in (0, 1)]
        # A surrogate's standard deviation is below 1: .1 is 3.8 standard errors of 1,500 rewards
        # (false alarms 1e-4); the noise's own bias is .1 and .3.
        assert np.abs(bias).max() < 0.1
    assert error["posterior"] < 0.001
    assert 0.15 < error["noisy"] < 0.25
    assert error["surrogate"] > error["noisy"]  # unbiased, at the price of variance


def test_smoothing_is_the_mean_of_the_cells_last_surrogates():
    corrector = RewardCorrector(LEVELS, Cells.discrete(3, None), confusion=C, smooth=4)
    hat = surrogate_values(C, LEVELS)
    rng = np.random.default_rng(0)
    history = {0: [], 1: [], 2: []}
    for _ in range(60):
        s, r = int(rng.integers(3)), int(rng.integers(2))
        history[s].append(hat[r])
        assert corrector.one(s, None, float(r)) == pytest.approx(np.mean(history[s][-4:]))
    # Within a batch, all rewards of a cell get the mean after the batch.
    out = corrector([0, 0], None, [1.0, 1.0])
    assert out[0] == out[1] == pytest.approx(np.mean([*history[0], hat[1], hat[1]][-4:]))


def test_smoothing_does_not_replace_the_posterior():
    plain, smooth = make("posterior"), make("posterior and smooth")
    feed(plain, 400, batch=20)
    feed(smooth, 400, batch=20)
    states, actions, _, noisy = stream(100, seed=5)
    for s, a, r in zip(states[:15], actions[:15], noisy[:15], strict=True):
        assert smooth.one(int(s), int(a), r) == pytest.approx(plain.one(int(s), int(a), r))


def test_a_mixed_cell_gets_the_mean_of_its_surrogates():
    # Cell 0 mixes both levels; the others are pure.
    rng = np.random.default_rng(0)
    states = rng.integers(8, size=4000)
    true = np.where(states == 0, rng.integers(2, size=4000), states % 2)
    noisy = LEVELS.values[C.draw(true, rng)]
    corrector = RewardCorrector(
        LEVELS, Cells.discrete(8, None), confusion=C, method="posterior", refresh=4000
    )
    out = corrector(states, None, noisy)
    own = surrogate_values(C, LEVELS)[noisy[states == 0].astype(int)].mean()
    np.testing.assert_allclose(out[states == 0], own)
    assert abs(own - 0.5) < 0.25  # 500 rewards with a standard deviation of .9: 6 standard errors
    np.testing.assert_allclose(out[states > 0], true[states > 0], atol=1e-6)


def of_one_reward(corrector, seen):
    """Bayes' rule for a cell of which one reward is all that is known."""
    joint = corrector.estimator.level_frequencies_ * corrector.confusion[:, seen]
    return (joint @ corrector.levels.values) / joint.sum()


def test_a_cell_without_a_posterior_gets_that_of_its_one_reward():
    corrector = RewardCorrector(
        LEVELS, Cells.discrete(5, None), method="posterior", confusion=C, refresh=50, d_min=1
    )
    # Nine in ten zeros, and seven in ten ones: just what levels 0 and 1 show.
    shown = [0.0] * 18 + [1.0] * 2, [1.0] * 14 + [0.0] * 6
    corrector(np.repeat([0, 1, 2], 20), None, np.concatenate([*shown, shown[1]]))
    assert corrector.one(3, None, 1.0) == pytest.approx(of_one_reward(corrector, 1))
    assert corrector([4], None, [0.0])[0] == pytest.approx(of_one_reward(corrector, 0))
    assert corrector.one(1, None, 0.0) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("kind", ["posterior", "streaming posterior", "smooth"])
def test_a_reused_state_of_the_adjacency_queue_starts_afresh(kind):
    cells = Cells.adjacent(batch=20, memory=3)
    corrector = make(kind, cells, refresh=10)
    corrector(np.zeros(60), None, np.repeat([0.0, 1.0, 1.0], 20))
    corrector.refresh()
    # State 0 paid nothing. Its number now stands for another state, of which nothing is known.
    smooth = kind == "smooth"
    expected = corrector.surrogate[1] if smooth else of_one_reward(corrector, 1)
    assert corrector.one(None, None, 1.0) == pytest.approx(expected)
    assert corrector.counts.row(0).tolist() == [0, 1]
    corrector(np.zeros(19), None, np.ones(19))
    corrector.refresh()
    assert corrector.estimator.posterior_[0, 1] > 0.9


def test_known_matrices_per_state():
    matrices = np.stack([C.matrix, np.eye(2)])
    corrector = RewardCorrector(LEVELS, Cells.discrete(2, 3), confusion=matrices)
    hat = surrogate_values(C, LEVELS)
    assert corrector.ready  # a known C needs no D_min
    out = corrector([0, 0, 1, 1], [0, 2, 0, 2], [0.0, 1.0, 0.0, 1.0])
    np.testing.assert_allclose(out, [hat[0], hat[1], 0, 1])
    np.testing.assert_allclose(corrector.surrogate, [hat, [0, 1]])


def test_rewards_outside_the_range_are_counted():
    levels = RewardLevels.uniform(0, 4, 4)
    corrector = RewardCorrector(levels, Cells.discrete(2, None))
    corrector([0, 1, 0], None, [-1.0, 2.0, 9.0])
    corrector.one(0, None, 4.5)
    corrector.one(0, None, 4.0)
    assert corrector.clipped == 3
    again = RewardCorrector.from_config(corrector.config())
    again.load_state_dict(corrector.state_dict())
    assert again.clipped == 3


@every
def test_inputs_are_not_changed_and_results_are_copies(kind):
    corrector = make(kind)
    states, actions, _, noisy = stream(80)
    kept = states.copy(), actions.copy(), noisy.copy()
    first = corrector(states[:10], actions[:10], noisy[:10])  # passed through
    first[:] = -7
    out = corrector(states, actions, noisy)
    state = corrector.state_dict()
    before = {name: value.copy() for name, value in state.items()}
    out[:] = -7
    corrector.surrogate[...] = -7
    corrector.confusion[...] = -7
    for now, then in zip((states, actions, noisy), kept, strict=True):
        np.testing.assert_array_equal(now, then)
    same_state(corrector.state_dict(), before)


BAD_CALLS = [
    (([0, 1], [0, 1], [0.0, math.nan]), NonFiniteRewardError, "reward at index 1 is nan"),
    (([0, 1], [0, 1], [math.inf, 0.0]), NonFiniteRewardError, "reward at index 0 is inf"),
    (([0, 1], [0, 1], [0.5, 0.0]), UnknownRewardError, "reward 0.5 at index 0 is no level"),
    (([0, 99], [0, 1], [0.0, 1.0]), OutsideSpaceError, "observation 99"),
    (([0, 1], [0, 2], [0.0, 1.0]), OutsideSpaceError, "action 2"),
    (([0, 1], None, [0.0, 1.0]), OutsideSpaceError, "actions is None"),
    (([0, 1], [0], [0.0, 1.0]), BatchMismatchError, "2 observations and 1 actions"),
    (([0, 1], [0, 1], [0.0]), BatchMismatchError, r"\(1,\) rewards for 2 transitions; there is"),
    (([0, 1], [0, 1], [[0.0, 1.0]]), BatchMismatchError, r"\(1, 2\) rewards for 2"),
    (([0], [0], 1.0), BatchMismatchError, r"\(\) rewards for 1 transitions"),
]


@pytest.mark.parametrize("kind", ["posterior", "smooth", "streaming", "last of each cell"])
@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS)
def test_an_error_leaves_no_trace(kind, call, error, message):
    corrector = make(kind)
    feed(corrector, 70)
    before = {name: np.copy(value) for name, value in corrector.state_dict().items()}
    with pytest.raises(error, match=message):
        corrector(*call)
    same_state(corrector.state_dict(), before)
    observations, actions, rewards = call
    if error in (NonFiniteRewardError, UnknownRewardError):
        wrong = next(i for i, r in enumerate(rewards) if r not in (0.0, 1.0))
        with pytest.raises(error):
            corrector.one(observations[wrong], actions[wrong], rewards[wrong])
        same_state(corrector.state_dict(), before)


@every
def test_an_empty_batch_changes_nothing(kind):
    corrector = make(kind)
    for rewards in (0, 70):  # before the first estimate, and after
        if rewards:
            feed(corrector, rewards, batch=35)
        before = {name: np.copy(value) for name, value in corrector.state_dict().items()}
        out = corrector([], [], [])
        assert (out.shape, out.dtype) == ((0,), np.float64)
        same_state(corrector.state_dict(), before)
    with pytest.raises(BatchMismatchError, match=r"\(0,\) rewards for 2 transitions"):
        corrector([0, 1], [0, 1], [])
    with pytest.raises(BatchMismatchError, match=r"\(1,\) rewards for 0 transitions"):
        corrector([], [], [1.0])


def test_rewards_taken_with_their_cells_come_in_equal_number():
    corrector = make("default")
    before = corrector.state_dict()
    for given in (np.ones(1), np.ones((2, 1)), np.empty(0)):
        with pytest.raises(BatchMismatchError, match=r"rewards for 2 transitions; there is one"):
            corrector.take(np.array([0, 1]), np.array([0, 1]), given)
    same_state(corrector.state_dict(), before)


def test_an_error_leaves_no_trace_in_the_adjacency_queue():
    corrector = RewardCorrector(LEVELS, Cells.adjacent(batch=2, memory=4, envs=2))
    corrector(np.zeros(6), None, np.ones(6))
    before = {name: np.copy(value) for name, value in corrector.state_dict().items()}
    bad = [
        (np.zeros(4), np.ones(2), BatchMismatchError),
        (np.zeros(3), np.ones(3), BatchMismatchError),
        (np.zeros(2), [math.nan, 1.0], NonFiniteRewardError),
    ]
    for observations, rewards, error in bad:
        with pytest.raises(error):
            corrector(observations, None, rewards)
        same_state(corrector.state_dict(), before)


def test_refreshing_by_hand():
    for kind in ("default", "streaming", "posterior"):
        corrector = make(kind, refresh=1000, d_min=1000)
        with pytest.raises(InvalidCountsError, match="all counts are zero; an estimate needs obs"):
            corrector.refresh()
        feed(corrector, 200)
        assert not corrector.ready
        assert corrector.refresh() is corrector
        first = corrector.confusion
        corrector.refresh()  # nothing new since
        assert corrector.ready
        np.testing.assert_allclose(corrector.confusion, first, atol=0.01)


def test_an_early_estimate_without_an_inverse_is_waited_out():
    corrector = RewardCorrector(
        LEVELS, Cells.discrete(2, None), estimator="majority-vote", n_eff=None, d_min=1, refresh=4
    )
    # Both levels look alike: the vote's matrix is all one half.
    out = corrector([0, 0, 1, 1], None, [0.0, 1.0, 0.0, 1.0])
    assert out.tolist() == [0, 1, 0, 1]
    assert not corrector.ready
    corrector([0, 0, 0, 0, 1, 1, 1, 1], None, [0.0] * 4 + [1.0] * 4)
    assert corrector.ready


def test_drift_is_followed():
    # e+ goes from .1 to .4 halfway. Streaming remembers about 2,000 rewards; its standard error
    # is .02, so that .1 off has a false-alarm rate of 1e-6. Counting all of them ends near .25.
    found = {}
    for estimator in ("streaming", "dawid-skene"):
        corrector = RewardCorrector(LEVELS, CELLS, estimator=estimator, refresh=500)
        for half, e_plus in enumerate((0.1, 0.4)):
            states, actions, _, noisy = stream(10_000, half, confusion.binary(0.1, e_plus))
            for i in range(0, 10_000, 500):
                part = slice(i, i + 500)
                corrector(states[part], actions[part], noisy[part])
        found[estimator] = corrector.confusion[1, 0]
    assert abs(found["streaming"] - 0.4) < 0.1
    assert abs(found["dawid-skene"] - 0.25) < 0.1


def test_the_posterior_survives_drift():
    # Counts fade with the streaming estimator's memory; counts of all time would mix two matrices
    # in each cell, which then fails its test and gets the mean of its surrogates.
    corrector = RewardCorrector(LEVELS, CELLS, estimator="streaming", method="posterior")
    for half, e_plus in enumerate((0.05, 0.4)):
        states, actions, true, noisy = stream(15_000, half, confusion.binary(0.05, e_plus))
        for i in range(0, 15_000, 500):
            part = slice(i, i + 500)
            out = corrector(states[part], actions[part], noisy[part])
    # 1e-4 of pure cells fail their test by chance: 1 of 20 does so with a chance of 2e-3.
    wrong = {(s, a) for s, a, o, t in zip(states[part], actions[part], out, true[part], strict=True)
             if abs(o - t) > 0.01}  # fmt: skip
    assert not wrong
    assert corrector.config()["forget"] == 2000


def test_pure_cells_get_their_true_value_and_keep_it():
    # 2,000 cells, tested again at each estimate, as training does. At 1 % a test, 70 of them are
    # off at some time. At 1e-4 ten independent rounds would find 2, and 15 or more with 1e-8.
    cells = Cells.discrete(1000, 2)
    corrector = RewardCorrector(LEVELS, cells, method="posterior")
    rng = np.random.default_rng(0)
    wrong = set()
    for i in range(100):
        states, actions = rng.integers(1000, size=1000), rng.integers(2, size=1000)
        true = states % 2
        noisy = LEVELS.values[confusion.binary(0.1, 0.3).draw(true, rng)]
        off = np.abs(corrector(states, actions, noisy) - LEVELS.values[true]) > 0.1
        if i >= 50:  # from 25 rewards per cell on
            wrong |= set(zip(states[off].tolist(), actions[off].tolist(), strict=True))
    assert len(wrong) < 15
