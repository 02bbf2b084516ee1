"""The kinds of log, one file for each."""

from __future__ import annotations

from pathlib import Path

from unperturb.errors import DamagedFileError, InvalidOptionError, MissingFileError
from unperturb.logs.files.base import CHUNK, Added, Log, Restart, Values, Words
from unperturb.logs.files.csv_file import CsvLog
from unperturb.logs.files.minari_set import MinariLog, is_dataset_id
from unperturb.logs.files.npz_file import NpzLog
from unperturb.logs.files.parquet_file import ParquetLog

__all__ = ["CHUNK", "KINDS", "Added", "Log", "Restart", "Values", "Words", "kind_of", "open_log"]

KINDS: dict[str, type[Log]] = {
    ".csv": CsvLog,
    ".tsv": CsvLog,
    ".parquet": ParquetLog,
    ".pq": ParquetLog,
    ".npz": NpzLog,
}


def open_log(path: str | Path, chunk: int = CHUNK) -> Log:
    """Open a log by its ending; a folder, or a name such as door/human-v2, is a Minari dataset."""
    return kind_of(path)(Path(path), chunk)


def kind_of(path: str | Path) -> type[Log]:
    """Say what kind of log this is, or that there is none."""
    place = Path(path)
    if place.is_dir():
        return MinariLog
    kind = KINDS.get(place.suffix.lower())
    if not place.exists():
        if kind is None and is_dataset_id(str(path)):
            return MinariLog
        raise MissingFileError(
            f"{place} does not exist",
            "a log is a file, a folder with a Minari dataset, or its id",
            "check the path",
        )
    if kind is None:
        raise InvalidOptionError(
            f"{place} ends in {place.suffix or 'nothing'!r}",
            f"the kinds of log are {', '.join(KINDS)}, and Minari datasets",
            "convert the file or give it its proper ending",
        )
    try:
        with open(place, "rb"):
            pass
    except OSError as error:
        raise DamagedFileError(
            f"{place} can't be opened ({error.strerror})", "it must be readable", "check its rights"
        ) from None
    return kind
