"""What theory shows, from saved records alone: one line for each check, and the tables behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unperturb.lab import report
from unperturb.lab.paper.theory import NAME
from unperturb.lab.paper.theory.figure import draw
from unperturb.lab.paper.theory.reading import Findings, Row, curve_rows, read
from unperturb.lab.records import Records

_TITLE = "The paper's Lemmas and Theorems, checked by measurement"
_NOTE = """
(a) z is the drawn bias over its standard error; 5 % of them lie beyond 1.96 if the bias is zero.

(b) The bound is wide because it takes every cofactor of C at its largest.

(c) Max-norm error of Q after the last step, mean and 10-90 % of seeds; for noisy rewards the error
that remains for ever is predicted from C. With two levels noisy rewards only shift and scale Q, so
the greedy policy is the same; the values are wrong. True rewards end at the resolution of float32.

(d, e) Calls of the generative model until 90 % of the runs have |V-hat - V*| below the error asked
for, at the worst state. Slopes are of logarithms, with 95 % intervals. Theorem 2 bounds the calls
by a constant times 1/det^2, and so they are; they don't follow it exactly. 1/det^2 stands for the
range of hat r. The calls follow its variance, which for symmetric noise is (1/det^2 - 1)/4 and so
vanishes with the noise, next to what slipping moves bring in any case. So the slope is steeper
than 1 where noise is mild and comes down towards 1 where it is heavy. For the same reason noise
costs more than 1/det^2 times the calls that true rewards need (last line): the theorem's constant
allows for rewards that vary as much as their range lets them, and the true ones here don't. At
equal det matrices differ too: e- = 0 leaves most pairs without noise. With a C_s for each state,
the worst state sets the pace, but the others dilute it, more so the worse it is. That flattens the
slope, as mild noise steepens it; that the two together come out near 1 is no evidence for either.
"""


def write(records: Records, out: Path) -> list[Path]:
    """Write theory.csv and .md (the checks), .png and .svg, and theory-*.csv (all numbers)."""
    findings = read(records)
    stem = out / NAME
    tables = {
        "bias": findings.bias,
        "variance": findings.variance,
        "convergence": curve_rows(findings),
        "samples": findings.samples,
        "slopes": findings.slopes,
    }
    return [
        *report.write_table(_checks(findings), stem, _TITLE, _NOTE),
        *report.write_figure(stem, (12.5, 7.4), lambda figure: draw(figure, findings)),
        *(
            report.write_text(f"{stem}-{name}.csv", report.as_csv(rows))
            for name, rows in tables.items()
        ),
    ]


def _checks(findings: Findings) -> list[Row]:
    return [
        *_bias_checks(findings.bias),
        *_variance_checks(findings.variance),
        *(
            _check(
                "c",
                "Theorem 1",
                f"error of Q, {condition['reward']} rewards"
                + _rates(condition["e_minus"], condition["e_plus"]),
                report.summary(errors[:, -1]),
                condition["limit"],
            )
            for condition, _, errors in findings.curves
        ),
        *(
            _check(
                "e" if row["noise"].startswith("C_s") else "d",
                "Theorem 4" if row["noise"].startswith("C_s") else "Theorem 2",
                f"slope of calls, {row['noise']}, against "
                + {"sample_cost": "1/det^2", "variance": "Var(hat r + gamma V)"}[row["against"]],
                {"mean": row["slope"], "low": row["low"], "high": row["high"]},
                row["predicted"],
            )
            for row in findings.slopes
        ),
        *(
            _check(part, theorem, "calls over the bound (constant 1), largest", {"mean": most}, 1.0)
            for part, theorem, most in (
                ("d", "Theorem 2", _largest(findings, False)),
                ("e", "Theorem 4", _largest(findings, True)),
            )
        ),
        _check(
            "d",
            "Theorem 2",
            "calls times det^2 over those with true rewards, largest",
            {"mean": _over_true_rewards(findings)},
            None,
        ),
    ]


def _check(part: str, claim: str, what: str, found: Row, predicted: float | None) -> Row:
    return {
        "part": part,
        "claim": claim,
        "what": what,
        "measured": found["mean"],
        "low": found.get("low"),
        "high": found.get("high"),
        "predicted": predicted,
    }


def _rates(e_minus: float, e_plus: float) -> str:
    return f" {e_minus:g}/{e_plus:g}" if e_minus or e_plus else ""


def _largest(findings: Findings, each_state: bool) -> float:
    rows = [row for row in findings.samples if row["noise"].startswith("C_s") == each_state]
    return float(max(row["calls"] / row["bound"] for row in rows))


def _over_true_rewards(findings: Findings) -> float:
    clean = [row["calls"] for row in findings.samples if row["noise"] == "none"]
    noisy = [row["calls"] / row["sample_cost"] for row in findings.samples]
    return float(max(noisy) / clean[0]) if clean else float("nan")


def _bias_checks(rows: list[Row]) -> list[Row]:
    exact = max(abs(row["exact_bias"]) for row in rows)
    noisy = max(abs(row["noisy_bias"]) for row in rows)
    z = np.array([_z(row) for row in rows])
    beyond = float((np.abs(z) > 1.96).mean())
    reach = 1.96 * np.sqrt(0.05 * 0.95 / z.size)
    return [
        _check("a", "Lemmas 1, 2", "largest |E[hat r | r] - r|, exact", {"mean": exact}, 0.0),
        _check("a", "Lemmas 1, 2", "the same of noisy rewards", {"mean": noisy}, None),
        _check(
            "a",
            "Lemmas 1, 2",
            f"share of |z| > 1.96 in {z.size} drawn biases",
            {"mean": beyond, "low": beyond - reach, "high": beyond + reach},
            0.05,
        ),
    ]


def _z(row: Row) -> float:
    # A level that the channel maps to one value has no error to divide by.
    error: float = row["standard_error"]
    return float(row["drawn_bias"]) / error if error > 1e-12 else 0.0


def _variance_checks(rows: list[Row]) -> list[Row]:
    below = sum(row["variance_surrogate"] < row["variance_true"] * (1 - 1e-12) for row in rows)
    above = sum(row["variance_surrogate"] > row["bound"] for row in rows)
    checks = [
        _check("b", "Theorem 3", f"{what}, of {len(rows)} matrices", {"mean": float(count)}, 0.0)
        for what, count in (("Var(hat r) below Var(r)", below), ("Var(hat r) above bound", above))
    ]
    for M in sorted({row["M"] for row in rows}):
        ratios: Any = [row["bound_over_variance"] for row in rows if row["M"] == M]
        found = {
            "mean": float(np.median(ratios)),
            "low": float(min(ratios)),
            "high": float(max(ratios)),
        }
        checks.append(
            _check(
                "b", "Theorem 3", f"bound over Var(hat r), M = {M}: median and range", found, None
            )
        )
    return checks
