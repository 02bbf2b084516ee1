import numpy as np
import pytest

import unperturb as up

LEVELS = up.RewardLevels([0.0, 1.0])


def corrector(**options):
    return up.RewardCorrector(LEVELS, up.Cells.discrete(8, 2), **options)


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    states, actions = rng.integers(8, size=n), rng.integers(2, size=n)
    true = (states >= 4).astype(int)
    return states, actions, LEVELS.values[up.confusion.binary(0.1, 0.3).draw(true, rng)]


def feed(target, n, seed=0):
    for row in zip(*stream(n, seed), strict=True):
        target.one(*row)
    return target


def test_the_interval_grows_unless_told_otherwise():
    assert feed(corrector(), 1000).refreshes == 10
    assert feed(corrector(), 4000).refreshes < 31
    assert feed(corrector(refresh=100), 4000).refreshes == 40
    assert feed(corrector(d_max=50), 4000).refreshes == 40
    assert feed(corrector(estimator="streaming"), 4000).refreshes == 8


def test_the_interval_outlives_saving(tmp_path):
    first = feed(corrector(), 5000)
    loaded = up.RewardCorrector.load(first.save(tmp_path / "c.npz"))
    assert loaded.config() == first.config()
    assert feed(first, 3000, 1).refreshes == feed(loaded, 3000, 1).refreshes
    assert np.array_equal(first.confusion, loaded.confusion)


def test_a_new_cell_gets_the_posterior_of_its_one_reward():
    target = corrector(method="posterior", refresh=1000)
    states, actions, rewards = stream(1001)
    known = states < 7
    target(states[known][:800], actions[known][:800], rewards[known][:800])
    target.refresh()
    C, frequencies = target.confusion, target.estimator.level_frequencies_
    for level in range(2):
        joint = frequencies * C[:, level]
        expected = joint[1] / joint.sum()
        assert target.one(7, level, float(level)) == pytest.approx(expected)
        again = target(np.array([7]), np.array([level]), np.array([float(level)]))
        assert again == pytest.approx([expected])
