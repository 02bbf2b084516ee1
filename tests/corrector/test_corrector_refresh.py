import numpy as np
import pytest

import unperturb as up
from unperturb.errors import StateMismatchError

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


def estimated(**options):
    """Give a corrector that has seen states 0 to 5 only, and makes no further estimate."""
    target = corrector(method="posterior", refresh=10**6, **options)
    states, actions, rewards = stream(1001)
    known = states < 6
    target(states[known], actions[known], rewards[known])
    return target.refresh()


def by_bayes(target, shown):
    """Give the posterior mean of a cell that was not known at the last estimate."""
    C, frequencies = target.confusion, target.estimator.level_frequencies_
    joint = frequencies * np.prod(C[:, shown], axis=1)
    return joint[1] / joint.sum()


def test_a_new_cell_gets_the_posterior_of_its_one_reward():
    target = estimated()
    for level in range(2):
        expected = by_bayes(target, [level])
        assert target.one(6, level, float(level)) == pytest.approx(expected)
        again = target(np.array([7]), np.array([level]), np.array([float(level)]))
        assert again == pytest.approx([expected])


def test_a_cell_is_looked_at_again_whenever_its_counts_have_doubled():
    target = estimated()
    shown = [1, 1, 0, 1, 1, 1, 1, 1, 1]
    given = [target.one(7, 0, float(level)) for level in shown]
    renewed = [by_bayes(target, shown[:n]) for n in (1, 2, 4, 8)]
    # It changes at the first, second, fourth and eighth reward, and is kept in between.
    assert given == pytest.approx([renewed[i] for i in (0, 1, 1, 2, 2, 2, 2, 3, 3)])
    assert target.refreshes == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"confusion": up.confusion.binary(0.1, 0.3)},
        {"estimator": "streaming"},
        {"estimator": up.estimators.Hierarchical(np.arange(16) // 8)},
        {"estimator": up.estimators.DawidSkene(anchors={14: 1})},
    ],
    ids=["default", "known", "streaming", "hierarchical", "anchored"],
)
def test_a_renewed_value_is_what_the_next_estimate_gives(options):
    target = estimated(**options)
    target(np.full(16, 7), np.zeros(16, int), np.repeat([0.0, 1.0], [5, 11]))
    renewed = target.tables.values[14]
    target.refresh()
    # The estimate of C itself hardly moves by 16 rewards more.
    assert renewed == pytest.approx(target.tables.values[14], abs=0.03)
    assert renewed > 0.9


def test_an_anchored_cell_keeps_its_level():
    anchored = estimated(estimator=up.estimators.DawidSkene(anchors={14: 1}))
    free = estimated()
    for target in (anchored, free):
        target(np.full(4, 7), np.zeros(4, int), np.zeros(4))
    assert anchored.tables.values[14] == 1.0
    assert free.tables.values[14] < 0.2


def test_groups_are_renewed_with_their_own_matrix():
    clean, noisy = np.eye(2), up.confusion.binary(0.4, 0.4).matrix
    known = up.estimators.Known([clean, noisy], groups=np.arange(16) % 2)
    target = estimated(confusion=known)
    # Actions 0 and 1 of one state are in different groups; both cells show a one twice.
    target(np.full(4, 7), np.array([0, 1, 0, 1]), np.ones(4))
    own = target.tables.values[14:]
    assert own[0] == pytest.approx(1.0)
    odds = target.estimator.level_frequencies_ * noisy[:, 1] ** 2
    assert own[1] == pytest.approx(odds[1] / odds.sum())


def test_a_stream_keeps_what_it_knows_of_a_cell_whose_counts_faded():
    target = corrector(estimator="streaming", method="posterior", forget=100.0)
    target(np.full(40, 7), np.zeros(40, int), np.repeat([0.0, 1.0], [12, 28]))
    states, actions, rewards = stream(4000)
    others = states < 6
    target(states[others], actions[others], rewards[others])
    target.refresh()
    assert target.counts.row(14).sum() < 0.01
    # Thirty rewards ago it was sure to pay; one zero is no reason to doubt that.
    assert target.one(7, 0, 0.0) > 0.95


@pytest.mark.parametrize("estimator", ["dawid-skene", "streaming"])
def test_one_by_one_renews_as_batches_of_one_do(estimator):
    one, many = estimated(estimator=estimator), estimated(estimator=estimator)
    for s, a, r in zip(*stream(300, seed=1), strict=True):
        single = one.one(int(s), int(a), float(r))
        assert single == pytest.approx(many([s], [a], [r])[0], abs=1e-12)
    np.testing.assert_allclose(one.tables.values, many.tables.values)


def test_a_saved_corrector_renews_at_the_same_rewards(tmp_path):
    first = estimated()
    first(np.full(3, 7), np.zeros(3, int), np.ones(3))
    loaded = up.RewardCorrector.load(first.save(tmp_path / "c.npz"))
    for s, a, r in zip(*stream(300, seed=2), strict=True):
        assert first.one(s, a, r) == loaded.one(s, a, r)
    state = first.state_dict()
    del state["until"]
    with pytest.raises(StateMismatchError, match="the state has no until"):
        loaded.load_state_dict(state)
