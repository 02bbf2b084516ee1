"""Count tables for the tests: uneven visits, one true level per cell, as in the field."""

import numpy as np


def draw(C, cells, per_cell, seed, frequencies=None, levels=None):
    """Give (counts, true levels); visits have Gamma(0.5) weights."""
    rng = np.random.default_rng(seed)
    C = np.asarray(C)
    if levels is None:
        levels = rng.choice(len(C), size=cells, p=frequencies)
    visits = rng.gamma(0.5, size=cells)
    n = rng.multinomial(round(cells * per_cell), visits / visits.sum())
    return rng.multinomial(n, C[levels]).astype(float), levels


def error(estimate, C, levels):
    """Give the mean absolute error over the rows of levels that occur."""
    return float(np.abs(np.asarray(estimate) - C)[np.unique(levels)].mean())


def same_state(one, other):
    """Whether two state dictionaries are equal bit for bit."""
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
        assert np.asarray(one[name]).dtype == np.asarray(other[name]).dtype, name
