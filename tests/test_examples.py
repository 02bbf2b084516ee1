"""Each example really runs, at a tiny size."""

import importlib.util
import logging
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("reward", ["clean", "posterior"])
def test_cleanrl_dqn(reward, capsys):
    pytest.importorskip("torch")
    result = load("cleanrl_dqn").main(reward, steps=700, start=300, batch=16)
    assert result["episodes"] > 10
    assert ("Reward audit: 700 rewards" in capsys.readouterr().out) == (reward == "posterior")


@pytest.mark.filterwarnings("ignore")
def test_rllib_ppo(capsys):
    pytest.importorskip("ray", reason="make test-rllib runs it in an environment of its own")
    logging.disable(logging.WARNING)
    result = load("rllib_ppo").main(iterations=2, batch=256)
    logging.disable(logging.NOTSET)
    assert sum(result["observations"]) >= 512
    assert "Reward audit" in capsys.readouterr().out
