"""Audit a log, or write a corrected copy, in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from unperturb.audit import RewardAudit
from unperturb.corrector.options import Method
from unperturb.levels import RewardLevels
from unperturb.logs.analysis import LogAnalysis, Suspect
from unperturb.logs.anchors import Anchors
from unperturb.logs.output import output_path
from unperturb.logs.survey import Bins


class LogOptions(TypedDict, total=False):
    """How to read a log; all are optional.

    Attributes:
        state: The columns of the state, as a list or "x,y"; guessed from common names.
        action: The columns of the action, likewise; without one a cell is a state alone.
        reward: The column of the observed reward.
        next_state: The columns of the next state, which then is part of the cell; True guesses
            them. Use it where the reward depends on where a step leads.
        levels: The reward levels: RewardLevels, a list, "-1,1" or "-17:0:17:upper" (low, high,
            number of intervals, and the point that stands for each). At most 32 distinct rewards
            are taken for the levels themselves.
        bins: Into how many bins a continuous column is cut: one number, or {"x": 10}. By default
            10 for each number of the state and 20 for an action, fewer if there are many columns.
            Integers, whole numbers and text are kept as they are unless named here.
        estimator: "dawid-skene" or "majority-vote" (the paper's).
        prior: "diagonal": most rewards are right; "reverse": most are wrong.
        anchors: Transitions whose true reward is known: a CSV or JSON file, or a list such as
            [{"state": 3, "action": 1, "true_reward": 1.0}].
        say: Is called with a line of text for each thing that was guessed.
        chunk: How many rows are in memory at a time.
    """

    state: str | Sequence[str] | None
    action: str | Sequence[str] | None
    reward: str | None
    next_state: str | Sequence[str] | bool | None
    levels: RewardLevels | Sequence[float] | str | None
    bins: Bins
    estimator: str
    prior: str
    anchors: Anchors | None
    say: Callable[[str], None] | None
    chunk: int


def audit_log(
    path: str | Path, suspects: int = 0, **options: Unpack[LogOptions]
) -> tuple[RewardAudit, list[Suspect]]:
    """Audit the rewards of a CSV, Parquet or NPZ file or a Minari dataset.

    The file is streamed: what is in memory does not grow with its length.

    Args:
        path: The file, the folder of a Minari dataset, or its id.
        suspects: How many of the most suspicious rows to list.
        **options: See `LogOptions`.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> state, action = rng.integers(20, size=5000), rng.integers(2, size=5000)
        >>> true = state >= 10
        >>> reward = np.where(rng.random(5000) < np.where(true, 0.3, 0.1), ~true, true)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = folder + "/log.npz"
        ...     np.savez(path, state=state, action=action, reward=reward.astype(float))
        ...     audit, worst = audit_log(path, suspects=2)
        >>> audit.confusion.round(1)
        array([[0.9, 0.1],
               [0.3, 0.7]])
        >>> [bool(reward[suspect.row] != true[suspect.row]) for suspect in worst]
        [True, True]
    """
    analysis = LogAnalysis(path, **options)
    return analysis.audit, analysis.suspects(suspects)


def correct_log(
    path: str | Path,
    out: str | Path,
    *,
    method: Method = "posterior",
    force: bool = False,
    suspects: int = 0,
    **options: Unpack[LogOptions],
) -> tuple[RewardAudit, list[Suspect]]:
    """Write a copy of a log with four columns more, and give its audit.

    The columns are corrected_reward, true_level (the most probable true reward), level_posterior
    (its probability) and suspicion (the probability that the observed reward is wrong). A Minari
    dataset gets them as infos. The copy is written to a temporary name and renamed when whole.

    Args:
        path: The log.
        out: Where to write the copy: the same kind of file, or the folder of a Minari dataset.
        method: "posterior" gives the posterior mean of the cell's true reward, and where a cell
            mixes levels, the mean of its surrogates; "surrogate" gives the paper's unbiased
            surrogate of the observed reward.
        force: Whether to replace `out` if it exists.
        suspects: How many of the most suspicious rows to list.
        **options: See `LogOptions`.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> state = rng.integers(20, size=5000)
        >>> true = np.where(state >= 10, 1.0, -1.0)
        >>> reward = np.where(rng.random(5000) < 0.2, -true, true)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(folder + "/log.npz", state=state, reward=reward)
        ...     audit, _ = correct_log(folder + "/log.npz", folder + "/better.npz")
        ...     with np.load(folder + "/better.npz") as better:
        ...         corrected = better["corrected_reward"]
        >>> float(abs(reward - true).mean().round(2)), float(abs(corrected - true).mean().round(2))
        (0.41, 0.0)
    """
    # What would be refused in the end is refused before the log is read.
    output_path(Path(path), out, force)
    analysis = LogAnalysis(path, **options)
    found = analysis.suspects(suspects)
    analysis.write(out, method, force)
    return analysis.audit, found
