"""The whole way from a log to its audit, its suspects and its corrected copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from unperturb.audit import RewardAudit
from unperturb.errors import InvalidOptionError
from unperturb.estimators import DawidSkene, Estimator, MajorityVote
from unperturb.estimators.beliefs import Prior
from unperturb.levels import RewardLevels
from unperturb.logs.anchors import Anchors, read_anchors
from unperturb.logs.columns import Column, choose_columns
from unperturb.logs.files import CHUNK, Added, Values, open_log
from unperturb.logs.output import ADDED, output_path, renamed
from unperturb.logs.rewards import levels_from, reward_numbers
from unperturb.logs.scores import Scores, score
from unperturb.logs.survey import Bins, Table, count, level_indices, passing, survey

ESTIMATORS = ("dawid-skene", "majority-vote")
PRIORS = ("diagonal", "reverse")


class Suspect(NamedTuple):
    """A transition whose reward is probably wrong.

    Attributes:
        row: Its row in the log, from 0.
        state: Its state; a tuple where that is made of several columns.
        action: Its action, likewise; None where the log has none.
        reward: The reward that the log shows.
        true_level: The most probable true reward.
        suspicion: The probability that the reward is wrong.
    """

    row: int
    state: Any
    action: Any
    reward: float
    true_level: float
    suspicion: float


class LogAnalysis:
    """A log that was read, counted and audited; the arguments are those of `audit_log`.

    Example:
        >>> import tempfile
        >>> state = np.arange(3000) % 10
        >>> wrong = np.random.default_rng(0).random(3000) < 0.2
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(folder + "/log.npz", state=state, reward=(state > 4) ^ wrong)
        ...     analysis = LogAnalysis(folder + "/log.npz")
        >>> analysis.levels, analysis.rows, round(analysis.wrong_share, 1)
        (RewardLevels([0.0, 1.0]), 3000, 0.2)
    """

    def __init__(
        self,
        path: str | Path,
        *,
        state: str | Sequence[str] | None = None,
        action: str | Sequence[str] | None = None,
        reward: str | None = None,
        next_state: str | Sequence[str] | bool | None = None,
        levels: RewardLevels | Sequence[float] | str | None = None,
        bins: Bins = None,
        estimator: str = "dawid-skene",
        prior: str = "diagonal",
        anchors: Anchors | None = None,
        say: Callable[[str], None] | None = None,
        chunk: int = CHUNK,
    ) -> None:
        tell = say or (lambda _: None)
        _check_bins(bins)
        make = _estimator(estimator, prior)
        given = levels_from(levels)
        self.log = open_log(path, chunk)
        self.columns = choose_columns(self.log, state, action, reward, next_state)
        tell(f"columns: {self.columns.describe()}")
        if not self.columns.action:
            tell("no column looks like an action: a cell is a state alone")
        self._found = survey(self.log, self.columns, given, bins)
        self.rows, self.levels = self._found.rows, self._found.levels
        tell(f"cells: {self._found.keys.describe()}")
        tell(f"levels: {_levels_text(self.levels)}{'' if given else ' (guessed)'}")
        self._table = count(self.log, self.columns, self._found)
        known = None
        if anchors is not None:
            known, lost = read_anchors(anchors, self._found.keys, self._table, self.levels)
            if lost:
                tell(f"anchors: {lost} name cells that do not occur in the log and are left out")
        self._fit = make(known)
        self.audit = RewardAudit.from_counts(
            self._table.counts, self.levels, self._fit, clipped=self._found.clipped
        )

    @property
    def table(self) -> Table:
        """The cells that occur and their counts."""
        return self._table

    @property
    def wrong_share(self) -> float:
        """The expected share of rewards whose observed level is not the true one."""
        suspicion = score(self._table.counts, self._fit, self.levels).suspicion
        return float((self._table.counts * suspicion).sum() / self.rows)

    def suspects(self, number: int) -> list[Suspect]:
        """Give the most suspicious rows, most suspicious first; among equals in their order."""
        if number < 0:
            raise InvalidOptionError(
                f"{number} suspects", "the number is 0 or more", "pass a number such as 20"
            )
        if number == 0:
            return []
        scores = score(self._table.counts, self._fit, self.levels)
        belief = scores.belief.ravel()
        best: list[tuple[float, int, Any, Any, float, int]] = []
        for start, chunk, pairs in self._pairs("looking"):
            own = belief[pairs]
            # A later row must be strictly worse than the last of those that are kept.
            rows = np.flatnonzero(own < best[-1][0]) if len(best) == number else np.arange(len(own))
            chosen = rows[np.argsort(own[rows], kind="stable")[:number]].tolist()
            rewards = reward_numbers(self.columns.reward.of(chunk))
            assert rewards is not None
            best += [
                (
                    float(own[i]),
                    start + i,
                    _value(self.columns.state, chunk, i),
                    _value(self.columns.action, chunk, i),
                    float(rewards[i]),
                    int(pairs[i]),
                )
                for i in chosen
            ]
            best = sorted(best, key=lambda entry: entry[:2])[:number]
        return [
            Suspect(row, state, action, reward, *_verdict(scores, pair))
            for _, row, state, action, reward, pair in best
        ]

    def write(self, out: str | Path, method: str = "posterior", force: bool = False) -> Path:
        """Write the corrected copy: to a temporary name first, and renamed when it is whole."""
        target = output_path(self.log.path, out, force, {*self.log.widths, *self.log.taken})
        scores = score(self._table.counts, self._fit, self.levels, method)
        columns = (scores.corrected, scores.true_level, scores.level_posterior, scores.suspicion)
        tables = {
            name: np.ascontiguousarray(column).ravel()
            for name, column in zip(ADDED, columns, strict=True)
        }
        pairs = (pairs for _, _, pairs in self._pairs("writing"))
        with renamed(target) as place:
            self.log.write(place, Added(tables, pairs), str(out))
        return target

    def _pairs(self, label: str) -> Iterator[tuple[int, dict[str, Values], np.ndarray]]:
        M = len(self.levels)
        for start, chunk in passing(self.log, self.columns.names, self.rows, label):
            cells = self._table.cell_of(self._found.keys.of(chunk))
            yield start, chunk, cells * M + level_indices(chunk, self.columns, self.levels)


def _verdict(scores: Scores, pair: int) -> tuple[float, float]:
    return float(scores.true_level.flat[pair]), float(scores.suspicion.flat[pair])


def _value(columns: list[Column], chunk: dict[str, Values], row: int) -> Any:
    values = []
    for column in columns:
        own = column.of(chunk)
        values.append(
            own[row].item() if isinstance(own, np.ndarray) else own.words[int(own.codes[row])]
        )
    return tuple(values) if len(values) > 1 else values[0] if values else None


def _levels_text(levels: RewardLevels) -> str:
    if levels.continuous:
        return repr(levels).removeprefix("RewardLevels.")
    return ", ".join(f"{value:g}" for value in levels.values)


def _estimator(name: str, prior: str) -> Callable[[dict[int, int] | None], Estimator]:
    if name not in ESTIMATORS or prior not in PRIORS:
        wrong, choice = (
            (f"estimator={name!r}", ESTIMATORS)
            if name not in ESTIMATORS
            else (f"prior={prior!r}", PRIORS)
        )
        raise InvalidOptionError(
            f"{wrong} is not known", f"for a log there are {', '.join(choice)}", "pass one of them"
        )
    make = DawidSkene if name == "dawid-skene" else MajorityVote
    return lambda anchors: make(prior=cast(Prior, prior), anchors=anchors)


def _check_bins(bins: Bins) -> None:
    numbers = [] if bins is None else [bins] if isinstance(bins, int) else list(bins.values())
    for number in numbers:
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise InvalidOptionError(
                f"{number!r} bins", "a column is cut into one bin or more", "pass a whole number"
            )
