"""What study-levels shows, from saved records alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unperturb.errors import MissingRecordError
from unperturb.lab import report
from unperturb.lab.paper.reading import scores
from unperturb.lab.paper.study_levels.sweep import (
    COUNTS,
    HIGH,
    LOW,
    NAME,
    SIGHTS,
    Sight,
    Value,
    units_of,
    unrounded,
)
from unperturb.lab.records import Record, Records
from unperturb.lab.units import noise_matrix

Row = dict[str, Any]
_COLOURS = {**report.COLOURS, "rounded": "#7f7f7f"}
_LINES: dict[str, str] = {"upper": "-", "middle": "--"}
_NOTE = """\
DDPG on Pendulum with rand-all noise of weight .3; `rounded` has none. The score is the mean reward
per step over the last 30 episodes, with the 10th and 90th percentile over seeds. Rounding is the
root mean square distance between a reward and the value of its level, were rewards spread evenly.
Error of C is the share of probability that the last estimate puts in the wrong place, mean over
all levels; a level that was never seen keeps what the estimator assumes. Few levels are coarse, and
many leave few observations for each row of C."""


def write(records: Records, out: Path) -> list[Path]:
    """Write study-levels.csv, .md, .png and .svg."""
    best, rows = _found(records, unrounded()), _rows(records)
    if not rows:
        raise MissingRecordError(
            f"no run of this study is in {records.folder}",
            "tables and figures are made of saved runs",
            f"say `unperturb reproduce {NAME}`",
        )
    if best:
        rows.append(_row("all", "", "true", 0.0, best, rounding=0.0, error=None))
    stem, title = out / NAME, "How many levels to cut a continuous reward into"
    table = report.as_markdown(rows)
    text = f"# {title}\n\n![{title}]({NAME}.png)\n\n{_NOTE}\n\n{table}\n"
    return [
        report.write_text(f"{stem}.csv", report.as_csv(rows)),
        report.write_text(f"{stem}.md", text),
        *report.write_figure(stem, (11, 3.6), lambda figure: _draw(figure, rows)),
    ]


def rounding_error(count: int, value: Value) -> float:
    """Give the root mean square distance of evenly spread rewards to the values of their levels.

    Example:
        >>> round(rounding_error(17, "middle"), 3), round(rounding_error(17, "upper"), 3)
        (0.289, 0.577)
    """
    width = (HIGH - LOW) / count
    return float(width / np.sqrt(12 if value == "middle" else 3))


def _found(records: Records, wanted: Sequence[dict[str, Any]]) -> list[Record]:
    return [records.load(one) for one in wanted if records.has(one)]


def _rows(records: Records) -> list[Row]:
    rows = []
    for value, sights in SIGHTS.items():
        for sight in sights:
            for count in COUNTS:
                runs = _found(records, units_of(count, value, sight))
                if runs:
                    rows.append(_row_of(count, value, sight, runs))
    return rows


def _row_of(count: int, value: Value, sight: Sight, runs: list[Record]) -> Row:
    estimates = sight.reward in ("estimated", "posterior")
    error = float(np.mean([_error_of_c(run) for run in runs])) if estimates else None
    rounding = rounding_error(count, value)
    return _row(str(count), value, sight.name, sight.weight, runs, rounding, error)


def _row(
    levels: str,
    value: str,
    reward: str,
    weight: float,
    runs: list[Record],
    rounding: float,
    error: float | None,
) -> Row:
    return {
        "levels": levels,
        "value": value,
        "reward": reward,
        "weight": weight,
        **report.summary(scores(runs)),
        "rounding": rounding,
        "error of C": error,
    }


def _error_of_c(run: Record) -> float:
    wrong = np.abs(run.arrays["confusion"][-1] - noise_matrix(run.settings))
    return float(wrong.sum(axis=1).mean() / 2)


def _draw(figure: Any, rows: Sequence[Row]) -> None:
    left, middle, right = figure.subplots(1, 3)
    true = [row for row in rows if row["reward"] == "true"]
    if true:
        left.axhline(true[0]["mean"], color=_COLOURS["true"], label="true")
    for value, sights in SIGHTS.items():
        for sight in sights:
            line = [row for row in rows if (row["value"], row["reward"]) == (value, sight.name)]
            if line:
                _curve(left, line, "mean", f"{sight.name}, {value}", spread=True)
            if line and line[0]["error of C"] is not None:
                _curve(right, line, "error of C", sight.name)
        whole = [row for row in rows if (row["value"], row["reward"]) == (value, "rounded")]
        if whole:
            _curve(middle, whole, "rounding", value)
    left.set(title="score", ylabel="mean reward per step")
    middle.set(title="rounding error", ylabel="root mean square, in rewards")
    right.set(title="error of C", ylabel="probability in the wrong place")
    for axes in (left, middle, right):
        axes.set_xscale("log", base=2)
        axes.set_xticks(COUNTS, [str(count) for count in COUNTS])
        axes.minorticks_off()
        axes.set_xlabel("levels")
    for axes in (middle, right):
        axes.set_ylim(bottom=0)
        axes.legend()
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=7)


def _curve(axes: Any, line: Sequence[Row], name: str, label: str, spread: bool = False) -> None:
    x, y = [int(row["levels"]) for row in line], [row[name] for row in line]
    colour = _COLOURS[line[0]["reward"]]
    axes.plot(x, y, _LINES[line[0]["value"]], color=colour, label=label, marker="o", markersize=3.5)
    if spread:
        low, high = ([row[end] for row in line] for end in ("low", "high"))
        axes.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)
