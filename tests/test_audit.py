"""The audit: findings when they are due and not otherwise, and numbers that are what they say."""

import json
import math

import numpy as np
import pytest

from count_tables import draw
from unperturb import Cells, RewardAudit, RewardCorrector, RewardLevels, confusion
from unperturb.errors import InvalidCountsError, InvalidOptionError, NotFittedError
from unperturb.estimators import DawidSkene, Hierarchical, Known
from unperturb.surrogate import surrogate_values

BINARY = RewardLevels([0.0, 1.0])
SIX_STATE = np.array([[0.9, 0.1], [0.3, 0.7]])


def audit_of(C, levels=BINARY, cells=200, per_cell=40, seed=0, frequencies=None, estimator=None):
    counts, _ = draw(C, cells, per_cell, seed, frequencies)
    return RewardAudit.from_counts(counts, levels, estimator or "dawid-skene")


def kinds(audit):
    return {finding.kind for finding in audit.findings}


def message(audit, kind):
    return next(finding.message for finding in audit.findings if finding.kind == kind)


def test_an_ordinary_reward_has_nothing_to_warn_of():
    audit = audit_of(SIX_STATE)
    assert kinds(audit) == {"affine"}
    assert not audit.ambiguous
    assert audit.suggestion == "posterior"
    assert "44 rewards each" in audit.reason  # 8,000 in the 182 cells that were visited
    # 8,000 rewards: each rate has a standard error below .01; 5 of them.
    assert np.abs(audit.confusion - SIX_STATE).max() < 0.05
    assert (audit.interval[..., 0] <= audit.confusion).all()
    assert (audit.confusion <= audit.interval[..., 1]).all()
    assert audit.observations == 8000
    assert audit.cells_seen == 182
    assert audit.observations_per_cell == pytest.approx(8000 / audit.cells_seen)


def test_numbers_are_what_they_say():
    audit = audit_of(SIX_STATE, estimator=Known(SIX_STATE), frequencies=[0.3, 0.7])
    assert audit.youden_j == pytest.approx(0.6)  # 1 - e- - e+
    assert audit.condition == pytest.approx(np.linalg.cond(SIX_STATE))
    assert audit.sample_cost == pytest.approx(1 / 0.6**2)
    p, hat = audit.level_frequencies, surrogate_values(SIX_STATE, [0.0, 1.0])
    shown = p @ SIX_STATE
    variance = shown @ hat**2 - (shown @ hat) ** 2
    assert audit.variance_inflation == pytest.approx(variance / (p[0] * p[1]))
    np.testing.assert_allclose(audit.expected_frequencies, shown)
    np.testing.assert_allclose(audit.observed_frequencies.sum(), 1)
    # Visits are uneven: 3 standard errors of 160 effective rewards' worth of noise, and more.
    np.testing.assert_allclose(audit.expected_frequencies, audit.observed_frequencies, atol=0.05)
    np.testing.assert_allclose(audit.level_frequencies.sum(), 1)
    assert audit.margin == math.inf


def test_one_level_alone():
    counts = np.tile([[30, 70]], (50, 1))
    lone = RewardAudit.from_counts(counts, BINARY)
    assert "next to no reward speaks for true level 0; its row is the prior alone" in message(
        lone, "unseen-levels"
    )
    assert lone.variance_inflation == math.inf
    assert lone.level_frequencies.tolist() == [0, 1]


def test_a_thin_row_is_named():
    counts = np.array([[450.0, 50.0]] * 10 + [[2.0, 8.0]])
    audit = RewardAudit.from_counts(counts, RewardLevels([-1.0, 2.5]))
    assert "fewer than 30 rewards speak for true level 2.5" in message(audit, "thin-rows")
    assert audit.row_size[1] == pytest.approx(10, abs=0.5)


def test_an_ambiguous_flip_is_a_problem_and_nothing_is_corrected():
    audit = audit_of([[0.55, 0.45], [0.45, 0.55]], cells=20, per_cell=10)
    assert audit.ambiguous
    first = audit.findings[0]
    assert (first.kind, first.severity) == ("ambiguous", "problem")
    assert "anchors={cell: level}" in first.message
    assert audit.suggestion == "raw"
    assert "leave the rewards as they are" in str(audit)


def test_ill_conditioned_noise_is_warned_of():
    hard, fine = [[0.51, 0.49], [0.47, 0.53]], [[0.7, 0.3], [0.3, 0.7]]
    audit = audit_of(hard, estimator=Known(hard))
    assert f"the condition number of C is {np.linalg.cond(hard):.0f}" in message(
        audit, "ill-conditioned"
    )
    assert "ill-conditioned" not in kinds(audit_of(fine, estimator=Known(fine)))


def test_a_reward_without_noise_is_left_alone():
    audit = audit_of(np.eye(2), per_cell=100)
    assert "clean" in kinds(audit)
    assert audit.suggestion == "raw"
    assert "too little noise" in audit.reason
    assert "clean" not in kinds(audit_of(SIX_STATE))


def test_mixed_cells_are_noticed():
    # Cells of 60 rewards each, a third of which mix both levels half and half. Pure cells fail the
    # 1 % test with a chance of 1 %, so that 5 % of 100 cells have a false-alarm rate of 1e-3.
    rng = np.random.default_rng(0)
    pure = rng.multinomial(60, SIX_STATE[np.arange(100) % 2])
    both = rng.multinomial(30, SIX_STATE[0], size=50) + rng.multinomial(30, SIX_STATE[1], size=50)
    told = Known(SIX_STATE)
    audit = RewardAudit.from_counts(np.vstack([pure, both]), BINARY, told)
    assert audit.mixed_share > 0.2
    assert "of the cells fit no single true level" in message(audit, "mixed-cells")
    assert audit.suggestion == "surrogate"
    clear = RewardAudit.from_counts(pure, BINARY, told)
    assert clear.mixed_share < 0.05
    assert "mixed-cells" not in kinds(clear)


def test_rare_levels_under_heavy_noise_are_noticed():
    levels = RewardLevels([-1.0, 0.0, 1.0])
    C = 0.4 * np.eye(3) + 0.6 / 3
    rare = audit_of(C, levels, 2000, 20, frequencies=[0.01, 0.98, 0.01], estimator=Known(C))
    assert message(rare, "rare-levels").startswith("most observations of -1, 1 are flips")
    even = audit_of(C, levels, 2000, 20, estimator=Known(C))
    assert "rare-levels" not in kinds(even)


def test_few_rewards_per_cell_ask_for_the_surrogate():
    audit = audit_of(SIX_STATE, cells=4000, per_cell=1.0)
    assert audit.observations_per_cell < 3
    assert audit.suggestion == "surrogate"
    assert "too few rewards" in audit.reason


def test_when_the_surrogate_is_a_shift_and_a_scale():
    binary = audit_of(SIX_STATE, estimator=Known(SIX_STATE))
    assert binary.affine == pytest.approx((0.6, 0.1))
    assert "(r -0.1) / 0.6" in message(binary, "affine")
    assert "Advantages that are normalised" in message(binary, "affine")
    levels = RewardLevels([-1.0, 0.0, 1.0])
    mirror = confusion.symmetric(3, 0.2)
    assert audit_of(mirror.matrix, levels, estimator=Known(mirror)).affine == pytest.approx(
        (0.6, 0.0)
    )
    rand_all = confusion.rand_all(3, 0.5, np.random.default_rng(0))
    audit = audit_of(rand_all.matrix, levels, estimator=Known(rand_all))
    assert audit.affine is None
    assert "more than a shift and a scale" in message(audit, "not-affine")
    assert "affine" not in kinds(audit)


def test_groups_with_different_noise_are_not_one_shift_and_scale():
    groups = np.arange(200) % 2
    other = np.array([[0.7, 0.3], [0.05, 0.95]])
    counts = np.where((groups == 0)[:, None], draw(SIX_STATE, 200, 40, 0)[0], 0) + np.where(
        (groups == 1)[:, None], draw(other, 200, 40, 1)[0], 0
    )
    apart = RewardAudit.from_counts(counts, BINARY, Known([SIX_STATE, other], groups=groups))
    assert apart.affine is None
    assert apart.confusion.shape == (2, 2)
    np.testing.assert_allclose(apart.confusion, (SIX_STATE + other) / 2)
    alike = RewardAudit.from_counts(counts, BINARY, Known([SIX_STATE] * 2, groups=groups))
    assert alike.affine == pytest.approx((0.6, 0.1))
    shrunk = RewardAudit.from_counts(counts, BINARY, Hierarchical(groups))
    assert shrunk.interval.shape == (2, 2, 2)
    assert shrunk.row_size.shape == (2,)


def run(corrector, n=1500):
    rng = np.random.default_rng(0)
    states = rng.integers(20, size=n)
    noisy = BINARY.values[confusion.binary(0.1, 0.3).draw(states % 2, rng)]
    for i in range(0, n, 100):
        corrector(states[i : i + 100], None, noisy[i : i + 100])
    return corrector


@pytest.mark.parametrize("estimator", ["dawid-skene", "streaming", "majority-vote"])
def test_a_corrector_is_audited_without_being_changed(estimator):
    corrector = run(RewardCorrector(BINARY, Cells.discrete(20, None), estimator=estimator))
    before = {name: np.copy(value) for name, value in corrector.state_dict().items()}
    audit = RewardAudit.of(corrector)
    assert audit.observations == 1500
    assert audit.cells_seen == 20
    np.testing.assert_allclose(audit.confusion, corrector.confusion, atol=0.02)
    for name, value in corrector.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_an_estimator_from_elsewhere_is_audited_too():
    class Own(DawidSkene):
        """As a user may write it: no name of ours leads to it."""

        name = "own"

    corrector = RewardCorrector(BINARY, Cells.discrete(20, None), estimator=Own(prior_strength=4.0))
    rng = np.random.default_rng(0)
    states = rng.integers(20, size=2000)
    true = states % 2
    corrector(states, None, (rng.random(2000) < 0.2) ^ true)
    before = corrector.confusion
    audit = RewardAudit.of(corrector)
    assert np.abs(audit.confusion - [[0.8, 0.2], [0.2, 0.8]]).max() < 0.1
    np.testing.assert_array_equal(corrector.confusion, before)


def test_clipped_rewards_are_counted_in_the_audit():
    levels = RewardLevels.uniform(0, 1, 2)
    corrector = RewardCorrector(levels, Cells.discrete(4, None))
    rng = np.random.default_rng(0)
    corrector(rng.integers(4, size=1000), None, rng.random(1000))
    assert "clipped" not in kinds(RewardAudit.of(corrector))
    corrector([0, 1], None, [-3.0, 0.5])
    few = RewardAudit.of(corrector)
    assert "0.10% of the rewards lay outside" in message(few, "clipped")
    assert {f.kind: f.severity for f in few.findings}["clipped"] == "note"
    corrector(np.zeros(50, int), None, np.full(50, 7.0))
    many = RewardAudit.of(corrector)
    assert {f.kind: f.severity for f in many.findings}["clipped"] == "warning"


AUDITS = {
    "plain": lambda: audit_of(SIX_STATE),
    "known": lambda: audit_of(SIX_STATE, estimator=Known(SIX_STATE)),
    "one level": lambda: RewardAudit.from_counts(np.tile([[30, 70]], (50, 1)), BINARY),
    "one cell": lambda: RewardAudit.from_counts([[1, 0]], BINARY),
    "pinned": lambda: audit_of(SIX_STATE, estimator=DawidSkene(anchors={0: 0, 1: 1})),
    "many levels": lambda: audit_of(
        confusion.rand_all(17, 0.3, np.random.default_rng(0)).matrix,
        RewardLevels.uniform(-17, 0, 17, value="upper"),
        500,
    ),
    "singular": lambda: audit_of(np.full((2, 2), 0.5), estimator=Known(np.full((2, 2), 0.5))),
    "vote": lambda: audit_of(SIX_STATE, estimator="majority-vote"),
}
each = pytest.mark.parametrize("name", AUDITS)


@each
def test_json_is_valid_and_complete(name):
    audit = AUDITS[name]()

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    data = json.loads(audit.to_json(), parse_constant=refuse)
    fields = set(audit.__dataclass_fields__)
    assert data.keys() == fields | {"ambiguous", "expected_frequencies"}
    np.testing.assert_allclose(data["confusion"], audit.confusion)
    assert data["findings"] == [dict(finding._asdict()) for finding in audit.findings]
    assert data["observations"] == audit.observations
    for number in ("margin", "variance_inflation", "sample_cost", "condition"):
        value = getattr(audit, number)
        assert data[number] == (value if math.isfinite(value) else None)


@each
def test_printing_reads_well(name):
    audit = AUDITS[name]()
    text = str(audit)
    assert text.startswith(f"Reward audit: {audit.observations:,} rewards in")
    assert "Suggested:" in text
    assert "nan" not in text
    for finding in audit.findings:
        assert finding.message in text
    order = [finding.severity for finding in audit.findings]
    assert order == sorted(order, key=["problem", "warning", "note"].index)
    assert not any(len(line) > 400 for line in text.splitlines())


@each
def test_it_can_be_drawn(name, tmp_path):
    pytest.importorskip("matplotlib")
    figure = AUDITS[name]().plot()
    figure.savefig(tmp_path / "audit.png")
    assert (tmp_path / "audit.png").stat().st_size > 5000
    titles = [axes.get_title() for axes in figure.axes]
    assert "Estimated confusion matrix" in titles
    assert "Frequencies of the levels" in titles


def test_it_draws_on_axes_that_are_given():
    figure_class = pytest.importorskip("matplotlib.figure").Figure
    figure = figure_class()
    axes = figure.subplots(1, 2)
    assert audit_of(SIX_STATE).plot(axes) is figure
    assert axes[0].get_xlabel() == "observed reward"


def test_audits_can_be_compared_and_put_into_sets():
    one, other = audit_of(SIX_STATE), audit_of(SIX_STATE)
    assert one == one
    assert one != other
    assert len({one, other}) == 2


def test_nothing_seen_is_named():
    corrector = RewardCorrector(BINARY, Cells.discrete(4, None))
    with pytest.raises(NotFittedError, match="the corrector has seen no rewards; an audit needs"):
        RewardAudit.of(corrector)
    with pytest.raises(InvalidCountsError, match=r"counts have shape \(3, 3\) for 2 levels"):
        RewardAudit.from_counts(np.ones((3, 3)), BINARY)
    with pytest.raises(InvalidCountsError, match="all counts are zero"):
        RewardAudit.from_counts(np.zeros((3, 2)), BINARY)
    with pytest.raises(InvalidCountsError, match="counts form no table of numbers"):
        RewardAudit.from_counts("none", BINARY)
    with pytest.raises(InvalidOptionError, match="levels is a list; an audit needs RewardLevels"):
        RewardAudit.from_counts(np.ones((3, 2)), [0.0, 1.0])
