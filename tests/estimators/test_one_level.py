"""Where only one level occurs, as in CartPole, its mirror image must not win."""

import numpy as np
import pytest

from unperturb.estimators import DawidSkene
from unperturb.estimators.beliefs import prior_beliefs
from unperturb.estimators.search import alone, solve


def counts(rng, n, cells, flipped=0.4):
    weights = rng.gamma(0.5, size=cells)
    visits = rng.multinomial(n, weights / weights.sum())
    low = rng.binomial(visits, flipped)
    return np.stack([low, visits - low], axis=1).astype(float)


@pytest.mark.parametrize(("n", "cells"), [(500, 400), (2000, 150)])
def test_the_mirror_image_does_not_win(n, cells):
    # More than half of 500 rewards flipped has the chance 2e-6 in each of the 60 draws.
    rng = np.random.default_rng(0)
    for _ in range(60):
        fit = DawidSkene().fit(counts(rng, n, cells))
        assert fit.level_frequencies_[1] > 0.9
        assert fit.confusion_[1] == pytest.approx([0.4, 0.6], abs=0.12)


def test_the_evidence_of_one_level_is_exact():
    # Two observations of the only cell, seen as 0 and then 1, all cells of level 0:
    # E[pi_0] E[C_00 C_01] = 1/2 * 8 * 2 / (10 * 11).
    runs = alone(np.array([[1.0, 1.0]]), prior_beliefs(2), 5, None)
    assert [np.exp(run.elbo) for run in runs] == pytest.approx([0.5 * 16 / 110] * 2)


def test_anchors_rule_levels_out():
    table = np.array([[6.0, 4.0]] * 20)
    fit = DawidSkene(anchors={0: 1}).fit(table)
    assert fit.posterior_[0] == pytest.approx([0, 1])


def test_it_works_inside_jit():
    jax = pytest.importorskip("jax")
    table = counts(np.random.default_rng(1), 2000, 100)

    def best(n):
        return solve(n, prior_beliefs(2, like=n), 50).best.rows

    with jax.enable_x64():
        found = jax.jit(best)(jax.numpy.asarray(table))
    assert np.allclose(found, solve(table, prior_beliefs(2), 50).best.rows, rtol=1e-6)


def test_two_odd_cells_among_a_dozen_are_a_second_level():
    # Among hundreds of cells one such cell is chance; the price of a level grows with their number.
    usual = [[10, 1], [12, 2], [16, 0], [5, 1], [4, 0], [9, 2], [3, 1], [1, 0], [23, 3]]
    fit = DawidSkene().fit([*usual, [5, 9], [6, 5], [0, 0]])
    assert fit.confusion_ == pytest.approx(np.array([[0.88, 0.12], [0.37, 0.63]]), abs=0.02)
    assert fit.posterior_[9, 1] > 0.99
