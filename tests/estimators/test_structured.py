"""Noise of known shape: omega by hand, better than the default there, and its intervals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from count_tables import draw, error
from unperturb.estimators import DawidSkene, Structured

ANTI = np.eye(2)[::-1]


@settings(max_examples=30)
@given(st.floats(0.0, 0.45), st.integers(2, 5), st.integers(0, 999))
def test_omega_is_the_posteriors_peak(weight, M, seed):
    noise = np.full((M, M), 1 / M)
    C = (1 - weight) * np.eye(M) + weight * noise
    counts, _ = draw(C, 60, 20, seed)
    fit = Structured(noise).fit(counts)
    shown = fit.posterior_.T @ counts  # at the fixed point, omega is the best for these shares

    def cost(w):
        matrix = np.maximum((1 - w) * np.eye(M) + w * noise, 1e-300)
        return -((shown * np.log(matrix)).sum() + np.log(w) + 7 * np.log(1 - w))

    best = minimize_scalar(cost, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-9})
    assert fit.weight_ == pytest.approx(best.x, abs=1e-4)
    np.testing.assert_allclose(
        fit.confusion_, (1 - fit.weight_) * np.eye(M) + fit.weight_ * noise, atol=1e-12
    )


def test_a_known_shape_needs_fewer_observations():
    # .4/.4, 160 cells of 10: the study has .014 for a symmetric model, .048 for the default. Over
    # 20 seeds both means have a standard error of .003: false alarms below 1e-4.
    C = [[0.6, 0.4], [0.4, 0.6]]
    shaped, free = [], []
    for seed in range(20):
        counts, levels = draw(C, 160, 10, seed)
        shaped.append(error(Structured(ANTI).fit(counts).confusion_, C, levels))
        free.append(error(DawidSkene().fit(counts).confusion_, C, levels))
    assert np.mean(shaped) < 0.025
    assert np.mean(shaped) < 0.75 * np.mean(free)


@pytest.mark.parametrize("known", ["nothing", "reverse", "level_prior and reverse", "anchors"])
def test_above_one_half(known):
    C = [[0.3, 0.7], [0.7, 0.3]]
    counts, levels = draw(C, 160, 10, 0, [0.3, 0.7])
    total = counts.sum(axis=1)
    anchors = {int(np.where(levels == z, total, 0).argmax()): z for z in (0, 1)}
    options = {
        "nothing": {},
        "reverse": {"prior": "reverse"},
        "level_prior and reverse": {"prior": "reverse", "level_prior": [0.3, 0.7]},
        "anchors": {"prior": "reverse", "anchors": anchors},
    }[known]
    weight = Structured(ANTI, **options).fit(counts).weight_
    assert weight == pytest.approx(0.3 if known == "nothing" else 0.7, abs=0.05)


def test_intervals_cover_omega():
    # 60 runs: with 95 % coverage fewer than 48 covered has a false-alarm rate below 1e-5.
    C, covered = [[0.7, 0.3], [0.3, 0.7]], 0
    for seed in range(60):
        low, high = Structured(ANTI).fit(draw(C, 160, 20, seed)[0]).interval_[0, 1]
        covered += low <= 0.3 <= high
    assert covered >= 48


def test_no_noise_and_nothing_but_noise():
    clean = Structured(ANTI).fit([[50, 0]] * 10 + [[0, 50]] * 10)
    assert clean.weight_ < 0.01
    assert clean.interval_[0, 0, 1] <= 1
    noise = Structured(np.full((2, 2), 0.5)).fit([[25, 25]] * 40)
    assert noise.weight_ > 0.7
