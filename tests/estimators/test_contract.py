"""What every estimator promises: NumPy, JAX and torch agree, inputs stay, states go on exactly."""

import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from count_tables import draw, same_state
from unperturb import confusion
from unperturb.errors import (
    BatchMismatchError,
    InvalidConfusionError,
    InvalidCountsError,
    NotFittedError,
    StateMismatchError,
)
from unperturb.errors import InvalidAnchorsError as BadAnchors
from unperturb.errors import InvalidOptionError as BadOption
from unperturb.errors import InvalidPriorError as BadPrior
from unperturb.estimators import (
    DawidSkene,
    Hierarchical,
    Known,
    MajorityVote,
    StreamingDawidSkene,
    Structured,
    estimator_from,
)
from unperturb.levels import RewardLevels

CELLS = 24
C = np.array([[0.9, 0.1], [0.3, 0.7]])
MAKE = {
    "vote": MajorityVote,
    "anchored vote": lambda: MajorityVote(anchors={0: 1}),
    "dawid-skene": DawidSkene,
    "dawid-skene with all": lambda: DawidSkene(
        confusion.binary(0.2, 0.2), 5.0, [0.4, 0.6], {0: 1, 3: 0}, RewardLevels([0.0, 1.0])
    ),
    "reverse": lambda: DawidSkene(prior="reverse"),
    "streaming": lambda: StreamingDawidSkene(memory=300),
    "structured": lambda: Structured(np.eye(2)[::-1], anchors={0: 1}, level_prior=[0.5, 0.5]),
    "hierarchical": lambda: Hierarchical(np.arange(CELLS) % 3, anchors={0: 1}),
    "known": lambda: Known(C),
    "known per group": lambda: Known([C, np.eye(2)], groups=np.arange(CELLS) % 2),
}
every = pytest.mark.parametrize("name", MAKE)
RESULTS = ("confusion_", "posterior_", "level_frequencies_", "row_size_")


def tables(chunks=3):
    return [draw(C, CELLS, 10 + 5 * i, seed=i)[0] for i in range(chunks)]


@every
def test_results_have_their_shapes_and_are_probabilities(name):
    fit = MAKE[name]()
    assert fit.fit(tables()[0]) is fit
    assert fit.fitted
    matrix, interval = np.asarray(fit.confusion_), fit.interval_
    assert matrix.shape[-2:] == (2, 2)
    assert interval.shape == (*matrix.shape, 2)
    assert (interval[..., 0] <= matrix + 1e-9).all()
    assert (matrix <= interval[..., 1] + 1e-9).all()
    assert ((interval >= 0) & (interval <= 1)).all()
    for rows in (matrix, fit.posterior_, fit.level_frequencies_):
        assert (np.asarray(rows) >= 0).all()
        np.testing.assert_allclose(np.asarray(rows).sum(axis=-1), 1)
    assert fit.posterior_.shape == (CELLS, 2)
    assert np.asarray(fit.row_size_).sum() == pytest.approx(tables()[0].sum())
    assert isinstance(fit.ambiguous_, bool)
    assert isinstance(fit.trace_, np.ndarray)


@every
def test_inputs_are_neither_changed_nor_kept(name):
    table = tables()[0]
    copy = table.copy()
    fit = MAKE[name]().fit(table)
    fit.refresh(table)
    np.testing.assert_array_equal(table, copy)
    before = fit.state_dict(), fit.interval_, fit.margin_
    before = {k: v.copy() for k, v in before[0].items()}, before[1], before[2]
    table += 50  # a user goes on counting in place
    same_state(before[0], fit.state_dict())
    np.testing.assert_array_equal(before[1], fit.interval_)
    assert before[2] == fit.margin_


@every
def test_whole_numbers_lists_and_frames_are_counts_too(name):
    pandas = pytest.importorskip("pandas")
    table = tables()[0]
    expected = MAKE[name]().fit(table)
    for other in (table.astype(int), table.tolist(), pandas.DataFrame(table)):
        found = MAKE[name]().fit(other)
        for result in RESULTS:
            np.testing.assert_array_equal(getattr(found, result), getattr(expected, result))


@every
def test_torch_gives_the_same(name):
    torch = pytest.importorskip("torch")
    mine, theirs = MAKE[name](), MAKE[name]()
    for table in tables(2):
        mine.refresh(table)
        theirs.refresh(torch.tensor(table))
        for result in RESULTS:
            np.testing.assert_allclose(getattr(theirs, result), getattr(mine, result), atol=1e-9)
    np.testing.assert_allclose(theirs.interval_, mine.interval_, atol=1e-8)
    assert theirs.margin_ == pytest.approx(mine.margin_)


@pytest.mark.parametrize("name", ["vote", "anchored vote", "structured", "streaming", "known"])
def test_jax_gives_the_same(name):
    mine, theirs = MAKE[name](), MAKE[name]()
    for table in tables(2 if name == "streaming" else 1):
        mine.refresh(table)
        theirs.refresh(jnp.asarray(table, jnp.int32))
        assert isinstance(theirs.posterior_, jax.Array)
        for result in RESULTS:
            np.testing.assert_allclose(
                getattr(theirs, result), getattr(mine, result), rtol=1e-5, atol=1e-5
            )


@every
@pytest.mark.parametrize("seen", [0, 1, 2])
def test_a_reloaded_state_goes_on_bit_for_bit(name, seen):
    first, *rest = MAKE[name](), *tables(4)
    for table in rest[:seen]:
        first.refresh(table)
    saved = {key: value.copy() for key, value in first.state_dict().items()}
    again = estimator_from(json.loads(json.dumps(first.config())))
    # What it had seen before loading is forgotten, even where the loaded state is empty.
    again.refresh(rest[3])
    again.load_state_dict(saved)
    same_state(first.state_dict(), again.state_dict())
    for table in rest[seen:]:
        first.refresh(table)
        again.refresh(table)
        for result in RESULTS:
            np.testing.assert_array_equal(getattr(first, result), getattr(again, result))
        np.testing.assert_array_equal(first.interval_, again.interval_)
        assert first.margin_ == again.margin_
        same_state(first.state_dict(), again.state_dict())


@every
def test_config_survives_json(name):
    estimator = MAKE[name]()
    again = estimator_from(json.loads(json.dumps(estimator.config())))
    assert type(again) is type(estimator)
    assert again.config() == estimator.config()
    assert repr(again) == repr(estimator)
    table = tables()[0]
    same_state(estimator.fit(table).state_dict(), again.fit(table).state_dict())


@pytest.mark.parametrize("cls", [MajorityVote, DawidSkene])
def test_numpy_integers_are_anchors(cls):
    fit = cls(anchors={np.int64(3): np.int32(1)})
    assert json.dumps(fit.config()["anchors"]) == '{"3": 1}'


@pytest.mark.parametrize(
    "fit",
    [
        DawidSkene(np.eye(2), np.float32(5), np.array([0.5, 0.5]), order=np.array([0, 1])),
        DawidSkene(prior_strength=np.int64(5)),
        Hierarchical(np.zeros(4, np.int32), prior_strength=np.int64(5)),
        StreamingDawidSkene(np.int64(300), prior_strength=np.float32(5)),
    ],
    ids=repr,
)
def test_numpy_numbers_are_settings(fit):
    again = estimator_from(json.loads(json.dumps(fit.config())))
    assert again.config() == fit.config()


@every
def test_one_cell_and_one_level_are_enough(name):
    if name not in ("known per group", "hierarchical", "dawid-skene with all"):
        one = MAKE[name]().fit([[7, 1]])
        assert np.isfinite(np.asarray(one.confusion_)).all()
        assert one.posterior_.shape == (1, 2)
    lone = np.zeros((CELLS, 2))
    lone[:, 1] = 5  # only one level was ever observed
    fit = MAKE[name]().fit(lone)
    assert np.isfinite(np.asarray(fit.confusion_)).all()
    assert np.isfinite(fit.interval_).all()
    assert np.isfinite(np.asarray(fit.posterior_)).all()


@every
def test_unseen_cells_change_nothing(name):
    if name in ("hierarchical", "known per group"):
        pytest.skip("groups name each cell")
    table = tables()[0]
    short = MAKE[name]().fit(table)
    long = MAKE[name]().fit(np.vstack([table, np.zeros((50, 2))]))
    np.testing.assert_allclose(long.confusion_, short.confusion_, atol=1e-12)
    np.testing.assert_allclose(long.level_frequencies_, short.level_frequencies_, atol=1e-12)


@every
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((CELLS, 2)), "all counts are zero; an estimate needs observations"),
        (np.full((CELLS, 2), -1.0), r"counts hold -1\.0; counts are finite and not negative"),
        (np.full((CELLS, 2), math.nan), "counts hold nan; counts are finite"),
        (np.full((CELLS, 2), math.inf), "counts hold inf; counts are finite"),
        (np.ones(CELLS), r"counts have shape \(24,\); they are \(cells, levels\)"),
        (np.ones((CELLS, 1)), r"counts have shape \(24, 1\)"),
        (np.ones((0, 2)), r"counts have shape \(0, 2\)"),
        ([["a", "b"]] * CELLS, "counts form no table of numbers"),
        ([[1], [1, 2]], "counts form no table of numbers"),
    ],
)
def test_bad_counts_are_named(name, bad, message):
    for method in ("fit", "refresh"):
        with pytest.raises(InvalidCountsError, match=message):
            getattr(MAKE[name](), method)(bad)


@every
def test_before_the_first_fit(name):
    estimator = MAKE[name]()
    if isinstance(estimator, Known):
        assert estimator.fitted
    else:
        assert not estimator.fitted
        for result in ("confusion_", "posterior_", "interval_", "ambiguous_"):
            with pytest.raises(NotFittedError, match=r"no estimate; .* call fit\(counts\) first"):
                getattr(estimator, result)
    assert not hasattr(estimator, "confusion")
    assert estimator.state_dict() == {}


@every
def test_a_state_that_lacks_something_is_named(name):
    full = MAKE[name]().fit(tables()[0]).state_dict()
    for lost in full:
        state = {key: value for key, value in full.items() if key != lost}
        with pytest.raises(StateMismatchError, match=f"the state has no '{lost}'; it needs"):
            MAKE[name]().load_state_dict(state)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: estimator_from("median"), BadOption, "'median' is not known; the est"),
        (lambda: estimator_from(DawidSkene), BadOption, "estimator is <class .*name, an"),
        (lambda: estimator_from(None), BadOption, "estimator is None; it is a name"),
        (lambda: estimator_from({"name": "hierarchical"}), BadOption, "can't be made from"),
        (lambda: estimator_from({"name": "known", "C": 1}), BadOption, "'known' can't be"),
        (lambda: DawidSkene(anchors=[0, 1]), BadAnchors, r"anchors are \[0, 1\]; they map"),
        (lambda: DawidSkene(anchors={0.5: 1}), BadAnchors, r"anchors are {0\.5: 1}"),
        (lambda: DawidSkene(anchors={99: 1}), BadAnchors, r"{99: 1} is out of range; cells"),
        (lambda: DawidSkene(anchors={0: 2}), BadAnchors, "levels from 0 to 1"),
        (lambda: DawidSkene(anchors={-1: 0}), BadAnchors, "{-1: 0} is out of range"),
        (lambda: DawidSkene(prior="flat"), BadPrior, "prior='flat'; a prior is 'diagonal'"),
        (lambda: DawidSkene(prior=np.eye(3)), BadPrior, r"prior has shape \(3, 3\)"),
        (lambda: DawidSkene(prior=[[2, 0], [0, 1]]), BadPrior, r"row sums \[2\.0, 1\.0\]"),
        (lambda: DawidSkene(prior_strength=0), BadOption, "prior_strength is 0"),
        (lambda: DawidSkene(level_prior=[1]), BadPrior, r"level_prior is \[1\.0\]"),
        (lambda: DawidSkene(level_prior=[0.9, 0.9]), BadPrior, "sums to 1"),
        (lambda: DawidSkene(order=[1.0]), BadOption, r"order has shape \(1,\) for 2 levels"),
        (lambda: StreamingDawidSkene(memory=1), BadOption, "memory is 1; it is the number"),
        (lambda: StreamingDawidSkene(memory="long"), BadOption, "memory is 'long'; it is the n"),
        (lambda: StreamingDawidSkene(prior="flat"), BadPrior, "prior='flat'; a prior is"),
        (lambda: Structured(np.eye(2), anchors={99: 1}), BadAnchors, "{99: 1} is out of range"),
        (lambda: Structured(np.eye(2), level_prior=[1]), BadPrior, r"level_prior is \[1\.0\]"),
        (lambda: MajorityVote(anchors={0: 2}), BadAnchors, "levels from 0 to 1"),
        (lambda: Hierarchical([0] * CELLS, order=[1.0]), BadOption, "order has shape"),
        (lambda: Structured(np.eye(2), prior="x"), BadPrior, "prior='x'; the weight's"),
        (lambda: Structured(np.eye(3)), InvalidConfusionError, "for 2 levels"),
        (lambda: Known(np.eye(3)), InvalidConfusionError, r"C has shape \(3, 3\) for 2 levels"),
        (lambda: Known([C, C]), InvalidConfusionError, "groups are missing; a matrix for each"),
        (lambda: Known(C, groups=[0]), InvalidConfusionError, "groups are given"),
        (lambda: Known([C, C], groups=[0, 1]), BatchMismatchError, "2 groups. entries"),
        (lambda: Known([C, C], groups=[0, 2]), BadOption, "from 0 to 2; .* from 0 to 1"),
        (lambda: Known([C, C], groups=[0, -1]), BadOption, "from -1 to 0"),
        (lambda: Known([C, C], groups=[0.5, 1]), BadOption, "type float64"),
        (lambda: Hierarchical([0, 1]), BatchMismatchError, "for 24 cells; each"),
        (lambda: Hierarchical([[0, 1]]), BadOption, r"groups have shape \(1, 2\)"),
        (lambda: Hierarchical([0, -1]), BadOption, "from -1 to 0"),
        (lambda: Hierarchical([]), BadOption, r"groups have shape \(0,\)"),
    ],
)  # fmt: skip
def test_bad_settings_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make().fit(tables()[0])
    with pytest.raises(error, match=message):  # a stream must not find out at its first estimate
        make().check(CELLS, 2)


@every
def test_good_settings_fit(name):
    assert MAKE[name]().check(CELLS, 2) is None


def test_names_and_objects_are_estimators():
    assert isinstance(estimator_from("dawid-skene"), DawidSkene)
    fit = MajorityVote()
    assert estimator_from(fit) is fit
