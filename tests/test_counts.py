"""Counts: a batch equals single steps in order, memory is bounded, and reloads go on exactly."""

import copy
import json
import pickle
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unperturb.counts import AllTime, Counts, Forgetting, LastPerCell
from unperturb.errors import (
    BatchMismatchError,
    InvalidCountsError,
    InvalidOptionError,
    StateMismatchError,
)

CELLS, LEVELS = 4, 3
KINDS = {
    "all time": lambda: AllTime(CELLS, LEVELS),
    "last 1": lambda: LastPerCell(CELLS, LEVELS, 1),
    "last 3": lambda: LastPerCell(CELLS, LEVELS, 3),
    "forgetting": lambda: Forgetting(CELLS, LEVELS, 5.5),
    "forgetting at once": lambda: Forgetting(CELLS, LEVELS, 2),
}
every_kind = pytest.mark.parametrize("kind", KINDS)

pairs = st.lists(st.tuples(st.integers(0, CELLS - 1), st.integers(0, LEVELS - 1)), max_size=30)
batches = st.lists(pairs, max_size=5)


def columns(batch):
    rows = np.array(batch, dtype=np.int64).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def same(one, other):
    mine, theirs = one.state_dict(), other.state_dict()
    assert mine.keys() == theirs.keys()
    for name in mine:
        np.testing.assert_array_equal(mine[name], theirs[name], err_msg=name)


@every_kind
@given(batches=batches, cleared=st.lists(st.integers(0, CELLS - 1), max_size=3))
def test_a_batch_equals_single_steps(kind, batches, cleared):
    whole, single = KINDS[kind](), KINDS[kind]()
    for batch in batches:
        whole.add(*columns(batch))
        for cell, level in batch:
            single.add_one(cell, level)
        np.testing.assert_array_equal(whole.table(), single.table())
        same(whole, single)
        whole.clear(cleared)
        single.clear(cleared)
    assert whole.total == single.total == sum(map(len, batches))


@given(batches, st.integers(1, 5))
def test_only_the_last_of_each_cell_count(batches, d_max):
    counts = LastPerCell(CELLS, LEVELS, d_max)
    last = [deque(maxlen=d_max) for _ in range(CELLS)]
    for batch in batches:
        counts.add(*columns(batch))
        for cell, level in batch:
            last[cell].append(level)
        expected = [[list(kept).count(level) for level in range(LEVELS)] for kept in last]
        assert counts.table().tolist() == expected


@given(pairs, st.floats(2, 50))
def test_weights_fade_exponentially(batch, memory):
    counts = Forgetting(CELLS, LEVELS, memory)
    counts.add(*columns(batch))
    expected = np.zeros((CELLS, LEVELS))
    for age, (cell, level) in enumerate(reversed(batch)):
        expected[cell, level] += (1 - 1 / memory) ** age
    np.testing.assert_allclose(counts.table(), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("memory", [2, 10, 1000.0])
def test_folding_the_scale_changes_nothing(memory):
    counts = Forgetting(1, 2, memory)
    n = 400_000  # more than a fold apart for every one of these memories
    counts.add(np.zeros(n, int), np.arange(n) % 2)
    assert counts.table().sum() == pytest.approx(memory, rel=1e-9)
    assert np.isfinite(counts.state_dict()["table"]).all()
    single = Forgetting(1, 2, memory)
    for i in range(2500):
        single.add_one(0, i % 2)
    whole = Forgetting(1, 2, memory)
    whole.add(np.zeros(2500, int), np.arange(2500) % 2)
    same(whole, single)


def test_a_huge_memory_forgets_nothing():
    counts = Forgetting(1, 2, 1e18)
    counts.add([0, 0, 0], [0, 1, 1])
    assert counts.table().tolist() == [[1.0, 2.0]]


@every_kind
def test_tables_and_rows_are_copies(kind):
    counts = KINDS[kind]()
    counts.add([0, 1, 1], [0, 2, 1])
    table = counts.table()
    assert table.shape == (CELLS, LEVELS)
    assert table.dtype == np.float64
    for cell in range(CELLS):
        assert counts.row(cell).tolist() == table[cell].tolist()
    counts.row(0)[:] = 9
    counts.table()[:] = 9
    for array in counts.state_dict().values():
        array[...] = 0
    np.testing.assert_array_equal(counts.table(), table)


@every_kind
def test_inputs_are_left_alone(kind):
    cells, levels = np.array([3, 0, 3, 3]), np.array([0, 1, 2, 0])
    KINDS[kind]().add(cells, levels)
    assert cells.tolist() == [3, 0, 3, 3]
    assert levels.tolist() == [0, 1, 2, 0]


@every_kind
def test_cleared_cells_start_anew(kind):
    counts = KINDS[kind]()
    counts.add([0, 1, 1, 2], [0, 2, 1, 1])
    counts.clear(np.array([1, 2]))
    assert counts.row(1).tolist() == counts.row(2).tolist() == [0, 0, 0]
    assert counts.row(0)[0] > 0
    assert counts.total == 4
    counts.add_one(1, 2)
    assert counts.row(1).tolist() == [0, 0, 1]
    counts.clear([])


@every_kind
@given(batches=batches)
def test_a_reload_goes_on_exactly(kind, batches):
    counts = KINDS[kind]()
    for batch in batches:
        counts.add(*columns(batch))
        other = Counts.from_config(json.loads(json.dumps(counts.config())))
        other.load_state_dict(counts.state_dict())
        for one in (counts, other):
            one.add([0, 2, 2], [1, 0, 2])
            one.add_one(2, 1)
        assert other.total == counts.total
        same(counts, other)


@every_kind
def test_copies_are_independent(kind):
    counts = KINDS[kind]()
    counts.add_one(0, 1)
    for other in (copy.deepcopy(counts), pickle.loads(pickle.dumps(counts))):
        assert repr(other) == repr(counts)
        other.add_one(0, 1)
        assert counts.total == 1


@every_kind
def test_memory_does_not_grow_with_steps(kind):
    counts = KINDS[kind]()
    rng = np.random.default_rng(0)
    sizes = set()
    for _ in range(50):
        counts.add(rng.integers(0, CELLS, 2000), rng.integers(0, LEVELS, 2000))
        sizes.add(len(pickle.dumps(counts)) // 64)
    assert len(sizes) <= 2  # whole numbers take a byte more now and then
    assert max(sizes) - min(sizes) <= 1


# ---- errors


@every_kind
@pytest.mark.parametrize(
    ("cell", "level", "message"),
    [
        (-1, 0, "cell -1; cells run from 0 to 3"),
        (CELLS, 0, "cell 4; cells run from 0 to 3"),
        (1, -1, "level -1; levels run from 0 to 2"),
        (1, LEVELS, "level 3; levels run from 0 to 2"),
    ],
)
def test_indices_outside_are_named_and_nothing_is_counted(kind, cell, level, message):
    counts = KINDS[kind]()
    with pytest.raises(InvalidCountsError, match=message):
        counts.add([0, cell, 2], [0, level, 1])
    with pytest.raises(InvalidCountsError, match=message):
        counts.add_one(cell, level)
    assert counts.table().sum() == counts.total == 0


@every_kind
def test_other_methods_name_cells_outside_too(kind):
    counts = KINDS[kind]()
    with pytest.raises(InvalidCountsError, match="cell -1"):
        counts.row(-1)
    with pytest.raises(InvalidCountsError, match="cell 4"):
        counts.clear([4])
    with pytest.raises(InvalidCountsError, match="must be integers"):
        counts.add([0.5], [0])


@every_kind
def test_lengths_must_agree(kind):
    with pytest.raises(BatchMismatchError, match="2 cells and 1 levels"):
        KINDS[kind]().add([0, 1], [0])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: AllTime(0, 2), "cells is 0"),
        (lambda: AllTime(2, 1.5), "levels is 1.5"),
        (lambda: AllTime(10**9, 3), "at most 2,000,000,000 entries"),
        (lambda: LastPerCell(2, 2, 0), "d_max is 0"),
        (lambda: LastPerCell(2, 2, True), "d_max is True"),
        (lambda: LastPerCell(10**6, 2, 10**6), r"\(d_max\)"),
        (lambda: LastPerCell(2, 40_000, 2), "at most 32,767"),
        (lambda: Forgetting(2, 2, 1), "memory is 1"),
        (lambda: Forgetting(2, 2, float("nan")), "memory is nan"),
        (lambda: Forgetting(2, 2, float("inf")), "memory is inf"),
        (lambda: Forgetting(2, 2, "long"), "memory is 'long'"),
        (lambda: Counts.from_config({"kind": "other"}), "describes no counts"),
        (lambda: Counts.from_config({"kind": "all-time", "cells": 2}), "describes no counts"),
        (lambda: Counts.from_config(None), "describes no counts"),
        (
            lambda: Counts.from_config({"kind": "all-time", "cells": 2, "levels": 0}),
            "levels is 0",
        ),
    ],
)
def test_bad_options_are_refused(build, message):
    with pytest.raises(InvalidOptionError, match=message):
        build()


@every_kind
def test_bad_states_are_refused_and_change_nothing(kind):
    counts = KINDS[kind]()
    counts.add([0, 1, 1], [0, 2, 1])
    before, good = counts.table(), counts.state_dict()
    bad = [{}, {**good, "more": np.zeros(1)}]
    for name, array in good.items():
        bad.append({**good, name: np.zeros(array.size + 1, array.dtype)})
        bad.append({**good, name: np.full_like(array, -1)})
        bad.append({**good, name: array.astype(np.float32)})
    if "ring" in good:
        bad.append({**good, "ring": np.full_like(good["ring"], LEVELS)})
    for state in bad:
        with pytest.raises(StateMismatchError):
            counts.load_state_dict(state)
    np.testing.assert_array_equal(counts.table(), before)
    assert counts.total == 3
