"""How long the audit of a log takes, and how much memory a log of ten million rows needs.

Usage: python benchmarks/logs.py [--rows 10000000] [--out results/benchmarks]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

CHUNK = 1_000_000
STATES, ACTIONS = 250, 2
SECONDS = 3.0
GIB = 2.0
# The whole command in a process of its own, imports included, as a user has it.
_COMMAND = """
import contextlib, io, json, resource, sys, time
start = time.perf_counter()
from unperturb.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    status = main(sys.argv[1:])
took = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([status, took, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20]))
"""


def chunks(rows: int, continuous: bool):
    """Draw a log with e- = .1 and e+ = .3, a million rows at a time."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, STATES * ACTIONS)
    for start in range(0, rows, CHUNK):
        n = min(CHUNK, rows - start)
        state, action = rng.integers(0, STATES, n), rng.integers(0, ACTIONS, n)
        level = true[state * ACTIONS + action]
        flipped = rng.random(n) < np.where(level == 1, 0.3, 0.1)
        shown = {"reward": np.where(flipped, 1 - level, level).astype(float)}
        if continuous:
            place = (state + rng.random(n)) / STATES
            yield {"obs_0": place.round(6), "obs_1": rng.normal(size=n).round(6), **shown}
        else:
            yield {"state": state, "action": action, **shown}


def write(path: Path, rows: int, continuous: bool = False) -> None:
    if path.suffix == ".npz":
        parts = list(chunks(rows, continuous))
        np.savez(path, **{name: np.concatenate([p[name] for p in parts]) for name in parts[0]})
        return
    writer = None
    for part in chunks(rows, continuous):
        table = pa.table(part)
        if writer is None:
            kind = pa.csv.CSVWriter if path.suffix == ".csv" else pa.parquet.ParquetWriter
            writer = kind(path, table.schema)
        writer.write_table(table)
    writer.close()


def measure(*words: str) -> tuple[float, float, float]:
    """Run the command; give its seconds, those of the CPU, and its peak of memory in GiB."""
    done = subprocess.run(
        [sys.executable, "-c", _COMMAND, *words], capture_output=True, text=True, check=True
    )
    status, *figures = json.loads(done.stdout)
    if status:
        raise SystemExit(f"unperturb {' '.join(words)} gave {status}: {done.stderr}")
    return tuple(figures)


def audits(folder: Path) -> list[str]:
    lines = [
        f"| `unperturb audit` of 1,000,000 rows | seconds, best of 3 | at most {SECONDS:g} | "
        "CPU seconds | peak GiB |",
        "|---|---|---|---|---|",
    ]
    for ending in ("csv", "parquet", "npz"):
        path = folder / f"log.{ending}"
        write(path, 1_000_000)
        took, cpu, peak = min(measure("audit", str(path)) for _ in range(3))
        lines.append(
            f"| {ending}, 2 levels, {STATES * ACTIONS} cells | {took:.2f} | "
            f"{'yes' if took <= SECONDS else 'NO'} | {cpu:.2f} | {peak:.2f} |"
        )
        print(lines[-1], flush=True)
    return lines


def streams(folder: Path, rows: int) -> list[str]:
    lines = [
        f"| {rows:,} rows of CSV | file, GiB | seconds | CPU seconds | peak GiB | below {GIB:g} |",
        "|---|---|---|---|---|---|",
    ]
    for continuous in (False, True):
        path, out = folder / "long.csv", folder / "corrected.csv"
        write(path, rows, continuous)
        size = path.stat().st_size / 2**30
        for words in (("audit", str(path), "--suspects", "100"), ("correct", str(path), "-o", out)):
            took, cpu, peak = measure(*map(str, words))
            label = f"{words[0]}, {'continuous' if continuous else 'discrete'} states"
            lines.append(
                f"| {label} | {size:.2f} | {took:.1f} | {cpu:.1f} | {peak:.2f} | "
                f"{'yes' if peak < GIB else 'NO'} |"
            )
            print(lines[-1], flush=True)
        out.unlink()
        path.unlink()
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000, help="of the long CSV file")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = ["# What reading a log costs", "", *audits(folder), ""]
        lines += [*streams(folder, options.rows), ""]
    print("\n" + "\n".join(lines))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "logs.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
