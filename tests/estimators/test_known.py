"""A C that is handed over: posteriors by Bayes' rule, for one matrix and for one per group."""

import numpy as np

from unperturb import confusion
from unperturb.estimators import Known

C = np.array([[0.9, 0.1], [0.3, 0.7]])


def test_posteriors_are_bayes_rule():
    counts = np.array([[3.0, 1.0], [0.0, 2.0], [1.0, 1.0], [0.0, 0.0]])
    fit = Known(C).fit(counts)
    pi = fit.level_frequencies_
    joint = pi * np.prod(C[None] ** counts[:, None, :], axis=2)
    # pi is found by fixed-point iteration; the last E-step used the one before.
    np.testing.assert_allclose(fit.posterior_, joint / joint.sum(axis=1, keepdims=True), atol=0.02)
    np.testing.assert_allclose(fit.confusion_, C)
    np.testing.assert_array_equal(fit.interval_[..., 0], C)
    np.testing.assert_array_equal(fit.interval_[..., 1], C)
    assert fit.margin_ == float("inf")


def test_frequencies_are_found():
    rng = np.random.default_rng(0)
    levels = (rng.random(4000) < 0.2).astype(int)
    fit = Known(C).fit(rng.multinomial(10, C[levels]))
    # The share of 4,000 draws has a standard error of .0063; 5 of them: false alarms below 1e-6.
    assert abs(fit.level_frequencies_[1] - 0.2) < 5 * 0.0063


def test_each_group_has_its_own_matrix():
    one, other = C, confusion.binary(0.4, 0.1).matrix
    counts = np.tile([[4.0, 6.0]], (40, 1))
    counts[:10], counts[20:30] = [9, 1], [9, 1]
    groups = np.repeat([0, 1], 20)
    fit = Known([one, other], groups=groups).fit(counts)
    pi = fit.level_frequencies_
    for cell in (15, 35):
        matrix = (one, other)[groups[cell]]
        joint = pi * np.prod(matrix ** counts[cell], axis=1)
        np.testing.assert_allclose(fit.posterior_[cell], joint / joint.sum(), atol=1e-3)
    # The same counts mean different levels under different noise.
    assert fit.posterior_[15].argmax() == 1
    assert fit.posterior_[35].argmax() == 0


def test_impossible_observations_do_not_break_it():
    fit = Known(np.eye(2)).fit([[5, 1], [0, 6]])
    assert np.isfinite(fit.posterior_).all()
