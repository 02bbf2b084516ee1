"""What the estimate can and cannot tell about a reward, in words, numbers and pictures."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from unperturb import _findings
from unperturb._array import to_numpy
from unperturb._findings import Finding
from unperturb.corrector import RewardCorrector
from unperturb.denoise import mixed_cells
from unperturb.errors import InvalidCountsError, InvalidOptionError, NotFittedError
from unperturb.estimators import Estimator, estimator_from
from unperturb.levels import RewardLevels
from unperturb.surrogate import affine_slope

NEAR_AFFINE = 0.02
_BY_CHANCE = 0.01
"""The share of cells of one level that count as mixed by chance."""
_SHOWN_LEVELS = 6


@dataclass(frozen=True, eq=False)
class RewardAudit:
    """How a reward lies, how sure that is, and what to do.

    Build one with `RewardAudit.of(corrector)` or `RewardAudit.from_counts(counts, levels)`.
    Printing it reads well; `to_dict`, `to_json` and `plot` give the rest.

    Attributes:
        levels: The values of the reward levels.
        observations: Rewards counted.
        cells_seen: Cells with observations.
        confusion: The estimated C (for state-dependent noise the mean over groups).
        interval: The 95 % interval of each entry, (M, M, 2).
        youden_j: (trace C - 1) / (M - 1): 1 for no noise, 0 for pure noise; 1 - e- - e+ for two.
        condition: The condition number of C.
        variance_inflation: Var(surrogate) / Var(true reward), at least 1 (Theorem 3); infinite
            where only one true level occurs.
        sample_cost: 1 / det(C)^2: how many times more samples learning needs (Theorem 2).
        row_size: Observations that speak for each row of C.
        level_frequencies: The estimated share of each true level among the observations.
        observed_frequencies: The share of each observed level.
        margin: By how many nats the estimate beats its best rival, such as its mirror image.
        affine: (slope, shift) where the correction only shifts and scales the reward, else None.
        mixed_share: Share of the cells with enough observations that no single level explains.
        observations_per_cell: The mean over the cells seen.
        suggestion: "raw", "surrogate" or "posterior".
        reason: Why.
        findings: What to know, gravest first.

    Example:
        >>> import numpy as np
        >>> import unperturb as up
        >>> counts = np.array([[18, 2]] * 20 + [[6, 14]] * 20)
        >>> audit = up.RewardAudit.from_counts(counts, up.RewardLevels([0.0, 1.0]))
        >>> round(audit.youden_j, 1), audit.suggestion
        (0.6, 'posterior')
    """

    levels: np.ndarray
    observations: int
    cells_seen: int
    confusion: np.ndarray
    interval: np.ndarray
    youden_j: float
    condition: float
    variance_inflation: float
    sample_cost: float
    row_size: np.ndarray
    level_frequencies: np.ndarray
    observed_frequencies: np.ndarray
    margin: float
    affine: tuple[float, float] | None
    mixed_share: float
    observations_per_cell: float
    suggestion: Literal["raw", "surrogate", "posterior"]
    reason: str
    findings: tuple[Finding, ...]

    @classmethod
    def of(cls, corrector: RewardCorrector) -> RewardAudit:
        """Audit what a corrector has seen; its estimate is made anew, from every start."""
        if not corrector.steps:
            raise NotFittedError(
                "the corrector has seen no rewards",
                "an audit needs observations",
                "run some steps of the environment first",
            )
        estimator = corrector.estimator
        counts = corrector.counts.table()
        if not estimator.streaming:
            estimator = estimator.anew().fit(counts)
        elif not estimator.fitted:
            corrector.refresh()
        return cls._make(estimator, counts, corrector.levels, corrector.steps, corrector.clipped)

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        levels: RewardLevels,
        estimator: str | Estimator = "dawid-skene",
        clipped: int = 0,
    ) -> RewardAudit:
        """Audit a table of counts, (cells, levels).

        `clipped` says how many of the rewards lay outside the levels' range. An estimator object
        is fitted in place.
        """
        if not isinstance(levels, RewardLevels):
            raise InvalidOptionError(
                f"levels is a {type(levels).__name__}",
                "an audit needs RewardLevels",
                "write RewardLevels([-1.0, 1.0])",
            )
        try:
            table = np.asarray(counts, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidCountsError(
                f"counts form no table of numbers ({error})",
                "they are (cells, levels)",
                "count each observed level in the row of its cell",
            ) from None
        if table.ndim != 2 or table.shape[1] != len(levels):
            raise InvalidCountsError(
                f"counts have shape {table.shape} for {len(levels)} levels",
                "they are (cells, levels)",
                "count each observed level in the row of its cell",
            )
        fit = estimator_from(estimator).fit(table)
        return cls._make(fit, table, levels, round(table.sum()), clipped)

    @classmethod
    def _make(
        cls,
        fit: Estimator,
        counts: np.ndarray,
        levels: RewardLevels,
        observations: int,
        clipped: int,
    ) -> RewardAudit:
        matrices, interval = to_numpy(fit.confusion_), fit.interval_
        sizes = to_numpy(fit.row_size_)
        groups = matrices if matrices.ndim == 3 else matrices[None]
        if matrices.ndim == 3:
            interval = interval.mean(axis=0)
            sizes = sizes.sum(axis=0) if sizes.ndim == 2 else sizes
        C = groups.mean(axis=0)
        values = levels.values
        total = counts.sum()
        spoken = np.where(sizes > _findings.UNSEEN, sizes, 0.0)
        frequencies = spoken / max(float(spoken.sum()), 1e-12)
        busy = counts.sum(axis=1) > 0
        tested = counts.sum(axis=1) >= 2 * len(values)
        posterior = to_numpy(fit.posterior_)
        # For state-dependent noise each cell is tested against the matrix its posterior used; the
        # mean matrix would call differences between groups a mixture.
        mixed = (
            float(mixed_cells(counts[tested], C, _BY_CHANCE).mean())
            if tested.any() and matrices.ndim == 2
            else 0.0
        )
        det = float(np.min(np.abs(np.linalg.det(groups))))
        slopes = [affine_slope(matrix, values, NEAR_AFFINE) for matrix in groups]
        same = all(s is not None and np.allclose(s, slopes[0] or 0, atol=0.05) for s in slopes)
        facts = _findings.Facts(
            values=values,
            confusion=C,
            interval=interval,
            condition=float(np.max(np.linalg.cond(groups))),
            row_size=sizes,
            level_frequencies=frequencies,
            observed=counts.sum(axis=0) / total,
            margin=fit.margin_,
            affine=slopes[0] if same else None,
            mixed_share=mixed,
            observations_per_cell=float(counts[busy].sum(axis=1).mean()),
            clipped=clipped / max(observations, 1),
            sure_cells=float((posterior[busy].max(axis=1) > 0.95).mean()),
        )
        suggestion, reason = _findings.suggest(facts)
        return cls(
            levels=values,
            observations=observations,
            cells_seen=int(busy.sum()),
            confusion=C,
            interval=interval,
            youden_j=float((np.trace(C) - 1) / (len(C) - 1)),
            condition=facts.condition,
            variance_inflation=_variance_inflation(groups, values, frequencies),
            sample_cost=1 / det**2 if det > 0 else math.inf,
            row_size=sizes,
            level_frequencies=frequencies,
            observed_frequencies=facts.observed,
            margin=facts.margin,
            affine=facts.affine,
            mixed_share=mixed,
            observations_per_cell=facts.observations_per_cell,
            suggestion=suggestion,
            reason=reason,
            findings=tuple(_findings.all_findings(facts)),
        )

    @property
    def ambiguous(self) -> bool:
        """Whether another explanation of the same rewards is about as good."""
        return any(finding.kind == "ambiguous" for finding in self.findings)

    @property
    def expected_frequencies(self) -> np.ndarray:
        """The share of each observed level that the estimate predicts; it should match."""
        return np.asarray(self.level_frequencies @ self.confusion)

    def __str__(self) -> str:
        lines = [
            f"Reward audit: {self.observations:,} rewards in {self.cells_seen:,} cells, "
            f"{len(self.levels)} levels, {self.observations_per_cell:.1f} rewards per cell",
            "",
            *self._matrix_lines(),
            "",
            f"Youden's J {self.youden_j:.2f}   condition {self.condition:.1f}   "
            f"variance x {self.variance_inflation:.3g}   "
            f"samples x {self.sample_cost:.3g}   flip margin {self.margin:.1f} nats",
            "",
            *(f"{finding.severity:>7}: {finding.message}" for finding in self.findings),
            "",
            f'Suggested: method="{self.suggestion}". {self.reason}'
            if self.suggestion != "raw"
            else f"Suggested: leave the rewards as they are. {self.reason}",
        ]
        return "\n".join(lines)

    def _matrix_lines(self) -> list[str]:
        names = [f"{value:g}" for value in self.levels]
        if len(names) > _SHOWN_LEVELS:
            lines = ["How often each true level is observed as itself (95 % interval):"]
            for z, name in enumerate(names):
                low, high = self.interval[z, z]
                lines.append(
                    f"{name:>10}: {self.confusion[z, z]:.2f} [{low:.2f}, {high:.2f}]   "
                    f"from {max(self.row_size[z], 0):,.0f} rewards"
                )
            return lines
        width = 19
        lines = ["C: rows are true levels, columns observed ones (95 % interval)"]
        lines.append(" " * 10 + "".join(f"{name:>{width}}" for name in names))
        for z, name in enumerate(names):
            entries = (
                f"{self.confusion[z, k]:.2f} [{self.interval[z, k, 0]:.2f}, "
                f"{self.interval[z, k, 1]:.2f}]"
                for k in range(len(names))
            )
            lines.append(
                f"{name:>10}"
                + "".join(f"{entry:>{width}}" for entry in entries)
                + f"   from {max(self.row_size[z], 0):,.0f} rewards"
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Give everything as numbers, lists and text; infinities become None."""

        def plain(value: Any) -> Any:
            if isinstance(value, np.ndarray):
                return value.tolist()
            if isinstance(value, float) and not math.isfinite(value):
                return None
            return list(value) if isinstance(value, tuple) else value

        fields = {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}
        fields["findings"] = [finding._asdict() for finding in self.findings]
        fields["ambiguous"] = self.ambiguous
        fields["expected_frequencies"] = plain(self.expected_frequencies)
        return fields

    def to_json(self) -> str:
        """Give everything as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    def plot(self, axes: Any = None) -> Any:
        """Draw C with its intervals, and observed against expected frequencies.

        Needs matplotlib. `axes` is a pair of axes; without it a figure is made. Gives the figure.
        """
        from unperturb import _plots

        return _plots.draw_audit(self, axes)


def _variance_inflation(groups: np.ndarray, values: np.ndarray, frequencies: np.ndarray) -> float:
    mean = frequencies @ values
    true = float(frequencies @ (values - mean) ** 2)
    if true == 0 or (np.linalg.cond(groups) > 1e12).any():
        return math.inf
    surrogate = np.linalg.solve(groups, np.broadcast_to(values[:, None], (*groups.shape[:2], 1)))
    second = (groups @ surrogate**2)[..., 0].mean(axis=0)
    return float((frequencies @ second - mean**2) / true)
