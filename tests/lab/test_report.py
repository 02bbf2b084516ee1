import csv

import numpy as np
import pytest

from unperturb.lab import report


def test_summary_is_mean_and_percentiles():
    values = np.arange(11.0)
    assert report.summary(values) == {"seeds": 11, "mean": 5.0, "low": 1.0, "high": 9.0}


def test_a_table_is_written_twice(tmp_path):
    rows = [
        {"agent": "dqn", "mean": 187.24, "paper": 187.2},
        {"agent": "a|b, c", "mean": float("nan"), "paper": None},
    ]
    paths = report.write_table(rows, tmp_path / "deep" / "table", "A title", "How to read it.", 4)
    assert [path.name for path in paths] == ["table.csv", "table.md"]
    read = list(csv.DictReader(paths[0].read_text().splitlines()))
    assert read[0] == {"agent": "dqn", "mean": "187.24", "paper": "187.2"}
    assert read[1] == {"agent": "a|b, c", "mean": "", "paper": ""}
    text = paths[1].read_text()
    assert text.startswith("# A title\n\n| agent ")
    assert "a\\|b, c" in text
    assert text.endswith("How to read it.\n")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(line) for line in lines}) == 1
    assert len(lines) == 4


def test_an_empty_table(tmp_path):
    assert report.as_csv([]).strip() == ""
    assert report.as_markdown([]) == "(nothing)"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(12345.6, "12346"), (0.123456, "0.123"), (1e-9, "1e-09"), (7, "7"), (float("inf"), "–")],
)
def test_numbers_in_markdown(value, shown):
    assert report.as_markdown([{"x": value}]).splitlines()[-1] == f"| {shown} |"


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = report.write_text(tmp_path / "x.csv", "old")

    def full(*args):
        raise OSError("no space left")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="no space"):
        report.write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_figures_are_the_same_each_time(tmp_path):
    curves = np.random.default_rng(0).random((5, 20))

    def draw(figure):
        axes = figure.subplots()
        report.band(axes, np.arange(20), curves, report.COLOURS["noisy"], "noisy")
        axes.legend()

    first = report.write_figure(tmp_path / "a", (4, 3), draw)
    second = report.write_figure(tmp_path / "b", (4, 3), draw)
    assert [path.suffix for path in first] == [".png", ".svg"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
