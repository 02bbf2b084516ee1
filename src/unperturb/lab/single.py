"""One agent in one environment: what `unperturb run` trains, and what it says of it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from unperturb.cells import Cells
from unperturb.errors import InvalidOptionError
from unperturb.estimators.beliefs import Prior
from unperturb.lab import grid
from unperturb.lab.envs.vector import ATARI
from unperturb.lab.on_policy.presets import play_preset
from unperturb.lab.paper.control import CARTPOLE, PENDULUM
from unperturb.lab.records import Records
from unperturb.lab.units import PPO, Reward, preset, score, unit
from unperturb.levels import RewardLevels

STEPS = {
    "q-learning": 30_000,
    "cem": 100_000,
    "sarsa": 50_000,
    "dqn": 10_000,
    "dueling-dqn": 10_000,
    "ddpg": 150_000,
    "naf": 150_000,
    PPO: None,
}
"""The paper's number of steps for each agent; that of PPO depends on the preset."""


def units_of(
    env: str,
    agent: str,
    seeds: int,
    steps: int | None = None,
    reward: Reward = "true",
    noise: str | None = None,
    weight: float = 0.3,
    prior: Prior | None = None,
    smooth: int | None = None,
    levels: RewardLevels | None = None,
    bins: Any = None,
    play: str | None = None,
) -> list[dict[str, Any]]:
    """Describe the runs; levels and bins that nobody gave are chosen from random play.

    Example:
        >>> units_of("CartPole-v1", "dqn", seeds=2)[1]["seed"]
        1
    """
    if agent not in STEPS:
        raise InvalidOptionError(
            f"agent {agent!r} is not known", f"the agents are {', '.join(STEPS)}", "pass one"
        )
    if agent != PPO and env.startswith(ATARI):
        raise InvalidOptionError(
            f"agent {agent!r} for {env}", f"Atari games are played by {PPO}", f"pass {PPO}"
        )
    settled = play_preset(env, play) if agent == PPO else None
    if settled is None and play is not None:
        raise InvalidOptionError(
            f"preset {play!r} for {agent}", "presets are settings of PPO", "leave it out"
        )
    known = preset(env, agent)
    cells = None
    if known is not None:
        levels, noise = levels or known.levels, noise or known.noise
        if bins is None:
            cells = known.cells_for(reward)
    if levels is None or cells is None:
        spaces, played = _play(env)
        levels = levels or _levels_from(played.rewards, env)
        cells = cells or Cells.of(spaces, bins=bins, sample=played.observations)
    noise = noise or ("binary" if len(levels) == 2 else "symmetric")
    own = {(c.env, c.agent): c.hyper for c in (*CARTPOLE, *PENDULUM)}
    return [
        unit(
            env,
            agent,
            steps or (settled.steps if settled else STEPS[agent] or 0),
            seed,
            reward=reward,
            noise=noise,
            weight=weight,
            prior=prior,
            smooth=smooth,
            hyper=settled.hyper if settled else own.get((env, agent)),
            levels=levels,
            cells=cells,
            play=settled.play if settled else None,
        )
        for seed in range(seeds)
    ]


def run(units: list[dict[str, Any]], records: Records, jobs: int | None = None) -> dict[str, Any]:
    """Train what is missing; give scores, speed and what was found out about the noise."""
    missing = len(records.missing(units))
    start = time.perf_counter()
    grid.run(units, records, f"{units[0]['env']} {units[0]['agent']}", jobs)
    seconds = time.perf_counter() - start
    runs = [records.load(settings) for settings in units]
    # A run that was stopped and went on took longer than this call.
    resumed = [run.arrays for run in runs if run.arrays.get("resumed", 0) > 0]
    spent = sum(float(arrays["seconds"]) for arrays in resumed) or seconds
    settings: Mapping[str, Any] = units[0]
    scores = [score(run.settings, run.arrays["returns"], run.arrays["ends"]) for run in runs]
    estimated = all(len(run.arrays["estimated"]) > 1 for run in runs)
    return {
        "env": settings["env"],
        "agent": settings["agent"],
        "reward": settings["reward"],
        "scores": [None if np.isnan(one) else one for one in scores],
        "mean": None if np.isnan(scores).any() else float(np.mean(scores)),
        "confusion": np.mean([run.arrays["confusion"][-1] for run in runs], axis=0).tolist()
        if estimated
        else None,
        "steps_per_second": missing * settings["steps"] / spent if missing else None,
        "seconds": seconds,
        "trained": missing,
        "settings": {name: value for name, value in settings.items() if name != "seed"},
    }


def _play(env: str) -> tuple[Any, Any]:
    """Give the spaces of an environment, and what random play meets in it."""
    from unperturb.lab import hosted
    from unperturb.lab.envs import compiled

    if compiled.has(env):
        own = compiled.compiled_env(env)
        return own, compiled.sample(own)
    try:
        return hosted.hosted(env), hosted.sample(env)
    except gym.error.Error as error:
        raise InvalidOptionError(
            f"environment {env!r} can't be made ({str(error).splitlines()[0]})",
            "it is an id of gymnax or of Gymnasium",
            "`unperturb run --help` shows examples",
        ) from error


def _levels_from(rewards: np.ndarray, env: str) -> RewardLevels:
    """Choose levels from rewards that were met; a single one is joined by its reverse."""
    found = np.unique(rewards)
    if len(found) > 10:
        low, high = np.floor(found[0]), np.ceil(found[-1])
        raise InvalidOptionError(
            f"{env} gave {len(found)} different rewards in {len(rewards)} random steps",
            "noise is drawn between a few levels",
            f"cut the range into intervals, such as --levels {low:g}:{high:g}:17:middle",
        )
    if len(found) == 1:
        found = np.unique([found[0], -found[0] if found[0] else 1.0])
    return RewardLevels(found)
