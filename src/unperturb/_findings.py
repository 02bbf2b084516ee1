"""The rules behind an audit: from numbers to sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from unperturb.estimators.base import AMBIGUOUS_NATS

Severity = Literal["problem", "warning", "note"]
UNSEEN = 1.0
"""A row of C with fewer observations than this is the prior alone."""
_FEW = 30.0
_HARD_CONDITION = 20.0
_MANY_MIXED = 0.05
_RARE = 0.02
_CLEAN = 0.02


class Finding(NamedTuple):
    """One thing to know about a reward.

    Example:
        >>> import unperturb as up
        >>> audit = up.RewardAudit.from_counts([[30, 0]] * 9, up.RewardLevels([0.0, 1.0]))
        >>> [(finding.kind, finding.severity) for finding in audit.findings]
        [('unseen-levels', 'note'), ('affine', 'note')]
    """

    kind: str
    severity: Severity
    message: str


class Facts(NamedTuple):
    """The numbers that the rules look at."""

    values: np.ndarray
    confusion: np.ndarray
    interval: np.ndarray
    condition: float
    row_size: np.ndarray
    level_frequencies: np.ndarray
    observed: np.ndarray
    margin: float
    affine: tuple[float, float] | None
    mixed_share: float
    observations_per_cell: float
    clipped: float
    sure_cells: float


def all_findings(facts: Facts) -> Iterator[Finding]:
    """Give every finding, gravest first."""
    found = [
        rule(facts)
        for rule in (_ambiguous, _hard, _thin, _mixed, _rare, _clipped, _unseen, _affine, _clean)
    ]
    order = {"problem": 0, "warning": 1, "note": 2}
    yield from sorted(
        (finding for finding in found if finding), key=lambda finding: order[finding.severity]
    )


def suggest(facts: Facts) -> tuple[Literal["raw", "surrogate", "posterior"], str]:
    """Say which method to use, and why."""
    if _ambiguous(facts):
        return "raw", "Resolve the ambiguity first: a flipped correction is worse than none."
    if _clean(facts):
        return "raw", "There is too little noise to correct."
    if facts.mixed_share > 4 * _MANY_MIXED:
        return "surrogate", "Many cells mix true levels, which a posterior over one level can't be."
    if facts.observations_per_cell < 3:
        return "surrogate", "Cells have too few rewards to tell their true levels."
    return "posterior", (
        f"Cells have {facts.observations_per_cell:.0f} rewards each, and "
        f"{facts.sure_cells:.0%} of them show their true level clearly."
    )


def _names(facts: Facts, which: np.ndarray) -> str:
    names = [f"{facts.values[z]:g}" for z in np.flatnonzero(which)]
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")


def _ambiguous(facts: Facts) -> Finding | None:
    if facts.margin >= AMBIGUOUS_NATS:
        return None
    return Finding(
        "ambiguous",
        "problem",
        f"another explanation, such as the same rewards with labels swapped, is within "
        f"{max(facts.margin, 0):.1f} nats. Say what you know: anchors={{cell: level}}, "
        "level_prior=[...], order=levels, or prior='reverse'.",
    )


def _hard(facts: Facts) -> Finding | None:
    if facts.condition <= _HARD_CONDITION:
        return None
    return Finding(
        "ill-conditioned",
        "warning",
        f"the condition number of C is {facts.condition:.0f}: observed levels hardly tell the "
        "true ones apart, and surrogates have a huge variance. Keep n_eff, or use fewer levels.",
    )


def _thin(facts: Facts) -> Finding | None:
    thin = (facts.row_size > UNSEEN) & (facts.row_size < _FEW)
    if not thin.any():
        return None
    return Finding(
        "thin-rows",
        "warning",
        f"fewer than {_FEW:.0f} rewards speak for true level {_names(facts, thin)}; "
        "those rows are mostly prior.",
    )


def _unseen(facts: Facts) -> Finding | None:
    unseen = facts.row_size <= UNSEEN
    if not unseen.any():
        return None
    return Finding(
        "unseen-levels",
        "note",
        f"next to no reward speaks for true level {_names(facts, unseen)}; its row is the prior "
        "alone.",
    )


def _mixed(facts: Facts) -> Finding | None:
    if facts.mixed_share <= _MANY_MIXED:
        return None
    return Finding(
        "mixed-cells",
        "warning",
        f"{facts.mixed_share:.0%} of the cells fit no single true level (1 % would by chance). "
        "Use more bins, or next_state=True if the reward depends on where the step leads.",
    )


def _rare(facts: Facts) -> Finding | None:
    frequency = facts.level_frequencies
    rare = (frequency < _RARE) & (facts.row_size > UNSEEN)
    flips_in = facts.confusion * frequency[:, None]
    np.fill_diagonal(flips_in, 0)
    drowned = rare & (flips_in.sum(axis=0) > np.diag(facts.confusion) * frequency)
    if not drowned.any():
        return None
    return Finding(
        "rare-levels",
        "warning",
        f"most observations of {_names(facts, drowned)} are flips of other levels. With few "
        "rewards per cell the raw rewards may serve better than any surrogate.",
    )


def _clipped(facts: Facts) -> Finding | None:
    if facts.clipped == 0:
        return None
    return Finding(
        "clipped",
        "warning" if facts.clipped > 0.01 else "note",
        f"{facts.clipped:.2%} of the rewards lay outside the levels' range and were clipped.",
    )


def _affine(facts: Facts) -> Finding | None:
    if facts.affine is None:
        return Finding(
            "not-affine",
            "note",
            "the correction is more than a shift and a scale, so it matters under normalised "
            "advantages too.",
        )
    slope, shift = facts.affine
    return Finding(
        "affine",
        "note",
        f"the surrogate is a shift and a scale of the observed reward, (r {-shift:+.3g}) / "
        f"{slope:.3g}. Advantages that are normalised per group or batch (GRPO, VecNormalize) "
        "undo it, unless the noise differs within the group. The posterior is not undone.",
    )


def _clean(facts: Facts) -> Finding | None:
    seen = facts.row_size > UNSEEN
    wrong = 1 - np.diagonal(facts.interval[..., 0])
    if not seen.any() or (wrong[seen] > _CLEAN).any():
        return None
    return Finding(
        "clean",
        "note",
        f"at most {wrong[seen].max():.1%} of any level's rewards are wrong.",
    )
