"""What figure-estimation shows, from saved records alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unperturb.lab import report
from unperturb.lab.paper.control import CARTPOLE
from unperturb.lab.paper.figure_estimation.sweep import NAME, REWARDS, WEIGHTS
from unperturb.lab.paper.reading import Group, groups
from unperturb.lab.records import Record, Records
from unperturb.lab.units import noise_matrix

_ESTIMATORS = {"estimated": "vote", "posterior": "Dawid-Skene"}
_POINTS = 100
_NOTE = """\
On CartPole the true reward is always +1, so e- is never seen and only e+ can be learned. The error
is that of the row of +1, the only one that occurs: the norm of its difference, divided by the norm
of the true row. Weights above one half are estimated with the stated assumption prior=reverse; at
one half the counts of a cell can't tell the levels apart."""


def write(records: Records, out: Path) -> list[Path]:
    """Write figure-estimation.csv, .md, .png and .svg."""
    found = [
        (column, condition, runs)
        for column, condition, runs in groups(records, CARTPOLE, REWARDS, WEIGHTS)
        if condition["prior"] or condition["weight"] <= 0.5
    ]
    rows = [_row(group) for group in found]
    stem, title = out / NAME, "C estimated on CartPole"
    text = f"# {title}\n\n![{title}]({NAME}.png)\n\n{report.as_markdown(rows)}\n\n{_NOTE}\n"
    return [
        report.write_text(f"{stem}.csv", report.as_csv(_curve_rows(found))),
        report.write_text(f"{stem}.md", text),
        *report.write_figure(
            stem,
            (2.5 * len(CARTPOLE), 4.6),
            lambda figure: _draw(figure, found),
        ),
    ]


def _estimates(run: Record, steps: np.ndarray) -> np.ndarray:
    """Give the row of +1 that was in force at each step, (steps, 2)."""
    last = np.searchsorted(run.arrays["estimated"], steps, side="right") - 1
    return np.asarray(run.arrays["confusion"][last, -1])


def _rates_and_errors(group: Group, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give e+ and the normalised error of its row, both (seeds, steps)."""
    rows = np.stack([_estimates(run, steps) for run in group[2]])
    true = noise_matrix(group[2][0].settings)[-1]
    return rows[..., 0], np.linalg.norm(rows - true, axis=-1) / np.linalg.norm(true)


def _steps(group: Group) -> np.ndarray:
    return np.linspace(0, group[0].steps, _POINTS + 1).round()


def _row(group: Group) -> dict[str, Any]:
    column, condition, _ = group
    rates, errors = _rates_and_errors(group, np.array([column.steps]))
    return {
        "agent": column.title,
        "weight": condition["weight"],
        "estimator": _ESTIMATORS[condition["reward"]],
        "prior": condition["prior"] or "none assumed",
        **report.summary(rates[:, 0]),
        "error": float(errors.mean()),
    }


def _curve_rows(found: Sequence[Group]) -> list[dict[str, Any]]:
    rows = []
    for group in found:
        column, condition, _ = group
        steps = _steps(group)
        rates, errors = _rates_and_errors(group, steps)
        for step, rate, error in zip(steps, rates.T, errors.T, strict=True):
            rows.append(
                {
                    "agent": column.agent,
                    "weight": condition["weight"],
                    "estimator": _ESTIMATORS[condition["reward"]],
                    "prior": condition["prior"],
                    "step": int(step),
                    **report.summary(rate),
                    "error": float(error.mean()),
                }
            )
    return rows


def _draw(figure: Any, found: Sequence[Group]) -> None:
    from matplotlib.lines import Line2D

    panels = figure.subplots(2, len(CARTPOLE), squeeze=False, sharey="row")
    colours = dict(
        zip(WEIGHTS, ("#1f5fbf", "#2ca02c", "#7f7f7f", "#f28e1c", "#d62728"), strict=True)
    )
    lines = {"vote": "--", "Dawid-Skene": "-"}
    for group in found:
        column, condition, _ = group
        top, bottom = panels[:, CARTPOLE.index(column)]
        steps = _steps(group)
        rates, errors = _rates_and_errors(group, steps)
        line, colour = lines[_ESTIMATORS[condition["reward"]]], colours[condition["weight"]]
        top.axhline(condition["weight"], color=colour, linewidth=0.7, alpha=0.6)
        report.band(top, steps, rates, colour, line=line)
        report.band(bottom, steps, errors, colour, line=line)
    for j, column in enumerate(CARTPOLE):
        panels[0, j].set(title=column.title, ylim=(0, 1))
        panels[1, j].set(xlabel="step", ylim=(0, 1))
        for axes in panels[:, j]:
            axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if x else "0")
    panels[0, 0].set_ylabel("e+ (thin: true)")
    panels[1, 0].set_ylabel("normalised error")
    keys = [Line2D([], [], color=colours[w], label=f"ω = {w:g}") for w in WEIGHTS]
    keys += [Line2D([], [], color="#444444", linestyle=x, label=name) for name, x in lines.items()]
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys))
