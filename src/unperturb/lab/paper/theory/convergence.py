"""(c) Q-Learning with surrogate rewards reaches Q*, with noisy ones it does not (Theorem 1)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from unperturb import confusion
from unperturb.lab.envs import six_state
from unperturb.lab.paper.theory import GAMMA, NAME

SEEDS = 10
STEPS = 200_000
NOISE = ((0.1, 0.3), (0.3, 0.5))
"""The paper's rates, and heavier ones."""
_REFRESH = 100
_POINTS = 80
_POWER = 0.8


def units(seeds: int = SEEDS, steps: int = STEPS) -> list[dict[str, Any]]:
    """Give a unit for each reward, noise and seed.

    Actions are drawn evenly. The n-th visit of (s, a) has the step size 1 / n^0.8, whose sum is
    infinite and whose sum of squares is not.
    """
    conditions = [("true", 0.0, 0.0)]
    conditions += [(reward, *rates) for rates in NOISE for reward in ("noisy", "known")]
    return [
        {
            "study": NAME,
            "part": "convergence",
            "reward": reward,
            "e_minus": e_minus,
            "e_plus": e_plus,
            "gamma": GAMMA,
            "power": _POWER,
            "steps": steps,
            "seed": seed,
        }
        for reward, e_minus, e_plus in conditions
        for seed in range(seeds)
    ]


def measure(batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Train the seeds of one condition side by side; keep the max-norm error of Q by step."""
    unit = batch[0]
    C = confusion.binary(unit["e_minus"], unit["e_plus"]).matrix
    used = C if unit["reward"] == "known" else np.eye(2)
    learned = _compiled(unit["steps"], unit["gamma"], unit["power"])
    q = np.asarray(learned(np.array([unit["seed"] for unit in batch]), C, used))
    error = np.abs(q - six_state.optimal_q(unit["gamma"])).max(axis=(2, 3))
    last = unit["steps"] // _REFRESH
    kept = np.unique(np.geomspace(1, last, _POINTS).round().astype(int))
    return [{"step": kept * _REFRESH, "error": curve[kept]} for curve in error]


@cache
def _compiled(steps: int, gamma: float, power: float) -> Any:
    import jax
    import jax.numpy as jnp

    from unperturb.lab.reward_robust import Learning, known, learn

    learning = Learning(lambda visits: (visits + 1.0) ** -power, gamma, epsilon=1.0)

    @jax.jit
    def all_seeds(seeds: Any, C: Any, used: Any) -> Any:
        schedule = jnp.broadcast_to(C, (steps, 2, 2))

        def one(seed: Any) -> Any:
            return learn(seed, schedule, known(used), learning, steps, _REFRESH).q

        return jax.vmap(one)(seeds)

    return all_seeds


def limit(unit: dict[str, Any]) -> float:
    """Give the error that remains for ever: that of the optimal Q for the rewards learned from."""
    if unit["reward"] != "noisy":
        return 0.0
    seen = confusion.binary(unit["e_minus"], unit["e_plus"]).matrix @ np.array(six_state.LEVELS)
    rewards = seen[[six_state.level(state) for state in range(six_state.STATES)]]
    gamma = unit["gamma"]
    difference = six_state.optimal_q(gamma, rewards=rewards) - six_state.optimal_q(gamma)
    return float(np.abs(difference).max())
