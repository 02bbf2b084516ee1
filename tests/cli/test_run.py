import json

import pytest

from unperturb.cli import main

QUICK = ["run", "CartPole-v0", "q-learning", "--steps=400", "--seeds=2", "--jobs=1"]


def test_one_json_object(tmp_path, capsys):
    options = ["--reward=estimated", "--weight=0.3", "--json", f"--out={tmp_path}"]
    assert main([*QUICK, *options]) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["scores"]) == 2
    assert {"steps_per_second", "seconds", "confusion", "settings"} <= set(result)
    assert result["settings"]["weight"] == 0.3


def test_text_says_what_was_found_out(tmp_path, capsys):
    assert main([*QUICK, "--reward=posterior", f"--out={tmp_path}"]) == 0
    shown = capsys.readouterr()
    assert "q-learning on CartPole-v0, reward: posterior, binary noise of weight 0.3" in shown.out
    assert "C, estimated: [" in shown.out
    assert main([*QUICK, "--reward=posterior", f"--out={tmp_path}"]) == 0
    assert "2 of them had run before" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["Nothing-v0", "dqn"], "environment 'Nothing-v0' can't be made"),
        (["CartPole-v0", "nobody"], "agent 'nobody' is not known"),
        (["CartPole-v0", "dqn", "--levels=x"], "the levels are given as 'x'"),
        (["CartPole-v0", "dqn", "--noise=symmetric", "--weight=.5", "--reward=noisy"], "singular"),
    ],
)
def test_mistakes_are_one_line(tmp_path, capsys, options, message):
    assert main(["run", *options, f"--out={tmp_path}", "--jobs=1"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert message in shown.err


@pytest.mark.parametrize("option", ["--weight=2", "--weight=x", "--seeds=0", "--reward=best"])
def test_options_are_checked(capsys, option):
    with pytest.raises(SystemExit) as stop:
        main([*QUICK, option])
    assert stop.value.code == 2
