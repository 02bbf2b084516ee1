"""Coarse cells on Pendulum mix several true levels; what a run is shown must then fall back."""

import jax.numpy as jnp
import numpy as np

from unperturb import Cells, RewardCorrector, RewardLevels, confusion
from unperturb.agents import Agent
from unperturb.denoise import mixed_cells
from unperturb.lab.envs.compiled import compiled_env
from unperturb.lab.training import Lane, Problem, Trainer

LEVELS = RewardLevels.uniform(-17, 0, 17, value="upper")
CELLS = Cells.grid([-1, -1, -8], [1, 1, 8], [4, 4, 4], actions=(-2.0, 2.0, 1))
STEPS = 6000
# It pushes back and forth and never learns, so all runs of a seed go the same way.
AGENT = Agent(
    "idle",
    (),
    init=lambda hyper, key: jnp.zeros(()),
    act=lambda hyper, state, key, observation, t: 2 * jnp.sin(t / jnp.arange(20.0, 21.0)),
    learn=lambda hyper, state, key, transition, t: state,
)


def test_a_mixed_cell_is_given_the_mean_of_its_surrogates():
    C = confusion.rand_all(17, 0.3, np.random.default_rng(0)).matrix
    # An estimate from so few cells would take each mixture for a level of its own.
    noisy = RewardCorrector(LEVELS, CELLS, method="posterior", confusion=C)
    clean = RewardCorrector(LEVELS, CELLS)
    lanes = [Lane(0, C, corrector=noisy), Lane(0, np.eye(17), corrector=clean)]
    training = Trainer(Problem(compiled_env("Pendulum-v1"), AGENT, LEVELS, CELLS)).start(lanes)
    training.advance(STEPS)
    noisy.refresh()
    counts, true = noisy.counts.table(), clean.counts.table()
    size = counts.sum(axis=1)
    np.testing.assert_array_equal(size, true.sum(axis=1))
    mixed = mixed_cells(counts, noisy.confusion) & (size >= 50)
    assert mixed.sum() >= 5
    mean = counts[mixed] @ noisy.surrogate / size[mixed]
    np.testing.assert_allclose(noisy.tables.values[mixed], mean)
    # And that is nearer to what these cells really pay than the mean over one level would be.
    paid = true[mixed] @ LEVELS.values / size[mixed]
    sharp = noisy.estimator.posterior_[mixed] @ LEVELS.values
    assert np.abs(mean - paid).mean() < np.abs(sharp - paid).mean()
