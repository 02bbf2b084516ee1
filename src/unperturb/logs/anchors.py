"""Anchors: transitions whose true reward somebody knows, read from a small file."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unperturb.errors import DamagedFileError, InvalidAnchorsError, MissingFileError, UnperturbError
from unperturb.levels import RewardLevels
from unperturb.logs.coding import Distinct, Keys
from unperturb.logs.files import Values, Words
from unperturb.logs.survey import Table

TRUE = "true_reward"

Anchors = str | Path | Sequence[Mapping[str, Any]]


def read_anchors(
    given: Anchors, keys: Keys, table: Table, levels: RewardLevels
) -> tuple[dict[int, int], int]:
    """Give {cell: index of its true level}, and how many anchors name cells that never occur.

    An anchor names each column of the cell and its true reward, as a line of a CSV file
    (state,action,true_reward) or an object of a JSON list ({"state": 3, "action": 1,
    "true_reward": 1}).
    """
    source = str(given) if isinstance(given, str | Path) else "anchors"
    entries = _read(Path(given)) if isinstance(given, str | Path) else list(given)
    if not entries:
        raise InvalidAnchorsError(
            f"{source} holds no anchors", "each is a line or an object", "add one, or leave it out"
        )
    values: list[Values] = []
    for column, coder in zip(keys.columns, keys.coders, strict=True):
        named = [_field(source, i, entry, str(column)) for i, entry in enumerate(entries)]
        if isinstance(coder, Distinct) and isinstance(coder.values, list):
            values.append(Words(np.arange(len(named)), [str(value) for value in named]))
        else:
            values.append(
                np.array([_number(source, i, str(column), v) for i, v in enumerate(named)])
            )
    cells = table.cell_of(keys.join(values))
    anchors: dict[int, int] = {}
    for i, (entry, cell) in enumerate(zip(entries, cells.tolist(), strict=True)):
        reward = _number(source, i, TRUE, _field(source, i, entry, TRUE))
        try:
            level = int(levels.index([reward])[0])
        except UnperturbError as error:
            raise _wrong(source, i, error.found, error.rule, "give one of the levels") from None
        if cell >= 0 and anchors.setdefault(cell, level) != level:
            raise _wrong(
                source,
                i,
                f"{TRUE} is {reward:g} here and {levels.values[anchors[cell]]:g} before",
                "both rows are of the same cell, which has one true level",
                "remove one, or use more --bins",
            )
    if not anchors:
        raise InvalidAnchorsError(
            f"none of the {len(entries)} anchors in {source} names a cell of the log",
            "an anchor is a transition that occurs",
            "check its values",
        )
    return anchors, int((cells < 0).sum())


def _read(path: Path) -> list[Mapping[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() != ".json":
            return list(csv.DictReader(text.splitlines()))
        entries = json.loads(text)
    except FileNotFoundError:
        raise MissingFileError(
            f"{path} does not exist", "--anchors names a CSV or JSON file", "check the path"
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error, json.JSONDecodeError) as error:
        raise DamagedFileError(
            f"{path} can't be read ({error})", "anchors are a CSV or JSON file", "correct the file"
        ) from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DamagedFileError(
            f"{path} holds no list of objects",
            "each anchor is one",
            'write [{"state": 3, "action": 1, "true_reward": 1}]',
        )
    return entries


def _field(source: str, place: int, entry: Mapping[str, Any], name: str) -> Any:
    value = entry.get(name)
    if value is None or value == "":
        raise _wrong(
            source,
            place,
            f"there is no {name}",
            f"it has {', '.join(map(str, entry)) or 'nothing'}",
            f"name each column of the cell, and {TRUE}",
        )
    return value


def _number(source: str, place: int, name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _wrong(
            source, place, f"{name} is {value!r}", "it is a number", "correct it"
        ) from None


def _wrong(source: str, place: int, found: str, rule: str, remedy: str) -> InvalidAnchorsError:
    return InvalidAnchorsError(f"{source}, anchor {place + 1}: {found}", rule, remedy)
