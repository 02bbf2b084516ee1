"""What XLA is told where convolutions are computed on a CPU."""

from __future__ import annotations

from functools import cache

import jax

_YNNPACK = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT"}


@cache
def options() -> dict[str, str]:
    """Give the options of `jax.jit`: YNNPACK's convolutions on a CPU that has them, else none.

    They give the same numbers to the last digits but one, three times as fast as XLA's own. The
    option is experimental, so a version of XLA that does not know it does without.

    Example:
        >>> double = jax.jit(lambda x: 2 * x, compiler_options=options())
        >>> int(double(2))
        4
    """
    if jax.default_backend() != "cpu":
        return {}
    try:
        jax.jit(lambda: 0, compiler_options=_YNNPACK)()
    except Exception:  # which one depends on the version
        return {}
    return dict(_YNNPACK)
