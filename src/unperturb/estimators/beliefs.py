"""Variational-Bayes Dawid-Skene: the equations, for NumPy, JAX and torch arrays.

A cell i has one true level z_i ~ pi, and its observations are drawn from row z_i of C. Rows of C
have Dirichlet priors, and so has pi. The posterior over z, C and pi is taken to factorise:

    E-step: log q_iz = E[log pi_z] + sum_k n_ik E[log C_zk] + const
    M-step: a_z = A_z + sum_i q_iz n_i,   b = a_pi + sum_i q_i

and both steps raise the evidence lower bound (ELBO). Arrays over cells are (M, cells): sums over
levels then run along contiguous memory.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from unperturb._array import (
    Array,
    as_floats,
    blocks,
    digamma,
    gammaln,
    is_concrete,
    loop,
    namespace,
    row_sums,
)
from unperturb.errors import InvalidOptionError, InvalidPriorError

Prior = Literal["diagonal", "reverse"]
STRENGTH = 10.0
_OFF_DIAGONAL = 0.4
_LEVEL_PSEUDOCOUNT = 0.5
_KNOWN_LEVELS = 1e4
_FLOOR = 1e-3
WARM_ITERATIONS = 5
LIMIT = 200
"""The most iterations of one run."""
GAIN = 1e-6
"""Stop when the ELBO gains less than this per observation."""


class Beliefs(NamedTuple):
    """Dirichlet parameters: of the rows of C, (M, M), and of the level frequencies, (M,)."""

    rows: Array
    levels: Array

    @property
    def confusion(self) -> Array:
        """The mean of C."""
        xp = namespace(self.rows)
        return self.rows / xp.sum(self.rows, axis=-1, keepdims=True)

    @property
    def level_frequencies(self) -> Array:
        """The mean of pi."""
        return self.levels / namespace(self.levels).sum(self.levels)


class Step(NamedTuple):
    """One E-step and M-step: the new beliefs, and the ELBO of the old ones."""

    beliefs: Beliefs
    elbo: Array


class Run(NamedTuple):
    """A run to convergence, with the ELBO after each iteration (NaN where it had stopped)."""

    beliefs: Beliefs
    elbo: Array
    trace: Array


def prior_beliefs(
    M: int,
    prior: Prior | Any = "diagonal",
    strength: float = STRENGTH,
    level_prior: Any = None,
    like: Array | None = None,
) -> Beliefs:
    """Give the prior: rows A = s [(1 - .4) I + .4 / M 11^T], levels a_pi = .5.

    "diagonal" says that a reward is more often right than not. "reverse" says the opposite, with
    the anti-identity in place of I. An array is the prior mean of C. `level_prior` holds known
    frequencies of the true levels.
    """
    if not strength > 0:
        raise InvalidOptionError(
            f"prior_strength is {strength}", "it is a positive number", "pass prior_strength=10"
        )
    if isinstance(prior, str):
        shapes = {"diagonal": np.eye(M), "reverse": np.eye(M)[::-1]}
        if prior not in shapes:
            raise InvalidPriorError(
                f"prior={prior!r}",
                "a prior is 'diagonal', 'reverse' or an array",
                "pass prior='diagonal' unless you know that most rewards are reversed",
            )
        mean = (1 - _OFF_DIAGONAL) * shapes[prior] + _OFF_DIAGONAL / M
    else:
        mean = np.asarray(getattr(prior, "matrix", prior), dtype=np.float64)
        if (
            mean.shape != (M, M)
            or not (mean >= 0).all()
            or not np.allclose(mean.sum(axis=1), 1, atol=1e-6)
        ):
            raise InvalidPriorError(
                f"the prior has shape {mean.shape} and row sums {mean.sum(axis=-1).tolist()}",
                f"the prior mean of C is ({M}, {M}) and its rows sum to 1",
                "divide each row by its sum",
            )
        mean = np.maximum(mean, _FLOOR)
    if level_prior is None:
        levels = np.full(M, _LEVEL_PSEUDOCOUNT)
    else:
        levels = np.asarray(level_prior, dtype=np.float64)
        if levels.shape != (M,) or not (levels >= 0).all() or abs(levels.sum() - 1) > 1e-6:
            raise InvalidPriorError(
                f"level_prior is {levels.tolist()}",
                f"it holds the {M} known frequencies of the true levels and sums to 1",
                "divide it by its sum",
            )
        levels = _KNOWN_LEVELS * np.maximum(levels, _FLOOR)
    return Beliefs(as_floats(strength * mean, like=like), as_floats(levels, like=like))


def expected_logs(parameters: Array) -> Array:
    """Give E[log p] of Dirichlet parameters along the last axis."""
    xp = namespace(parameters)
    return digamma(parameters) - digamma(xp.sum(parameters, axis=-1, keepdims=True))


def level_scores(counts: Array, beliefs: Beliefs, extra: Array | None = None) -> Array:
    """Give log q up to a constant, (M, cells); `extra` holds anchors or earlier evidence."""
    return _scores(counts, _logs(beliefs), extra)


def _logs(beliefs: Beliefs) -> Beliefs:
    """Give what the blocks of a table have in common; digammas are dear."""
    return Beliefs(expected_logs(beliefs.rows), expected_logs(beliefs.levels))


def _scores(counts: Array, logs: Beliefs, extra: Array | None) -> Array:
    scores = logs.rows @ namespace(counts).matrix_transpose(counts)
    scores = scores + logs.levels[:, None]
    return scores if extra is None else scores + extra


def level_posterior(counts: Array, beliefs: Beliefs, extra: Array | None = None) -> Array:
    """Give the chance of each true level for each cell, (cells, M)."""
    xp = namespace(counts)
    logs = _logs(beliefs)
    parts = [
        softmax(_scores(counts[part, :], logs, _columns(extra, part)))[0] for part in blocks(counts)
    ]
    return xp.matrix_transpose(xp.concat(parts, axis=1))


def softmax(scores: Array) -> tuple[Array, Array]:
    """Give the softmax over the first axis, and the log of its denominator."""
    xp = namespace(scores)
    top = xp.max(scores, axis=0)
    q = xp.exp(scores - top)
    total = xp.sum(q, axis=0)
    return q / total, xp.log(total) + top


def step(
    counts: Array, beliefs: Beliefs, prior: Beliefs, seen: Array, extra: Array | None = None
) -> Step:
    """Do one E-step and one M-step; `seen` is 1 for cells with observations, else 0."""
    xp = namespace(counts)
    elbo = -xp.sum(_divergence(beliefs.rows, prior.rows))
    elbo = elbo - _divergence(beliefs.levels, prior.levels)
    rows, levels, logs = prior.rows, prior.levels, _logs(beliefs)
    for part in blocks(counts):
        n = counts[part, :]
        q, log_total = softmax(_scores(n, logs, _columns(extra, part)))
        rows = rows + q @ n
        # An unseen cell has nothing to say about how frequent the levels are.
        levels = levels + q @ seen[part]
        elbo = elbo + log_total @ seen[part]
    return Step(Beliefs(rows, levels), elbo)


def _columns(extra: Array | None, part: slice) -> Array | None:
    return None if extra is None else extra[:, part]


def _divergence(a: Array, b: Array) -> Array:
    """Give KL(Dir(a) || Dir(b)) along the last axis."""
    xp = namespace(a)
    return (
        gammaln(xp.sum(a, axis=-1))
        - gammaln(xp.sum(b, axis=-1))
        + xp.sum(gammaln(b) - gammaln(a) + (a - b) * expected_logs(a), axis=-1)
    )


def seen_cells(counts: Array) -> Array:
    """Give 1 for each cell with observations, else 0."""
    xp = namespace(counts)
    return xp.astype(row_sums(counts) > 0, counts.dtype)


def update(
    counts: Array,
    beliefs: Beliefs,
    prior: Beliefs,
    iterations: int = WARM_ITERATIONS,
    extra: Array | None = None,
) -> Step:
    """Refine beliefs by a few iterations; what a refresh inside training does.

    Where values can be looked at, it stops as soon as the ELBO gains too little: between two
    refreshes counts hardly change. Inside `jax.jit` the number of iterations is fixed.
    """
    seen = seen_cells(counts)
    result = step(counts, beliefs, prior, seen, extra)
    enough = GAIN * namespace(counts).sum(counts)
    for _ in range(iterations - 1):
        last = result.elbo
        result = step(counts, result.beliefs, prior, seen, extra)
        if is_concrete(result.elbo) and result.elbo - last < enough:
            break
    return result


def converge(
    counts: Array, start: Beliefs, prior: Beliefs, limit: int = LIMIT, extra: Array | None = None
) -> Run:
    """Iterate from a start until the ELBO gains less than 1e-6 per observation."""
    xp = namespace(counts)
    seen = seen_cells(counts)
    enough = GAIN * xp.sum(counts)
    places = xp.arange(limit)

    def one(state: Any) -> tuple[Any, Array]:
        beliefs, last, trace, i = state
        result = step(counts, beliefs, prior, seen, extra)
        trace = xp.where(places == i, result.elbo, trace)
        return (result.beliefs, result.elbo, trace, i + 1), result.elbo - last < enough

    first = xp.sum(counts) * 0 - xp.inf
    blank = xp.full((limit,), xp.nan, dtype=counts.dtype)
    state = (start, first, blank, xp.sum(places[:0]))
    beliefs, elbo, trace, _ = loop(one, state, limit, counts)
    return Run(beliefs, elbo, trace)
