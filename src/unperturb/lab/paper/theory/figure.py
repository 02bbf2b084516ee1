"""The picture of theory: a panel for each check."""

from __future__ import annotations

from typing import Any

import numpy as np

from unperturb.lab import report
from unperturb.lab.paper.theory.reading import Findings, Row

_NOISES = {
    "none": ("#333333", "*"),
    "symmetric": ("#2ca02c", "o"),
    "asymmetric": ("#17a2b8", "s"),
    "C_s spread": ("#9467bd", "D"),
    "C_s one bad state": ("#d62728", "^"),
}


def draw(figure: Any, findings: Findings) -> None:
    """Draw all checks."""
    axes = figure.subplots(2, 3)
    _bias(axes[0, 0], findings.bias)
    _variance(axes[0, 1], findings.variance)
    _convergence(axes[0, 2], findings)
    _calls(axes[1, 0], findings, ["none", "symmetric", "asymmetric"], "one C")
    _calls(axes[1, 1], findings, ["C_s spread", "C_s one bad state"], "C_s")
    _explained(axes[1, 2], findings.samples)


def _bias(axes: Any, rows: list[Row]) -> None:
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1)
    shown = [row for row in rows if row["noise"] == "rand-all" and row["weight"] == 0.3]
    for M, marker in ((2, "s"), (3, "^"), (17, "o")):
        some = [row for row in shown if row["M"] == M]
        level = np.array([row["level"] for row in some])
        axes.plot(
            level,
            level + [row["noisy_bias"] for row in some],
            marker,
            color=report.COLOURS["noisy"],
            markersize=4,
            alpha=0.7,
            label="noisy" if M == 17 else None,
        )
        axes.errorbar(
            level,
            level + [row["drawn_bias"] for row in some],
            yerr=[2 * row["standard_error"] for row in some],
            fmt=marker,
            color=report.COLOURS["known"],
            markersize=4,
            elinewidth=1,
            label="surrogate" if M == 17 else None,
        )
    axes.set(xlabel="true reward $r$", ylabel="mean reward learned from")
    axes.set_title(r"(a) $E[\hat{r}\,|\,r] = r$: rand-all, $\omega$ = .3, M = 2, 3, 17")
    axes.legend()


def _variance(axes: Any, rows: list[Row]) -> None:
    for M, marker in ((2, "s"), (3, "^"), (17, "o")):
        some = [row for row in rows if row["M"] == M]
        cost = np.array([1 / row["det"] ** 2 for row in some])
        for column, colour, label in (
            ("bound", "#777777", "bound"),
            ("variance_surrogate", report.COLOURS["known"], r"Var($\hat{r}$)"),
            ("variance_true", report.COLOURS["true"], "Var($r$)"),
        ):
            axes.plot(
                cost,
                [row[column] for row in some],
                marker,
                color=colour,
                markersize=4,
                alpha=0.8,
                label=label if M == 17 else None,
            )
    axes.set(xscale="log", yscale="log", xlabel=r"$1 / \det(C)^2$", ylabel="variance")
    axes.set_title(r"(b) Var($r$) $\leq$ Var($\hat{r}$) $\leq$ $M^2 R_{max}^2 / \det(C)^2$")
    axes.legend()


def _convergence(axes: Any, findings: Findings) -> None:
    for condition, steps, errors in findings.curves:
        reward, heavy = condition["reward"], condition["e_plus"] > 0.3
        label = {"true": "true", "noisy": "noisy", "known": "surrogate"}[reward]
        if reward != "true":
            label += f" {condition['e_minus']:g}/{condition['e_plus']:g}"
        colour = report.COLOURS[reward]
        low, high = np.percentile(errors, [10, 90], axis=0)
        axes.fill_between(steps, low, high, color=colour, alpha=0.2, linewidth=0)
        style = "--" if heavy else "-"
        axes.plot(steps, errors.mean(axis=0), style, color=colour, label=label)
        if condition["limit"] > 0:
            axes.axhline(condition["limit"], color=colour, linewidth=0.8, linestyle=":")
    axes.set(xscale="log", yscale="log", xlabel="step", ylabel=r"$\max |Q - Q^*|$")
    axes.set_title("(c) Q-Learning reaches $Q^*$ with surrogates")
    axes.legend(fontsize=8, loc="lower left")


def _calls(axes: Any, findings: Findings, noises: list[str], fit: str) -> None:
    rows = [row for row in findings.samples if row["noise"] in noises]
    _points(axes, rows, "sample_cost")
    noisy = [row for row in rows if row["noise"] != "none"]
    x = np.array([min(r["sample_cost"] for r in noisy), max(r["sample_cost"] for r in noisy)])
    middle = np.exp(np.mean([np.log([r["sample_cost"], r["calls"]]) for r in noisy], axis=0))
    for found in findings.slopes:
        if (found["noise"], found["against"]) != (fit, "sample_cost"):
            continue
        label = f"slope {found['slope']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
        axes.plot(x, middle[1] * (x / middle[0]) ** found["slope"], color="#333333", label=label)
    guide = middle[1] * (x / middle[0])
    axes.plot(x, guide, "--", color="#999999", linewidth=1.2, label="slope 1 (predicted)")
    part, what = ("d", r"$1 / \det(C)^2$") if fit == "one C" else ("e", r"$1 / \min \det(C_s)^2$")
    error = rows[0]["error"]
    axes.set(xscale="log", yscale="log", xlabel=what, ylabel=f"calls for an error of {error:g}")
    axes.set_xlim(0.85, 55)
    axes.set_ylim(1e3, 7e5)
    axes.set_title(f"({part}) Phased Q-Learning, " + ("one C" if part == "d" else "a $C_s$ each"))
    axes.legend(fontsize=8)


def _points(axes: Any, rows: list[Row], against: str) -> None:
    for noise, (colour, marker) in _NOISES.items():
        some = [row for row in rows if row["noise"] == noise]
        if some:
            x, y = ([row[column] for row in some] for column in (against, "calls"))
            axes.plot(x, y, marker, color=colour, markersize=6, label=noise.replace("_s", "$_s$"))


def _explained(axes: Any, rows: list[Row]) -> None:
    _points(axes, rows, "variance")
    last = max(rows, key=lambda row: row["calls"])
    x = np.array([min(row["variance"] for row in rows), last["variance"]])
    y = last["calls"] * x / last["variance"]
    axes.plot(x, y, "--", color="#999999", linewidth=1.2, label="slope 1")
    axes.set(xscale="log", yscale="log", xlabel=r"largest Var($\hat{r} + \gamma V^*$)")
    axes.set(ylabel="calls")
    axes.set_title("(d, e) The calls follow the variance")
    axes.legend(fontsize=8)
