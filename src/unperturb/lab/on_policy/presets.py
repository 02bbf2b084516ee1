"""Settings of PPO by name: how much is played side by side, through what net, for how long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from unperturb.errors import InvalidOptionError
from unperturb.lab.envs.vector import ATARI

MINATAR = "-MinAtar"
"""What the ids of gymnax's small games end with."""


class PlayPreset(NamedTuple):
    """A way to train PPO.

    Attributes:
        play: The numbers of a `ppo.Plan`, the side of Atari's frames and the net they go through.
        hyper: Where it departs from PPO's own numbers.
        steps: How many steps of all environments it trains.
    """

    play: Mapping[str, int | str]
    hyper: Mapping[str, float]
    steps: int


def _play(
    envs: int = 8,
    steps: int = 128,
    minibatches: int = 4,
    epochs: int = 4,
    frame: int = 84,
    vision: str = "nature",
) -> dict[str, int | str]:
    return {
        "envs": envs,
        "steps": steps,
        "minibatches": minibatches,
        "epochs": epochs,
        "frame": frame,
        "vision": vision,
    }


PRESETS = {
    # The paper's learning rate; the rest are the defaults of OpenAI's baselines, which it used.
    "paper": PlayPreset(_play(), {"rate": 3e-4}, 50_000_000),
    # Chosen by measuring clean Pong: it leaves -21 after .7 million steps and nears -10 at the end.
    "small": PlayPreset(
        _play(frame=42, vision="small"),
        {"rate": 5e-4, "rate_end": 1e-4, "clip_end": 0.1},
        2_500_000,
    ),
    "minatar": PlayPreset(
        _play(envs=64, minibatches=8),
        {"rate": 1e-3, "clip": 0.2, "clip_end": 0.2},
        500_000,
    ),
    "plain": PlayPreset(
        _play(), {"rate": 1e-3, "clip": 0.2, "clip_end": 0.2, "entropy": 0.0}, 200_000
    ),
}
"""`paper`, `small` and `minatar` are the command line's; `plain` serves every other environment."""
ATARI_PRESETS = ("paper", "small")


def play_preset(env: str, name: str | None = None) -> PlayPreset:
    """Give a preset that fits an environment; by default the one that is soonest done.

    Example:
        >>> play_preset("ALE/Pong-v5").play["frame"], play_preset("Breakout-MinAtar").play["envs"]
        (42, 64)
    """
    fitting = (
        ATARI_PRESETS[::-1]
        if env.startswith(ATARI)
        else ("minatar",)
        if env.endswith(MINATAR)
        else ("plain",)
    )
    if name is not None and name not in fitting:
        raise InvalidOptionError(
            f"preset {name!r} for {env}",
            f"it has {' and '.join(fitting)}",
            "pass one of these, or leave it out",
        )
    chosen = PRESETS[name or fitting[0]]
    if env == f"{ATARI}Pong-v5" and name == "paper":
        return chosen._replace(steps=30_000_000)
    return chosen
