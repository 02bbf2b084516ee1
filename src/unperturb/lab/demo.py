"""A small demonstration: clean, noisy and corrected rewards on the six-state MDP.

The corrected run estimates C from the rewards it sees; it is told neither C nor the true rewards.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unperturb import confusion
from unperturb.errors import MissingRecordError
from unperturb.lab import report
from unperturb.lab.envs import six_state
from unperturb.lab.progress import progress
from unperturb.lab.records import Record, Records

NAME = "demo"
_REWARDS = ("true", "noisy", "estimated")
_SETTINGS = {
    "study": NAME,
    "e_minus": 0.1,
    "e_plus": 0.3,
    "gamma": 0.8,
    "epsilon": 0.5,
    "power": 0.8,
    "refresh": 500,
}


def units(seeds: int = 10, steps: int = 20_000) -> list[dict[str, Any]]:
    """Give all units of work: a reward and a seed each."""
    return [
        {**_SETTINGS, "steps": steps, "reward": reward, "seed": seed}
        for reward in _REWARDS
        for seed in range(seeds)
    ]


def run(records: Records, seeds: int = 10, steps: int = 20_000) -> None:
    """Train what is missing."""
    wanted = units(seeds, steps)
    batches = [
        records.missing(unit for unit in wanted if unit["reward"] == reward) for reward in _REWARDS
    ]
    for batch in progress([batch for batch in batches if batch], NAME, "reward"):
        trace = _train(batch)
        for unit, q, C in zip(batch, trace.q, trace.confusion, strict=True):
            records.save(unit, q=np.asarray(q), confusion=np.asarray(C[-1]))


def _train(batch: list[dict[str, Any]]) -> Any:
    import jax
    import jax.numpy as jnp

    from unperturb.lab.reward_robust import Learning, known, learn, streaming

    unit = batch[0]
    noise = confusion.binary(unit["e_minus"], unit["e_plus"]).matrix
    C = np.eye(2) if unit["reward"] == "true" else noise
    refresh, steps = unit["refresh"], unit["steps"]
    # The noise does not change here, so nothing is forgotten.
    correction = (
        streaming(refresh, memory=1e9) if unit["reward"] == "estimated" else known(np.eye(2))
    )
    learning = Learning(
        lambda visits: (visits + 1.0) ** -unit["power"], unit["gamma"], unit["epsilon"]
    )
    schedule = np.broadcast_to(C, (steps, 2, 2))

    @jax.jit
    def all_seeds(seeds: Any) -> Any:
        return jax.vmap(lambda seed: learn(seed, schedule, correction, learning, steps, refresh))(
            seeds
        )

    return jax.device_get(all_seeds(jnp.array([unit["seed"] for unit in batch])))


def write(records: Records, out: Path) -> list[Path]:
    """Write demo.csv, .md, .png and .svg from saved records."""
    groups: dict[str, list[Record]] = {reward: [] for reward in _REWARDS}
    for record in records.all(study=NAME):
        groups[record.settings["reward"]].append(record)
    if not all(groups.values()):
        raise MissingRecordError(
            f"the demo's records in {records.folder} are not complete",
            "it shows clean, noisy and corrected rewards side by side",
            "say `unperturb demo` again",
        )
    settings = groups["true"][0].settings
    best = six_state.optimal_q(settings["gamma"])
    curves = {
        reward: np.stack([np.abs(record.arrays["q"] - best).max(axis=(1, 2)) for record in group])
        for reward, group in groups.items()
    }
    rows = [
        {
            "reward": reward,
            **report.summary(curves[reward][:, -1]),
            **_found(reward, groups[reward]),
        }
        for reward in _REWARDS
    ]
    note = (
        "How far the learned values are from the optimum (the largest error of Q), mean and 10-90 "
        f"% of seeds. The rewards were flipped with e- = {settings['e_minus']:g} and e+ = "
        f"{settings['e_plus']:g}; the last columns are what the corrected run found out about "
        "that, from the noisy rewards alone."
    )
    stem = out / NAME
    steps = np.arange(curves["true"].shape[1]) * settings["refresh"]
    return [
        *report.write_table(rows, stem, "Clean, noisy and corrected rewards", note, digits=2),
        *report.write_figure(stem, (9, 3.8), lambda figure: _draw(figure, steps, curves)),
    ]


def _found(reward: str, group: list[Record]) -> dict[str, Any]:
    if reward != "estimated":
        return {"e_minus": None, "e_plus": None}
    C = np.mean([record.arrays["confusion"] for record in group], axis=0)
    return {"e_minus": float(C[0, 1]), "e_plus": float(C[1, 0])}


def _draw(figure: Any, steps: np.ndarray, curves: dict[str, np.ndarray]) -> None:
    left, right = figure.subplots(1, 2, width_ratios=[0.42, 0.58])
    six_state.draw(left)
    for reward, errors in curves.items():
        label = {"true": "clean", "noisy": "noisy", "estimated": "corrected"}[reward]
        report.band(right, steps, errors, report.COLOURS[reward], label)
    right.set(xlabel="step", ylabel="largest error of Q", xlim=(0, steps[-1]))
    right.set_ylim(0, None)
    right.set_title("What the agent believes, against the truth")
    right.legend()
