"""Learning curves: a panel for each column of the paper and each weight of the noise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unperturb.lab import report
from unperturb.lab.paper.control import Column
from unperturb.lab.paper.reading import Group, curve, effort, groups, say
from unperturb.lab.records import Records
from unperturb.lab.units import Reward

POINTS = 100
_NARROW = 4.5
"""The least width of a figure, in inches; its legend needs it."""
_DASH = {None: "-", "reverse": "--"}


def write_curves(
    records: Records,
    stem: Path,
    title: str,
    columns: Sequence[Column],
    rewards: Sequence[Reward],
    weights: Sequence[float],
) -> list[Path]:
    """Write STEM.csv (every curve), .md (what it shows), .png and .svg."""
    found = groups(records, columns, rewards, weights)
    seeds = max(len(runs) for _, _, runs in found)
    many = "one seed" if seeds == 1 else f"{seeds} seeds"
    note = (
        f"The mean score of the last 10 episodes against steps, mean over {many} with the "
        "10th to 90th percentile. Dashed: with the stated assumption prior=reverse."
    )
    took = effort(run for _, _, runs in found for run in runs)
    note = f"{note} {took}".strip()
    last = [
        {
            "agent": column.title,
            "noise": column.noise,
            "weight": condition["weight"],
            "reward": say(condition),
            **report.summary([curve(run, np.array([column.steps]))[0] for run in runs]),
        }
        for column, condition, runs in found
    ]
    text = f"# {title}\n\n![{title}]({stem.name}.png)\n\n{note}\n\nAt the end:\n\n"
    return [
        report.write_text(f"{stem}.csv", report.as_csv(_rows(found))),
        report.write_text(f"{stem}.md", f"{text}{report.as_markdown(last)}\n"),
        *report.write_figure(
            stem,
            (max(2.5 * len(columns), _NARROW), 2.1 * len(weights) + 0.6),
            lambda figure: _draw(figure, found, columns, weights),
        ),
    ]


def _steps(column: Column) -> np.ndarray:
    return np.linspace(0, column.steps, POINTS + 1).round()[1:]


def _curves(group: Group) -> np.ndarray:
    return np.stack([curve(run, _steps(group[0])) for run in group[2]])


def _rows(found: Sequence[Group]) -> list[dict[str, Any]]:
    rows = []
    for group in found:
        column, condition, _ = group
        curves = _curves(group)
        whole = np.isfinite(curves).all(axis=0)
        for step, values in zip(_steps(column)[whole], curves.T[whole], strict=True):
            rows.append(
                {
                    "env": column.place,
                    "agent": column.agent,
                    "noise": column.noise,
                    **condition,
                    "step": int(step),
                    **report.summary(values),
                }
            )
    return rows


def _draw(
    figure: Any, found: Sequence[Group], columns: Sequence[Column], weights: Sequence[float]
) -> None:
    # Agents in one environment are compared along a row; each game has a scale of its own.
    alike = len({column.env for column in columns}) == 1
    panels = figure.subplots(
        len(weights), len(columns), squeeze=False, sharey="row" if alike else "col"
    )
    for group in found:
        column, condition, _ = group
        here = weights if condition["reward"] == "true" else [condition["weight"]]
        curves = _curves(group)
        whole = np.isfinite(curves).all(axis=0)
        for weight in here:
            axes = panels[weights.index(weight), columns.index(column)]
            report.band(
                axes,
                _steps(column)[whole],
                curves[:, whole],
                report.COLOURS[condition["reward"]],
                say(condition),
                _DASH[condition["prior"]],
            )
    for j, column in enumerate(columns):
        panels[0, j].set_title(_title(column, columns))
        panels[-1, j].set_xlabel("step")
    for i, weight in enumerate(weights):
        panels[i, 0].set_ylabel(f"score, ω = {weight:g}")
        for axes in panels[i]:
            axes.xaxis.set_major_formatter(_short)
    labelled = {
        label: handle
        for axes in panels.flat
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    many = int(figure.get_figwidth() / 1.5)
    figure.legend(
        labelled.values(),
        labelled.keys(),
        loc="outside lower center",
        ncols=min(len(labelled), many),
    )


def _title(column: Column, columns: Sequence[Column]) -> str:
    alike = len({other.noise for other in columns}) == 1
    return column.title if alike else f"{column.title} ({column.noise})"


def _short(steps: float, _: int) -> str:
    return f"{steps / 1e6:g}M" if steps >= 1e6 else f"{steps / 1e3:g}k" if steps else "0"
