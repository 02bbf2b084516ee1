"""The default estimator: known answers, the study's targets, what resolves a flip, and honesty.

Statistical tests use fixed seeds. Where a bound has a margin over what was measured, the comment
gives the rate of false alarms that another set of seeds would have.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from count_tables import draw, error
from unperturb import confusion
from unperturb.estimators import DawidSkene
from unperturb.estimators.beliefs import converge, level_posterior, prior_beliefs, step, update
from unperturb.estimators.search import solve, starts
from unperturb.levels import RewardLevels
from unperturb.surrogate import surrogate_values

SIX_STATE = [[0.9, 0.1], [0.3, 0.7]]
CARTPOLE = [[1.0, 0.0], [0.3, 0.7]]
FLIPPED = [[0.3, 0.7], [0.7, 0.3]]


def test_the_prior_is_the_studys():
    prior = prior_beliefs(4)
    np.testing.assert_allclose(prior.rows, 10 * (0.6 * np.eye(4) + 0.4 / 4))
    np.testing.assert_allclose(prior.levels, 0.5)
    np.testing.assert_allclose(prior_beliefs(4, "reverse").rows, prior.rows[:, ::-1])
    known = prior_beliefs(2, confusion.binary(0.2, 0.1), 5.0, [0.25, 0.75])
    np.testing.assert_allclose(known.rows, [[4, 1], [0.5, 4.5]])
    np.testing.assert_allclose(known.level_frequencies, [0.25, 0.75])


def test_plenty_of_data_gives_the_shares_themselves():
    counts = np.array([[900, 100, 0]] * 3 + [[0, 800, 200]] * 3 + [[300, 0, 700]] * 3)
    fit = DawidSkene().fit(counts)
    np.testing.assert_allclose(fit.confusion_, counts[::3] / 1000, atol=0.003)
    np.testing.assert_allclose(fit.posterior_, np.repeat(np.eye(3), 3, axis=0), atol=1e-9)
    np.testing.assert_allclose(fit.level_frequencies_, 1 / 3, atol=0.01)
    np.testing.assert_allclose(fit.row_size_, 3000, rtol=1e-6)
    assert not fit.ambiguous_


def test_the_update_by_hand():
    """One E-step and M-step, cell by cell, with the formulas of the research note."""
    from scipy.special import digamma, gammaln

    counts = np.array([[4.0, 1.0], [1.0, 6.0], [0.0, 0.0]])
    prior = prior_beliefs(2)
    found = step(counts, prior, prior, np.array([1.0, 1.0, 0.0]))
    log_c = digamma(prior.rows) - digamma(prior.rows.sum(axis=1, keepdims=True))
    log_pi = digamma(prior.levels) - digamma(prior.levels.sum())
    scores = counts @ log_c.T + log_pi
    q = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.beliefs.rows, prior.rows + q.T @ counts)
    np.testing.assert_allclose(found.beliefs.levels, prior.levels + q[:2].sum(axis=0))
    np.testing.assert_allclose(level_posterior(counts, prior), q)
    evidence = np.log(np.exp(scores[:2]).sum(axis=1)).sum()
    assert found.elbo == pytest.approx(evidence)  # at the prior, both divergences are zero

    def divergence(a, b):
        log_p = digamma(a) - digamma(a.sum())
        return (
            gammaln(a.sum()) - gammaln(a).sum() - gammaln(b.sum()) + gammaln(b).sum()
            + (a - b) @ log_p
        )  # fmt: skip

    second = step(counts, found.beliefs, prior, np.array([1.0, 1.0, 0.0]))
    rows, levels = found.beliefs
    log_c = digamma(rows) - digamma(rows.sum(axis=1, keepdims=True))
    scores = counts[:2] @ log_c.T + digamma(levels) - digamma(levels.sum())
    expected = np.log(np.exp(scores).sum(axis=1)).sum() - divergence(levels, prior.levels)
    expected -= sum(divergence(a, b) for a, b in zip(rows, prior.rows, strict=True))
    assert second.elbo == pytest.approx(expected)


@settings(max_examples=40)
@given(st.integers(2, 6), st.integers(1, 40), st.floats(0.5, 20), st.integers(0, 999))
def test_the_elbo_never_falls(M, cells, per_cell, seed):
    rng = np.random.default_rng(seed)
    counts, levels = draw(confusion.rand_all(M, 0.5, rng).matrix, cells, max(per_cell, 1), seed)
    anchors = {0: int(levels[0])} if seed % 2 else None
    fit = DawidSkene(anchors=anchors).fit(counts)
    assert len(fit.trace_) >= 1
    slack = 1e-9 * (1 + np.abs(fit.trace_).max())
    assert (np.diff(fit.trace_) >= -slack).all()
    prior = prior_beliefs(M)
    for start in starts(counts, prior):  # not only the best start's
        trace = converge(counts, start, prior, 200).trace
        assert (np.diff(trace[np.isfinite(trace)]) >= -slack).all()


# The study's targets (mean absolute error, default prior). The benchmark holds the mean over 20
# seeds to 1.15 of them; here the bound is 1.5 of them, four standard errors of the mean away, so
# that fresh seeds fail in less than one run in a thousand. The vote misses all but the third.
@pytest.mark.parametrize(
    ("C", "frequencies", "cells", "per_cell", "target", "seeds"),
    [
        (CARTPOLE, [0, 1], 160, 310 / 160, 0.024, 40),
        (CARTPOLE, [0, 1], 160, 10, 0.012, 40),
        (CARTPOLE, [0, 1], 160, 100, 0.003, 20),
        (SIX_STATE, "two of twelve", 12, 118 / 12, 0.048, 60),
        (SIX_STATE, "two of twelve", 12, 100, 0.020, 60),
        (SIX_STATE, [0.5, 0.5], 16_000, 2, 0.0035, 20),
        ([[0.9, 0.1], [0.6, 0.4]], [0.5, 0.5], 160, 10, 0.020, 20),
        ([[0.9, 0.1], [0.6, 0.4]], [0.5, 0.5], 160, 100, 0.004, 20),
    ],
)
def test_the_targets_are_met(C, frequencies, cells, per_cell, target, seeds):
    errors = []
    for seed in range(seeds):
        if frequencies == "two of twelve":
            order = np.random.default_rng([seed, 1]).permutation(12)
            counts, levels = draw(C, cells, per_cell, seed, levels=(order < 2).astype(int))
        else:
            counts, levels = draw(C, cells, per_cell, seed, frequencies)
        errors.append(error(DawidSkene().fit(counts).confusion_, C, levels))
    assert np.mean(errors) <= 1.5 * target


def test_many_levels():
    # Pong's and Pendulum's targets; one seed each, whose spread is a tenth of the target.
    for M, pi, weight, target in ((3, [0.02, 0.96, 0.02], 0.3, 0.011), (17, None, 0.3, 0.004)):
        errors = []
        for seed in range(2):
            C = confusion.rand_all(M, weight, np.random.default_rng(seed)).matrix
            counts, levels = draw(C, 16_000, 2, seed, pi)
            errors.append(error(DawidSkene().fit(counts).confusion_, C, levels))
        assert np.mean(errors) <= 1.15 * target


def test_no_blow_up_where_only_one_level_occurs():
    # 200 runs; the study saw no blow-up for this estimator, and 25 to 100 % for plain EM. About 1
    # run in 2,000 takes the level for the other one: two in 200 are a false alarm in 1 of 200.
    flips = 0
    for seed in range(200):
        counts, _ = draw(CARTPOLE, 160, [2, 5, 10, 40][seed % 4], seed, [0, 1])
        fit = DawidSkene().fit(counts)
        assert np.abs(surrogate_values(fit.confusion_, [0.0, 1.0])).max() < 10
        flips += fit.row_size_[0] > fit.row_size_[1]
    assert flips <= 1


def test_the_price_of_a_level_does_not_decide_between_labellings():
    # The right labels leave 1.4 observations to the level that does not occur, the mirror image
    # leaves .95; the mirror image's ELBO is 5 nats lower.
    counts, _ = draw(CARTPOLE, 160, 10, 158, [0, 1])
    fit = DawidSkene().fit(counts)
    assert fit.row_size_[1] > 1500
    assert fit.margin_ > 0


def anchors_of(counts, levels):
    """One cell of each level, with about 25 observations."""
    total = counts.sum(axis=1)
    chosen = {}
    for level in (0, 1):
        own = np.flatnonzero(levels == level)
        chosen[int(own[np.abs(total[own] - 25).argmin()])] = level
    return chosen


@pytest.mark.parametrize("known", ["nothing", "reverse", "level_prior", "anchors", "order"])
def test_what_resolves_a_flip(known):
    # Binary, 160 cells of 10, omega = .7. The default always flips. Two anchors of 25 observations
    # speak 17 nats (standard deviation 5.5) for the truth and 3 are needed: a fresh run fails in
    # 1 of 200. The others fail in less than 1 of 10,000.
    for seed in range(20):
        counts, levels = draw(FLIPPED, 160, 10, seed, [0.3, 0.7])
        options = {
            "nothing": {},
            "reverse": {"prior": "reverse"},
            "level_prior": {"level_prior": [0.3, 0.7]},
            "anchors": {"anchors": anchors_of(counts, levels)},
            # The levels' rows descend here: level 0 shows .7 on the mean, level 1 shows .3.
            "order": {"order": [1.0, 0.0]},
        }[known]
        fit = DawidSkene(**options).fit(counts)
        off = error(fit.confusion_, FLIPPED, levels)
        right = (fit.posterior_.argmax(axis=1) == levels)[counts.sum(axis=1) > 0].mean()
        if known == "nothing":
            assert off > 0.3
            assert right < 0.3
        else:
            assert off < 0.1
            assert right > 0.7


def test_anchors_and_level_prior_leave_a_right_answer_alone():
    for seed in range(10):
        counts, levels = draw(SIX_STATE, 160, 10, seed, [0.3, 0.7])
        plain = error(DawidSkene().fit(counts).confusion_, SIX_STATE, levels)
        for options in ({"anchors": anchors_of(counts, levels)}, {"level_prior": [0.3, 0.7]}):
            told = error(DawidSkene(**options).fit(counts).confusion_, SIX_STATE, levels)
            assert told < plain + 0.02


def test_anchors_resolve_a_flip_of_many_levels():
    M = 4
    C = 0.2 * np.eye(M) + 0.8 * np.roll(np.eye(M), 1, axis=1)
    for seed in range(5):
        counts, levels = draw(C, 200, 15, seed)
        assert error(DawidSkene().fit(counts).confusion_, C, levels) > 0.2
        total = counts.sum(axis=1)
        anchors = {int(np.where(levels == z, total, 0).argmax()): z for z in range(M)}
        fit = DawidSkene(anchors=anchors).fit(counts)
        assert error(fit.confusion_, C, levels) < 0.05
        assert [int(fit.posterior_[cell].argmax()) for cell in anchors] == list(anchors.values())


def test_order_sorts_the_rows_and_the_posterior_with_them():
    counts, _ = draw(FLIPPED, 160, 10, 0, [0.3, 0.7])
    for order, ascending in (([0.0, 1.0], True), (RewardLevels([-1, 3]), True), ([1, 0], False)):
        fit = DawidSkene(order=order)
        for table in (counts, counts * 1.2):
            fit.refresh(table)
            shown = fit.confusion_[:, 1]
            assert (shown[0] < shown[1]) == ascending
            np.testing.assert_allclose(
                fit.posterior_.T @ table + prior_beliefs(2).rows,
                fit.confusion_ * (fit.row_size_ + 10)[:, None],
                atol=20.0,  # one more E-step apart; the mirror image is hundreds away
            )
            assert not fit.ambiguous_  # an order rules out the mirror image


def test_even_odds_are_ambiguous_and_clear_ones_are_not():
    level = DawidSkene().fit(draw([[0.55, 0.45], [0.45, 0.55]], 20, 10, 0)[0])
    assert level.margin_ < 3
    assert level.ambiguous_
    clear = DawidSkene().fit(draw(SIX_STATE, 160, 10, 0)[0])
    assert clear.margin_ > 3
    assert not clear.ambiguous_


def test_levels_pinned_by_anchors_have_no_rival():
    fit = DawidSkene(anchors={0: 0, 6: 1}).fit([[90, 10]] * 6 + [[30, 70]] * 6)
    assert fit.margin_ == float("inf")
    lone = DawidSkene(anchors={0: 0}).fit([[90, 10]] * 6 + [[30, 70]] * 6)
    # One anchor leaves a far-fetched rival: that all cells have the level of the anchored one.
    assert 100 < lone.margin_ < float("inf")


def test_anchored_cells_keep_their_level():
    counts = np.array([[9.0, 1.0]] * 10 + [[2.0, 8.0]] * 10)
    fit = DawidSkene(anchors={3: 1, 12: 0}).fit(counts)
    for _ in range(2):
        assert fit.posterior_[[3, 12]].round(9).tolist() == [[0, 1], [1, 0]]
        fit.refresh(counts * 1.5)


def test_warm_refreshes_end_where_a_cold_fit_does():
    rng = np.random.default_rng(0)
    C, levels = np.array(SIX_STATE), rng.integers(2, size=60)
    counts = np.zeros((60, 2))
    fit = DawidSkene()
    for _ in range(60):
        cells = rng.integers(60, size=50)
        np.add.at(counts, (cells, (rng.random(50) < C[levels[cells], 1]).astype(int)), 1)
        fit.refresh(counts)
    # Both stop where the ELBO gains 1e-6 per observation: equal to far below the error of C.
    np.testing.assert_allclose(fit.confusion_, DawidSkene().fit(counts).confusion_, atol=0.003)
    assert error(fit.confusion_, C, levels) < 0.03


@pytest.mark.parametrize("C", [SIX_STATE, [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.6, 0.4]]])
def test_intervals_cover_the_truth(C):
    # 60 runs of two entries, nearly independent: with 95 % coverage fewer than 102 of 120 covered
    # has a false-alarm rate of 1e-5; at 85 % coverage half of the runs would fail.
    covered, widths = 0, []
    for seed in range(60):
        interval = DawidSkene().fit(draw(C, 160, 10, 1000 + seed)[0]).interval_
        for z in (0, 1):
            low, high = interval[z, z]
            covered += low <= C[z][z] <= high
            widths.append(high - low)
    assert covered >= 102
    assert np.mean(widths) < 0.2


def test_the_interval_of_a_level_never_seen_is_the_priors():
    fit = DawidSkene().fit([[30, 70]] * 50)
    assert fit.row_size_[0] == pytest.approx(0, abs=1e-6)
    # The Beta distribution with the prior's mean .8 and variance .16 / 10.
    expected = scipy.stats.beta(0.8 * 9, 0.2 * 9).interval(0.95)
    np.testing.assert_allclose(fit.interval_[0, 0], expected, atol=1e-3)


def test_intervals_of_clear_cells_are_those_of_shares():
    # 100 cells of 200: all levels are clear, and only C's own error is left. The information is
    # a sum over 50 cells of each level; its own error is a fifth, that of a width a tenth.
    rng = np.random.default_rng(0)
    C = np.array(SIX_STATE)
    fit = DawidSkene().fit(rng.multinomial(200, C[np.arange(100) % 2]))
    width = np.diff(fit.interval_, axis=-1)[..., 0]
    np.testing.assert_allclose(width, 2 * 1.96 * np.sqrt(C * (1 - C) / 10_000), rtol=0.4)


def jitted(function):
    return jax.jit(lambda counts: function(counts, prior_beliefs(counts.shape[1], like=counts)))


def problems(M):
    for seed in range(8):
        C = confusion.rand_all(M, 0.4, np.random.default_rng(seed)).matrix
        yield draw(C, 40, 12, seed)[0]


@pytest.mark.parametrize("M", [2, 4])
def test_jax_agrees_on_updates_inside_jit(M):
    warm = jitted(lambda counts, prior: update(counts, prior, prior, 3).beliefs)
    for counts in problems(M):
        expected = update(counts, prior_beliefs(M), prior_beliefs(M), 3).beliefs
        found = warm(jnp.asarray(counts, jnp.float32))
        np.testing.assert_allclose(found.confusion, expected.confusion, atol=1e-5)
        np.testing.assert_allclose(found.level_frequencies, expected.level_frequencies, atol=1e-5)


def test_jax_agrees_on_solutions_inside_jit():
    cold = jitted(lambda counts, prior: solve(counts, prior).best)
    for counts in problems(2):
        expected = solve(counts, prior_beliefs(2)).best
        # In float32 a run may stop an iteration sooner or later: gains of 1e-6 per observation.
        single = cold(jnp.asarray(counts, jnp.float32))
        np.testing.assert_allclose(single.confusion, expected.confusion, atol=5e-3)
        with jax.enable_x64(True):
            double = cold(jnp.asarray(counts))
            np.testing.assert_allclose(double.confusion, expected.confusion, atol=1e-10)
            np.testing.assert_allclose(double.levels, expected.levels, rtol=1e-9)


def test_torch_agrees_in_float32():
    torch = pytest.importorskip("torch")
    counts, _ = draw(SIX_STATE, 40, 12, 0)
    prior = prior_beliefs(2)
    table = torch.tensor(counts, dtype=torch.float32)
    like = prior_beliefs(2, like=table)
    found = update(table, like, like, 3).beliefs
    assert found.rows.dtype == torch.float32
    np.testing.assert_allclose(
        found.confusion, update(counts, prior, prior, 3).beliefs.confusion, atol=1e-5
    )
