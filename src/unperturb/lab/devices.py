"""One JAX device for each CPU core: XLA runs operations this small on one core each."""

from __future__ import annotations

import os
from typing import Any

AXIS = "lanes"


def lane_mesh() -> Any:
    """Give a mesh over all devices whose one axis is shared out among lanes.

    Where JAX has already started, there are as many devices as it started with.
    """
    import jax
    from jax.sharding import AxisType, Mesh

    try:
        jax.config.update("jax_num_cpu_devices", cores())
    except RuntimeError:
        pass
    devices = jax.devices("cpu")
    return Mesh(devices, (AXIS,), axis_types=(AxisType.Auto,))


def cores() -> int:
    """Give how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
