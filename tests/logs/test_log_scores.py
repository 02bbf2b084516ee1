"""Corrected rewards are right, suspicion is a probability, and suspects are sorted."""

import numpy as np
import pytest
from log_samples import read_log, simulate, write_log

import unperturb as up
from unperturb.logs import audit_log, correct_log
from unperturb.logs.scores import mixture_posterior, score


def corrected(tmp_path, columns, **options):
    path = write_log(tmp_path, "npz", columns)
    audit, suspects = correct_log(path, tmp_path / "out.npz", force=True, **options)
    return audit, suspects, read_log(tmp_path / "out.npz")


def test_posterior_rewards_are_the_true_ones(tmp_path):
    """40 cells of 250 rewards, e- = .1, e+ = .3: a cell's likelihood ratio is beyond e^50.

    A cell fails the G-test with a chance of 1e-4 and then gets the mean of its surrogates, so that
    2 or more of 40 do with a chance of 1e-5; the true level stays the most probable one.
    """
    made = simulate(10_000)
    _, _, found = corrected(tmp_path, made.columns)
    assert np.abs(made.columns["reward"] - made.true).mean() > 0.15
    right = np.abs(found["corrected_reward"] - made.true) < 0.01
    assert right.mean() > 0.96
    assert np.abs(found["corrected_reward"] - made.true).max() < 0.35
    assert (found["true_level"] == made.true).mean() > 0.99


def test_surrogate_rewards_are_unbiased(tmp_path):
    """Means over 5,000 rewards of each level: the standard error is .011, of C's about as much.

    Four standard errors of .016 make .064; the false-alarm rate is below 1e-3.
    """
    made = simulate(10_000)
    _, _, found = corrected(tmp_path, made.columns, method="surrogate")
    for level in (0, 1):
        assert abs(found["corrected_reward"][made.true == level].mean() - level) < 0.064
    assert len(np.unique(found["corrected_reward"])) == 2


@pytest.mark.parametrize("method", ["surrogate", "posterior"])
def test_the_corrector_gives_the_same(tmp_path, method):
    made = simulate(4000)
    _, _, found = corrected(tmp_path, made.columns, method=method)
    corrector = up.RewardCorrector(
        up.RewardLevels([0.0, 1.0]), up.Cells.discrete(20, 2), method=method, refresh=4000
    )
    expected = corrector(*made.columns.values())
    np.testing.assert_allclose(found["corrected_reward"], expected, atol=1e-9)


def test_suspicion_is_the_chance_of_being_wrong(tmp_path):
    """20,000 rewards in cells of 5: among rows of like suspicion that share is wrong.

    Each group has 400 rows or more; rows of a cell are wrong together, so that the error of a
    share is at most sqrt(.25 * 5 / 400) = .056, and .2 is 3.5 of them: below 1e-3 for each group.
    """
    rng = np.random.default_rng(3)
    state = rng.integers(0, 4000, 20_000)
    true = rng.integers(0, 2, 4000)[state]
    reward = np.where(rng.random(20_000) < np.where(true, 0.3, 0.1), 1 - true, true).astype(float)
    _, _, found = corrected(tmp_path, {"state": state, "reward": reward})
    wrong = reward != true
    groups = np.digitize(found["suspicion"], [0.1, 0.3, 0.5, 0.7, 0.9])
    for group in range(6):
        own = groups == group
        if own.sum() >= 400:
            assert abs(wrong[own].mean() - found["suspicion"][own].mean()) < 0.2
    assert abs(wrong.mean() - found["suspicion"].mean()) < 0.02


def test_mixed_cells_are_judged_reward_by_reward(tmp_path):
    """4 of 40 cells mix both levels in equal parts: neither is suspected outright there."""
    rng = np.random.default_rng(0)
    state = rng.integers(0, 40, 40_000)
    pure = state < 36
    true = np.where(pure, state % 2, rng.integers(0, 2, 40_000))
    reward = np.where(rng.random(40_000) < 0.1, 1 - true, true).astype(float)
    _, _, found = corrected(tmp_path, {"state": state, "reward": reward})
    mixed = found["suspicion"][~pure]
    # With e = .1 and equal parts, a reward is wrong with a chance of .1. The mixed cells also
    # raise the estimate of e, to .17 in one row of C, hence the margin.
    assert mixed.min() > 0.02
    assert mixed.max() < 0.3
    assert found["suspicion"][pure & (reward != true)].min() > 0.99
    assert abs(found["corrected_reward"][~pure].mean() - 0.5) < 0.05


def test_mixture_posterior_is_bayes_rule():
    C = np.array([[0.8, 0.2], [0.4, 0.6]])
    shares = np.array([0.3, 0.7])
    own = mixture_posterior((shares @ C)[None] * 1e6, C)[0]
    np.testing.assert_allclose(own, shares[:, None] * C / (shares @ C), atol=1e-3)
    np.testing.assert_allclose(own.sum(axis=0), 1)


def test_mixed_cells_go_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    counts = np.vstack([rng.multinomial(300, [0.5, 0.5], 30), [[270, 30]] * 30, [[30, 270]] * 30])
    levels = up.RewardLevels([0.0, 1.0])
    fit = up.estimators.DawidSkene().fit(counts)
    whole = score(counts.astype(float), fit, levels)
    monkeypatch.setattr("unperturb.logs.scores._BLOCK", 12)
    for one, other in zip(whole, score(counts.astype(float), fit, levels), strict=True):
        np.testing.assert_array_equal(one, other)


def test_suspects_are_sorted_and_mostly_wrong(tmp_path):
    """Among the 50 most suspicious of 4,000 rows all are wrong, but for one in e^20."""
    made = simulate(4000)
    _, suspects, found = corrected(tmp_path, made.columns, suspects=50)
    assert len(suspects) == 50
    values = [s.suspicion for s in suspects]
    assert values == sorted(values, reverse=True)
    for s in suspects:
        assert (s.state, s.action, s.reward) == tuple(
            made.columns[name][s.row].item() for name in ("state", "action", "reward")
        )
        assert s.suspicion == found["suspicion"][s.row]
        assert s.true_level == found["true_level"][s.row] == made.true[s.row] != s.reward
    assert len({s.row for s in suspects}) == 50


def test_suspects_of_several_columns_are_tuples(tmp_path):
    made = simulate(500).columns
    columns = {"x": made["state"], "y": np.array(["a"] * 500), "reward": made["reward"]}
    _, suspects, _ = corrected(tmp_path, columns, state="x,y", suspects=10**6)
    assert len(suspects) == 500
    assert suspects[0].state[1] == "a"
    assert suspects[0].action is None


def test_the_vote_and_the_reverse_prior(tmp_path):
    made = simulate(4000, e_minus=0.8, e_plus=0.8)
    path = write_log(tmp_path, "npz", made.columns)
    flipped, _ = audit_log(path, prior="reverse")
    np.testing.assert_allclose(flipped.confusion, [[0.2, 0.8], [0.8, 0.2]], atol=0.06)
    vote, _ = audit_log(path, estimator="majority-vote")
    np.testing.assert_allclose(vote.confusion, [[0.8, 0.2], [0.2, 0.8]], atol=0.06)
