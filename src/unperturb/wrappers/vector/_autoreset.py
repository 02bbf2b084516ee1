"""What vector environments do at the end of an episode, and how they lay out `infos`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv


def autoreset_mode(env: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """Give the mode of a vector environment; without a word it is Gymnasium's default.

    The environment itself is asked first: Gymnasium writes the mode into metadata that all vectors
    of the same environment share.
    """
    found = getattr(env.unwrapped, "autoreset_mode", None)
    return AutoresetMode(found or env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))


class Episodes:
    """Knows which rows of the next step are no transitions but resets."""

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self.mode = autoreset_mode(env)
        self._ended = np.zeros(env.num_envs, dtype=np.bool_)

    def reset(self, options: Mapping[str, Any] | None) -> np.ndarray | None:
        """Note a reset; gives the mask of those that are reset, or None for all."""
        mask: np.ndarray | None = (options or {}).get("reset_mask")
        self._ended[slice(None) if mask is None else mask] = False
        return mask

    def step(self, terminations: Any, truncations: Any) -> tuple[np.ndarray | None, np.ndarray]:
        """Note a step; gives the mask of its true transitions (None for all) and of its ends."""
        ended = np.logical_or(terminations, truncations)
        where = None
        if self.mode == AutoresetMode.NEXT_STEP:
            if self._ended.any():
                where = ~self._ended
            self._ended = ended
        return where, ended

    def annotate(
        self,
        infos: dict[str, Any],
        entries: Mapping[str, np.ndarray],
        where: np.ndarray | None,
        ended: np.ndarray,
    ) -> dict[str, Any]:
        """Add entries to a copy of `infos`, laid out as Gymnasium does.

        Each key has a mask, and is there only if the mask holds somewhere. In the mode SAME_STEP
        the last step of an episode finds its entries in "final_info".
        """
        infos = dict(infos)
        present = np.ones(len(ended), dtype=np.bool_) if where is None else where
        if self.mode == AutoresetMode.SAME_STEP and ended.any():
            final = infos.get("final_info", {})
            if isinstance(final, Mapping):
                infos["final_info"] = _masked(dict(final), entries, ended)
                infos.setdefault("_final_info", ended.copy())
            present = ~ended
        return _masked(infos, entries, present)


def _masked(
    infos: dict[str, Any], entries: Mapping[str, np.ndarray], mask: np.ndarray
) -> dict[str, Any]:
    if not mask.any():
        return infos
    full = bool(mask.all())
    for key, values in entries.items():
        infos[key] = values if full else np.where(mask, values, 0)
        infos[f"_{key}"] = mask.copy()
    return infos
