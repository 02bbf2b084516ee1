"""The drop-in lines of the README: five of them beside the imports, and they do what they say."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import unperturb.cli

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()
SECTION = README.split("## In your training script\n")[1].split("\n## ")[0]
BLOCKS = dict(re.findall(r"\*\*(.+?)\*\*.*?```python\n(.*?)```", SECTION, re.DOTALL))


def run(name):
    variables = {}
    exec(compile(BLOCKS[name], f"README, {name}", "exec"), variables)
    return variables


def test_there_is_one_for_each_library_and_each_is_short():
    assert list(BLOCKS) == [
        *("Gymnasium", "Gymnasium, vectorised", "Stable-Baselines3", "CleanRL", "RLlib"),
    ]
    for block in BLOCKS.values():
        lines = [line for line in block.splitlines() if line and "import " not in line]
        assert len(lines) <= 5


def test_gymnasium():
    env = run("Gymnasium")["env"]
    env.reset(seed=0)
    assert {"clean_reward", "observed_reward", "level"} <= env.step(0)[4].keys()


def test_vector():
    envs = run("Gymnasium, vectorised")["envs"]
    envs.reset(seed=0)
    for i in range(40):
        *_, infos = envs.step(np.full(16, i % 2))
    assert "observed_reward" in infos
    assert envs.audit().observations > 500


def test_sb3(capsys):
    pytest.importorskip("stable_baselines3")
    run("Stable-Baselines3")
    assert "Reward audit: 512 rewards" in capsys.readouterr().out


def test_cleanrl():
    env = run("CleanRL")["make_env"]("CartPole-v1", 1, 0, False, "run")()
    env.reset(seed=1)
    assert env.step(0)[4]["observed_reward"] == 1.0


@pytest.mark.filterwarnings("ignore")
def test_rllib():
    ray = pytest.importorskip("ray", reason="make test-rllib runs it in an environment of its own")
    config = run("RLlib")["config"]
    ray.init(num_cpus=1, include_dashboard=False, ignore_reinit_error=True)
    algorithm = config.env_runners(num_env_runners=0).build_algo()
    assert algorithm.env_runner.env.unwrapped.call("has_wrapper_attr", "corrector") == (True,)
    algorithm.stop()
    ray.shutdown()


def test_logs(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    rows = rng.integers(2, size=(500, 3))
    np.savetxt(tmp_path / "log.csv", rows, "%d", ",", header="state,action,reward", comments="")
    monkeypatch.chdir(tmp_path)
    section = README.split("## In a log")[1].split("\n## ")[0]
    commands = re.findall(r"^    unperturb (.+)$", section, re.M)
    assert [command.split()[0] for command in commands] == ["audit", "correct"]
    for command in commands:
        assert unperturb.cli.main(shlex.split(command, comments=True)) == 0
    assert "The 20 most suspicious rows" in capsys.readouterr().out
    assert (tmp_path / "better.csv").read_text().startswith("state,action,reward,corrected_reward")
