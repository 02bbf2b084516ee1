"""Which codec serves a Gymnasium space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from unperturb._codecs import Codec, Grid, Integer, Integers, Parts, as_array
from unperturb.errors import InvalidCellsError


def codec_of_space(space: Any, bins: Any, most: tuple[int, int], sample: Any, what: str) -> Codec:
    """Choose a codec for a Gymnasium space; `most` is (bins of a number, cells of a Box)."""
    if isinstance(space, spaces.Discrete):
        return Integer(int(space.n), int(space.start), what)
    if isinstance(space, spaces.MultiDiscrete):
        start = space.start.ravel().tolist()
        return Integers(space.nvec.ravel().tolist(), start, space.nvec.shape, what)
    if isinstance(space, spaces.MultiBinary):
        n = math.prod(space.shape)
        return Integers([2] * n, [0] * n, space.shape, what)
    if isinstance(space, spaces.Box):
        return _grid_of_box(space, bins, most, sample, what)
    if isinstance(space, spaces.Tuple | spaces.Dict):
        inner: Any = space.spaces
        keys = list(inner) if isinstance(space, spaces.Dict) else None
        inner = inner if keys is not None else dict(enumerate(inner))
        try:
            samples = {key: None if sample is None else sample[key] for key in inner}
        except (KeyError, IndexError, TypeError):
            raise InvalidCellsError(
                f"the sample of {what}s is a {type(sample).__name__} without the space's parts",
                f"it must hold {list(inner)}",
                "pass a batch of first observations",
            ) from None
        parts = []
        for key, part in inner.items():
            parts.append(codec_of_space(part, bins, most, samples[key], f"{what}[{key!r}]"))
        return Parts(parts, keys, what)
    raise InvalidCellsError(
        f"the {what} space is {space!r}",
        "cells are made from Discrete, MultiDiscrete, MultiBinary, Box, Tuple and Dict spaces",
        "wrap the environment so that it has one of them",
    )


def _grid_of_box(space: Any, bins: Any, most: tuple[int, int], sample: Any, what: str) -> Grid:
    if space.dtype == np.uint8 and len(space.shape) >= 2:
        found = f"the {what} is an image of the shape {space.shape}"
        raise InvalidCellsError(found, "images do not fit a grid", "use Cells.adjacent(batch=32)")
    low, high = (np.array(bound, dtype=np.float64).ravel() for bound in (space.low, space.high))
    if bins is None:
        bins = max(2, min(most[0], int(most[1] ** (1 / max(1, len(low))) + 1e-9)))
    # The largest float32 stands for "no bound" in some spaces.
    open_low, open_high = low < -3e38, high > 3e38
    unbounded = np.flatnonzero(open_low | open_high)
    if unbounded.size:
        if sample is None:
            i = int(unbounded[0])
            remedy = "use Cells.grid(low, high, bins, actions=(low, high, bins))"
            if not what.startswith("action"):
                remedy = "use Cells.grid(low, high, bins) or Cells.of(env, bins=..., sample=rows)"
            found = f"{what} dimension {i} is bounded by [{low[i]}, {high[i]}]"
            raise InvalidCellsError(found, "a grid needs finite bounds", remedy)
        seen = as_array(sample, "fiub", "numbers", f"sample {what}").astype(np.float64)
        seen = seen.reshape(len(seen), -1) if seen.ndim and len(seen) else np.empty((0, 0))
        if seen.shape[1] != len(low) or not np.isfinite(seen).all():
            found = f"the sample of {what}s has the shape {np.shape(sample)} or is not finite"
            rule = f"it must hold rows of {len(low)} finite numbers"
            raise InvalidCellsError(found, rule, "pass a batch of first observations")
        least, top = seen.min(axis=0), seen.max(axis=0)
        margin = np.where(top > least, top - least, np.maximum(1.0, np.abs(top))) / 10
        low = np.where(open_low, least - margin, low)
        high = np.where(open_high, top + margin, high)
    return Grid(low, high, bins, space.shape, what)
