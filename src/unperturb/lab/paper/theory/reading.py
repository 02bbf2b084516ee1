"""The saved records of theory as rows: one table for each check, and the slopes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import linregress, t

from unperturb.errors import MissingRecordError
from unperturb.lab import report
from unperturb.lab.paper.theory import NAME, convergence, samples
from unperturb.lab.records import Record, Records

Row = dict[str, Any]
HEAVY = 5.0
"""From this 1 / det^2 on, what the channel adds outweighs all other variance."""


class Findings(NamedTuple):
    """All rows; curves are (condition, steps, errors (seeds, steps))."""

    bias: list[Row]
    variance: list[Row]
    curves: list[tuple[Row, np.ndarray, np.ndarray]]
    samples: list[Row]
    slopes: list[Row]


def read(records: Records) -> Findings:
    """Read all that is there; every part must have been measured."""
    parts = defaultdict(list)
    for record in records.all(study=NAME):
        parts[record.settings["part"]].append(record)
    for part in ("channel", "convergence", "samples"):
        if not parts[part]:
            raise MissingRecordError(
                f"there is no record of {NAME}, part {part}, in {records.folder}",
                "analysis reads finished units only",
                f"say `unperturb reproduce {NAME}` first",
            )
    parts["channel"].sort(key=lambda record: (record.settings["kind"], record.settings["M"]))
    calls = _sample_rows(parts["samples"])
    return Findings(
        [row for record in parts["channel"] for row in _bias_rows(record)],
        [row for record in parts["channel"] for row in _variance_rows(record)],
        _curves(parts["convergence"]),
        calls,
        _slopes(calls),
    )


def _bias_rows(record: Record) -> list[Row]:
    arrays, M = record.arrays, record.settings["M"]
    return [
        {
            "noise": record.settings["kind"],
            "M": M,
            "weight": float(arrays["weight"][i]),
            "matrix": i,
            "level": float(level / (M - 1)),
            "exact_bias": float(arrays["exact_bias"][i, level]),
            "drawn_bias": float(arrays["bias"][i, level]),
            "standard_error": float(arrays["error"][i, level]),
            "noisy_bias": float(arrays["noisy_bias"][i, level]),
        }
        for i in range(len(arrays["weight"]))
        for level in range(M)
    ]


def _variance_rows(record: Record) -> list[Row]:
    arrays = record.arrays
    return [
        {
            "noise": record.settings["kind"],
            "M": record.settings["M"],
            "weight": float(arrays["weight"][i]),
            "matrix": i,
            "det": float(arrays["det"][i]),
            "variance_true": float(arrays["variance_true"][i]),
            "variance_surrogate": float(arrays["variance"][i]),
            "variance_drawn": float(arrays["variance_drawn"][i]),
            "bound": float(arrays["bound"][i]),
            "bound_over_variance": float(arrays["bound"][i] / arrays["variance"][i]),
        }
        for i in range(len(arrays["weight"]))
    ]


def _curves(records: list[Record]) -> list[tuple[Row, np.ndarray, np.ndarray]]:
    # A short trial run may lie beside the full one; the longest is shown.
    steps = max(record.settings["steps"] for record in records)
    groups = defaultdict(list)
    for record in records:
        settings = record.settings
        if settings["steps"] == steps:
            groups[settings["e_plus"], settings["reward"]].append(record)
    curves = []
    for key in sorted(groups):
        group = sorted(groups[key], key=lambda record: record.settings["seed"])
        settings = group[0].settings
        condition = {
            "reward": settings["reward"],
            "e_minus": settings["e_minus"],
            "e_plus": settings["e_plus"],
            "limit": convergence.limit(settings),
        }
        errors = np.stack([record.arrays["error"] for record in group])
        curves.append((condition, group[0].arrays["step"], errors))
    return curves


def curve_rows(findings: Findings) -> list[Row]:
    """Give the curves of Q-Learning as rows."""
    return [
        {"step": int(step), **condition, **report.summary(errors[:, i])}
        for condition, steps, errors in findings.curves
        for i, step in enumerate(steps)
    ]


def _sample_rows(records: list[Record]) -> list[Row]:
    # The most careful measurement that is there: smallest error wanted, most runs.
    best = min((r.settings["error"], -r.settings["runs"]) for r in records)
    rows = []
    for record in records:
        settings = record.settings
        if (settings["error"], -settings["runs"]) != best:
            continue
        dets = np.linalg.det(samples.matrices(settings))
        rows.append(
            {
                "noise": settings["family"],
                "rates": " ".join(f"{minus:g}/{plus:g}" for minus, plus in settings["rates"]),
                "det": float(np.abs(dets).min()),
                "sample_cost": float(1 / dets.min() ** 2),
                "variance": samples.worst_variance(settings),
                "error": settings["error"],
                "m": float(record.arrays["m"]),
                "calls": float(record.arrays["calls"]),
                "bound": samples.bound(settings),
            }
        )
    names = ["none", *samples.FAMILIES]
    return sorted(rows, key=lambda row: (names.index(row["noise"]), row["sample_cost"]))


def _slopes(rows: list[Row]) -> list[Row]:
    one_matrix = [row for row in rows if row["noise"] in ("symmetric", "asymmetric")]
    each_state = [row for row in rows if row["noise"].startswith("C_s")]
    groups = [
        ("one C", one_matrix),
        ("one C, symmetric", [row for row in rows if row["noise"] == "symmetric"]),
        (
            f"one C, symmetric, 1/det^2 > {HEAVY:g}",
            [r for r in rows if r["noise"] == "symmetric" and r["sample_cost"] > HEAVY],
        ),
        ("C_s", each_state),
        ("C_s spread", [row for row in rows if row["noise"] == "C_s spread"]),
        ("C_s one bad state", [row for row in rows if row["noise"] == "C_s one bad state"]),
        (f"C_s, 1/det^2 > {HEAVY:g}", [r for r in each_state if r["sample_cost"] > HEAVY]),
    ]
    found = []
    for name, group in groups:
        for against in ("sample_cost", "variance"):
            if len({row[against] for row in group}) >= 3:
                found.append({"noise": name, "against": against, **_slope(group, against)})
    return found


def _slope(rows: list[Row], against: str) -> Row:
    x, y = (np.log([row[column] for row in rows]) for column in (against, "calls"))
    fit = linregress(x, y)
    reach = t.ppf(0.975, len(rows) - 2) * fit.stderr
    return {
        "matrices": len(rows),
        "slope": float(fit.slope),
        "low": float(fit.slope - reach),
        "high": float(fit.slope + reach),
        "predicted": 1.0,
    }
