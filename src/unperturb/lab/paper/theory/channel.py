"""(a) E[hat r | r] = r, Lemmas 1 and 2.  (b) Var(r) <= Var(hat r) <= (M / det C)^2 R_max^2.

For random matrices, by exact algebra and by drawing from the channel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unperturb import confusion
from unperturb.lab.paper.theory import NAME
from unperturb.surrogate import surrogate_bounds, surrogate_values

WEIGHTS = (0.1, 0.3, 0.7)
_DRAWS = 20_000


def units() -> list[dict[str, Any]]:
    """Give a unit for each kind of noise and number of levels."""
    return [
        {
            "study": NAME,
            "part": "channel",
            "kind": kind,
            "M": M,
            "weights": list(WEIGHTS),
            "matrices": 1 if kind == "symmetric" else 5,
            "draws": _DRAWS,
            "seed": 0,
        }
        for kind in ("symmetric", "rand-one", "rand-all")
        for M in (2, 3, 17)
    ]


def measure(unit: dict[str, Any]) -> dict[str, Any]:
    """Draw matrices and rewards; rows of the result are matrices, columns true levels."""
    M, draws = unit["M"], unit["draws"]
    matrix_rng, channel_rng = np.random.default_rng(unit["seed"]).spawn(2)
    values = np.linspace(0, 1, M)
    levels = np.tile(np.arange(M), draws)
    rows = []
    for weight in unit["weights"]:
        for _ in range(unit["matrices"]):
            C = _matrix(unit["kind"], M, weight, matrix_rng)
            hat = surrogate_values(C, values)
            seen = C.draw(levels, channel_rng).reshape(draws, M)
            bounds = surrogate_bounds(C, values)
            # With all levels equally frequent: the variance within levels, plus that between them.
            between = float(values.var())
            rows.append(
                {
                    "weight": weight,
                    "det": bounds.det,
                    "exact_bias": C.matrix @ hat - values,
                    "noisy_bias": C.matrix @ values - values,
                    "bias": hat[seen].mean(axis=0) - values,
                    "error": np.sqrt(bounds.variance / draws),
                    "variance_true": between,
                    "variance": float(bounds.variance.mean()) + between,
                    "variance_drawn": hat[seen].var(),
                    "bound": bounds.variance_bound,
                }
            )
    return {key: np.stack([np.asarray(row[key]) for row in rows]) for key in rows[0]}


def _matrix(kind: str, M: int, weight: float, rng: np.random.Generator) -> Any:
    if kind == "symmetric":
        return confusion.symmetric(M, weight)
    return {"rand-one": confusion.rand_one, "rand-all": confusion.rand_all}[kind](M, weight, rng)
