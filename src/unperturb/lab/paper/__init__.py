"""Every table and figure of the paper, by the name that the command line uses.

A study is a folder: `sweep.py` says what to run and runs what is missing, `analysis.py` reads saved
records and writes tables and pictures. Nothing here imports them until they are wanted.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from unperturb.errors import InvalidOptionError

if TYPE_CHECKING:
    from unperturb.lab.paper.atari import Choice
    from unperturb.lab.records import Records


_NOTHING = "nothing"
_NIGHT = 120


class Study(NamedTuple):
    """A table or a figure: what it is, what it runs, and where its code is.

    Attributes:
        title: What the reader gets.
        runs: What is trained for it.
        minutes: How long that takes on two CPU cores, measured; None if it is not there yet.
        package: The folder with `sweep.py` and `analysis.py`; None if it is not there yet.
        full: Where a folder serves two figures, whether this is the one with all weights.
        presets: By what presets it can be run, its own first; empty where there is one way only.

    Example:
        >>> STUDIES["figure-mdp"].available
        True
    """

    title: str
    runs: str
    minutes: float | None = None
    package: str | None = None
    full: bool | None = None
    presets: tuple[str, ...] = ()

    @property
    def available(self) -> bool:
        """Whether it can be run."""
        return self.package is not None

    @property
    def trains(self) -> bool:
        """Whether it is made of records; one table is a list of what the others run."""
        return self.available and self.runs != _NOTHING

    def run(self, records: Records, seeds: int | None = None, choice: Choice | None = None) -> None:
        """Train what is missing: `sweep.run(records, seeds)`; None is the study's own number."""
        import_module(f"{self.package}.sweep").run(records, seeds=seeds, **self._which(choice))

    def write(self, records: Records, out: Path, choice: Choice | None = None) -> list[Path]:
        """Write tables and pictures from records alone: `analysis.write(records, out)`.

        It raises MissingRecordError where nothing was run yet.
        """
        paths: list[Path] = import_module(f"{self.package}.analysis").write(
            records, out, **self._which(choice)
        )
        return paths

    def _which(self, choice: Choice | None) -> dict[str, Any]:
        which: dict[str, Any] = {} if self.full is None else {"full": self.full}
        return which if choice is None else which | {"choice": choice}


_HERE = "unperturb.lab.paper"
_CARTPOLE = "5 agents on CartPole"
_PENDULUM = "DDPG and NAF on Pendulum"
STUDIES: dict[str, Study] = {
    "table-control": Study(
        "Table 1: scores on CartPole and Pendulum",
        f"{_CARTPOLE}, {_PENDULUM}",
        package=f"{_HERE}.table_control",
    ),
    "table-atari": Study(
        "Table 2: scores of PPO on Atari, or on MinAtar",
        "PPO on four games of MinAtar; --preset small or paper: on five Atari games",
        minutes=24,
        package=f"{_HERE}.table_atari",
        presets=("minatar", "small", "paper"),
    ),
    "table-algorithms": Study(
        "Table 3: which agent runs where",
        _NOTHING,
        minutes=0,
        package=f"{_HERE}.table_algorithms",
    ),
    "table-vrt": Study(
        "Table 4: variance reduction on CartPole", _CARTPOLE, package=f"{_HERE}.table_vrt"
    ),
    "figure-cartpole": Study(
        "Learning curves on CartPole", _CARTPOLE, package=f"{_HERE}.figure_cartpole", full=False
    ),
    "figure-pendulum": Study(
        "Learning curves on Pendulum",
        _PENDULUM,
        package=f"{_HERE}.figure_pendulum",
        full=False,
    ),
    "figure-pong": Study(
        "Learning curves on Pong",
        "PPO on Pong with small frames; --preset paper: with the paper's",
        minutes=220,  # 11 runs of 40 minutes, two at a time
        package=f"{_HERE}.figure_atari",
        full=False,
        presets=("small", "paper"),
    ),
    "figure-vrt": Study(
        "Learning curves with variance reduction",
        _CARTPOLE,
        package=f"{_HERE}.figure_vrt",
        full=False,
    ),
    "figure-mdp": Study(
        "The six-state MDP, and C estimated while the noise changes",
        "reward-robust Q-Learning, 70,000 steps, the vote and streaming Dawid-Skene",
        minutes=0.3,
        package=f"{_HERE}.figure_mdp",
    ),
    "figure-cartpole-full": Study(
        "All learning curves on CartPole",
        _CARTPOLE,
        package=f"{_HERE}.figure_cartpole",
        full=True,
    ),
    "figure-estimation": Study(
        "How the estimate of C converges on CartPole",
        _CARTPOLE,
        package=f"{_HERE}.figure_estimation",
    ),
    "figure-vrt-full": Study(
        "All curves with variance reduction", _CARTPOLE, package=f"{_HERE}.figure_vrt", full=True
    ),
    "figure-pendulum-full": Study(
        "All learning curves on Pendulum",
        _PENDULUM,
        minutes=11,
        package=f"{_HERE}.figure_pendulum",
        full=True,
    ),
    "figure-atari-full": Study(
        "All learning curves on Atari, or on MinAtar",
        "PPO on four games of MinAtar; --preset small or paper: on seven Atari games",
        minutes=33,
        package=f"{_HERE}.figure_atari",
        full=True,
        presets=("minatar", "small", "paper"),
    ),
    "study-levels": Study(
        "How many levels to cut a continuous reward into",
        "DDPG on Pendulum, 5 to 65 levels",
        minutes=13,
        package=f"{_HERE}.study_levels",
    ),
    "theory": Study(
        "The Lemmas and Theorems, checked by measurement",
        "Q-Learning and Phased Q-Learning on the six-state MDP",
        minutes=1.5,
        package=f"{_HERE}.theory",
    ),
}
"""All studies, by name. A folder may stand behind several of them."""


def find(names: list[str]) -> dict[str, Study]:
    """Look up studies by name; each must exist and be available.

    "all" is every one that is, but for those that take a night.
    """
    if names == ["all"]:
        return {
            name: study
            for name, study in STUDIES.items()
            if study.available and (study.minutes or 0) < _NIGHT
        }
    for name in names:
        if name not in STUDIES:
            raise InvalidOptionError(
                f"there is no table or figure {name!r}",
                f"the names are {', '.join(STUDIES)}",
                "say `unperturb list` for what each of them is",
            )
        if not STUDIES[name].available:
            ready = ", ".join(key for key, study in STUDIES.items() if study.available)
            raise InvalidOptionError(
                f"{name} can't be reproduced yet",
                f"what can be is {ready}",
                "say `unperturb list` for what each of them is",
            )
    return {name: STUDIES[name] for name in names}
