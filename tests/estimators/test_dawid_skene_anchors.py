"""Anchors that contradict the prior lead to the optimum they belong to."""

import jax
import numpy as np

from unperturb.estimators import DawidSkene
from unperturb.estimators.base import anchor_mask
from unperturb.estimators.beliefs import prior_beliefs
from unperturb.estimators.search import solve

RIGHT = np.array([[18.0, 2.0]] * 20 + [[6.0, 14.0]] * 20)


def test_six_anchors_of_forty_turn_the_matrix_round():
    anchors = {cell: int(cell < 20) for cell in (0, 1, 2, 20, 21, 22)}
    fit = DawidSkene(anchors=anchors).fit(RIGHT)
    np.testing.assert_allclose(fit.confusion_, [[0.3, 0.7], [0.9, 0.1]], atol=0.03)
    assert (fit.posterior_.argmax(axis=1) == (np.arange(40) < 20)).all()
    assert not fit.ambiguous_


def test_anchors_that_agree_change_nothing():
    fit = DawidSkene(anchors={0: 0, 39: 1}).fit(RIGHT)
    np.testing.assert_allclose(fit.confusion_, DawidSkene().fit(RIGHT).confusion_, atol=1e-3)


def test_it_works_inside_jit():
    counts = jax.numpy.asarray(RIGHT)
    mask = jax.numpy.asarray(anchor_mask({0: 1, 1: 1, 20: 0, 21: 0}, 40, 2), dtype=counts.dtype)
    solution = jax.jit(lambda c: solve(c, prior_beliefs(2, like=c), extra=mask))(counts)
    assert solution.best.confusion[0, 0] < 0.5
