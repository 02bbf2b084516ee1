"""Minari datasets, an episode at a time. The rewards stay; what is added goes to the infos."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unperturb.errors import DamagedFileError, MissingFileError, UnperturbError
from unperturb.logs.files.base import CHUNK, Added, Log, Values, from_numpy, needed

_OWN = ("id", "seed", "options", "total_steps")
"""What Minari itself notes about an episode."""


class MinariLog(Log):
    """A Minari dataset: the columns are observation, next_observation, action and reward.

    The parts of a dictionary or a tuple are columns of their own, such as observation.position.
    Rows are the steps of all episodes, one after the other.
    """

    kind = "Minari"

    def __init__(self, path: Path, chunk: int = CHUNK) -> None:
        super().__init__(path, chunk)
        try:
            import minari
            from minari.dataset.minari_storage import MinariStorage
        except ImportError as error:
            raise needed("minari", "minari", "reading a Minari dataset") from error
        self._storage = MinariStorage
        folder = path if path.is_dir() else dataset_folder(str(path))
        self._data = folder / "data" if (folder / "data").is_dir() else folder
        if not (self._data / "metadata.json").is_file():
            raise MissingFileError(
                f"{path} is no Minari dataset",
                "its folder holds data/metadata.json",
                "pass the folder, or the id of a dataset that `minari list local` shows",
            )
        try:
            self._set = minari.MinariDataset(self._data)
            first = next(self._set.iterate_episodes([0]), None)
        except Exception as error:  # whatever HDF5, JSON or Arrow say of a broken file
            if isinstance(error, ImportError):
                raise needed("h5py", "minari", "this dataset") from error
            raise self.damaged(error) from None
        if first is None or not len(first):
            raise self.no_rows()
        self.taken = frozenset(first.infos or {})
        self.widths = {
            name: 0 if array.ndim == 1 or array[0].size == 1 else int(array[0].size)
            for name, array in _columns(first).items()
        }

    def chunks(self, names: Sequence[str]) -> Iterator[dict[str, Values]]:
        """Give these columns, chunk by chunk."""
        waiting: list[dict[str, np.ndarray]] = []
        size = 0
        for episode in self._episodes():
            columns = _columns(episode)
            waiting.append({name: columns[name] for name in names})
            size += len(episode)
            if size >= self.chunk:
                yield self._joined(waiting, names)
                waiting, size = [], 0
        if size:
            yield self._joined(waiting, names)

    def _episodes(self) -> Iterator[Any]:
        try:
            yield from self._set.iterate_episodes()
        except (OSError, KeyError, ValueError) as error:
            if isinstance(error, UnperturbError):
                raise
            raise self.damaged(error) from None

    def _joined(
        self, parts: list[dict[str, np.ndarray]], names: Sequence[str]
    ) -> dict[str, Values]:
        chunk = {}
        for name in names:
            array = np.concatenate([part[name] for part in parts])
            width = self.widths[name]
            values = from_numpy(array.reshape(len(array), width) if width else array.reshape(-1))
            if values is None:
                raise DamagedFileError(
                    f"{self.path}: {name} has the type {array.dtype}",
                    "numbers and text can be read",
                    "name another part",
                )
            chunk[name] = values
        return chunk

    def write(self, out: Path, added: Added, name: str) -> None:
        """Write a copy with columns added."""
        metadata = self._storage.read_raw_metadata(self._data)
        out.mkdir()
        (out / "data").mkdir()
        storage = self._storage.new(
            out / "data",
            self._set.observation_space,
            self._set.action_space,
            self._set.env_spec,
            data_format=metadata["data_format"],
        )
        from minari.data_collector.episode_buffer import EpisodeBuffer

        notes = self._set.storage.get_episode_metadata(self._set.episode_indices)
        for episode, note in zip(self._episodes(), notes, strict=True):
            pairs = added.take(len(episode))
            # Infos begin with that of the reset, which no reward belongs to.
            more = {
                name: [math.nan, *table[pairs].tolist()] for name, table in added.tables.items()
            }
            buffer = EpisodeBuffer(
                id=int(episode.id),
                seed=note.get("seed"),
                options=note.get("options"),
                observations=episode.observations,
                actions=episode.actions,
                rewards=episode.rewards,
                terminations=episode.terminations,
                truncations=episode.truncations,
                infos={**_as_lists(episode.infos or {}), **more},
            )
            storage.update_episodes([buffer])
            other = {key: value for key, value in note.items() if key not in _OWN}
            if other:
                storage.update_episode_metadata([other], [int(episode.id)])
        target = out / "data" / "metadata.json"
        written = json.loads(target.read_text(encoding="utf-8"))
        # By its id Minari finds a dataset, so the copy has one of its own.
        own = [text for text in (name, Path(name).name) if is_dataset_id(text)]
        merged = {**metadata, **written, "dataset_id": (*own, metadata["dataset_id"])[0]}
        target.write_text(json.dumps(merged), encoding="utf-8")


def is_dataset_id(text: str) -> bool:
    """Say whether this looks like the id of a Minari dataset, such as D4RL/door/human-v2.

    Example:
        >>> is_dataset_id("D4RL/door/human-v2"), is_dataset_id("door.csv")
        (True, False)
    """
    stem, _, version = text.rpartition("-v")
    plain = stem.replace("/", "").replace("-", "").replace("_", "")
    return version.isdecimal() and plain.isalnum() and not text.startswith("/")


def dataset_folder(name: str) -> Path:
    """Give the folder of a dataset by its id; unlike Minari's own function it makes none."""
    home = os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets"
    return Path(home) / name


def _as_lists(infos: dict[str, Any]) -> dict[str, Any]:
    """Give flat arrays as lists: Minari's Arrow storage can't read back the arrays."""
    return {
        key: _as_lists(value)
        if isinstance(value, dict)
        else value.tolist()
        if isinstance(value, np.ndarray) and value.ndim == 1
        else value
        for key, value in infos.items()
    }


def _columns(episode: Any) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    steps = len(episode)
    for name, values in _leaves("", episode.observations):
        columns[f"observation{name}"] = values[:steps]
        columns[f"next_observation{name}"] = values[1 : steps + 1]
    for name, values in _leaves("", episode.actions):
        columns[f"action{name}"] = values[:steps]
    columns["reward"] = np.asarray(episode.rewards)
    return columns


def _leaves(name: str, values: Any) -> Iterator[tuple[str, np.ndarray]]:
    if isinstance(values, dict):
        for key, part in values.items():
            yield from _leaves(f"{name}.{key}", part)
    elif isinstance(values, tuple):
        for place, part in enumerate(values):
            yield from _leaves(f"{name}.{place}", part)
    else:
        yield name, np.asarray(values)
