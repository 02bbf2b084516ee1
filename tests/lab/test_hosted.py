import numpy as np
import pytest

import unperturb as up
from unperturb.agents import AGENTS, Task
from unperturb.cells import Cells
from unperturb.lab.hosted import HostedTrainer, hosted, sample
from unperturb.lab.training import Lane
from unperturb.levels import RewardLevels

LEVELS = RewardLevels([0.0, 1.0])
CELLS = Cells.discrete(16, 4)
NOISE = up.confusion.binary(0.1, 0.3).matrix


@pytest.fixture(scope="module")
def trainer():
    env = hosted("FrozenLake-v1")
    return HostedTrainer(env, AGENTS["q-learning"](Task(16, 4, cells=16), 1), LEVELS, CELLS)


def lanes(seeds=3, **options):
    return [Lane(seed, NOISE, **options) for seed in range(seeds)]


def test_the_same_seed_gives_the_same_run_whatever_runs_beside_it(trainer):
    alone = trainer.run(lanes(1), steps=300)[0]
    beside = trainer.run(lanes(3), steps=300)
    np.testing.assert_array_equal(alone.returns, beside[0].returns)
    np.testing.assert_array_equal(alone.ends, beside[0].ends)
    assert any(len(alone.ends) != len(other.ends) for other in beside[1:])


def test_returns_are_true_whatever_is_shown(trainer):
    for lane in (lanes(1)[0], lanes(1, raw=True)[0], lanes(1, table=np.array([-9.0, 9.0]))[0]):
        outcome = trainer.run([lane], steps=300)[0]
        assert set(outcome.returns) <= {0.0, 1.0}
        assert (np.diff(outcome.ends, prepend=0) > 0).all()


def test_the_noise_is_found_out(trainer):
    corrector = up.RewardCorrector(LEVELS, CELLS)
    outcome = trainer.run([Lane(0, NOISE, corrector=corrector)], steps=2_000)[0]
    assert len(outcome.confusion) == len(outcome.estimated) == corrector.refreshes + 1
    # 2,000 draws of a rate of .1: five standard deviations are .034.
    assert abs(outcome.confusion[-1][0, 1] - 0.1) < 0.034


def test_smoothing_gives_the_mean_of_the_last_rewards_of_a_cell():
    shown = []
    env = hosted("FrozenLake-v1")
    agent = AGENTS["q-learning"](Task(16, 4, cells=16), 1)

    def learn(hyper, state, key, transition, t):
        import jax

        jax.debug.callback(lambda r: shown.append(float(r)), transition.reward, ordered=False)
        return state

    smoothed = HostedTrainer(env, agent._replace(learn=learn), LEVELS, CELLS, smooth=4)
    smoothed.run(lanes(1), steps=200)
    allowed = {a / n for n in range(1, 5) for a in range(n + 1)}
    assert len(shown) == 200
    assert all(min(abs(r - x) for x in allowed) < 1e-6 for r in shown)
    assert len(set(shown)) > 2


def test_random_play():
    played = sample("CartPole-v1", 30)
    assert played.observations.shape == (30, 4)
    assert set(played.rewards) == {1.0}
