"""What Gymnasium expects of a wrapper: specs, copies, processes, its own checker."""

import copy
import json
import pickle
import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import unperturb as up

LEVELS = [-1.0, 1.0]
C = up.confusion.binary(e_plus=0.4)
SCHEDULE = up.confusion.schedule({0: C, 50: up.confusion.binary(0.1, 0.2)})


def noisy(confusion=C):
    return up.PerturbReward(gym.make("CartPole-v1"), up.RewardLevels(LEVELS), confusion)


def corrected(**options):
    return up.CorrectReward(noisy(), LEVELS, up.Cells.cartpole(), **options)


def shared():
    return up.CorrectReward(
        noisy(), corrector=up.RewardCorrector(up.RewardLevels(LEVELS), up.Cells.cartpole())
    )


def rewards(env, steps=150, seed=3):
    env.reset(seed=seed)
    found = []
    for i in range(steps):
        _, reward, terminated, truncated, _ = env.step(i // 2 % 2)
        found.append(reward)
        if terminated or truncated:
            env.reset()
    return found


MAKERS = {
    "perturb": noisy,
    "schedule": lambda: noisy(SCHEDULE),
    "correct": corrected,
    "known": lambda: corrected(confusion=C),
    "anchored": lambda: corrected(
        estimator=up.estimators.DawidSkene(anchors={5: 1}), method="posterior"
    ),
    "first observations": lambda: up.CorrectReward(noisy(), LEVELS),
    "corrector": shared,
}


@pytest.mark.parametrize("name", MAKERS)
def test_check_env(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(MAKERS[name](), skip_render_check=True)
    # The checker would rather be given bare environments, and CartPole's velocities be bounded.
    known = ("different from the unwrapped version", "-infinity", "is infinity")
    assert all(any(words in str(w.message) for words in known) for w in caught)


@pytest.mark.parametrize("name", MAKERS)
def test_spec_round_trip(name):
    env = MAKERS[name]()
    expected = rewards(env)
    again = gym.make(env.spec)
    assert again.spec == env.spec
    assert str(again) == str(env)
    assert rewards(again) == expected
    text = env.spec.to_json()
    json.loads(text)
    assert rewards(gym.make(EnvSpec.from_json(text))) == expected


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
def test_copies_go_on_alike_and_apart(name, copied):
    env = MAKERS[name]()
    rewards(env)
    other = copied(env)
    expected = rewards(env)
    assert rewards(other) == expected
    assert env.unwrapped is not other.unwrapped


def test_register_with_wrappers():
    spec = up.PerturbReward.wrapper_spec(levels=LEVELS, confusion=C.matrix.tolist())
    more = up.CorrectReward.wrapper_spec(levels=LEVELS, method="posterior")
    gym.register(
        "NoisyCartPole-v0",
        entry_point="gymnasium.envs.classic_control:CartPoleEnv",
        max_episode_steps=500,
        additional_wrappers=(spec, more),
    )
    try:
        env = gym.make("NoisyCartPole-v0")
        assert -1.0 in rewards(env)
        assert env.has_wrapper_attr("audit")
        envs = gym.make_vec("NoisyCartPole-v0", num_envs=2, vectorization_mode="sync")
        envs.reset(seed=0)
        assert "clean_reward" in envs.step(np.zeros(2, dtype=np.int64))[4]
        envs.close()
    finally:
        del gym.registry["NoisyCartPole-v0"]


def test_make_vec_with_wrappers():
    envs = gym.make_vec(
        "CartPole-v1",
        num_envs=3,
        vectorization_mode="sync",
        wrappers=[
            lambda env: up.PerturbReward(env, LEVELS, C),
            lambda env: up.CorrectReward(env, LEVELS, method="posterior"),
        ],
    )
    envs.reset(seed=0)
    for i in range(30):
        *_, infos = envs.step(np.full(3, i % 2))
    assert {"clean_reward", "_observed_reward", "level"} <= infos.keys()
    assert [audit.observations > 20 for audit in envs.call("audit")] == [True] * 3
    envs.close()


@pytest.mark.parametrize("context", ["spawn", "fork"])
@pytest.mark.filterwarnings("ignore:os.fork")
def test_subprocesses_give_the_same(context):
    sync = gym.vector.SyncVectorEnv([corrected] * 2)
    parallel = gym.vector.AsyncVectorEnv([corrected] * 2, context=context)
    try:
        sync.reset(seed=1)
        parallel.reset(seed=1)
        for i in range(120):
            one, other = sync.step(np.full(2, i % 2)), parallel.step(np.full(2, i % 2))
            assert np.array_equal(one[1], other[1])
        for one, other in zip(sync.call("audit"), parallel.call("audit"), strict=True):
            assert one.to_dict() == other.to_dict()
    finally:
        parallel.close()


def test_importing_loads_neither_jax_nor_torch():
    import subprocess
    import sys

    heavy = "{'jax', 'torch', 'pandas', 'matplotlib', 'stable_baselines3', 'ray'}"
    code = f"import sys, unperturb; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
