"""Where variational Dawid-Skene starts from, and which of its optima is kept.

EM finds a local optimum only, so it runs from several starts. The functions work on NumPy, JAX and
torch arrays, inside `jax.jit` too.
"""

from __future__ import annotations

from typing import NamedTuple

from unperturb._array import Array, gammaln, namespace
from unperturb.estimators.beliefs import LIMIT, Beliefs, Run, converge, seen_cells
from unperturb.estimators.majority_vote import majority_vote

_FEW_LEVELS = 4


class Solution(NamedTuple):
    """The best of several runs, and all of them: axis 0 of `runs` and `scores` is the start."""

    best: Beliefs
    trace: Array
    runs: Run
    scores: Array


def starts(counts: Array, prior: Beliefs) -> list[Beliefs]:
    """Give where to start from.

    The prior mean; the majority vote, smoothed by the prior; all cells on one level, which is the
    truth where only one level occurs.
    """
    xp = namespace(counts)
    M = counts.shape[1]
    vote = majority_vote(counts)
    voted = Beliefs(
        prior.rows + vote.row_size[:, None] * vote.confusion,
        prior.levels + xp.sum(vote.posterior, axis=0),
    )
    total = xp.sum(counts, axis=0)
    cells = xp.sum(xp.astype(xp.sum(counts, axis=1) > 0, counts.dtype))
    eye = xp.eye(M, dtype=counts.dtype)
    modal = xp.astype(total == xp.max(total), counts.dtype)
    single = [eye[z, ...] for z in range(M)] if M <= _FEW_LEVELS else [modal / xp.sum(modal)]
    lone = [
        Beliefs(prior.rows + one[:, None] * total, prior.levels + one * cells) for one in single
    ]
    return [prior, voted, *lone]


def anchored_start(counts: Array, prior: Beliefs, extra: Array) -> Beliefs:
    """Give what the anchored cells alone say.

    Where they contradict the prior, no other start is near the optimum that they belong to.
    """
    xp = namespace(counts)
    known = xp.any(extra < 0, axis=0)[None, :] & (extra == 0)
    q = xp.astype(known, counts.dtype)
    return Beliefs(prior.rows + q @ counts, prior.levels + xp.sum(q, axis=1))


def solve(
    counts: Array, prior: Beliefs, limit: int = LIMIT, extra: Array | None = None
) -> Solution:
    """Run from every start, keep the best ELBO less Occam's price; works inside `jax.jit` too."""
    begin = starts(counts, prior)
    if extra is not None:
        begin.append(anchored_start(counts, prior, extra))
    runs = [converge(counts, start, prior, limit, extra) for start in begin]
    return choose([*runs, *alone(counts, prior, limit, extra)], prior, counts)


def choose(runs: list[Run], prior: Beliefs, counts: Array) -> Solution:
    """Keep the best of several runs, by ELBO less Occam's price for each level that occurs.

    Where only one level occurs (CartPole), some odd cell among hundreds looks like a second one.
    One of K cells does so by log 2K nats with a chance of one half at most: that is the price.
    """
    xp = namespace(prior.rows)
    stacked = Run(
        Beliefs(
            xp.stack([run.beliefs.rows for run in runs]),
            xp.stack([run.beliefs.levels for run in runs]),
        ),
        xp.stack([run.elbo for run in runs]),
        xp.stack([run.trace for run in runs]),
    )
    # Smooth, since a price for "more than one observation" would decide between labellings of
    # which one leaves .9 observations to a level that does not occur, and the other 1.1.
    occurs = 1 - xp.exp(-xp.sum(stacked.beliefs.rows - prior.rows, axis=-1))
    price = xp.log(1 + 2 * xp.sum(seen_cells(counts)))
    scores = stacked.elbo - price * xp.sum(occurs, axis=-1)
    best = xp.argmax(scores)
    return Solution(
        Beliefs(stacked.beliefs.rows[best, ...], stacked.beliefs.levels[best, ...]),
        stacked.trace[best, ...],
        stacked,
        scores,
    )


def alone(counts: Array, prior: Beliefs, limit: int, extra: Array | None) -> list[Run]:
    """Give, for each level, the belief that every cell has it, and the exact evidence for that.

    EM drifts from there to a solution in which a second level owns a fraction of a cell. That one
    pays Occam's price twice, and lost to the mirror image of the truth before these were compared.
    """
    xp = namespace(counts)
    M = counts.shape[1]
    seen = seen_cells(counts)
    eye = xp.eye(M, dtype=counts.dtype)
    rows = prior.rows[None, ...] + eye[:, :, None] * xp.sum(counts, axis=0)
    levels = prior.levels[None, :] + eye * xp.sum(seen)
    evidence = xp.sum(_log_beta(rows) - _log_beta(prior.rows), axis=-1)
    evidence = evidence + _log_beta(levels) - _log_beta(prior.levels)
    if extra is not None:
        evidence = evidence + extra @ seen
    later = xp.full((M, limit - 1), xp.nan, dtype=counts.dtype)
    trace = xp.concat([evidence[:, None], later], axis=1)
    return [
        Run(Beliefs(rows[z, ...], levels[z, ...]), evidence[z], trace[z, ...]) for z in range(M)
    ]


def _log_beta(a: Array) -> Array:
    xp = namespace(a)
    return xp.sum(gammaln(a), axis=-1) - gammaln(xp.sum(a, axis=-1))
