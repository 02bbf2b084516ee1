"""Train many units: side by side in compiled batches, one process for each core, with a bar.

A batch is a set of units that share a compilation. Its records are written when it is done, so a
run that is stopped in whatever way loses the batches it was at and nothing else.

The last bits of a result may depend on how many runs a batch holds, since XLA then rounds
differently. So the batches of a call are written down, and the same call after a stop cuts them
alike: its records are those of a run that was never stopped, bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import pairwise
from pathlib import Path
from queue import Empty
from typing import Any

from unperturb.errors import DamagedFileError
from unperturb.lab.records import Records, Settings
from unperturb.lab.report import write_text
from unperturb.lab.units import lane_of, noise_matrix, problem_key, trainer_of

Batch = list[dict[str, Any]]
Watch = Callable[[int, float], None]
WIDTH = 30
"""The most units of a batch. More are no faster on a CPU, and more would be lost with a batch."""
_outbox: Any = None


def run(
    units: Iterable[Settings],
    records: Records,
    label: str,
    jobs: int | None = None,
    width: int = WIDTH,
) -> None:
    """Train the units that have no record yet.

    Example:
        >>> import tempfile
        >>> from unperturb.lab.units import unit
        >>> records = Records(tempfile.mkdtemp())
        >>> run([unit("CartPole-v0", "q-learning", 200, seed) for seed in (0, 1)], records, "two")
        >>> len(list(records.all(agent="q-learning")))
        2
    """
    wanted = [dict(unit) for unit in units]
    missing = records.missing(wanted)
    if not missing:
        return
    jobs = min(jobs or _cores(), len(missing))
    plan = _plan_of(wanted, records)
    if not plan.exists():
        cut = batches(missing, min(width, -(-len(missing) // jobs)))
        records.folder.mkdir(parents=True, exist_ok=True)
        write_text(plan, json.dumps(cut))
    todo = [batch for batch in _read(plan) if records.missing(batch)]
    with _Bar(sum(unit["steps"] for batch in todo for unit in batch), label) as bar:
        if jobs == 1 or len(todo) == 1:
            for batch in todo:
                train(batch, records, bar.watch_of(batch))
        else:
            _in_processes(todo, records.folder, jobs, bar)
    plan.unlink()


def _plan_of(wanted: list[dict[str, Any]], records: Records) -> Path:
    text = json.dumps(wanted, sort_keys=True)
    return records.folder / f"plan-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def _read(plan: Path) -> list[Batch]:
    try:
        todo: list[Batch] = json.loads(plan.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedFileError(
            f"{plan} can't be read ({error})",
            "it says how an unfinished run was cut into batches",
            "delete it; what is missing is then cut anew",
        ) from error
    return todo


def batches(units: Sequence[Settings], width: int) -> list[Batch]:
    """Cut units into batches that share a problem, evenly, the longest first.

    Example:
        >>> from unperturb.lab.units import unit
        >>> units = [unit("CartPole-v0", "dqn", 100, seed) for seed in range(5)]
        >>> [len(batch) for batch in batches(units, width=4)]
        [3, 2]
    """
    groups: dict[str, Batch] = {}
    for unit in units:
        groups.setdefault(problem_key(unit), []).append(dict(unit))
    cut = []
    for group in groups.values():
        parts = -(-len(group) // width)
        ends = [len(group) * i // parts for i in range(parts + 1)]
        cut += [group[a:b] for a, b in pairwise(ends)][::-1]
    return sorted(cut, key=lambda batch: -len(batch) * batch[0]["steps"])


def train(batch: Batch, records: Records, watch: Watch | None = None) -> None:
    """Train one batch and save its records."""
    outcomes = trainer_of(batch[0]).run([lane_of(unit) for unit in batch], batch[0]["steps"], watch)
    for unit, outcome in zip(batch, outcomes, strict=True):
        if not records.has(unit):
            records.save(unit, **outcome._asdict(), noise=noise_matrix(unit))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Bar:
    """One bar for all batches: steps of all runs, time left, and the latest score."""

    def __init__(self, total: int, label: str) -> None:
        from tqdm import tqdm

        # disable=None: no bar where stderr is a file or a pipe.
        self._bar = tqdm(
            total=total,
            desc=label,
            unit=" steps",
            unit_scale=True,
            miniters=0,
            delay=2,
            disable=None,
        )
        self._bar.set_postfix_str("compiling", refresh=False)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def watch_of(self, batch: Batch) -> Watch:
        """Give what a training loop tells its steps to."""
        return _counted(len(batch), self.advance)

    def advance(self, steps: int, score: float) -> None:
        """Go on by so many steps."""
        if not math.isnan(score):
            self._bar.set_postfix(score=f"{score:.3g}", refresh=False)
        self._bar.update(steps)


def _counted(lanes: int, tell: Callable[[int, float], None]) -> Watch:
    before = 0

    def watch(t: int, score: float) -> None:
        nonlocal before
        tell((t - before) * lanes, score)
        before = t

    return watch


def _in_processes(todo: list[Batch], folder: Path, jobs: int, bar: _Bar) -> None:
    # A forked process would share JAX's threads, which it does not survive.
    context = multiprocessing.get_context("spawn")
    inbox = context.Queue()
    pool = ProcessPoolExecutor(jobs, context, _begin_process, (inbox,))
    try:
        pending: set[Future[None]] = {pool.submit(_in_process, batch, folder) for batch in todo}
        while pending:
            done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            bar.advance(0, math.nan)  # the clock goes on while a batch is being compiled
            while True:
                try:
                    bar.advance(*inbox.get_nowait())
                except Empty:
                    break
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()


def _begin_process(outbox: Any) -> None:
    global _outbox
    _outbox = outbox
    one_thread()
    # Ctrl-C reaches every process of the terminal; the first one stops the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def one_thread() -> None:
    """Let XLA compute on one thread in this process; it must not have begun to.

    It would take one for each core. Where each core has a process of its own, their threads wait
    for one another: DDPG trained at a third of the speed.
    """
    os.environ["NPROC"] = os.environ["PJRT_NPROC"] = "1"


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _in_process(batch: Batch, folder: Path) -> None:
    train(batch, Records(folder), _counted(len(batch), lambda *told: _outbox.put(told)))
