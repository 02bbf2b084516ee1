"""Checkpoints of runs that take hours: one file, written whole or not at all, plain arrays."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from unperturb import _store
from unperturb.errors import DamagedFileError

_EVERY = 60.0


class Checkpoint:
    """Keeps the state of a run in a file, at most once a minute.

    Args:
        path: The file; None keeps nothing.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> kept = Checkpoint(Path(tempfile.mkdtemp()) / "run.npz", every=0.0)
        >>> kept.offer(lambda: {"t": np.array(5)})
        >>> int(kept.load()["t"])
        5
    """

    def __init__(self, path: Path | None, every: float = _EVERY) -> None:
        self._path, self._every = path, every
        self._last = time.monotonic()

    def load(self, needs: Sequence[str] = ()) -> Mapping[str, np.ndarray] | None:
        """Read it; None where there is none. A file that lacks a name in `needs` is an error."""
        if self._path is None or not self._path.exists():
            return None
        return _store.load_arrays(self._path, needs)

    def offer(self, state: Any) -> None:
        """Call `state` for what to keep, if it is time."""
        if self._path is None or time.monotonic() - self._last < self._every:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        _store.save_arrays(self._path, state())
        self._last = time.monotonic()


def leaves(tree: Any, name: str) -> dict[str, np.ndarray]:
    """Give the arrays of a tree by number.

    Example:
        >>> sorted(leaves({"a": np.zeros(2), "b": np.ones(1)}, "net"))
        ['net/0', 'net/1']
    """
    return {f"{name}/{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}


def restored(like: Any, state: Mapping[str, np.ndarray], name: str) -> Any:
    """Build the tree again from its arrays.

    Example:
        >>> tree = {"a": np.zeros(2)}
        >>> restored(tree, leaves({"a": np.ones(2)}, "net"), "net")
        {'a': array([1., 1.])}
    """
    old, structure = jax.tree.flatten(like)
    new = [state.get(f"{name}/{i}") for i in range(len(old))]
    for mine, theirs in zip(old, new, strict=True):
        if theirs is None or np.shape(theirs) != np.shape(mine):
            raise DamagedFileError(
                f"the checkpoint has {'no array' if theirs is None else np.shape(theirs)} where "
                f"{np.shape(mine)} belongs",
                "it holds the state of this very run",
                "delete the folder `unfinished` beside the records; the run starts anew",
            )
    return jax.tree.unflatten(structure, new)
