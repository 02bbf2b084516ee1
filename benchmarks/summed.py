"""How fast units train side by side: one process for each core, compiling left out."""

from __future__ import annotations

import multiprocessing
import os
import time


def _part(units: list[dict], barrier, answer) -> None:
    from unperturb.lab.grid import one_thread
    from unperturb.lab.units import lane_of, trainer_of

    one_thread()
    trainer, steps = trainer_of(units[0]), units[0]["steps"]
    trainer.run([lane_of(unit) for unit in units], min(steps, 1_000))
    lanes = [lane_of(unit) for unit in units]
    barrier.wait()
    start = time.perf_counter()
    trainer.run(lanes, steps)
    answer.put((start, time.perf_counter()))


def steps_per_second(units: list[dict]) -> float:
    """Give the steps per second, summed over units that share a problem."""
    context = multiprocessing.get_context("spawn")
    cores = len(os.sched_getaffinity(0))
    barrier, answer = context.Barrier(cores), context.Queue()
    cuts = [len(units) * i // cores for i in range(cores + 1)]
    processes = [
        context.Process(target=_part, args=(units[cuts[i] : cuts[i + 1]], barrier, answer))
        for i in range(cores)
    ]
    for process in processes:
        process.start()
    times = [answer.get() for _ in processes]
    for process in processes:
        process.join()
    seconds = max(end for _, end in times) - min(start for start, _ in times)
    return sum(unit["steps"] for unit in units) / seconds
