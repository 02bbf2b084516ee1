"""State-dependent noise: shrinkage beats both pooling and separating, and follows the data."""

import numpy as np

from count_tables import draw
from unperturb.estimators import DawidSkene, Hierarchical


def problem(seed, spread, groups=8, cells=20, per_cell=12):
    """Binary noise whose rates differ between groups by about `spread`."""
    rng = np.random.default_rng(seed)
    e = np.clip(np.array([0.1, 0.3]) + spread * rng.normal(size=(groups, 2)), 0.02, 0.48)
    C = np.stack([[[1 - a, a], [b, 1 - b]] for a, b in e])
    counts = np.concatenate(
        [draw(one, cells, per_cell, 100 * seed + g)[0] for g, one in enumerate(C)]
    )
    return C, counts, np.repeat(np.arange(groups), cells)


def errors(seed, spread):
    C, counts, groups = problem(seed, spread)
    pooled = DawidSkene().fit(counts).confusion_
    apart = np.stack([DawidSkene().fit(counts[groups == g]).confusion_ for g in range(len(C))])
    shrunk = Hierarchical(groups).fit(counts)
    return [np.abs(found - C).mean() for found in (pooled, apart, shrunk.confusion_)], shrunk.tau_


def test_shrinkage_beats_pooling_and_separating():
    # 12 problems of moderate variation. The differences are 3 and more standard errors:
    # false-alarm rate about 1e-3 for fresh seeds.
    pooled, apart, shrunk = np.mean([errors(seed, 0.06)[0] for seed in range(12)], axis=0)
    assert shrunk < 0.95 * pooled
    assert shrunk < 0.95 * apart


def test_tau_says_how_much_the_groups_share():
    alike = np.mean([np.log(errors(seed, 0.0)[1]) for seed in range(6)])
    different = np.mean([np.log(errors(seed, 0.15)[1]) for seed in range(6)])
    assert alike > different + 1
    off, _ = errors(0, 0.0)
    assert off[2] < off[1]  # equal groups are pooled


def test_a_group_without_observations_has_the_shared_matrix():
    _, counts, groups = problem(0, 0.05)
    counts[groups == 3] = 0
    fit = Hierarchical(groups).fit(counts)
    np.testing.assert_allclose(fit.confusion_[3], fit.shared.confusion_, atol=1e-6)
    np.testing.assert_allclose(fit.row_size_[3], 0, atol=1e-9)
    assert fit.group_count == 8


def test_settings_reach_the_shared_estimate():
    C, counts, groups = problem(1, 0.0)
    flipped = C[:, ::-1][0]
    rng = np.random.default_rng(0)
    levels = rng.integers(2, size=len(groups))
    counts = rng.multinomial(12, flipped[levels])
    assert np.abs(Hierarchical(groups).fit(counts).confusion_ - flipped).mean() > 0.3
    fit = Hierarchical(groups, prior="reverse").fit(counts)
    assert np.abs(fit.confusion_ - flipped).mean() < 0.1
    assert fit.margin_ == fit.shared.margin_
