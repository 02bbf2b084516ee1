"""The drop-in lines of the README run as they stand."""

import runpy
from pathlib import Path

import numpy as np
import pytest

SNIPPETS = Path(__file__).resolve().parent.parent / "docs" / "snippets"


def run(name):
    return runpy.run_path(str(SNIPPETS / f"{name}.py"))


def test_gymnasium():
    env = run("gymnasium")["env"]
    env.reset(seed=0)
    assert {"clean_reward", "observed_reward", "level"} <= env.step(0)[4].keys()


def test_vector():
    envs = run("vector")["envs"]
    envs.reset(seed=0)
    for i in range(40):
        *_, infos = envs.step(np.full(16, i % 2))
    assert "observed_reward" in infos
    assert envs.audit().observations > 500


def test_sb3(capsys):
    pytest.importorskip("stable_baselines3")
    run("sb3")
    assert "Reward audit: 512 rewards" in capsys.readouterr().out


def test_cleanrl():
    env = run("cleanrl")["make_env"]("CartPole-v1", seed=1, idx=0)()
    env.reset(seed=1)
    assert env.step(0)[4]["observed_reward"] == 1.0


@pytest.mark.filterwarnings("ignore")
def test_rllib():
    pytest.importorskip("ray", reason="make test-rllib runs it in an environment of its own")
    config = run("rllib")["config"]
    assert config.env == "corrected-cartpole"
