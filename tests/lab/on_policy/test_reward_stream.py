import numpy as np
import pytest

import unperturb as up
from unperturb.errors import UnknownRewardError
from unperturb.estimators import MajorityVote
from unperturb.lab.on_policy.reward_stream import RewardStream
from unperturb.lab.training import Lane

LEVELS = up.RewardLevels([-1.0, 0.0, 1.0])
C = up.confusion.symmetric(3, 0.3).matrix
NOTHING = np.zeros((50, 4))


def stream(cells=None, smooth=None, **lane):
    return RewardStream(LEVELS, cells, Lane(7, C, **lane), smooth)


def rewards(shape=(50, 4)):
    return np.random.default_rng(1).choice(LEVELS.values, size=shape)


def test_true_rewards_stay_as_they_are():
    true = rewards()
    np.testing.assert_array_equal(stream(raw=True).show(true, NOTHING, NOTHING), true)


def test_every_condition_meets_the_same_noise():
    true = rewards()
    seen = stream().show(true, NOTHING, NOTHING)
    table = up.surrogate_values(C, LEVELS.values)
    known = stream(table=table).show(true, NOTHING, NOTHING)
    np.testing.assert_array_equal(known, table[LEVELS.index(seen.ravel())].reshape(seen.shape))
    assert 0.1 < (seen != true).mean() < 0.3


def test_the_noise_does_not_depend_on_how_rollouts_are_cut():
    true = rewards((60, 4))
    whole = stream().show(true, NOTHING, NOTHING)
    own = stream()
    parts = [own.show(part, NOTHING, NOTHING) for part in np.split(true, [10, 33])]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_known_rewards_are_unbiased():
    """A mean of 200,000 surrogates; 5 standard errors are passed once in two million runs."""
    true = rewards((50_000, 4))
    known = stream(table=up.surrogate_values(C, LEVELS.values)).show(true, true, true)
    error = known - true
    assert abs(error.mean()) < 5 * error.std() / np.sqrt(error.size)


@pytest.mark.parametrize("cut", [[], [7, 8, 130], [64]])
def test_c_is_estimated_every_hundred_steps_however_rollouts_are_cut(cut):
    """The same as a corrector that is fed step by step."""
    cells = up.Cells.adjacent(batch=8, memory=80, envs=4)
    make = lambda: up.RewardCorrector(LEVELS, cells, MajorityVote(), refresh=400, n_eff=None)  # noqa: E731
    true = rewards((250, 4))
    seen = stream().show(true, NOTHING, NOTHING)
    step_by_step = make()
    expected = [step_by_step(row, row, row) for row in seen]
    cells.load_state_dict({"rows": np.array(0)})
    own = stream(cells, corrector=make())
    given = [own.show(part, part, part) for part in np.split(true, cut)]
    np.testing.assert_allclose(np.concatenate(given), expected)
    np.testing.assert_allclose(own.confusion[-1], step_by_step.confusion)
    assert step_by_step.refreshes == len(own.estimated) - 1 == 2


def test_a_window_gives_means_of_a_cell():
    cells = up.Cells.discrete(1, 1)
    own = stream(cells, smooth=10)
    true = np.ones((30, 2))
    given = own.show(true, np.zeros((30, 2), int), np.zeros((30, 2), int))
    seen = stream().show(true, NOTHING, NOTHING)
    assert given[-1, 0] == pytest.approx(seen.ravel()[-10:].mean(), abs=0.21)
    assert given[5:].std() < seen[5:].std() / 1.5


def test_windows_of_runs_side_by_side_do_not_mix():
    cells = up.Cells.adjacent(batch=32, memory=16, envs=4)
    true = rewards((64, 4))
    first, beside = stream(cells, smooth=100), stream(cells, smooth=100)
    given = []
    for part in np.split(true, [20]):
        given.append(first.show(part, part, part))
        beside.show(part, part, part)
    alone = stream(cells, smooth=100)
    expected = [alone.show(part, part, part) for part in np.split(true, [20])]
    np.testing.assert_array_equal(np.concatenate(given), np.concatenate(expected))


def test_a_reward_that_is_no_level_is_refused():
    with pytest.raises(UnknownRewardError, match=r"0\.5"):
        stream().show(np.full((2, 2), 0.5), NOTHING, NOTHING)


@pytest.mark.parametrize("smooth", [None, 5])
def test_a_stream_goes_on_from_its_state(smooth):
    def make():
        cells = up.Cells.adjacent(batch=8, memory=80, envs=4)
        corrector = up.RewardCorrector(LEVELS, cells, refresh=100)
        return stream(up.Cells.adjacent(batch=8, memory=80, envs=4), smooth, corrector=corrector)

    true = rewards((200, 4))
    whole, first, second = make(), make(), make()
    expected = whole.show(true, true, true)
    first.show(true[:90], true[:90], true[:90])
    second.load_state_dict(first.state_dict())
    np.testing.assert_array_equal(second.show(true[90:], true[90:], true[90:]), expected[90:])
    np.testing.assert_array_equal(second.confusion[-1], whole.confusion[-1])
