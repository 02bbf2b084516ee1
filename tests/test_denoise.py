"""Denoising: posterior means where one level explains a cell, surrogate means where none does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from count_tables import draw
from unperturb.denoise import cell_values, mixed_cells
from unperturb.estimators import DawidSkene, Known
from unperturb.surrogate import surrogate_values

C = np.array([[0.9, 0.1], [0.3, 0.7]])
R = np.array([0.0, 1.0])
HAT = surrogate_values(C, R)


def test_the_g_test_is_scipys():
    counts = np.array([[9.0, 1.0], [1.0, 19.0], [40.0, 60.0], [0.0, 0.0], [0.0, 8.0], [60.0, 40.0]])
    expected = []
    for row in counts:
        if not row.any():
            expected.append(False)
            continue
        p = [scipy.stats.power_divergence(row, row.sum() * c, lambda_=0).pvalue for c in C]
        expected.append(max(p) < 0.01)
    assert mixed_cells(counts, C, 0.01).tolist() == expected
    assert expected == [False, True, False, False, False, True]
    own = np.broadcast_to(C, (len(counts), 2, 2))
    assert mixed_cells(counts, own, 0.01).tolist() == expected


def test_a_pure_cell_fails_as_rarely_as_the_test_says():
    # 20,000 cells of 50 at a level of 1 % (less, since the better of two levels is tested): the
    # share has a standard error of .0007, so that false alarms are below 1e-5.
    rng = np.random.default_rng(0)
    counts = rng.multinomial(50, C[rng.integers(2, size=20_000)]).astype(float)
    assert 0.004 < mixed_cells(counts, C, 0.01).mean() < 0.0135
    # At 1e-4, 2 are expected; 12 or more have a chance of 1e-6.
    assert mixed_cells(counts, C).sum() < 12


def test_values_by_hand():
    counts = np.array([[3.0, 1.0], [50.0, 50.0], [0.0, 0.0]])
    posterior = np.array([[0.8, 0.2], [0.0, 1.0], [0.5, 0.5]])
    found = cell_values(counts, posterior, C, HAT, R)
    assert found[0] == pytest.approx(0.2)  # the posterior mean
    assert found[1] == pytest.approx((HAT[0] + HAT[1]) / 2)  # mixed: the mean of its surrogates
    assert np.isnan(found[2])  # never seen
    per_cell = cell_values(counts, posterior, np.stack([C] * 3), np.stack([HAT, 2 * HAT, HAT]), R)
    np.testing.assert_allclose(per_cell, [0.2, HAT.sum(), np.nan])


def test_the_posterior_beats_the_mean_of_surrogates():
    # The study, .1/.3 with n = 10: .0088 against .037 (sample mean). 4,000 cells each; standard
    # errors are a twentieth, so that these bounds hold with false alarms below 1e-5.
    rng = np.random.default_rng(0)
    levels = rng.integers(2, size=4000)
    counts = rng.multinomial(10, C[levels]).astype(float)
    fit = DawidSkene().fit(counts)
    hat = surrogate_values(fit.confusion_, R)
    mean = counts @ hat / 10
    found = cell_values(counts, fit.posterior_, fit.confusion_, hat, R)
    posterior_error = ((found - R[levels]) ** 2).mean()
    assert posterior_error < 0.0088 * 1.5
    assert 0.025 < ((mean - R[levels]) ** 2).mean() < 0.05


def test_mixed_cells_fall_back_to_what_is_unbiased():
    # Cells that mix both levels half and half have the true mean .5. 400 cells of 200: the mean
    # over cells has a standard error below .005.
    rng = np.random.default_rng(0)
    counts = (rng.multinomial(100, C[0], size=400) + rng.multinomial(100, C[1], size=400)).astype(
        float
    )
    fit = Known(C).fit(counts)
    assert mixed_cells(counts, C).mean() > 0.9
    found = cell_values(counts, fit.posterior_, C, HAT, R)
    assert abs(found.mean() - 0.5) < 0.05
    assert np.abs(fit.posterior_ @ R - 0.5).mean() > 0.4  # a posterior over one level is wrong here


def test_it_works_inside_jit_and_on_torch():
    counts, _ = draw(C, 40, 8, 0)
    counts[3] = 0
    counts[4] = [30, 30]
    posterior = Known(C).fit(counts).posterior_
    expected = cell_values(counts, posterior, C, HAT, R)
    arrays = counts, posterior, C, HAT, R
    found = jax.jit(cell_values)(*(jnp.asarray(a, jnp.float32) for a in arrays))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    torch = pytest.importorskip("torch")
    found = cell_values(*(torch.tensor(a) for a in arrays))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)
