import numpy as np
import pytest

from unperturb import confusion
from unperturb.counts import AllTime, Forgetting, LastPerCell
from unperturb.estimators import DawidSkene, Known, MajorityVote

C = confusion.binary(0.1, 0.3).matrix


def sparse_counts(cells=60, busy=25):
    rng = np.random.default_rng(0)
    table = np.zeros((cells, 2))
    chosen = np.sort(rng.choice(cells, busy, replace=False))
    table[chosen] = [rng.multinomial(1 + n, C[n % 2]) for n in range(busy)]
    return table, chosen


@pytest.mark.parametrize(
    "make", [DawidSkene, MajorityVote, lambda: Known(C), lambda: DawidSkene(anchors={3: 1})]
)
def test_cells_without_observations_may_be_left_out(make):
    table, chosen = sparse_counts()
    whole, part = make(), make()
    for scale in (1, 2):
        whole.refresh(scale * table)
        part.refresh_rows(scale * table[chosen], chosen, len(table))
        np.testing.assert_array_equal(part.posterior_of(chosen), whole.posterior_[chosen])
        np.testing.assert_array_equal(part.confusion_, whole.confusion_)
        np.testing.assert_array_equal(part.posterior_, whole.posterior_)
        np.testing.assert_allclose(part.interval_, whole.interval_, atol=1e-12)


def test_a_sparse_fit_is_saved_whole():
    table, chosen = sparse_counts()
    fit = DawidSkene().refresh_rows(table[chosen], chosen, len(table))
    again = DawidSkene()
    again.load_state_dict(fit.state_dict())
    np.testing.assert_array_equal(again.posterior_, fit.posterior_)
    np.testing.assert_allclose(again.interval_, fit.interval_, atol=1e-12)
    both = [one.refresh(2 * table).confusion_ for one in (fit, again)]
    np.testing.assert_array_equal(*both)


@pytest.mark.parametrize(
    "make", [AllTime, lambda *n: LastPerCell(*n, d_max=3), lambda *n: Forgetting(*n, memory=50)]
)
def test_busy_cells(make):
    counts = make(10, 2)
    assert counts.busy().tolist() == []
    counts.add([7, 2, 7], [0, 1, 1])
    counts.add_one(4, 0)
    assert counts.busy().tolist() == [2, 4, 7]
    counts.clear([4])
    assert counts.busy().tolist() == [2, 7]
    again = make(10, 2)
    again.load_state_dict(counts.state_dict())
    assert again.busy().tolist() == [2, 7]
