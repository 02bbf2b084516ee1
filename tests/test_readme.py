"""What the README shows must run as it stands."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block_runs(number, capsys):
    if "from ray" in BLOCKS[number]:
        pytest.skip("make test-rllib runs it")
    exec(compile(BLOCKS[number], f"README block {number}", "exec"), {})
    assert "Traceback" not in capsys.readouterr().out


def test_names_both_commands():
    text = README.read_text()
    assert "make demo" in text
    assert "make test" in text
