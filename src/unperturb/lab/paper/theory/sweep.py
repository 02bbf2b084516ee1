"""What theory runs: all checks, a unit of work at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from unperturb.lab.paper.theory import NAME, channel, convergence, samples
from unperturb.lab.progress import progress
from unperturb.lab.records import Records


def run(
    records: Records,
    seeds: int | None = None,
    steps: int = convergence.STEPS,
    sample_units: Iterable[dict[str, Any]] | None = None,
) -> None:
    """Measure what is missing; `seeds` is the number of Q-Learning runs for each condition."""
    for unit in records.missing(channel.units()):
        records.save(unit, **channel.measure(unit))
    seeds = convergence.SEEDS if seeds is None else seeds
    for batch in progress(_conditions(records, seeds, steps), f"{NAME}: Q-Learning", "condition"):
        for unit, arrays in zip(batch, convergence.measure(batch), strict=True):
            records.save(unit, **arrays)
    wanted = samples.units() if sample_units is None else sample_units
    for unit in progress(records.missing(wanted), f"{NAME}: Phased Q-Learning", "matrix"):
        records.save(unit, **samples.measure(unit))


def _conditions(records: Records, seeds: int, steps: int) -> list[list[dict[str, Any]]]:
    batches: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for unit in records.missing(convergence.units(seeds, steps)):
        key = (unit["reward"], unit["e_minus"], unit["e_plus"])
        batches.setdefault(key, []).append(unit)
    return list(batches.values())
