"""What table-algorithms runs: nothing. It lists what the other studies run."""

from __future__ import annotations

from unperturb.lab.records import Records


def run(records: Records, seeds: int | None = None) -> None:
    """Train nothing."""
