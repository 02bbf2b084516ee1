"""The first two passes over a log: what it holds, and how often each cell showed each level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from unperturb.errors import InvalidCellsError, InvalidOptionError
from unperturb.levels import RewardLevels
from unperturb.logs.coding import Keys, Tracker
from unperturb.logs.columns import Columns
from unperturb.logs.files import Log, Restart, Values
from unperturb.logs.files.base import needed
from unperturb.logs.rewards import RewardSurvey, reward_numbers

MOST_CELLS = 5_000_000
_PENDING = 4_000_000
_STATE_BINS, _STATE_CELLS = 10, 100_000
_ACTION_BINS, _ACTION_CELLS = 20, 400

Bins = int | Mapping[str, int] | None


class Survey(NamedTuple):
    """What the first pass found."""

    rows: int
    levels: RewardLevels
    keys: Keys
    clipped: int


class Table(NamedTuple):
    """The cells that occur, in ascending order of their keys, and their counts (cells, M)."""

    keys: np.ndarray
    counts: np.ndarray

    def cell_of(self, keys: np.ndarray) -> np.ndarray:
        """Give the row of each key; -1 for a cell that never occurs."""
        places = np.minimum(self.keys.searchsorted(keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, places, -1)


def passing(log: Log, names: list[str], rows: int | None, label: str) -> Iterator[Any]:
    """Go through the chunks, each with its first row, under a progress bar."""
    try:
        from tqdm import tqdm
    except ImportError as error:
        raise needed("tqdm", "logs", "a progress bar") from error
    start = 0
    # disable=None: no bar where stderr is a file or a pipe.
    with tqdm(total=rows, desc=label, unit=" rows", unit_scale=True, delay=2, disable=None) as bar:
        for chunk in log.chunks(names):
            yield start, chunk
            size = _rows_in(chunk)
            start += size
            bar.update(size)


def survey(log: Log, columns: Columns, levels: RewardLevels | None, bins: Bins) -> Survey:
    """Look at every row once: rewards, the values of discrete columns, the range of the others."""
    while True:
        try:
            log.must_be_numbers(columns.reward.name)
            return _survey(log, columns, levels, bins)
        except Restart:
            continue


def _survey(log: Log, columns: Columns, levels: RewardLevels | None, bins: Bins) -> Survey:
    by_name = dict(bins) if isinstance(bins, Mapping) else {}
    axes = [*columns.state, *columns.action]
    unknown = sorted(by_name.keys() - {str(column) for column in axes})
    if unknown:
        raise InvalidOptionError(
            f"--bins names {unknown[0]!r}",
            f"state and action are {', '.join(map(str, axes))}",
            "name one of them, or give one number for all",
        )
    trackers = [Tracker(log, str(column), by_name.get(str(column))) for column in axes]
    after = list(zip(columns.next_state, trackers, strict=False))
    rewards = RewardSurvey(log, str(columns.reward), levels)
    rows = 0
    for start, chunk in passing(log, columns.names, None, "reading"):
        rewards.see(columns.reward.of(chunk), start)
        for column, tracker in [*zip(axes, trackers, strict=True), *after]:
            tracker.see(column.of(chunk), start)
        rows = start + _rows_in(chunk)
    if not rows:
        raise log.no_rows()
    states = len(columns.state)
    every = bins if isinstance(bins, int) else None
    coders = [
        *(
            tracker.coder(every or _default(trackers[:states], False))
            for tracker in trackers[:states]
        ),
        *(
            tracker.coder(every or _default(trackers[states:], True))
            for tracker in trackers[states:]
        ),
    ]
    return Survey(rows, rewards.result(), Keys(columns, coders), rewards.clipped)


def _default(trackers: list[Tracker], action: bool) -> int:
    """As many bins as `Cells.of` would take."""
    most, cells = (_ACTION_BINS, _ACTION_CELLS) if action else (_STATE_BINS, _STATE_CELLS)
    number = sum(tracker.continuous for tracker in trackers)
    return max(2, min(most, int(cells ** (1 / max(1, number)) + 1e-9)))


def count(log: Log, columns: Columns, found: Survey) -> Table:
    """Count how often each cell showed each level; only cells that occur take memory."""
    M = len(found.levels)
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    pending, limit = 0, _PENDING
    for _, chunk in passing(log, columns.names, found.rows, "counting"):
        pairs = found.keys.of(chunk) * M + level_indices(chunk, columns, found.levels)
        new = np.unique(pairs, return_counts=True)
        seen.append(new)
        pending += len(new[0])
        if pending > limit:
            seen = [_joined(seen)]
            pending = len(seen[0][0])
            limit = max(_PENDING, 2 * pending)
            if pending > M * MOST_CELLS:
                raise _too_many(log)
    pairs, numbers = _joined(seen)
    keys, cell = np.unique(pairs // M, return_inverse=True)
    if len(keys) > MOST_CELLS:
        raise _too_many(log)
    counts = np.zeros((len(keys), M))
    counts[cell, pairs % M] = numbers
    return Table(keys, counts)


def level_indices(
    chunk: Mapping[str, Values], columns: Columns, levels: RewardLevels
) -> np.ndarray:
    """Give the level of each row's reward."""
    return levels.index(reward_numbers(columns.reward.of(chunk)))


def _joined(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    pairs, place = np.unique(np.concatenate([pairs for pairs, _ in parts]), return_inverse=True)
    numbers = np.concatenate([numbers for _, numbers in parts])
    return pairs, np.bincount(place, weights=numbers, minlength=len(pairs))


def _too_many(log: Log) -> InvalidCellsError:
    return InvalidCellsError(
        f"{log.path}: more than {MOST_CELLS:,} cells occur",
        "each needs several rewards to say anything",
        "use fewer --bins, or name only the columns that the reward depends on",
    )


def _rows_in(chunk: Mapping[str, Values]) -> int:
    values = next(iter(chunk.values()))
    return len(values) if isinstance(values, np.ndarray) else len(values.codes)
