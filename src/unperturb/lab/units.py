"""A unit of work: one run, described by settings that JSON can hold and that determine its result.

The settings name the problem (environment, agent, levels, cells), the noise, and what the agent is
shown; from them, and from nothing else, the lane of the training loop is made.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, get_args

import gymnasium as gym
import numpy as np

from unperturb import confusion
from unperturb.cells import Cells
from unperturb.corrector import RewardCorrector
from unperturb.errors import InvalidOptionError
from unperturb.estimators import DawidSkene, MajorityVote
from unperturb.estimators.beliefs import Prior
from unperturb.lab.envs.vector import ATARI
from unperturb.lab.on_policy.presets import MINATAR, play_preset
from unperturb.lab.records import Settings
from unperturb.levels import RewardLevels
from unperturb.surrogate import surrogate_values

Reward = Literal["true", "noisy", "known", "estimated", "noisy+vrt", "estimated+vrt", "posterior"]
REWARDS: tuple[Reward, ...] = get_args(Reward)
NOISES = ("binary", "symmetric", "rand-one", "rand-all")
PROTOCOL = 1
"""Part of every unit; raised when the same settings come to mean another result."""
PPO = "ppo"
THREADS = 2
"""Of the emulators of Atari games, in each process."""
SMOOTH = 100
"""The paper's variance reduction: the mean of the last so many rewards of the same (s, a)."""
_PROBLEM = ("env", "agent", "hyper", "steps", "levels", "cells", "smooth", "play")
_SIGNED = (
    *("Boxing", "DoubleDunk", "FishingDerby", "IceHockey", "JourneyEscape", "Pong", "PrivateEye"),
    *("Skiing", "Surround", "Tennis"),
)
"""Atari games in which a point can be lost."""


class Preset(NamedTuple):
    """What the paper settles for an environment.

    Attributes:
        levels: The reward levels.
        cells: Which transitions share a true reward.
        noise: How rewards are perturbed unless told otherwise.
        by_step: Whether the score of an episode is its mean reward per step.
        pooled: Wider cells for the posterior, where the paper's are too fine for it.
    """

    levels: RewardLevels
    cells: Cells
    noise: str
    by_step: bool = False
    pooled: Cells | None = None

    def cells_for(self, reward: Reward) -> Cells:
        """Give the cells that an agent's reward is counted in."""
        return self.pooled if reward == "posterior" and self.pooled is not None else self.cells


@lru_cache
def preset(env: str, agent: str | None = None) -> Preset | None:
    """Give what the paper settles for an environment, or None for one that is not in it.

    Example:
        >>> preset("CartPole-v0").noise
        'binary'
        >>> preset("ALE/Pong-v5", "ppo").levels
        RewardLevels([-1.0, 0.0, 1.0])
    """
    if agent == PPO and (env.startswith(ATARI) or env.endswith(MINATAR)):
        signed = env.removeprefix(ATARI).split("-")[0] in _SIGNED
        values = np.arange(-1.0, 2.0) if signed else np.arange(2.0)
        if env == "Seaquest-MinAtar":  # which pays for every diver at once
            values = np.arange(11.0)
        levels = RewardLevels(values)
        return Preset(levels, Cells.adjacent(batch=32, memory=1000), "symmetric")
    if env in ("CartPole-v0", "CartPole-v1"):
        return Preset(RewardLevels([-1.0, 1.0]), Cells.cartpole(), "binary")
    if env == "Pendulum-v1":
        levels = RewardLevels.uniform(-17, 0, 17, value="upper")
        # With 20 bins of the torque a cell is seen four times in 150,000 steps, too few to tell its
        # level. The torque itself costs at most .004 of the 16 that a reward spans.
        states = Cells.grid([-1.0, -1.0, -8.0], [1.0, 1.0, 8.0], [20, 20, 40], actions=None)
        return Preset(levels, Cells.pendulum(), "rand-one", by_step=True, pooled=states)
    return None


def unit(
    env: str,
    agent: str,
    steps: int,
    seed: int,
    reward: Reward = "true",
    noise: str | None = None,
    weight: float = 0.0,
    prior: Prior | None = None,
    smooth: int | None = None,
    hyper: Mapping[str, float] | None = None,
    levels: RewardLevels | None = None,
    cells: Cells | None = None,
    play: Mapping[str, int | str] | None = None,
) -> dict[str, Any]:
    """Describe one run. `prior` is an assumption handed to the estimator; None makes none.

    `play` is for agents that play many environments at a time: `lab.on_policy.presets`.

    Example:
        >>> unit("CartPole-v0", "dqn", 10_000, seed=0, reward="noisy", weight=0.3)["noise"]
        'binary'
    """
    if reward not in REWARDS:
        raise InvalidOptionError(
            f"reward {reward!r}", f"an agent is shown one of {', '.join(REWARDS)}", "pass one"
        )
    known = preset(env, agent)
    if known is None and levels is None:
        raise InvalidOptionError(
            f"the reward levels of {env} are not known",
            "noise is drawn between levels",
            "pass levels=RewardLevels([...])",
        )
    levels = levels or (known.levels if known else None)
    if cells is None and known is not None:
        cells = known.cells_for(reward)
    assert levels is not None
    if agent == PPO:
        play = play or play_preset(env).play
        cells = cells and _for_many(cells, int(play["envs"]))
    # Without noise all rewards are the same run; with it, what is not used is left out.
    perturbed = reward != "true"
    corrected = reward in ("estimated", "estimated+vrt", "posterior")
    if smooth is None and reward.endswith("+vrt"):
        smooth = SMOOTH
    return ({} if agent != PPO else {"play": dict(play or {})}) | {
        "protocol": PROTOCOL,
        "env": env,
        "agent": agent,
        "hyper": dict(hyper or {}),
        "steps": int(steps),
        "levels": levels.config(),
        "cells": None if cells is None else cells.config(),
        "smooth": smooth if perturbed else None,
        "noise": (noise or (known.noise if known else "binary")) if perturbed else "none",
        "weight": float(weight) if perturbed else 0.0,
        "reward": reward,
        "prior": prior if corrected else None,
        "seed": int(seed),
    }


def _for_many(cells: Cells, envs: int) -> Cells:
    """Let the adjacency queue know how many environments take turns."""
    config = cells.config()
    return Cells.from_config(config | {"envs": envs}) if config["kind"] == "adjacent" else cells


def problem_key(settings: Settings) -> str:
    """Name the problem: units with the same name share a compilation.

    Example:
        >>> one, two = (unit("CartPole-v0", "dqn", 100, seed) for seed in (0, 1))
        >>> problem_key(one) == problem_key(two)
        True
    """
    own = {name: settings[name] for name in _PROBLEM if name in settings}
    return json.dumps(own, sort_keys=True)


def condition_key(settings: Settings) -> str:
    """Name all of a unit but its seed.

    Example:
        >>> one, two = (unit("CartPole-v0", "dqn", 100, seed) for seed in (0, 1))
        >>> condition_key(one) == condition_key(two)
        True
    """
    rest = {name: value for name, value in settings.items() if name != "seed"}
    return json.dumps(rest, sort_keys=True)


def noise_matrix(settings: Settings) -> np.ndarray:
    """Give the C of a unit. A random one belongs to the seed, whatever the agent is shown.

    Example:
        >>> noise_matrix(unit("CartPole-v0", "dqn", 100, 0, reward="noisy", weight=0.3))
        array([[1. , 0. ],
               [0.3, 0.7]])
    """
    M = len(RewardLevels.from_config(settings["levels"]))
    kind, weight = settings["noise"], settings["weight"]
    rng = np.random.default_rng([settings["seed"], round(weight * 1000)])
    if kind == "none":
        return np.eye(M)
    if kind == "binary" and M == 2:
        return confusion.binary(e_minus=0.0, e_plus=weight).matrix
    if kind == "symmetric":
        return confusion.symmetric(M, weight).matrix
    if kind == "rand-one":
        return confusion.rand_one(M, weight, rng).matrix
    if kind == "rand-all":
        return confusion.rand_all(M, weight, rng).matrix
    raise InvalidOptionError(
        f"noise {kind!r} for {M} levels",
        f"it is one of {', '.join(NOISES)}, and binary needs two levels",
        "pass --noise symmetric",
    )


def corrector_of(settings: Settings) -> RewardCorrector | None:
    """Build what estimates C in a unit; None where nothing is estimated.

    "estimated" is the paper's: the vote, and the plain inverse. "posterior" is the library's
    default estimator with the posterior mean of each cell; agents that keep rewards and can be
    told them anew are, with each estimate.

    Example:
        >>> corrector_of(unit("CartPole-v0", "dqn", 100, 0, "posterior", weight=0.3)).method
        'posterior'
    """
    reward: Reward = settings["reward"]
    prior: Prior = settings["prior"] or "diagonal"
    if reward not in ("estimated", "estimated+vrt", "posterior"):
        return None
    levels = RewardLevels.from_config(settings["levels"])
    if settings["cells"] is None:
        raise InvalidOptionError(
            f"reward {reward!r} without cells", "C is estimated from cells", "pass --bins"
        )
    cells = Cells.from_config(settings["cells"])
    adjacent = settings["cells"]["kind"] == "adjacent"
    # The paper estimates anew every 100 steps of the environments.
    refresh = 100 * settings["cells"]["envs"] if adjacent else None
    if reward == "posterior":
        return RewardCorrector(levels, cells, DawidSkene(prior=prior), "posterior", refresh)
    return RewardCorrector(levels, cells, MajorityVote(prior=prior), refresh=refresh, n_eff=None)


@lru_cache(maxsize=8)
def _trainer(key: str) -> Any:
    # JAX is needed by whoever trains, not by whoever reads records.
    from unperturb.lab.envs import compiled
    from unperturb.lab.hosted import HostedTrainer, hosted
    from unperturb.lab.training import Problem, Trainer

    settings = json.loads(key)
    levels = RewardLevels.from_config(settings["levels"])
    cells = None if settings["cells"] is None else Cells.from_config(settings["cells"])
    smooth = settings["smooth"]
    if settings["agent"] == PPO:
        return _ppo_trainer(settings, levels, cells, smooth)
    if not compiled.has(settings["env"]):
        own = hosted(settings["env"])
        return HostedTrainer(own, agent_of(settings, own, cells), levels, cells, smooth)
    env = compiled.compiled_env(settings["env"])
    return Trainer(Problem(env, agent_of(settings, env, cells), levels, cells, smooth))


def _ppo_trainer(
    settings: Settings, levels: RewardLevels, cells: Cells | None, smooth: int | None
) -> Any:
    from unperturb.agents import ppo
    from unperturb.agents.actor_critic import NATURE, SMALL, actor_critic
    from unperturb.lab.envs.vector import vector

    play = dict(settings["play"])
    frame, vision = play.pop("frame"), {"nature": NATURE, "small": SMALL}[play.pop("vision")]
    plan = ppo.Plan(**play)
    hyper = ppo.Hyper()._replace(**settings["hyper"])
    name = settings["env"]
    if not name.startswith(ATARI):
        from unperturb.lab.envs import compiled
        from unperturb.lab.on_policy.compiled import CompiledPPO

        if compiled.has(name):
            env = compiled.compiled_env(name)
            net = actor_critic(env.observation_space, env.action_space)
            return CompiledPPO(env, net, plan, hyper, levels, cells, smooth)
    from unperturb.lab.on_policy.hosted import HostedPPO

    build = partial(vector, name, plan.envs, frame, THREADS)
    spaces = build()
    net = actor_critic(spaces.observation_space, spaces.action_space, vision)
    spaces.close()
    return HostedPPO(build, net, plan, hyper, levels, cells, smooth)


def agent_of(settings: Settings, env: Any, cells: Cells | None) -> Any:
    """Build the agent of a unit for anything that has a `width` and an `action_space`."""
    from unperturb.agents import AGENTS, CONTINUOUS_AGENTS, Task

    name, space = settings["agent"], env.action_space
    discrete = isinstance(space, gym.spaces.Discrete)
    fitting: Mapping[str, Any] = AGENTS if discrete else CONTINUOUS_AGENTS
    if name not in fitting:
        raise InvalidOptionError(
            f"agent {name!r} for the action space {space} of {settings['env']}",
            f"the agents for {'discrete' if discrete else 'continuous'} actions are "
            f"{', '.join(fitting)}",
            "pass one of these",
        )
    states = 0 if cells is None else cells.states
    task = (
        Task(env.width, int(space.n), states)
        if discrete
        else Task(env.width, math.prod(space.shape), states, space.low.ravel(), space.high.ravel())
    )
    agent = fitting[name](task, settings["steps"])
    return agent._replace(hyper=agent.hyper._replace(**settings["hyper"]))


def side_by_side(settings: Settings) -> int:
    """Say how many runs of a problem are trained at once, at the most.

    More are no faster on a CPU, and more would be lost with a batch. PPO keeps what it saw for as
    long as a rollout; an Atari game takes a core for most of an hour.

    Example:
        >>> side_by_side({"env": "CartPole-v0", "agent": "dqn"})
        30
    """
    if str(settings["env"]).startswith(ATARI):
        return 1
    return 8 if settings["agent"] == PPO else 30


def trainer_of(settings: Settings) -> Any:
    """Give the trainer of a unit's problem; the same one for the same problem."""
    return _trainer(problem_key(settings))


def lane_of(settings: Settings) -> Any:
    """Build the lane of a unit."""
    from unperturb.lab.training import Lane

    C = noise_matrix(settings)
    values = RewardLevels.from_config(settings["levels"]).values
    return Lane(
        settings["seed"],
        C,
        raw=settings["reward"] == "true",
        table=surrogate_values(C, values) if settings["reward"] == "known" else None,
        corrector=corrector_of(settings),
    )


def score(settings: Settings, returns: np.ndarray, ends: np.ndarray, last: int = 30) -> float:
    """Give the mean true score of the last episodes; NaN where none ended.

    Example:
        >>> score({"env": "CartPole-v0"}, np.array([10.0, 20.0]), np.array([10, 30]))
        15.0
    """
    scores = episode_scores(settings, returns, ends)[-last:]
    return float(scores.mean()) if scores.size else math.nan


def episode_scores(settings: Settings, returns: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Give the true score of each episode: its return, or on Pendulum its mean reward per step."""
    known = preset(settings["env"])
    # With several environments at a time, the steps between two ends are not those of an episode.
    if known is not None and known.by_step and settings.get("agent") != PPO:
        return np.asarray(returns / np.diff(ends, prepend=0))
    return np.asarray(returns)
