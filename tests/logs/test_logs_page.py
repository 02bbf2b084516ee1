"""The page docs/logs.md: its code runs, and it shows what is really printed."""

import re
from pathlib import Path

from unperturb.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "logs.md"


def test_the_page_shows_what_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```(python|console)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "console", "console", "python"]
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, str(PAGE), "exec"), {})
            continue
        command, expected = text.split("\n", 1)
        assert main(command.removeprefix("$ unperturb ").split()) == 0
        shown = capsys.readouterr()
        assert shown.err + shown.out == expected
