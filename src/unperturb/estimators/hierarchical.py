"""State-dependent noise: one C_s for each group of cells, shrunk towards what they share."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from unperturb._array import Array, as_floats, gammaln, namespace, scatter_add, to_numpy
from unperturb.estimators.base import (
    Estimator,
    as_groups,
    check_counts,
    need_group_of_each,
    pick,
)
from unperturb.estimators.beliefs import STRENGTH, Beliefs, Prior, expected_logs, softmax
from unperturb.estimators.dawid_skene import DawidSkene
from unperturb.estimators.uncertainty import beta_interval

_ROUNDS = 5
_LOG_TAU = (0.0, 12.0)


class Hierarchical(Estimator):
    r"""Estimates C_s for groups of states (the paper, "State-Dependent Perturbed Reward").

    Estimated apart, groups with few observations are lost; pooled, their differences are. Here the
    rows of each group have the prior A_g = tau C, where C is the estimate over all cells and tau
    maximises the Dirichlet-multinomial likelihood of the groups' counts: the data say how much the
    groups share.

    Example:
        >>> import numpy as np
        >>> counts = np.array([[90, 10], [30, 70], [60, 40], [10, 90]] * 5)
        >>> fit = Hierarchical(groups=[0, 0, 1, 1] * 5).fit(counts)
        >>> fit.confusion_.round(1)[:, 0]
        array([[0.9, 0.1],
               [0.6, 0.4]])
    """

    name: ClassVar[str] = "hierarchical"

    def __init__(
        self,
        groups: Any,
        prior: Prior | Any = "diagonal",
        prior_strength: float = STRENGTH,
        level_prior: Any = None,
        anchors: dict[int, int] | None = None,
        order: Any = None,
    ) -> None:
        self.groups = as_groups(groups)
        self.shared = DawidSkene(prior, prior_strength, level_prior, anchors, order)

    @property
    def anchors(self) -> dict[int, int] | None:
        """The cells whose true level is known."""
        return self.shared.anchors

    @property
    def group_count(self) -> int:
        """The number of groups."""
        return int(self.groups.max()) + 1

    def check(self, cells: int, levels: int) -> None:
        """Refuse groups, or settings of the shared estimate, that don't fit."""
        need_group_of_each(self.groups, cells)
        self.shared.check(cells, levels)

    def fit(self, counts: Any) -> Self:
        """Estimate the shared C from all cells, then each group's."""
        table = self._check(counts)
        self.shared.fit(table)
        return self._split(table)

    def refresh(self, counts: Any) -> Self:
        """Refine the shared C, then each group's."""
        table = self._check(counts)
        self.shared.refresh(table)
        return self._split(table)

    def _check(self, counts: Any) -> Array:
        table = check_counts(counts)
        need_group_of_each(self.groups, table.shape[0])
        return table

    def _split(self, table: Array) -> Self:
        xp = namespace(table)
        groups = xp.asarray(self.groups)
        extra = self.shared._extra(table)
        levels = expected_logs(as_floats(self.shared._beliefs.levels))  # type: ignore[union-attr]
        q = xp.matrix_transpose(self.shared.posterior_)
        for _ in range(_ROUNDS):
            shown = self._shown(table, q, groups)
            tau = _best_tau(to_numpy(shown), to_numpy(self.shared.confusion_))
            rows = tau * self.shared.confusion_[None, ...] + shown
            logs = expected_logs(rows)
            scores = xp.stack(
                [
                    xp.sum(xp.take(logs[:, z, :], groups, axis=0) * table, axis=1) + levels[z]
                    for z in range(table.shape[1])
                ]
            )
            q = softmax(scores if extra is None else scores + extra)[0]
        self.tau_ = tau
        self._rows = to_numpy(rows)
        self.confusion_ = Beliefs(rows, levels).confusion
        self.posterior_ = xp.matrix_transpose(q)
        self.level_frequencies_ = self.shared.level_frequencies_
        self.row_size_ = xp.sum(shown, axis=-1)
        self.trace_ = self.shared.trace_
        return self

    def _shown(self, table: Array, q: Array, groups: Array) -> Array:
        xp = namespace(table)
        M = table.shape[1]
        empty = xp.zeros((self.group_count, M), dtype=table.dtype)
        by_level = [scatter_add(empty, groups, q[z, ...][:, None] * table) for z in range(M)]
        return xp.stack(by_level, axis=1)

    @property
    def interval_(self) -> np.ndarray:
        """The 95 % interval of each entry of each C_s, given the cells' levels and tau."""
        self._need_fit()
        C = to_numpy(self.confusion_)
        return beta_interval(C, C * (1 - C) / (self._rows.sum(axis=-1, keepdims=True) + 1))

    @property
    def margin_(self) -> float:
        """The margin of the shared estimate: groups can't be flipped apart from it."""
        return self.shared.margin_

    def config(self) -> dict[str, Any]:
        """Describe the settings in a form that JSON can hold."""
        return {**self.shared.config(), "name": self.name, "groups": self.groups.tolist()}

    def state_dict(self) -> dict[str, np.ndarray]:
        """Give the shared estimate's state and the groups' rows."""
        if not self.fitted:
            return {}
        own = {
            "group_rows": self._rows,
            "group_posterior": to_numpy(self.posterior_),
            "group_size": to_numpy(self.row_size_),
            "tau": np.array(self.tau_),
        }
        return {**self.shared.state_dict(), **own}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Take back what `state_dict` gave."""
        if not state:
            self._start_over()
            return
        self._rows, self.posterior_, self.row_size_, tau = pick(
            state, group_rows=None, group_posterior=None, group_size=None, tau=()
        )
        self.shared.load_state_dict(state)
        self.tau_ = float(tau)
        self.confusion_ = Beliefs(self._rows, self._rows[0, 0]).confusion
        self.level_frequencies_ = self.shared.level_frequencies_
        self.trace_ = self.shared.trace_


def _best_tau(shown: np.ndarray, shared: np.ndarray) -> float:
    """Maximise the Dirichlet-multinomial likelihood of the groups' rows over tau."""
    import scipy.optimize  # a tenth of a second that few need

    def cost(log_tau: float) -> float:
        prior = np.exp(log_tau) * shared
        total = prior.sum(axis=-1)
        gain = gammaln(prior + shown).sum(axis=-1) - gammaln(prior).sum(axis=-1)
        gain -= gammaln(total + shown.sum(axis=-1)) - gammaln(total)
        return -float(gain.sum())

    found = scipy.optimize.minimize_scalar(cost, bounds=_LOG_TAU, method="bounded")
    return float(np.exp(found.x))
