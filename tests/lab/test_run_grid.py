import json
import os
import signal
import subprocess
import sys
import time

import pytest

from unperturb.lab import grid
from unperturb.lab.records import Records
from unperturb.lab.units import unit

# Runs as a program of its own, since it is killed.
PROGRAM = """
import sys
from unperturb.lab import grid
from unperturb.lab.records import Records
from unperturb.lab.units import unit

if __name__ == "__main__":
    units = [unit("CartPole-v0", "q-learning", 3000 + 300_000 * (s > 1), s) for s in range(4)]
    grid.run(units, Records(sys.argv[1]), "killed", jobs=int(sys.argv[2]), width=2)
"""


def units(seeds=4, steps=600):
    return [
        unit("CartPole-v0", "q-learning", steps, seed, reward=reward, weight=0.3)
        for reward in ("noisy", "posterior")
        for seed in range(seeds)
    ]


def contents(records):
    return {path.name: path.read_bytes() for path in records.folder.glob("*.npz")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    records = Records(tmp_path_factory.mktemp("whole"))
    grid.run(units(), records, "whole", jobs=1)
    return records


@pytest.mark.parametrize(("jobs", "width"), [(1, 3), (2, 4)])
def test_records_of_cartpole_depend_neither_on_batches_nor_on_processes(
    whole, tmp_path, jobs, width
):
    records = Records(tmp_path)
    grid.run(units()[::-1], records, "cut", jobs=jobs, width=width)
    assert contents(records) == contents(whole)


def test_what_is_there_is_not_trained_again(whole, tmp_path, monkeypatch):
    records = Records(tmp_path)
    grid.run(units(seeds=2), records, "some", jobs=1)
    trained = []
    train = grid.train
    monkeypatch.setattr(
        grid, "train", lambda batch, *rest: trained.extend(batch) or train(batch, *rest)
    )
    grid.run(units(), records, "rest", jobs=1)
    assert sorted(settings["seed"] for settings in trained) == [2, 2, 3, 3]
    assert contents(records) == contents(whole)
    grid.run(units(), records, "again", jobs=1)
    assert len(trained) == 4


def test_a_record_deleted_after_the_plan_was_made_is_trained(whole, tmp_path):
    records, wanted = Records(tmp_path), units()
    grid.run(wanted[1:], records, "most", jobs=1)
    # Killed between the last record and the removal of the plan, which had no need of the first.
    grid._plan_of(wanted, records).write_text(json.dumps([wanted[1:]]))
    grid.run(wanted, records, "all", jobs=1)
    assert contents(records) == contents(whole)


@pytest.mark.parametrize(
    ("jobs", "how"), [(1, signal.SIGKILL), (2, signal.SIGKILL), (2, signal.SIGINT)]
)
def test_a_killed_run_keeps_what_was_finished(tmp_path, jobs, how):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    records = Records(tmp_path / "records")
    # The long batch comes first, so with one process it is cut to be the one that is waited for.
    process = subprocess.Popen(
        [sys.executable, program, records.folder, str(jobs)],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wanted = 2 if jobs == 2 else 0
    deadline = time.monotonic() + 120
    while len(contents(records)) < wanted and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.2)
    os.kill(process.pid, how)
    process.wait(timeout=30)
    assert process.returncode != 0
    kept = contents(records)
    assert len(kept) == wanted
    assert not list(records.folder.glob("*.tmp"))
    # Nothing goes on behind the back of whoever stopped it.
    deadline = time.monotonic() + 20
    while _alive(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _alive(process.pid)
    short = [unit("CartPole-v0", "q-learning", 3000, seed) for seed in range(2)]
    grid.run(short, records, "on", jobs=1)
    assert {name: contents(records)[name] for name in kept} == kept


def _alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_error_in_a_process_reaches_the_caller(tmp_path):
    wrong = [unit("CartPole-v0", "nobody", 100 * (seed + 1), seed) for seed in range(2)]
    with pytest.raises(ValueError, match="agent 'nobody'"):
        grid.run(wrong, Records(tmp_path), "wrong", jobs=2)


def test_the_longest_batches_come_first_and_batches_are_even():
    mixed = [unit("CartPole-v0", "dqn", steps, s) for steps in (100, 900) for s in range(5)]
    cut = grid.batches(mixed, width=4)
    assert [(len(batch), batch[0]["steps"]) for batch in cut] == [
        (3, 900),
        (2, 900),
        (3, 100),
        (2, 100),
    ]


def test_a_resumed_run_cuts_its_batches_as_before(tmp_path, monkeypatch):
    # What DDPG learns depends in its last bits on how many runs share a batch.
    wanted = [
        unit("Pendulum-v1", "ddpg", 300, seed, reward="noisy", weight=0.3) for seed in range(6)
    ]
    unbroken, broken = Records(tmp_path / "unbroken"), Records(tmp_path / "broken")
    grid.run(wanted, unbroken, "unbroken", jobs=1, width=4)
    train, calls = grid.train, []

    def stopped(batch, *rest):
        calls.append(batch)
        if len(calls) == 2:
            raise KeyboardInterrupt
        train(batch, *rest)

    monkeypatch.setattr(grid, "train", stopped)
    with pytest.raises(KeyboardInterrupt):
        grid.run(wanted, broken, "broken", jobs=1, width=4)
    broken.path(calls[0][0]).unlink()  # as if it was stopped while it wrote the first batch
    grid.run(wanted, broken, "resumed", jobs=1, width=4)
    assert [len(batch) for batch in calls] == [3, 3, 3, 3]
    assert contents(broken) == contents(unbroken)
    assert not list(broken.folder.glob("plan-*"))


def test_a_damaged_plan_is_named(tmp_path):
    records = Records(tmp_path)
    wanted = units(seeds=1)
    grid._plan_of(wanted, records).write_text("{")
    with pytest.raises(ValueError, match=r"plan-.*can't be read.*delete it"):
        grid.run(wanted, records, "damaged", jobs=1)
