"""The paper's vote: known answers, shared ties, and the bias that more cells don't remove."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from count_tables import draw, error
from unperturb.errors import InvalidPriorError
from unperturb.estimators import DawidSkene, MajorityVote
from unperturb.estimators.majority_vote import majority_vote


@given(
    arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(2, 4)), elements=st.integers(0, 5))
)
def test_equations_4_and_5_cell_by_cell(table):
    M = table.shape[1]
    shown = np.zeros((M, M))
    for row in table:
        winners = [k for k in range(M) if row[k] == row.max() and row.max() > 0]
        for k in winners:
            shown[k] += row / len(winners)
    expected = [row / row.sum() if row.sum() else np.eye(M)[z] for z, row in enumerate(shown)]
    vote = majority_vote(table.astype(float))
    np.testing.assert_allclose(vote.confusion, expected, atol=1e-12)
    np.testing.assert_allclose(vote.row_size, shown.sum(axis=1), atol=1e-12)


def test_ties_are_shared_equally():
    vote = majority_vote(np.array([[3.0, 3.0, 1.0], [5.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    assert vote.posterior.tolist() == [[0.5, 0.5, 0], [1, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(vote.confusion[0], [6.5 / 8.5, 1.5 / 8.5, 0.5 / 8.5])
    assert vote.confusion[2].tolist() == [0, 0, 1]  # nobody voted: the identity's row


def test_anchored_cells_vote_as_they_are_told():
    table = [[9, 1], [9, 1], [2, 8]]
    fit = MajorityVote(anchors={1: 1}).fit(table)
    assert fit.posterior_.tolist() == [[1, 0], [0, 1], [0, 1]]
    np.testing.assert_allclose(fit.confusion_, [[0.9, 0.1], [11 / 20, 9 / 20]])


def test_a_level_without_votes_has_the_widest_interval():
    fit = MajorityVote().fit([[9, 1], [8, 2]])
    assert fit.interval_[1].tolist() == [[0, 1], [0, 1]]
    low, high = fit.interval_[0, 1]
    assert 0.04 < low < 0.15 < high < 0.36  # Jeffreys' interval of 3 in 20


def test_the_vote_stays_biased_where_the_default_does_not():
    # Mean error over 3 seeds; the standard error is below .002, the gap .04: no false alarms.
    C = np.array([[0.9, 0.1], [0.3, 0.7]])
    found = {cls: [] for cls in (MajorityVote, DawidSkene)}
    for seed in range(3):
        counts, levels = draw(C, 16_000, 2, seed)
        for cls, errors in found.items():
            errors.append(error(cls().fit(counts).confusion_, C, levels))
    assert np.mean(found[MajorityVote]) > 0.03
    assert np.mean(found[DawidSkene]) < 0.0035 * 1.15


def test_jeffreys_intervals_cover_where_votes_are_right():
    # 200 cells of 50 observations never vote wrong here. 60 runs of one entry: with 95 % coverage
    # fewer than 48 covered has a false-alarm rate below 1e-5.
    C = np.array([[0.8, 0.2], [0.1, 0.9]])
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(60):
        counts = rng.multinomial(50, C[[0] * 100 + [1] * 100])
        low, high = MajorityVote().fit(counts).interval_[0, 1]
        covered += low <= 0.2 <= high
    assert covered >= 48


@pytest.mark.parametrize("shape", [(5, 2), (7, 4)])
def test_it_works_inside_jit(shape):
    table = np.random.default_rng(0).integers(0, 9, size=shape).astype(float)
    for mine, theirs in zip(majority_vote(table), jax.jit(majority_vote)(table), strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-6)


def test_a_reversed_vote_is_the_vote_with_its_rows_swapped():
    table = np.random.default_rng(0).integers(0, 9, size=(300, 3))
    plain, reverse = MajorityVote().fit(table), MajorityVote(prior="reverse").fit(table)
    np.testing.assert_array_equal(reverse.confusion_, plain.confusion_[::-1])
    np.testing.assert_array_equal(reverse.level_frequencies_, plain.level_frequencies_[::-1])


def test_a_reversed_vote_starts_at_the_reversed_identity():
    assert MajorityVote(prior="reverse").fit([[4, 0]]).confusion_[0].tolist() == [0, 1]


def test_an_unknown_prior_is_refused():
    with pytest.raises(InvalidPriorError, match=r"prior='flat'.*pass prior='diagonal'"):
        MajorityVote(prior="flat")
