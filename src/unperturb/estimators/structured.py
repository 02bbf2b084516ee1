"""Noise of known shape: C = (1 - omega) I + omega N, with omega alone to be found."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np

from unperturb._array import Array, as_floats, digamma, loop, namespace, to_numpy
from unperturb.confusion import as_confusion
from unperturb.errors import InvalidConfusionError, InvalidPriorError
from unperturb.estimators.base import (
    Estimator,
    anchor_mask,
    as_anchors,
    as_json,
    check_counts,
    pick,
)
from unperturb.estimators.beliefs import prior_beliefs, seen_cells, softmax

_LIMIT = 100
_NEWTON = 20
_TOLERANCE = 1e-8
_PRIORS = {"diagonal": (2.0, 8.0), "reverse": (8.0, 2.0)}


class Structured(Estimator):
    """Estimates only how much noise there is, where its shape N is known (the paper's omega).

    With one number to find instead of M (M - 1), far fewer observations do. Use it for symmetric
    noise, or for sparse noise with few observations per cell.

    Example:
        >>> import numpy as np
        >>> counts = np.array([[7, 0, 3]] * 9 + [[0, 10, 0]] * 9 + [[3, 0, 7]] * 9)
        >>> fit = Structured(np.eye(3)[::-1]).fit(counts)
        >>> round(fit.weight_, 1)
        0.3
    """

    name: ClassVar[str] = "structured"

    def __init__(
        self,
        noise: Any,
        prior: Literal["diagonal", "reverse"] = "diagonal",
        level_prior: Any = None,
        anchors: dict[int, int] | None = None,
    ) -> None:
        if prior not in _PRIORS:
            raise InvalidPriorError(
                f"prior={prior!r}",
                "the weight's prior is 'diagonal' (below one half) or 'reverse' (above)",
                "pass prior='diagonal' unless you know that most rewards are perturbed",
            )
        self.noise = as_confusion(noise).matrix
        self.prior = prior
        self.level_prior = level_prior
        self.anchors = as_anchors(anchors)

    def check(self, cells: int, levels: int) -> None:
        """Refuse a shape, frequencies or anchors that don't fit."""
        self._check_shape(levels)
        prior_beliefs(levels, level_prior=self.level_prior)
        anchor_mask(self.anchors, cells, levels)

    def _check_shape(self, M: int) -> None:
        if self.noise.shape != (M, M):
            raise InvalidConfusionError(
                f"the noise shape is {self.noise.shape} for {M} levels",
                "N has one row and one column for each level",
                "use the same levels for both",
            )

    def fit(self, counts: Any) -> Self:
        """Estimate omega by expectation-maximisation, with a Beta prior on it."""
        table = check_counts(counts)
        xp = namespace(table)
        M = table.shape[1]
        self._check_shape(M)
        N = as_floats(self.noise, like=table)
        eye = xp.eye(M, dtype=table.dtype)
        mask = anchor_mask(self.anchors, *table.shape)
        extra = None if mask is None else as_floats(mask, like=table)
        a, b = _PRIORS[self.prior]
        levels0 = prior_beliefs(M, level_prior=self.level_prior, like=table).levels
        seen = seen_cells(table)

        def posterior(weight: Array, levels: Array) -> Array:
            log_c = xp.log(xp.maximum(_mix(weight, eye, N), 0 * eye + 1e-12))
            scores = log_c @ xp.matrix_transpose(table)
            scores = scores + (digamma(levels) - digamma(xp.sum(levels)))[:, None]
            return softmax(scores if extra is None else scores + extra)[0]

        def one(state: Any) -> tuple[Any, Array]:
            weight, levels = state
            q = posterior(weight, levels)
            new = _best_weight(q @ table, weight, N - eye, eye, a, b)
            return (new, levels0 + q @ seen), xp.abs(new - weight) < _TOLERANCE

        start = xp.sum(levels0) * 0 + (a - 1) / (a + b - 2)
        weight, levels = loop(one, (start, levels0 + xp.sum(seen) / M), _LIMIT, table)
        q = posterior(weight, levels)
        self._shown = to_numpy(q @ table)
        self.weight_ = float(to_numpy(weight))
        self.confusion_ = _mix(weight, eye, N)
        self.posterior_ = xp.matrix_transpose(q)
        self.level_frequencies_ = levels / xp.sum(levels)
        self.row_size_ = xp.sum(q @ table, axis=1)
        self.trace_ = np.array([self.weight_])
        return self

    @property
    def interval_(self) -> np.ndarray:
        """The 95 % interval of each entry, from the curvature of the likelihood in omega."""
        self._need_fit()
        C = to_numpy(self.confusion_)
        slope = self.noise - np.eye(len(C))
        a, b = _PRIORS[self.prior]
        w = min(max(self.weight_, 1e-6), 1 - 1e-6)
        curvature = (a - 1) / w**2 + (b - 1) / (1 - w) ** 2
        curvature += float((self._shown * slope**2 / np.maximum(C, 1e-9) ** 2).sum())
        half = 1.96 / np.sqrt(curvature)
        ends = [np.clip(self.weight_ + s * half, 0.0, 1.0) for s in (-1, 1)]
        low, high = (np.eye(len(C)) + end * slope for end in ends)
        return np.stack([np.minimum(low, high), np.maximum(low, high)], axis=-1)

    def config(self) -> dict[str, Any]:
        """Describe the settings in a form that JSON can hold."""
        return {
            "name": self.name,
            "noise": self.noise.tolist(),
            "prior": self.prior,
            "level_prior": as_json(self.level_prior),
            "anchors": self.anchors,
        }

    def state_dict(self) -> dict[str, np.ndarray]:
        """Give the estimate; each refresh starts afresh."""
        if not self.fitted:
            return {}
        return {
            "weight": np.array(self.weight_),
            "confusion": to_numpy(self.confusion_),
            "posterior": to_numpy(self.posterior_),
            "level_frequencies": to_numpy(self.level_frequencies_),
            "shown": self._shown,
        }

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        """Take back what `state_dict` gave."""
        if not state:
            self._start_over()
            return
        weight, self.confusion_, self.posterior_, self.level_frequencies_, self._shown = pick(
            state, weight=(), confusion=None, posterior=None, level_frequencies=None, shown=None
        )
        self.weight_ = float(weight)
        self.row_size_ = self._shown.sum(axis=1)
        self.trace_ = np.array([self.weight_])


def _mix(weight: Array, eye: Array, noise: Array) -> Array:
    return (1 - weight) * eye + weight * noise


def _best_weight(
    shown: Array, weight: Array, slope: Array, eye: Array, a: float, b: float
) -> Array:
    """Maximise sum S log C(omega) + log Beta(omega; a, b), which is concave, by Newton's method."""
    xp = namespace(shown)
    low = 1e-6
    for _ in range(_NEWTON):
        C = eye + weight * slope
        ratio = xp.where(shown > 0, slope / xp.where(C > 1e-12, C, xp.ones_like(C)), 0 * C)
        gradient = xp.sum(shown * ratio) + (a - 1) / weight - (b - 1) / (1 - weight)
        curvature = xp.sum(shown * ratio**2) + (a - 1) / weight**2 + (b - 1) / (1 - weight) ** 2
        weight = weight + gradient / curvature
        weight = xp.where(weight < low, 0 * weight + low, weight)
        weight = xp.where(weight > 1 - low, 0 * weight + 1 - low, weight)
    return weight
