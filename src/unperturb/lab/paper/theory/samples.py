"""(d, e) How many calls of the generative model a fixed error costs (Theorems 2 and 4).

Phased Q-Learning on the six-state MDP, where moves slip so that P has to be estimated too. The
theorem bounds the loss of the greedy policy; what is measured is |V-hat - V*| at its worst state,
which the proof goes through and which knows no luck with policies.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from unperturb import confusion
from unperturb.lab.envs import six_state
from unperturb.lab.paper.theory import GAMMA, NAME
from unperturb.surrogate import surrogate_bounds, surrogate_values

SLIP = 0.1
PHASES = 20
ERROR = 0.25
RUNS = 100
_SHARE = 0.9
_PILOT = 8
_AROUND = (0.6, 0.85, 1.2, 1.7)
_NEAR = 1.3
_MAX_PILOTS = 8

Rates = list[list[float]]
"""(e-, e+) of each state's C_s, or of one C for all."""


def _families() -> dict[str, list[Rates]]:
    heavy = (0.1, 0.2, 0.3, 0.35, 0.4, 0.42)
    spread = [[[e, e] for e in np.linspace(worst, 0.05, 6).round(4).tolist()] for worst in heavy]
    single = [[[e, e] if s == 4 else [0.05, 0.05] for s in range(6)] for e in heavy]
    return {
        "symmetric": [[[e, e]] for e in (0.05, *heavy)],
        "asymmetric": [[list(rates)] for rates in ((0.1, 0.3), (0.0, 0.6), (0.1, 0.6), (0.3, 0.5))],
        "C_s spread": spread,
        "C_s one bad state": single,
    }


FAMILIES = _families()
"""The noise by family; the last two have a C_s for each state."""


def units(error: float = ERROR, runs: int = RUNS) -> list[dict[str, Any]]:
    """Give a unit for each noise, and one without."""
    noise = {"none": [[[0.0, 0.0]]], **FAMILIES}
    return [
        {
            "study": NAME,
            "part": "samples",
            "family": family,
            "rates": rates,
            "gamma": GAMMA,
            "slip": SLIP,
            "phases": PHASES,
            "error": error,
            "share": _SHARE,
            "runs": runs,
        }
        for family, all_rates in noise.items()
        for rates in all_rates
    ]


def matrices(unit: dict[str, Any]) -> np.ndarray:
    """Give C_s for each of the six states."""
    each = [confusion.binary(*rates).matrix for rates in unit["rates"]]
    return np.stack(each * six_state.STATES if len(each) == 1 else each)


def measure(unit: dict[str, Any]) -> dict[str, Any]:
    """Find the m for which 90 % of the runs have at most the wanted error.

    The error falls with the square root of m. So a few pilots find the neighbourhood, and a line
    through four sample sizes around it, in logarithms, gives m.
    """
    error_of = _compiled(unit["gamma"], unit["slip"], unit["phases"], unit["runs"])
    C = matrices(unit)
    hat = surrogate_values(C, six_state.LEVELS)

    def reached(m: int, seed: int) -> float:
        return float(np.quantile(error_of(seed, m, C, hat), unit["share"]))

    m = float(_PILOT)
    for seed in range(_MAX_PILOTS):
        ratio = (reached(round(m), seed) / unit["error"]) ** 2
        m = max(m * ratio, 2.0)
        if 1 / _NEAR < ratio < _NEAR:
            break
    tried = np.unique([max(round(m * factor), 1) for factor in _AROUND])
    errors = np.array([reached(int(size), 100 + i) for i, size in enumerate(tried)])
    slope, start = np.polyfit(np.log(tried), np.log(errors), 1)
    found = np.exp((np.log(unit["error"]) - start) / slope)
    calls = found * six_state.STATES * six_state.ACTIONS * unit["phases"]
    return {"tried": tried, "errors": errors, "m": found, "calls": calls}


@cache
def _compiled(gamma: float, slip: float, phases: int, runs: int) -> Any:
    import jax
    import jax.numpy as jnp

    from unperturb.agents.phased_q_learning import generative_model, phased_q_learning

    P = six_state.transitions(slip)
    optimum = jnp.asarray(six_state.optimal_q(gamma, P).max(axis=1))

    @jax.jit
    def error_of(seed: Any, m: Any, C: Any, hat: Any) -> Any:
        states = jnp.arange(six_state.STATES)[:, None]
        below = jnp.cumsum(jnp.asarray(C), axis=-1)[..., :-1]

        def reward(key: Any, next_states: Any) -> Any:
            chance = jax.random.uniform(key, next_states.shape)
            rows = below[states, six_state.level(next_states)]
            return jnp.asarray(hat)[states, jnp.sum(chance[..., None] >= rows, axis=-1)]

        model = generative_model(P, reward)

        def one(key: Any) -> Any:
            found = phased_q_learning(key, model, six_state.STATES, m, phases, gamma)
            return jnp.abs(found.v - optimum).max()

        return jax.vmap(one)(jax.random.split(jax.random.key(seed), runs))

    return error_of


def worst_variance(unit: dict[str, Any]) -> float:
    """Give the largest variance over (s, a) of one call's hat r + gamma V*(s').

    It has two parts, of which the theorem names only the first, through its bound 1 / det^2: what
    the channel adds, and what slipping moves bring with true rewards already.
    """
    P = six_state.transitions(unit["slip"])
    value = six_state.optimal_q(unit["gamma"], P).max(axis=1)
    level = np.array([six_state.level(state) for state in range(six_state.STATES)])
    target = np.array(six_state.LEVELS)[level] + unit["gamma"] * value
    mean = P @ target
    moves = P @ target**2 - mean**2
    added = surrogate_bounds(matrices(unit), six_state.LEVELS).variance[:, level]
    return float((moves + np.einsum("sat,st->sa", P, added)).max())


def bound(unit: dict[str, Any]) -> float:
    """Give the calls that Theorems 2 and 4 allow, with 1 for the constant that O() leaves open."""
    dets = np.linalg.det(matrices(unit))
    pairs = six_state.STATES * six_state.ACTIONS * unit["phases"]
    range_squared = (max(six_state.LEVELS) / (unit["error"] * (1 - unit["gamma"]))) ** 2
    chance = np.log(pairs / (1 - unit["share"]))
    return float(pairs * range_squared / np.min(dets**2) * chance)
