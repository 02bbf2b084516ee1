"""Small logs in every format, with the truth beside them."""

import csv
import warnings
from typing import NamedTuple

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pip install 'unperturb[logs]'")
pq = pytest.importorskip("pyarrow.parquet")

FORMATS = ["csv", "tsv", "parquet", "npz", "minari"]
ROWS = 4000
STATES, ACTIONS = 20, 2


class Made(NamedTuple):
    columns: dict
    true: np.ndarray


def simulate(rows=ROWS, seed=0, e_minus=0.1, e_plus=0.3):
    """Rewards 0 and 1, one true level for each (state, action)."""
    rng = np.random.default_rng(seed)
    state, action = rng.integers(0, STATES, rows), rng.integers(0, ACTIONS, rows)
    true = (state + action) % 2
    flipped = rng.random(rows) < np.where(true == 1, e_plus, e_minus)
    reward = np.where(flipped, 1 - true, true).astype(float)
    return Made({"state": state, "action": action, "reward": reward}, true)


def write_csv(path, columns, delimiter=",", end="\n"):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator=end)
        writer.writerow(columns)
        writer.writerows(zip(*(np.asarray(c).tolist() for c in columns.values()), strict=True))
    return path


def write_minari(path, columns, data_format="hdf5", infos=False, episodes=40):
    """Write a dataset at path/data, cut into episodes; each has an observation more than steps."""
    pytest.importorskip("minari", reason="pip install 'unperturb[minari]'")
    import gymnasium as gym
    from minari.data_collector.episode_buffer import EpisodeBuffer

    parts = [np.array_split(columns[name], episodes) for name in ("state", "action", "reward")]
    buffers = [
        EpisodeBuffer(
            id=i,
            seed=i,
            observations=np.append(state, 0),
            actions=action,
            rewards=reward,
            terminations=np.zeros(len(reward), bool),
            truncations=np.arange(len(reward)) == len(reward) - 1,
            infos={"clock": [float(t) for t in range(len(reward) + 1)]} if infos else None,
        )
        for i, (state, action, reward) in enumerate(zip(*parts, strict=True))
    ]
    spaces = gym.spaces.Discrete(STATES), gym.spaces.Discrete(ACTIONS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINARI_DATASETS_PATH", str(path.parent))
        create_minari(path.name, buffers, *spaces, data_format)
    return path


def create_minari(name, buffers, observation_space, action_space, data_format="hdf5"):
    """Create a dataset by its id; Minari warns of each description that is left out."""
    import minari

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        minari.create_dataset_from_buffers(
            name,
            buffers,
            observation_space=observation_space,
            action_space=action_space,
            data_format=data_format,
        )


def write_log(folder, kind, columns, name="log"):
    """Write columns in one of the formats; give the path."""
    if kind == "minari":
        return write_minari(folder / f"{name}-v0", columns)
    path = folder / f"{name}.{kind}"
    if kind in ("csv", "tsv"):
        return write_csv(path, columns, "\t" if kind == "tsv" else ",")
    if kind == "parquet":
        pq.write_table(pa.table(columns), path, row_group_size=1500)
        return path
    np.savez(path, **columns)
    return path


def read_log(path):
    """Read a log back by other means than the library's."""
    if path.is_dir():
        minari = pytest.importorskip("minari")
        found = {}
        for episode in minari.MinariDataset(path / "data"):
            columns = {
                "state": episode.observations[:-1],
                "action": episode.actions,
                "reward": episode.rewards,
                **{name: values[1:] for name, values in (episode.infos or {}).items()},
            }
            for name, values in columns.items():
                found.setdefault(name, []).append(values)
        return {name: np.concatenate(parts) for name, parts in found.items()}
    if path.suffix in (".csv", ".tsv"):
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))
        return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    if path.suffix == ".parquet":
        return {n: c.to_numpy() for n, c in zip(*_columns(path), strict=True)}
    with np.load(path) as file:
        return dict(file)


def _columns(path):
    table = pq.read_table(path)
    return table.column_names, table.columns
