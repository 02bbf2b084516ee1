import logging

import gymnasium as gym
import numpy as np
import pytest

import unperturb as up
from unperturb.errors import InvalidOptionError, NotFittedError, UnknownRewardError
from unperturb.wrappers._choice import FIRST, choose_cells

LEVELS = [0.0, 1.0, 2.0]


def walk(env, steps, seed=0, actions=2):
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    out = []
    for _ in range(steps):
        out.append(env.step(int(rng.integers(actions))))
        if out[-1][2] or out[-1][3]:
            env.reset()
    return out


def test_the_true_reward_is_recovered(chain, noise):
    env = up.PerturbReward(chain(), LEVELS, noise)
    env = up.CorrectReward(env, LEVELS, method="posterior")
    steps = walk(env, 4000)
    late = steps[2000:]
    assert max(abs(r - info["clean_reward"]) for _, r, _, _, info in late) < 0.05
    assert np.abs(env.corrector.confusion - noise.matrix).max() < 0.08
    assert np.allclose(env.audit().confusion, env.corrector.confusion, atol=0.05)


def test_info_holds_the_observed_reward_and_its_level(chain, noise):
    env = up.CorrectReward(up.PerturbReward(chain(), LEVELS, noise), LEVELS, confusion=noise)
    hat = up.surrogate_values(noise, LEVELS)
    for _, reward, _, _, info in walk(env, 50):
        assert info["observed_reward"] == LEVELS[info["level"]]
        assert reward == pytest.approx(hat[info["level"]])
        assert {"state", "clean_reward"} <= info.keys()


@pytest.mark.parametrize("box", [False, True])
def test_a_reward_is_counted_where_the_step_began(chain, box):
    # With box=True the environment overwrites the observation it gave before.
    cells = up.Cells.grid(0, 5, 5, actions=2) if box else up.Cells.discrete(5, 2)
    env = up.CorrectReward(chain(box=box), LEVELS, cells)
    walk(env, 500)
    for cell, row in enumerate(env.corrector.counts.table()):
        state, action = divmod(cell, 2)
        assert row.sum() == row[(state + action) % 3] > 0


def test_next_state_cells_see_the_state_after(chain):
    env = up.CorrectReward(chain(), LEVELS, up.Cells.discrete(5, 2, next_state=True))
    for state, *_ in walk(env, 200):
        assert 0 <= state < 5
    assert env.corrector.counts.table().sum() == 200


def space_of(env_space):
    class Spaces:
        observation_space = env_space
        action_space = gym.spaces.Discrete(3)

    return Spaces()


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (gym.spaces.Discrete(7), "7 states times 3 actions"),
        (gym.spaces.MultiDiscrete([2, 3]), "6 states (2 x 3) times 3 actions"),
        (gym.spaces.Box(0, 1, (2,)), "100 grid cells over 2 numbers (10 x 10 bins)"),
        (gym.spaces.Box(0, 1, (16,)), "65,536 grid cells"),
        (gym.spaces.Box(0, 1, (17,)), "groups of 32 adjacent observations"),
        (gym.spaces.Box(0, 255, (84, 84, 4), np.uint8), "groups of 32 adjacent observations"),
        (
            gym.spaces.Dict(a=gym.spaces.Box(0, 1, (8,)), b=gym.spaces.Box(0, 1, (8,))),
            "65,536 states of 2 parts",
        ),
        (gym.spaces.Tuple([gym.spaces.Discrete(2), gym.spaces.Box(0, 1)]), "20 states of 2 parts"),
    ],
)
def test_cells_are_chosen_from_the_spaces(space, words):
    assert words in choose_cells(space_of(space)).describe()


def test_it_says_which_cells_it_chose(caplog):
    caplog.set_level(logging.INFO, logger="unperturb")
    env = up.CorrectReward(gym.make("FrozenLake-v1"), [0, 1])
    assert "chose 16 states times 4 actions" in caplog.text
    assert str(env).startswith("<CorrectReward(16 states times 4 actions)<TimeLimit")
    assert env.cells == env.corrector.cells


def test_without_bounds_the_first_observations_are_looked_at(caplog):
    caplog.set_level(logging.INFO, logger="unperturb")
    noisy = up.PerturbReward(gym.make("CartPole-v1"), [-1, 1], up.confusion.binary(0, 0.3))
    env = up.CorrectReward(noisy, [-1, 1])
    assert f"looks at the first {FIRST} observations" in caplog.text
    assert env.corrector is None
    assert env.cells is None
    assert f"from the first {FIRST} observations" in str(env)
    with pytest.raises(NotFittedError, match="no rewards were seen"):
        env.audit()
    first = walk(env, FIRST - 1)
    assert all(reward == info["observed_reward"] for _, reward, _, _, info in first)
    assert env.corrector is None
    assert env.audit().observations == FIRST - 1
    walk(env, 1, seed=1)
    assert env.corrector.steps == env.corrector.counts.table().sum() == FIRST
    assert "chose 10,000 grid cells over 4 numbers" in caplog.text
    assert env.corrector.ready
    walk(env, 2000, seed=2)
    assert env.audit().confusion[1, 0] == pytest.approx(0.3, abs=0.1)


def test_images_go_through_the_adjacency_queue():
    class Images(gym.Env):
        observation_space = gym.spaces.Box(0, 255, (8, 8, 3), np.uint8)
        action_space = gym.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.zeros((8, 8, 3), np.uint8), {}

        def step(self, action):
            return np.zeros((8, 8, 3), np.uint8), 1.0, False, False, {}

    env = up.CorrectReward(Images(), [0.0, 1.0])
    walk(env, 64)
    assert env.corrector.counts.table()[:3].tolist() == [[0, 32], [0, 32], [0, 0]]


def test_a_corrector_is_shared_saved_and_loaded(chain, noise, tmp_path):
    levels = up.RewardLevels(LEVELS)
    corrector = up.RewardCorrector(levels, up.Cells.discrete(5, 2), method="posterior")
    envs = [
        up.CorrectReward(up.PerturbReward(chain(), LEVELS, noise), corrector=corrector)
        for _ in range(2)
    ]
    for seed, env in enumerate(envs):
        walk(env, 300, seed=seed)
    assert corrector.steps == 600
    path = envs[0].corrector.save(tmp_path / "corrector.npz")
    loaded = up.CorrectReward(
        up.PerturbReward(chain(), LEVELS, noise), corrector=up.RewardCorrector.load(path)
    )
    assert [s[1] for s in walk(loaded, 100, seed=9)] == [s[1] for s in walk(envs[1], 100, seed=9)]


def test_an_audit_reads_through_other_wrappers(chain, noise):
    env = up.CorrectReward(up.PerturbReward(chain(), LEVELS, noise), LEVELS)
    outer = gym.wrappers.TimeLimit(env, 10)
    walk(outer, 300)
    assert "Reward audit: 300 rewards" in str(outer.get_wrapper_attr("audit")())


def test_wrong_arguments_are_refused(chain):
    levels = up.RewardLevels(LEVELS)
    corrector = up.RewardCorrector(levels, up.Cells.discrete(5, 2))
    with pytest.raises(InvalidOptionError, match="neither levels nor a corrector"):
        up.CorrectReward(chain())
    with pytest.raises(InvalidOptionError, match="together with method, cells"):
        up.CorrectReward(chain(), cells=corrector.cells, corrector=corrector, method="posterior")
    with pytest.raises(InvalidOptionError, match="together with other levels"):
        up.CorrectReward(chain(), [0, 1], corrector=corrector)
    with pytest.raises(InvalidOptionError, match="method='median'"):
        up.CorrectReward(gym.make("CartPole-v1"), [0, 1], method="median")


@pytest.mark.parametrize(
    "options",
    [
        {"estimator": up.estimators.DawidSkene(anchors={3: 1})},
        {"estimator": up.estimators.MajorityVote(anchors={0: 1}).config()},
        {"estimator": up.estimators.Hierarchical([0, 1])},
        {"confusion": [np.eye(2), np.eye(2)]},
        {"confusion": up.estimators.Known([np.eye(2)], groups=[0, 0])},
    ],
)
def test_what_is_said_of_cells_needs_cells(options):
    with pytest.raises(InvalidOptionError, match=r"cells are chosen after .* pass cells=, too"):
        up.CorrectReward(gym.make("CartPole-v1"), [-1, 1], **options)


def test_a_reward_that_is_no_level_is_refused(chain):
    env = up.CorrectReward(chain(ends=0), [0.0, 1.0])
    env.reset(seed=0)
    while env.unwrapped._state != 2:
        env.step(int(env.unwrapped._state in (0, 3)))
    with pytest.raises(UnknownRewardError, match="reward 2 is no level"):
        env.step(0)
