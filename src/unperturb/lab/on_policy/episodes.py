"""Episodes of a run in several environments, in the order in which they ended."""

from __future__ import annotations

from typing import Any

import numpy as np


class Episodes:
    """Collects returns, and the steps of all environments after which each episode ended.

    Example:
        >>> episodes = Episodes()
        >>> nan = np.nan
        >>> episodes.add(np.array([[nan, 3.0], [5.0, nan]]))
        >>> episodes.returns.tolist(), episodes.ends.tolist(), episodes.score()
        ([3.0, 5.0], [2, 4], 4.0)
    """

    def __init__(self, returns: Any = (), ends: Any = (), t: int = 0) -> None:
        self._returns = [np.asarray(returns, np.float64)]
        self._ends = [np.asarray(ends, np.int64)]
        self.t = t
        """The steps of all environments so far."""

    def add(self, ended: np.ndarray) -> None:
        """Take the returns of the episodes that ended in a rollout, (steps, envs), else NaN."""
        step, env = np.nonzero(~np.isnan(ended))
        self._returns.append(ended[step, env].astype(np.float64))
        self._ends.append(self.t + (step + 1) * ended.shape[1])
        self.t += ended.size

    @property
    def returns(self) -> np.ndarray:
        """The returns."""
        return np.concatenate(self._returns)

    @property
    def ends(self) -> np.ndarray:
        """When they ended."""
        return np.concatenate(self._ends)

    def score(self) -> float:
        """Give the mean return of the last 30 episodes, or NaN."""
        last: list[np.ndarray] = []
        for some in reversed(self._returns):
            last.insert(0, some)
            if sum(map(len, last)) >= 30:
                break
        recent = np.concatenate(last)[-30:]
        return float(recent.mean()) if recent.size else float("nan")
