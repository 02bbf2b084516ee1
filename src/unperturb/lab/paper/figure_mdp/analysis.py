"""What figure-mdp shows, from saved records alone."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unperturb.errors import MissingRecordError
from unperturb.lab import report
from unperturb.lab.envs import six_state
from unperturb.lab.paper.figure_mdp.sweep import NAME, STREAMING, VOTE, schedule_matrices
from unperturb.lab.records import Records

_TITLE = "C estimated on the six-state MDP while the noise changes"
_COLOURS = {"vote": "#c44e52", "streaming": "#2a6fbb"}
_RATES = {"e_minus": (0, 1), "e_plus": (1, 0)}
_GRAIN = 100


class Curves(NamedTuple):
    """One estimator's estimates: C at each refresh, (seeds, refreshes + 1, 2, 2)."""

    estimator: dict[str, Any]
    schedule: list[list[float]]
    total: int
    confusion: np.ndarray

    @property
    def label(self) -> str:
        """What the reader calls it."""
        if self.estimator["name"] == "vote":
            return f"vote, D_max {self.estimator['d_max']}"
        return f"streaming Dawid-Skene, memory {self.estimator['memory']:,}"

    @property
    def steps(self) -> np.ndarray:
        """The step from which each estimate is in force."""
        return np.arange(self.confusion.shape[1]) * int(self.estimator["refresh"])

    @property
    def shown(self) -> bool:
        """Whether it is drawn, or stands in the summary only."""
        return self.estimator in (VOTE, STREAMING)


def write(records: Records, out: Path) -> list[Path]:
    """Write figure-mdp.csv (curves), .md and -summary.csv (errors), .png and .svg."""
    all_curves = _read(records)
    rows = [row for curves in all_curves for row in _curve_rows(curves)]
    summary = [row for curves in all_curves for row in _summary_rows(curves)]
    stem = out / NAME
    text = f"# {_TITLE}\n\n{report.as_markdown(_wide(summary), digits=2)}\n\n{_note(all_curves)}\n"
    return [
        report.write_text(f"{stem}.csv", report.as_csv(rows)),
        report.write_text(f"{stem}-summary.csv", report.as_csv(summary)),
        report.write_text(f"{stem}.md", text),
        *report.write_figure(stem, (10.5, 4.4), lambda figure: _draw(figure, all_curves)),
    ]


def _read(records: Records) -> list[Curves]:
    groups = defaultdict(list)
    for record in records.all(study=NAME):
        groups[str(record.settings["estimator"])].append(record)
    if not groups:
        raise MissingRecordError(
            f"there is no record of {NAME} in {records.folder}",
            "analysis reads finished units only",
            f"say `unperturb reproduce {NAME}` first",
        )
    found = []
    for group in groups.values():
        # A short trial run may lie beside the full one; the longest is shown.
        steps = max(record.settings["steps"] for record in group)
        group = [record for record in group if record.settings["steps"] == steps]
        group.sort(key=lambda record: record.settings["seed"])
        settings = group[0].settings
        confusion = np.stack([record.arrays["confusion"] for record in group])
        found.append(Curves(settings["estimator"], settings["schedule"], steps, confusion))
    return sorted(found, key=lambda curves: (not curves.shown, curves.estimator.get("d_max", 0)))


def _truth(curves: Curves, steps: np.ndarray) -> np.ndarray:
    matrices: np.ndarray = schedule_matrices(curves.schedule, curves.total + 1)[steps]
    return matrices


def _curve_rows(curves: Curves) -> list[dict[str, Any]]:
    truth = _truth(curves, curves.steps)
    return [
        {
            "step": int(step),
            "estimator": curves.label,
            "rate": rate,
            **report.summary(curves.confusion[:, i, row, column]),
            "truth": float(truth[i, row, column]),
        }
        for rate, (row, column) in _RATES.items()
        for i, step in enumerate(curves.steps)
    ]


def _summary_rows(curves: Curves) -> list[dict[str, Any]]:
    # An estimate is compared with the truth for as long as it is in force, delay included.
    steps = np.arange(0, curves.total, _GRAIN)
    in_force = curves.confusion[:, steps // curves.estimator["refresh"]]
    error = np.abs(in_force - _truth(curves, steps))
    error = np.stack([error[..., row, column] for row, column in _RATES.values()]).mean(axis=0)
    starts = [int(start) for start, _, _ in curves.schedule if start < curves.total]
    ends = [*starts[1:], curves.total]
    stages = [(f"{a // 1000}k-{b // 1000}k", a, b) for a, b in zip(starts, ends, strict=True)]
    return [
        {
            "estimator": curves.label,
            "stage": name,
            **report.summary(error[:, (steps >= start) & (steps < end)].mean(axis=1)),
        }
        for name, start, end in [*stages, ("all", 0, curves.total)]
    ]


def _wide(summary: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for row in summary:
        wide = rows.setdefault(row["estimator"], {"estimator": row["estimator"]})
        wide["seeds"] = row["seeds"]
        wide[row["stage"]] = row["mean"]
    return list(rows.values())


def _note(all_curves: list[Curves]) -> str:
    stages = "; ".join(
        f"from {int(start):,}: e- = {minus:g}, e+ = {plus:g}"
        for start, minus, plus in all_curves[0].schedule
    )
    return (
        "Mean absolute error of e- and e+ over time and seeds, the delay after each change "
        f"included. The noise by step: {stages}. Every estimator sees the observed rewards of its "
        "own run only, and seed k meets the same noise in every run. The vote estimates C anew "
        "every 100 steps, streaming Dawid-Skene every 500."
    )


def _draw(figure: Any, all_curves: list[Curves]) -> None:
    left, right = figure.subfigures(1, 2, width_ratios=[0.36, 0.64])
    six_state.draw(left.subplots())
    both = right.subplots(2, 1, sharex=True)
    for axes, (rate, (row, column)) in zip(both, _RATES.items(), strict=True):
        for curves in (curves for curves in all_curves if curves.shown):
            colour = _COLOURS[curves.estimator["name"]]
            values = curves.confusion[..., row, column]
            report.band(
                axes, curves.steps, values, colour, curves.label.replace("D_max", "$D_{max}$")
            )
        truth = _truth(all_curves[0], steps := np.arange(all_curves[0].total))
        axes.plot(steps, truth[:, row, column], "k--", linewidth=1.2, label="truth")
        axes.set_ylabel("$e_-$" if rate == "e_minus" else "$e_+$")
        axes.set_ylim(0, 0.45)
        axes.set_xlim(0, all_curves[0].total)
    both[0].legend(loc="upper right", ncols=3, fontsize=8.5)
    both[1].set_xlabel("step")
    both[1].xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k")
    seeds = all_curves[0].confusion.shape[0]
    right.suptitle(f"Estimated noise rates, mean and 10-90 % of {seeds} seeds", fontsize=10.5)
