"""The paper's estimator: each cell votes for its true level (Eqns 4 and 5)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import scipy.special

from unperturb._array import Array, blocks, namespace, to_numpy
from unperturb.errors import InvalidPriorError
from unperturb.estimators.base import Estimator, Sparse, anchor_mask, as_anchors, check_counts, pick


class Vote(NamedTuple):
    """What the vote found: C, who voted for what, and the observations behind each row."""

    confusion: Array
    posterior: Array
    row_size: Array


def majority_vote(counts: Array, anchors: Array | None = None, reverse: bool = False) -> Vote:
    r"""Estimate C by majority vote, for NumPy, JAX and torch arrays.

    bar r(s, a) is the level that the cell showed most often (Eqn 4). c_ij is the share of R_j
    among all that was seen in the cells that voted R_i (Eqn 5). Tied levels share the cell
    equally, which is the mean over ties that are broken equally likely. A level that nobody votes
    for keeps its row of the identity matrix, where Algorithm 3 starts. With `reverse` a vote for
    R_k is taken as one for R_{M-1-k}.
    """
    xp = namespace(counts)
    top = xp.max(counts, axis=1, keepdims=True)
    ballot = xp.astype((counts == top) & (top > 0), counts.dtype)
    if reverse:
        ballot = xp.flip(ballot, axis=1)
    if anchors is not None:
        known = xp.asarray(anchors, dtype=counts.dtype)
        clamped = xp.any(known < 0, axis=0)[:, None]
        ballot = xp.where(clamped, xp.astype(known.T == 0, counts.dtype), ballot)
    votes = xp.sum(ballot, axis=1, keepdims=True)
    ballot = ballot / xp.where(votes == 0, xp.ones_like(votes), votes)
    seen = xp.zeros((counts.shape[1],) * 2, dtype=counts.dtype)
    for part in blocks(counts):
        seen = seen + xp.matrix_transpose(ballot[part, :]) @ counts[part, :]
    size = xp.sum(seen, axis=1)
    eye = xp.eye(counts.shape[1], dtype=counts.dtype)
    eye = xp.flip(eye, axis=1) if reverse else eye
    empty = (size == 0)[:, None]
    confusion = xp.where(empty, eye, seen / xp.where(empty, xp.ones_like(seen), size[:, None]))
    return Vote(confusion, ballot, size)


class MajorityVote(Estimator):
    r"""The paper's estimator (Eqns 4 and 5).

    .. math:: \bar r(s,a) = \arg\max_i \#[\tilde r(s,a) = R_i], \quad
              \tilde c_{ij} = \#[\tilde r = R_j | \bar r = R_i] / \#[\bar r = R_i]

    It needs C_zz > max_k C_zk in every level that occurs, and it is inconsistent: with few
    observations per cell it stays biased, however many cells there are. The paper's D_max is a
    matter of counting: use `counts.LastPerCell(cells, levels, d_max)`.

    With prior="reverse" the user says that most rewards are the reverse of the true ones, which
    the counts can't tell: the level that a cell showed most often is then its lie.

    Example:
        >>> fit = MajorityVote().fit([[9, 1], [8, 2], [3, 7]])
        >>> fit.confusion_.round(2)
        array([[0.85, 0.15],
               [0.3 , 0.7 ]])
    """

    name: ClassVar[str] = "majority-vote"

    def __init__(
        self,
        anchors: dict[int, int] | None = None,
        prior: Literal["diagonal", "reverse"] = "diagonal",
    ) -> None:
        self.anchors = as_anchors(anchors)
        if prior not in ("diagonal", "reverse"):
            raise InvalidPriorError(
                f"prior={prior!r}",
                "a vote knows 'diagonal' and 'reverse'",
                "pass prior='diagonal' unless you know that most rewards are reversed",
            )
        self.prior = prior

    def check(self, cells: int, levels: int) -> None:
        """Refuse anchors that don't fit."""
        anchor_mask(self.anchors, cells, levels)

    def fit(self, counts: Any) -> Self:
        """Estimate C from the counts."""
        table = check_counts(counts)
        xp = namespace(table)
        mask = anchor_mask(self.anchors, *table.shape)
        vote = majority_vote(table, mask, self.prior == "reverse")
        self.confusion_, ballot, self.row_size_ = vote
        voters = xp.sum(ballot, axis=0)
        # A cell that was never visited has no vote: any level is as likely as another.
        silent = xp.sum(ballot, axis=1, keepdims=True) == 0
        self._keep_posterior(xp.where(silent, xp.ones_like(ballot) / ballot.shape[1], ballot))
        self.level_frequencies_ = voters / xp.sum(voters)
        self.trace_ = np.empty(0)
        return self

    def refresh_rows(self, rows: np.ndarray, cells: np.ndarray, of: int) -> Self:
        """Let only the cells vote that have observations; the others have no vote."""
        if self.anchors or not len(rows):
            return super().refresh_rows(rows, cells, of)
        self.fit(rows)
        M = rows.shape[1]
        self._keep_posterior(Sparse(self.posterior_, cells, of, np.full(M, 1 / M)))
        return self

    @property
    def interval_(self) -> np.ndarray:
        """Jeffreys intervals of the shares, as if every vote were right."""
        self._need_fit()
        C, n = to_numpy(self.confusion_), to_numpy(self.row_size_)[:, None]
        low = scipy.special.betaincinv(C * n + 0.5, (1 - C) * n + 0.5, 0.025)
        high = scipy.special.betaincinv(C * n + 0.5, (1 - C) * n + 0.5, 0.975)
        unseen = np.broadcast_to(n == 0, C.shape)
        return np.stack([np.where(unseen, 0.0, low), np.where(unseen, 1.0, high)], axis=-1)

    def config(self) -> dict[str, Any]:
        """Describe the settings in a form that JSON can hold."""
        return {"name": self.name, "anchors": self.anchors, "prior": self.prior}

    def state_dict(self) -> dict[str, np.ndarray]:
        """Give the estimate; a vote starts afresh at each refresh."""
        if not self.fitted:
            return {}
        return {
            "confusion": to_numpy(self.confusion_),
            "posterior": to_numpy(self.posterior_),
            "row_size": to_numpy(self.row_size_),
            "level_frequencies": to_numpy(self.level_frequencies_),
        }

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Take back what `state_dict` gave."""
        if not state:
            self._start_over()
            return
        self.confusion_, posterior, self.row_size_, self.level_frequencies_ = pick(
            state, confusion=None, posterior=None, row_size=None, level_frequencies=None
        )
        self._keep_posterior(posterior)
        self.trace_ = np.empty(0)
