"""Dawid-Skene under drift: the study's figures, frozen evidence, and cells that are reused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unperturb.estimators import StreamingDawidSkene
from unperturb.estimators.beliefs import prior_beliefs, update
from unperturb.estimators.streaming import CHUNK, MEMORY, stream_start, stream_step

CELLS = 12
LEVELS = np.array([0] * 10 + [1] * 2)  # the six-state MDP: two of twelve cells pay


def chunk(e_minus, e_plus, rng, size=CHUNK):
    cells = rng.integers(CELLS, size=size)
    wrong = rng.random(size) < np.where(LEVELS[cells] == 0, e_minus, e_plus)
    table = np.zeros((CELLS, 2))
    np.add.at(table, (cells, LEVELS[cells] ^ wrong), 1)
    return table


def average_error(rates, steps, seed):
    """Give the time-average of the mean error of e- and e+."""
    rng = np.random.default_rng(seed)
    fit, errors = StreamingDawidSkene(), []
    for t in range(0, steps, CHUNK):
        e_minus, e_plus = rates(t)
        fit.refresh(chunk(e_minus, e_plus, rng))
        found = fit.confusion_[0, 1], fit.confusion_[1, 0]
        errors.append(np.abs(np.subtract(found, (e_minus, e_plus))).mean())
    return np.mean(errors), fit


def papers_schedule(t):
    stages = {50_000: (0.1, 0.2), 30_000: (0.3, 0.2), 10_000: (0.2, 0.1), 0: (0.1, 0.3)}
    return next(rates for start, rates in stages.items() if t >= start)


# The study's time-average errors are .018 and .023; seeds differ by about a twentieth of that, so
# that bounds a third above are reached by chance in less than one run in a million.
def test_the_papers_schedule_is_followed():
    found = [average_error(papers_schedule, 70_000, seed)[0] for seed in range(3)]
    assert np.mean(found) < 0.018 * 1.33


def test_a_rate_that_rises_past_one_half_is_followed():
    found = []
    for seed in range(3):
        off, fit = average_error(lambda t: (0.1, 0.1 + 0.55 * t / 70_000), 70_000, seed)
        found.append(off)
        assert fit.posterior_.argmax(axis=1).tolist() == LEVELS.tolist()
    assert np.mean(found) < 0.023 * 1.33


def test_with_nothing_to_forget_it_is_the_batch_estimate():
    table = chunk(0.1, 0.3, np.random.default_rng(0))
    prior = prior_beliefs(2)
    stream = stream_step(stream_start(CELLS, prior), table, prior, 1.0)
    four = update(table, prior, prior, 4).beliefs
    np.testing.assert_allclose(stream.confusion, four.confusion, atol=1e-4)
    np.testing.assert_allclose(stream.rows, stream.beliefs.rows - prior.rows)


def test_memory_is_counted_in_observations():
    rng = np.random.default_rng(0)
    fit = StreamingDawidSkene(memory=1000)
    for _ in range(40):
        fit.refresh(chunk(0.1, 0.3, rng))
    # S settles at chunk / (1 - lambda), here with lambda = (1 - 1/1000)^500.
    expected = CHUNK / (1 - (1 - 1 / 1000) ** CHUNK)
    assert float(np.sum(fit.row_size_)) == pytest.approx(expected, rel=1e-6)
    assert StreamingDawidSkene().memory == MEMORY


def test_reused_cells_are_forgotten():
    rng = np.random.default_rng(0)
    fit = StreamingDawidSkene()
    for _ in range(4):
        fit.refresh(chunk(0.1, 0.3, rng))
    assert fit.posterior_[11, 1] > 0.99
    before = fit.state_dict()["evidence"].copy()
    fit.forget(np.array([11]))
    after = fit.state_dict()
    assert after["evidence"][:, 11].tolist() == [0, 0]
    assert after["seen"][11] == 0
    np.testing.assert_array_equal(after["evidence"][:, :11], before[:, :11])
    # The cell now stands for a state that pays nothing, and one chunk shows it.
    table = np.zeros((CELLS, 2))
    table[11] = [18, 2]
    assert fit.refresh(table).posterior_[11, 0] > 0.99
    StreamingDawidSkene().forget(np.array([0]))  # nothing to forget before the first chunk


def test_jax_agrees_inside_jit():
    stepped = jax.jit(lambda s, t, p: stream_step(s, t, p, 0.8))
    rng = np.random.default_rng(0)
    prior = prior_beliefs(2)
    mine = stream_start(CELLS, prior)
    like = prior_beliefs(2, like=jnp.zeros(1))
    theirs = stream_start(CELLS, like)
    for _ in range(5):
        table = chunk(0.1, 0.3, rng, 60)
        mine = stream_step(mine, table, prior, 0.8)
        theirs = stepped(theirs, jnp.asarray(table, jnp.float32), like)
    np.testing.assert_allclose(theirs.confusion, mine.confusion, atol=1e-5)
    np.testing.assert_allclose(theirs.posterior, mine.posterior, atol=1e-4)


def test_evidence_adds_up_over_chunks_too_small_to_tell():
    # 30 chunks of 24: two observations of each cell at a time. Sixty speak 23 nats for the truth,
    # with a standard deviation of 6: a wrong cell has a false-alarm rate below 1e-3.
    rng = np.random.default_rng(0)
    fit = StreamingDawidSkene()
    for _ in range(30):
        fit.refresh(chunk(0.1, 0.3, rng, 24))
    assert (fit.posterior_[np.arange(CELLS), LEVELS] > 0.95).all()
