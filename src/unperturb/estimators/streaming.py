"""Dawid-Skene for noise that drifts: C is forgotten, the identity of the cells is not."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from unperturb._array import Array, namespace, to_numpy
from unperturb._checks import is_number
from unperturb.errors import InvalidOptionError
from unperturb.estimators.base import Estimator, as_json, check_counts, pick
from unperturb.estimators.beliefs import (
    STRENGTH,
    Beliefs,
    Prior,
    expected_logs,
    prior_beliefs,
    seen_cells,
    softmax,
    step,
)
from unperturb.estimators.uncertainty import beta_interval

MEMORY = 2000
CHUNK = 500
_ROUNDS = 4


class Stream(NamedTuple):
    """What is carried from chunk to chunk.

    Attributes:
        rows: S, what was seen of each true level, fading, (M, M).
        evidence: l, each cell's log-likelihood of each true level so far, (M, cells).
        seen: 1 for cells that were ever visited, (cells,).
        beliefs: The Dirichlet parameters after the last chunk.
    """

    rows: Array
    evidence: Array
    seen: Array
    beliefs: Beliefs

    @property
    def confusion(self) -> Array:
        """The present estimate of C."""
        return self.beliefs.confusion

    @property
    def posterior(self) -> Array:
        """The chance of each true level for each cell, (cells, M)."""
        scores = self.evidence + expected_logs(self.beliefs.levels)[:, None]
        return namespace(scores).matrix_transpose(softmax(scores)[0])


def stream_start(cells: int, prior: Beliefs) -> Stream:
    """Start with the prior and no evidence."""
    xp = namespace(prior.rows)
    M = prior.rows.shape[0]
    dtype = prior.rows.dtype
    return Stream(
        xp.zeros((M, M), dtype=dtype),
        xp.zeros((M, cells), dtype=dtype),
        xp.zeros((cells,), dtype=dtype),
        prior,
    )


def stream_step(stream: Stream, chunk: Array, prior: Beliefs, decay: float) -> Stream:
    """Take in the counts of one chunk, (cells, M).

    The evidence of earlier chunks is frozen: it was weighed with the C of its time. Old counts
    fade by `decay` per chunk, so that C follows the drift while the cells keep their levels.
    """
    xp = namespace(chunk)
    seen = xp.maximum(stream.seen, seen_cells(chunk))
    faded = decay * stream.rows
    base = Beliefs(prior.rows + faded, prior.levels)
    beliefs = stream.beliefs
    for _ in range(_ROUNDS):
        beliefs = step(chunk, beliefs, base, seen, stream.evidence).beliefs
    evidence = stream.evidence + expected_logs(beliefs.rows) @ xp.matrix_transpose(chunk)
    return Stream(beliefs.rows - prior.rows, evidence, seen, beliefs)


class StreamingDawidSkene(Estimator):
    """Follows noise whose rates change while the true reward of each cell does not.

    Give it the counts of each chunk of about 500 observations, not the sum of all chunks: `fit`
    starts a stream, `refresh` continues it. It remembers about `memory` observations of C.

    Example:
        >>> import numpy as np
        >>> early = np.array([[90, 10]] * 4 + [[30, 70]] * 4)
        >>> late = np.array([[60, 40]] * 4 + [[30, 70]] * 4)
        >>> fit = StreamingDawidSkene(memory=800).fit(early)
        >>> for _ in range(6):
        ...     fit = fit.refresh(late)
        >>> fit.confusion_.round(1)
        array([[0.6, 0.4],
               [0.3, 0.7]])
    """

    name: ClassVar[str] = "streaming"
    streaming: ClassVar[bool] = True

    def __init__(
        self,
        memory: float = MEMORY,
        prior: Prior | Any = "diagonal",
        prior_strength: float = STRENGTH,
        level_prior: Any = None,
    ) -> None:
        if not (is_number(memory) and memory > 1):
            raise InvalidOptionError(
                f"memory is {memory!r}",
                "it is the number of observations of C that are remembered",
                f"pass memory={MEMORY}",
            )
        self.memory = memory
        self.prior = prior
        self.prior_strength = prior_strength
        self.level_prior = level_prior
        self._stream: Stream | None = None

    def check(self, cells: int, levels: int) -> None:
        """Refuse a prior that doesn't fit."""
        prior_beliefs(levels, self.prior, self.prior_strength, self.level_prior)

    def fit(self, counts: Any) -> Self:
        """Start a stream with its first chunk."""
        table = check_counts(counts)
        return self._take(table, stream_start(table.shape[0], self._prior(table)))

    def refresh(self, counts: Any) -> Self:
        """Take in the counts of the next chunk."""
        table = check_counts(counts)
        if self._stream is None:
            return self.fit(table)
        return self._take(table, self._stream)

    def forget(self, cells: np.ndarray) -> None:
        """Forget what these cells showed: their numbers now stand for other states."""
        if self._stream is not None:
            evidence, seen = self._stream.evidence.copy(), self._stream.seen.copy()
            evidence[:, cells] = 0
            seen[cells] = 0
            self._stream = self._stream._replace(evidence=evidence, seen=seen)
            self.posterior_ = np.array(self.posterior_)
            self.posterior_[cells] = self.level_frequencies_

    def _take(self, table: Array, stream: Stream) -> Self:
        xp = namespace(table)
        decay = (1 - 1 / self.memory) ** float(to_numpy(table).sum())
        prior = self._prior(table)
        self._stream = stream_step(stream, table, prior, decay)
        self.confusion_ = self._stream.confusion
        self.posterior_ = self._stream.posterior
        self.level_frequencies_ = self._stream.beliefs.level_frequencies
        self.row_size_ = xp.sum(self._stream.rows, axis=1)
        self.trace_ = np.empty(0)
        return self

    @property
    def interval_(self) -> np.ndarray:
        """The 95 % interval of each entry, from what is remembered of its row."""
        self._need_fit()
        C, n = to_numpy(self.confusion_), to_numpy(self.row_size_)[:, None]
        return beta_interval(C, C * (1 - C) / (n + self.prior_strength + 1))

    def _prior(self, table: Array) -> Beliefs:
        return prior_beliefs(
            table.shape[1], self.prior, self.prior_strength, self.level_prior, like=table
        )

    def config(self) -> dict[str, Any]:
        """Describe the settings in a form that JSON can hold."""
        return {
            "name": self.name,
            "memory": as_json(self.memory),
            "prior": as_json(self.prior),
            "prior_strength": as_json(self.prior_strength),
            "level_prior": as_json(self.level_prior),
        }

    def state_dict(self) -> dict[str, np.ndarray]:
        """Give all that is carried from chunk to chunk."""
        if self._stream is None:
            return {}
        return {
            "rows": to_numpy(self._stream.rows),
            "evidence": to_numpy(self._stream.evidence),
            "seen": to_numpy(self._stream.seen),
            "belief_rows": to_numpy(self._stream.beliefs.rows),
            "belief_levels": to_numpy(self._stream.beliefs.levels),
        }

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Take back what `state_dict` gave."""
        if not state:
            self._start_over()
            return
        rows, evidence, seen, belief_rows, belief_levels = pick(
            state, rows=None, evidence=None, seen=None, belief_rows=None, belief_levels=None
        )
        self._stream = Stream(rows, evidence, seen, Beliefs(belief_rows, belief_levels))
        self.confusion_ = self._stream.confusion
        self.posterior_ = self._stream.posterior
        self.level_frequencies_ = self._stream.beliefs.level_frequencies
        self.row_size_ = rows.sum(axis=1)
        self.trace_ = np.empty(0)
