"""What figure-mdp runs: reward-robust Q-Learning under noise that changes three times.

The paper leaves out the agent's numbers and D_max. Epsilon is .3, so that all cells stay visited.
D_max was chosen by measurement; the runner-ups are run too and stand in the summary.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unperturb.lab.progress import progress
from unperturb.lab.records import Records

NAME = "figure-mdp"
STEPS = 70_000
SEEDS = 10
SCHEDULE = [[0, 0.1, 0.3], [10_000, 0.2, 0.1], [30_000, 0.3, 0.2], [50_000, 0.1, 0.2]]
"""The paper's four stages: first step, e-, e+."""
VOTE = {"name": "vote", "d_max": 100, "d_min": 100, "refresh": 100}
STREAMING = {"name": "streaming", "memory": 2000, "refresh": 500}
ESTIMATORS = [VOTE, STREAMING, *({**VOTE, "d_max": d_max} for d_max in (50, 200, 400))]
_AGENT = {"alpha": 0.1, "gamma": 0.9, "epsilon": 0.3}


def units(seeds: int = SEEDS, steps: int = STEPS) -> list[dict[str, Any]]:
    """Give all units of work: an estimator and a seed each."""
    common = {"study": NAME, "steps": steps, "schedule": SCHEDULE, "agent": _AGENT}
    return [
        {**common, "estimator": estimator, "seed": seed}
        for estimator in ESTIMATORS
        for seed in range(seeds)
    ]


def schedule_matrices(schedule: list[list[float]], steps: int) -> np.ndarray:
    """Give the C in force at each step, (steps, 2, 2)."""
    stages = np.array([[[1 - minus, minus], [plus, 1 - plus]] for _, minus, plus in schedule])
    starts = [start for start, _, _ in schedule]
    return stages[np.searchsorted(starts, np.arange(steps), side="right") - 1]


def run(records: Records, seeds: int | None = None, steps: int = STEPS) -> None:
    """Train what is missing; the seeds of an estimator run side by side."""
    wanted = units(SEEDS if seeds is None else seeds, steps)
    batches = [
        batch
        for estimator in ESTIMATORS
        if (batch := records.missing(unit for unit in wanted if unit["estimator"] == estimator))
    ]
    for batch in progress(batches, NAME, "estimator"):
        trace = _train(batch)
        for unit, confusion, q in zip(batch, trace.confusion, trace.q, strict=True):
            records.save(unit, confusion=np.asarray(confusion), q=np.asarray(q[-1]))


def _train(batch: list[dict[str, Any]]) -> Any:
    import jax
    import jax.numpy as jnp

    from unperturb.lab.reward_robust import Learning, learn, streaming, vote

    unit, estimator = batch[0], batch[0]["estimator"]
    if estimator["name"] == "vote":
        correction = vote(estimator["d_max"], estimator["d_min"])
    else:
        correction = streaming(estimator["refresh"], estimator["memory"])
    agent = unit["agent"]
    learning = Learning(lambda visits: agent["alpha"], agent["gamma"], agent["epsilon"])
    matrices = schedule_matrices(unit["schedule"], unit["steps"])

    @jax.jit
    def all_seeds(seeds: Any, schedule: Any) -> Any:
        def one(seed: Any) -> Any:
            return learn(seed, schedule, correction, learning, unit["steps"], estimator["refresh"])

        return jax.vmap(one)(seeds)

    return jax.device_get(all_seeds(jnp.array([unit["seed"] for unit in batch]), matrices))
