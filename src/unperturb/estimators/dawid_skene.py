"""The default estimator: variational-Bayes Dawid-Skene from several starts, best ELBO."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from unperturb._array import Array, as_floats, namespace, row_sums, to_numpy
from unperturb.errors import InvalidOptionError
from unperturb.estimators.base import (
    AMBIGUOUS_NATS,
    Estimator,
    Sparse,
    anchor_mask,
    as_anchors,
    as_json,
    check_counts,
    pick,
)
from unperturb.estimators.beliefs import (
    STRENGTH,
    Beliefs,
    Prior,
    Run,
    converge,
    level_posterior,
    prior_beliefs,
    update,
)
from unperturb.estimators.search import Solution, choose, solve
from unperturb.estimators.uncertainty import (
    best_labels,
    credible_interval,
    relabelling_gain,
    relabelling_margin,
)

_IMPOSSIBLE = 1e20
_SAME = 0.05
"""Two solutions whose matrices differ by less than this are one."""


def _busy(table: np.ndarray) -> np.ndarray:
    """Give the cells with observations; among booleans they are found fastest."""
    return np.flatnonzero(row_sums(table) > 0)


class DawidSkene(Estimator):
    r"""Variational-Bayes Dawid-Skene: every cell is a worker's item, its level the true label.

    .. math:: p(n | C, \pi) = \prod_i \sum_z \pi_z \prod_k C_{zk}^{n_{ik}}

    Unlike the vote it is consistent in the number of cells, and it needs only that most rewards
    are right on the whole (with two levels: e- + e+ < 1). Rewards alone can't tell a matrix from
    its mirror image; what decides is `prior`, and where you know more, say so: `anchors`
    ({cell: true level}), `level_prior` (known frequencies of the true levels) or `order` (the
    levels' values: rows are sorted by the mean of what they show).

    Example:
        >>> import numpy as np
        >>> counts = np.array([[18, 2]] * 20 + [[6, 14]] * 20)
        >>> fit = DawidSkene().fit(counts)
        >>> fit.confusion_.round(2)
        array([[0.9, 0.1],
               [0.3, 0.7]])
        >>> fit.ambiguous_
        False
    """

    name: ClassVar[str] = "dawid-skene"

    def __init__(
        self,
        prior: Prior | Any = "diagonal",
        prior_strength: float = STRENGTH,
        level_prior: Any = None,
        anchors: dict[int, int] | None = None,
        order: Any = None,
    ) -> None:
        self.prior = prior
        self.prior_strength = prior_strength
        self.level_prior = level_prior
        self.anchors = as_anchors(anchors)
        self.order = order
        self._beliefs: Beliefs | None = None
        self._cold_total = 0.0
        self._rivals: list[tuple[float, np.ndarray]] = []

    def check(self, cells: int, levels: int) -> None:
        """Refuse a prior, anchors or an order that don't fit."""
        prior_beliefs(levels, self.prior, self.prior_strength, self.level_prior)
        anchor_mask(self.anchors, cells, levels)
        self._order(levels)

    def fit(self, counts: Any) -> Self:
        """Estimate C from all starts."""
        table = check_counts(counts)
        prior = self._prior(table)
        extra = self._extra(table)
        # Cells that were never visited say nothing; leaving them out is free where shapes may vary.
        busy = table[_busy(table)] if self._may_shrink(table) else table
        solution = solve(busy, prior, extra=extra)
        if self.anchors or self.level_prior is not None:
            solution = self._relabelled(busy, prior, extra, solution)
        beliefs = self._sorted(solution.best, prior)
        self._cold_total = float(to_numpy(table).sum())
        self._note_rivals(solution, prior)
        self.trace_ = to_numpy(solution.trace)
        self.trace_ = self.trace_[np.isfinite(self.trace_)]
        self._keep(table, beliefs, self._posterior(table, beliefs, extra))
        return self

    def refresh(self, counts: Any) -> Self:
        """Refine the last estimate; start anew whenever the observations have doubled.

        Early on, a few counts may lead to the wrong optimum. Starting anew at each doubling leaves
        it, and costs no more than the refinements do.
        """
        if self._beliefs is None:
            return self.fit(counts)
        table = check_counts(counts)
        if float(table.sum()) >= 2 * self._cold_total:
            return self.fit(table)
        prior, extra = self._prior(table), self._extra(table)
        rows = table[_busy(table)] if self._may_shrink(table) else table
        result = update(rows, self._beliefs, prior, extra=extra)
        self.trace_ = np.atleast_1d(to_numpy(result.elbo))
        beliefs = self._sorted(result.beliefs, prior)
        self._keep(table, beliefs, self._posterior(table, beliefs, extra))
        return self

    def refresh_rows(self, rows: np.ndarray, cells: np.ndarray, of: int) -> Self:
        """Leave out the cells without observations, which say nothing."""
        if self.anchors or not len(rows):
            return super().refresh_rows(rows, cells, of)
        self.refresh(rows)
        assert self._beliefs is not None
        blank = level_posterior(np.zeros((1, rows.shape[1])), self._beliefs)[0]
        self._keep_posterior(Sparse(self.posterior_, cells, of, blank))
        return self

    @property
    def interval_(self) -> np.ndarray:
        """The 95 % interval of each entry of C, unsure levels of cells taken into account."""
        self._need_fit()
        return credible_interval(
            to_numpy(self._counts),
            to_numpy(self.posterior_ if self._sparse is None else self._sparse.rows),
            to_numpy(self.confusion_),
            to_numpy(self.level_frequencies_),
            to_numpy(self._prior(self._counts).rows).sum(axis=-1),
        )

    @property
    def margin_(self) -> float:
        """By how many nats the estimate beats its best relabelling, or another start's optimum."""
        self._need_fit()
        if self._beliefs is None:
            return float("inf")
        prior = self._prior(self._counts)
        C, busy = to_numpy(self.confusion_), to_numpy(self.row_size_) > 1
        margin = relabelling_margin(
            _gain(self._beliefs, prior, prior),
            busy,
            fixed=set((self.anchors or {}).values()),
            ordered=self.order is not None,
        )
        for behind, other in self._rivals:
            if np.abs(other - C)[busy].max(initial=0.0) > _SAME:
                margin = min(margin, behind)
        return float(margin)

    def _prior(self, table: Array) -> Beliefs:
        return prior_beliefs(
            table.shape[1], self.prior, self.prior_strength, self.level_prior, like=table
        )

    def _extra(self, table: Array) -> Array | None:
        mask = anchor_mask(self.anchors, *table.shape)
        return None if mask is None else as_floats(mask, like=table)

    def _posterior(self, table: Array, beliefs: Beliefs, extra: Array | None) -> Array:
        if not self._may_shrink(table):
            return level_posterior(table, beliefs, extra)
        busy = _busy(table)
        unseen = level_posterior(np.zeros((1, table.shape[1])), beliefs)
        posterior = np.repeat(unseen, len(table), axis=0)
        posterior[busy] = level_posterior(table[busy], beliefs)
        return posterior

    def _may_shrink(self, table: Array) -> bool:
        return isinstance(table, np.ndarray) and not self.anchors

    def _relabelled(
        self, table: Array, prior: Beliefs, extra: Array | None, solution: Solution
    ) -> Solution:
        """Start once more from the labels that fit best what is known.

        A wrong labelling is an optimum of its own, which EM does not leave however much the
        anchors or the level frequencies speak against it.
        """
        xp = namespace(table)
        plain = prior_beliefs(table.shape[1], self.prior, self.prior_strength, like=table)
        free = solve(table, plain).best
        evidence = np.zeros(tuple(prior.rows.shape))
        if self.anchors:
            cells = xp.asarray(list(self.anchors))
            chances = to_numpy(level_posterior(xp.take(table, cells, axis=0), free))
            for chance, level in zip(chances, self.anchors.values(), strict=True):
                evidence[:, level] += np.log(np.maximum(chance, 1e-30))
        labels, overruled = best_labels(_gain(free, plain, prior), evidence, AMBIGUOUS_NATS)
        take = xp.asarray(labels)
        start = Beliefs(
            prior.rows + xp.take(free.rows - plain.rows, take, axis=0),
            prior.levels + xp.take(free.levels - plain.levels, take, axis=0),
        )
        run = converge(table, start, prior, extra=extra)
        if overruled:
            return choose([run], prior, table)
        every = solution.runs
        runs = [
            Run(Beliefs(every.beliefs.rows[i], every.beliefs.levels[i]), every.elbo[i], trace)
            for i, trace in enumerate(every.trace)
        ]
        return choose([*runs, run], prior, table)

    def _note_rivals(self, solution: Solution, prior: Beliefs) -> None:
        scores, every = to_numpy(solution.scores), solution.runs.beliefs
        runs = [Beliefs(every.rows[i, ...], every.levels[i, ...]) for i in range(len(scores))]
        matrices = [to_numpy(self._sorted(run, prior).confusion) for run in runs]
        gaps = (scores.max() - scores).tolist()
        # What an anchor forbids is no rival.
        self._rivals = [
            (gap, C) for gap, C in zip(gaps, matrices, strict=True) if gap < _IMPOSSIBLE
        ]

    def _sorted(self, beliefs: Beliefs, prior: Beliefs) -> Beliefs:
        """Relabel so that rows ascend in the mean of what they show, if `order` says they do."""
        order = self._order(beliefs.levels.shape[0])
        if order is None:
            return beliefs
        xp = namespace(beliefs.rows)
        values = as_floats(order, like=beliefs.rows)
        rows = beliefs.rows - prior.rows
        size = xp.sum(rows, axis=1)
        busy = to_numpy(size) > 1e-6
        labels = np.flatnonzero(busy)
        means = to_numpy(rows @ values)[labels] / to_numpy(size)[labels]
        places = np.arange(len(busy))
        places[labels] = labels[np.argsort(means, kind="stable")]
        take = xp.asarray(places)
        levels = xp.take(beliefs.levels - prior.levels, take, axis=0)
        return Beliefs(prior.rows + xp.take(rows, take, axis=0), prior.levels + levels)

    def _order(self, levels: int) -> np.ndarray | None:
        if self.order is None:
            return None
        values = np.asarray(getattr(self.order, "values", self.order), dtype=np.float64)
        if values.shape != (levels,):
            raise InvalidOptionError(
                f"order has shape {values.shape} for {levels} levels",
                "it holds the value of each level",
                "pass order=levels.values",
            )
        return values

    def _keep(self, table: Array, beliefs: Beliefs, posterior: Array) -> None:
        xp = namespace(table)
        # A table is often counted on in place; the intervals belong to what was fitted.
        self._counts = xp.asarray(table, copy=True)
        self._beliefs = beliefs
        self.confusion_ = beliefs.confusion
        self._keep_posterior(posterior)
        self.level_frequencies_ = beliefs.level_frequencies
        self.row_size_ = xp.sum(beliefs.rows - self._prior(table).rows, axis=1)

    def config(self) -> dict[str, Any]:
        """Describe the settings in a form that JSON can hold."""
        return {
            "name": self.name,
            "prior": as_json(self.prior),
            "level_prior": as_json(self.level_prior),
            "order": as_json(self.order),
            "prior_strength": as_json(self.prior_strength),
            "anchors": self.anchors,
        }

    def state_dict(self) -> dict[str, np.ndarray]:
        """Give the beliefs, the posterior, and how much had been seen at the last full fit."""
        if self._beliefs is None:
            return {}
        return {
            "counts": self._all_counts(),
            "rows": to_numpy(self._beliefs.rows),
            "levels": to_numpy(self._beliefs.levels),
            "posterior": to_numpy(self.posterior_),
            "cold_total": np.array(self._cold_total),
            "rival_gaps": np.array([gap for gap, _ in self._rivals]),
            "rivals": np.array([C for _, C in self._rivals]),
        }

    def _all_counts(self) -> np.ndarray:
        counts = to_numpy(self._counts)
        if self._sparse is None:
            return counts
        return self._sparse._replace(rows=counts, blank=np.zeros(counts.shape[1])).spread()

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Take back what `state_dict` gave."""
        if not state:
            self._start_over()
            return
        counts, rows, levels, posterior, total, gaps, rivals = pick(
            state,
            counts=None,
            rows=None,
            levels=None,
            posterior=None,
            cold_total=(),
            rival_gaps=None,
            rivals=None,
        )
        self._cold_total = float(total)
        self._rivals = [(float(gap), C) for gap, C in zip(gaps, rivals, strict=True)]
        self.trace_ = np.empty(0)
        self._keep(counts, Beliefs(rows, levels), posterior)


def _gain(beliefs: Beliefs, found_with: Beliefs, prior: Beliefs) -> np.ndarray:
    return relabelling_gain(
        to_numpy(beliefs.rows) - to_numpy(found_with.rows),
        to_numpy(beliefs.levels) - to_numpy(found_with.levels),
        to_numpy(prior.rows),
        to_numpy(prior.levels),
    )
