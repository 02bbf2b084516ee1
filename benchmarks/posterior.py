"""What share of the score on true rewards the posterior keeps, on CartPole with many seeds.

    python benchmarks/posterior.py [--seeds 100] [--out runs/posterior]

Ten seeds of the tables leave an interval of +- 8 % around that share; a hundred leave +- 3 %.
Finished runs are kept under OUT/records, apart from those of `unperturb reproduce`: its tables take
all seeds that they find.
Writes results/benchmarks/posterior.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from unperturb.lab import grid, report
from unperturb.lab.paper.control import CARTPOLE, WEIGHTS, units
from unperturb.lab.paper.reading import groups, scores
from unperturb.lab.records import Records

OUT = Path(__file__).resolve().parent.parent / "results" / "benchmarks" / "posterior.md"
TARGET = 0.97


def ratio(own: np.ndarray, true: np.ndarray) -> tuple[float, float, float]:
    """Give the ratio of the means and its 95 % bootstrap interval."""
    rng = np.random.default_rng(0)
    draws = [rng.integers(len(x), size=(10_000, len(x))) for x in (own, true)]
    ratios = own[draws[0]].mean(axis=1) / true[draws[1]].mean(axis=1)
    low, high = np.percentile(ratios, [2.5, 97.5])
    return float(own.mean() / true.mean()), float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("runs/posterior"))
    options = parser.parse_args()
    records, rewards = Records(options.out / "records"), ("true", "posterior")
    grid.run(units(CARTPOLE, rewards, WEIGHTS, options.seeds), records, "posterior")
    found = groups(records, CARTPOLE, rewards, WEIGHTS)
    true = {c.agent: scores(runs) for c, condition, runs in found if condition["reward"] == "true"}
    rows = []
    for column, condition, runs in found:
        weight, prior = condition["weight"], condition["prior"]
        if condition["reward"] == "true" or (weight > 0.5 and not prior):
            continue
        share, low, high = ratio(scores(runs), true[column.agent])
        rows.append(
            {
                "agent": column.title,
                "weight": weight,
                "assumed": f"prior={prior}" if prior else "",
                "seeds": len(runs),
                "true": float(true[column.agent].mean()),
                "posterior": float(scores(runs).mean()),
                "share": f"{share:.1%} [{low:.1%}, {high:.1%}]",
                "97 % reached": "yes" if share >= TARGET else "no",
            }
        )
    text = f"# The posterior's share of the score on true rewards\n\n{report.as_markdown(rows)}\n"
    OUT.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
