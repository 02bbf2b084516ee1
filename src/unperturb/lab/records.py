"""Records: one file for each finished unit of work.

A unit is described by a settings dictionary that holds all that determines its result. The file is
named by a hash of it, written to a temporary name and renamed, and never overwritten. So a killed
run loses at most the unit it was at, and nothing finished is ever trained twice. Records hold plain
arrays and JSON text; no pickle.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unperturb.errors import (
    DamagedFileError,
    InvalidOptionError,
    MissingRecordError,
    RecordExistsError,
)

Settings = Mapping[str, Any]
_SETTINGS = "settings"


class Record(NamedTuple):
    """A finished unit of work: what was asked for, and the arrays that came out.

    Example:
        >>> import numpy as np
        >>> Record({"agent": "dqn", "seed": 3}, {"score": np.array([200.0])}).settings["seed"]
        3
    """

    settings: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Records:
    """The records in one folder.

    Example:
        >>> import numpy as np, tempfile
        >>> records = Records(tempfile.mkdtemp())
        >>> wanted = [{"agent": "dqn", "seed": seed} for seed in range(3)]
        >>> path = records.save(wanted[0], score=np.array([180.0, 200.0]))
        >>> records.missing(wanted)
        [{'agent': 'dqn', 'seed': 1}, {'agent': 'dqn', 'seed': 2}]
        >>> records.load(wanted[0]).arrays["score"]
        array([180., 200.])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def path(self, settings: Settings) -> Path:
        """Give the file that holds, or will hold, the result of these settings."""
        digest = hashlib.sha256(_as_json(settings).encode()).hexdigest()
        return self.folder / f"{digest[:16]}.npz"

    def unfinished(self, settings: Settings) -> Path:
        """Give the file in which a run that takes long keeps its state until it is finished."""
        return self.folder / "unfinished" / self.path(settings).name

    def has(self, settings: Settings) -> bool:
        """Say whether this unit is finished."""
        return self.path(settings).exists()

    def missing(self, wanted: Iterable[Settings]) -> list[dict[str, Any]]:
        """Give those of the wanted settings that are not finished, in their order."""
        return [dict(settings) for settings in wanted if not self.has(settings)]

    def save(self, settings: Settings, /, **arrays: Any) -> Path:
        """Write a finished unit; refuse if it is there already."""
        path = self.path(settings)
        if path.exists():
            raise _exists(path)
        text = _as_json(settings)
        content: dict[str, Any] = {name: np.asarray(array) for name, array in arrays.items()}
        for name, array in content.items():
            if array.dtype.hasobject or name == _SETTINGS:
                raise InvalidOptionError(
                    f"the array {name!r} has dtype {array.dtype}",
                    f"a record holds plain arrays by any name but {_SETTINGS!r}",
                    "convert it to numbers or text, or rename it",
                )
        content[_SETTINGS] = np.array(text)
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.stem}.{os.getpid()}.tmp")
        try:
            with open(temporary, "wb") as file:
                np.savez_compressed(file, **content)
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                raise _exists(path)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        return path

    def load(self, settings: Settings) -> Record:
        """Read the result of these settings."""
        path = self.path(settings)
        if not path.exists():
            raise MissingRecordError(
                f"{path} does not exist",
                "analysis reads finished units only",
                "run `unperturb reproduce` first; it trains what is missing",
            )
        record = _read(path, {})
        if record is None or _as_json(record.settings) != _as_json(settings):
            raise _damaged(path, "holds the result of other settings")
        return record

    def all(self, **match: Any) -> Iterator[Record]:
        """Go through the records whose settings hold all the given values."""
        for path in sorted(self.folder.glob("*.npz")):
            record = _read(path, match)
            if record is not None:
                yield record


def _read(path: Path, match: Settings) -> Record | None:
    try:
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            settings = json.loads(str(file[_SETTINGS]))
            if any(key not in settings or settings[key] != match[key] for key in match):
                return None
            arrays = {name: file[name] for name in file.files if name != _SETTINGS}
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        raise _damaged(path, f"can't be read ({type(error).__name__})") from error
    return Record(settings, arrays)


def _as_json(settings: Settings) -> str:
    try:
        return json.dumps(dict(settings), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidOptionError(
            f"the settings can't be written as JSON ({error})",
            "a record is named by a hash of its settings",
            "use only text, finite numbers, booleans, lists and dictionaries",
        ) from error


def _damaged(path: Path, what: str) -> DamagedFileError:
    return DamagedFileError(
        f"{path} {what}", "a record is read whole or not at all", "delete it; it is trained again"
    )


def _exists(path: Path) -> RecordExistsError:
    return RecordExistsError(
        f"{path} exists", "a finished unit is never overwritten", "delete it to train it again"
    )
