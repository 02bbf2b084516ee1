import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unperturb import Cells, RewardCorrector, RewardLevels, confusion, surrogate_values
from unperturb.agents import Task, ddpg, q_learning
from unperturb.errors import UnknownRewardError
from unperturb.lab.envs.compiled import compiled_env
from unperturb.lab.eyes import CHUNK
from unperturb.lab.training import Lane, Problem, Trainer, streams

CELLS, LEVELS = Cells.cartpole(), RewardLevels([-1.0, 1.0])
AGENT = q_learning(Task(features=4, actions=2, cells=CELLS.states))
C = confusion.binary(0.1, 0.3).matrix
STEPS = 2600


def corrector(method="surrogate", **options):
    return RewardCorrector(LEVELS, CELLS, method=method, **options)


def lane(kind, seed=0):
    ways = {
        "true": lambda: {"raw": True},
        "noisy": dict,
        "known": lambda: {"table": surrogate_values(C, LEVELS.values)},
        "estimated": lambda: {"corrector": corrector()},
        "posterior": lambda: {"corrector": corrector("posterior")},
        "slow": lambda: {"corrector": corrector("posterior", refresh=700)},
        "odd": lambda: {"corrector": corrector("posterior", refresh=130)},
    }
    return Lane(seed, C, **ways[kind]())


@pytest.fixture(scope="module")
def trainer():
    return Trainer(Problem(compiled_env("CartPole-v0"), AGENT, LEVELS, CELLS))


@pytest.fixture(scope="module")
def outcomes(trainer):
    kinds = ("true", "noisy", "known", "estimated")
    return dict(zip(kinds, trainer.run([lane(kind) for kind in kinds], STEPS), strict=True))


def same(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


KINDS = ("true", "known", "posterior", "slow")


def learned(trainer, lanes, cuts=(STEPS,)):
    """Give for each lane what came of it, and what its agent knows."""
    training = trainer.start(lanes)
    for n in cuts:
        training.advance(n)
    assert training.t == STEPS
    return [(*one, q) for one, q in zip(training.outcomes(), training.agents, strict=True)]


@pytest.mark.parametrize("cuts", [(150, 77, 1006, 1367), (999, 1601), (1, 2599)])
def test_it_does_not_matter_how_the_steps_are_cut(trainer, cuts):
    lanes = [[lane(kind) for kind in KINDS] for _ in range(2)]
    for one, other in zip(
        learned(trainer, lanes[0]), learned(trainer, lanes[1], cuts), strict=True
    ):
        same(one, other)


def test_it_does_not_matter_which_lanes_run_beside(trainer):
    first = learned(trainer, [lane(kind) for kind in KINDS])
    # The odd one estimates every 130 steps, the others when their own turn comes.
    second = learned(trainer, [lane(kind) for kind in ("odd", *KINDS[:0:-1])])
    for one, other in zip(first[1:], reversed(second[1:]), strict=True):
        same(one, other)
    third = learned(trainer, [lane(kind, seed=1) for kind in KINDS])
    for one, other in zip(first, third, strict=True):
        assert not np.array_equal(one[0], other[0])


def test_a_lane_alone_is_the_same(trainer, outcomes):
    (alone,) = trainer.run([lane("estimated")], STEPS)
    same(alone, outcomes["estimated"])


def test_a_seed_meets_the_same_starts_whatever_it_is_shown(trainer):
    env = compiled_env("CartPole-v0")
    training = trainer.start([lane("true"), lane("noisy"), lane("known", 1), lane("estimated", 1)])
    first = np.asarray(training._run.observation)
    for i, seed in enumerate((0, 0, 1, 1)):
        key = jax.random.fold_in(streams(seed)["reset"], 0)
        np.testing.assert_allclose(first[i], env.reset(key)[0], rtol=1e-6)
    assert not np.array_equal(first[0], first[2])


def test_streams_are_apart():
    keys = [jax.random.key_data(key) for seed in (0, 1) for key in streams(seed).values()]
    assert len(np.unique(np.stack(keys), axis=0)) == 8


def test_episodes_add_up(outcomes):
    for outcome in outcomes.values():
        # CartPole pays 1 a step, so a return is the episode's length.
        np.testing.assert_array_equal(np.diff(outcome.ends, prepend=0), outcome.returns)
        assert outcome.ends[-1] <= STEPS
        assert outcome.returns.max() <= 200
    assert not np.array_equal(outcomes["true"].returns, outcomes["noisy"].returns)


def test_estimates_are_kept_with_their_steps(outcomes):
    found = outcomes["estimated"]
    np.testing.assert_array_equal(found.confusion[0], np.eye(2))
    assert found.estimated[0] == 0
    assert len(found.confusion) == len(found.estimated) > 5
    assert (np.diff(found.estimated) >= 100).all()
    np.testing.assert_allclose(found.confusion.sum(axis=-1), 1, atol=1e-9)
    assert len(outcomes["known"].confusion) == 1


def test_the_estimate_is_that_of_the_rewards_observed(trainer):
    # All rewards are +1 here, so the observed -1 are those that C makes of them.
    found = lane("estimated")
    trainer.run([found, lane("noisy"), lane("noisy", 1), lane("noisy", 2)], STEPS)
    counts = found.corrector.counts.table().sum(axis=0)
    assert counts.sum() >= STEPS - CHUNK
    share = counts[0] / counts.sum()
    # Five standard deviations of a share of .3: false alarm below 1e-6.
    assert abs(share - 0.3) < 5 * (0.21 / counts.sum()) ** 0.5


def test_watch_is_told_the_steps(trainer):
    told = []
    lanes = [lane("true", seed) for seed in range(4)]
    trainer.run(lanes, 2500, watch=lambda t, score: told.append((t, score)))
    assert [t for t, _ in told] == [1000, 2000, 2500]
    assert all(score > 5 for _, score in told)


def test_a_stray_reward_is_refused():
    levels = RewardLevels([-1.0, 0.5])
    trainer = Trainer(Problem(compiled_env("CartPole-v0"), AGENT, levels, CELLS))
    with pytest.raises(UnknownRewardError, match="reward 1 is no level"):
        trainer.run([Lane(0, np.eye(2))], 50)


def test_the_loop_is_compiled_once(trainer):
    training = trainer.start([lane("true", seed) for seed in range(4)])
    before = jax.tree.map(jax.typeof, training._run)
    training.advance(5)
    assert jax.tree.all(jax.tree.map(lambda a, b: a == jax.typeof(b), before, training._run))
    assert (
        trainer._advance._cache_size() <= 3
    )  # four lanes with values by cell, four without, and one
    assert isinstance(training.agents, jnp.ndarray)


def test_a_posterior_is_told_again_with_each_estimate():
    levels, memory = RewardLevels.uniform(-17, 0, 17, value="upper"), 250
    cells = Cells.grid([-1.0, -1.0, -8.0], [1.0, 1.0, 8.0], [4, 4, 4], actions=None)
    agent = ddpg(Task(3, 1, low=(-2.0,), high=(2.0,)), steps=memory)
    C = confusion.rand_all(17, 0.3, np.random.default_rng(0)).matrix
    both = [
        RewardCorrector(levels, cells, method=m, refresh=100) for m in ("posterior", "surrogate")
    ]
    lanes = [Lane(0, C, corrector=one) for one in both]
    training = Trainer(Problem(compiled_env("Pendulum-v1"), agent, levels, cells)).start(lanes)

    def rewards():
        return np.array(training.agents.buffer[:, :, -2])

    training.advance(299)
    before = rewards()
    training.advance(1)
    after, table = rewards(), both[0].tables
    # Step 299 stands in row 49; it was seen through the estimate before.
    rows = np.arange(memory) != 49
    assert (after[0] != before[0])[rows].mean() > 0.5
    np.testing.assert_array_equal(after[1, rows], before[1, rows])
    observations = np.array(training.agents.buffer[0, :, :3])
    value = table.values[cells.index(observations)]
    assert not np.isnan(value).any()
    np.testing.assert_allclose(after[0], value, rtol=1e-6)
