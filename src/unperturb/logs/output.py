"""Where a corrected log may be written, and how: whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from unperturb.errors import OutputError
from unperturb.logs.files import kind_of
from unperturb.logs.files.minari_set import dataset_folder, is_dataset_id

ADDED = ("corrected_reward", "true_level", "level_posterior", "suspicion")
"""The columns that a corrected log has more."""


def output_path(
    log: Path, out: str | Path, force: bool = False, columns: Collection[str] = ()
) -> Path:
    """Give where to write, or say why not. A log that was named by its id gets a copy by id."""
    kind_of(log)
    by_id = not log.exists() and is_dataset_id(str(out))
    target = dataset_folder(str(out)) if by_id else Path(out)
    if log.is_file() and target.suffix.lower() != log.suffix.lower():
        raise OutputError(
            f"{out} ends in {target.suffix or 'nothing'!r}",
            f"the corrected log is of the same kind as {log}",
            f"give it the ending {log.suffix}",
        )
    if not by_id and not target.parent.is_dir():
        raise OutputError(
            f"the folder {target.parent} does not exist",
            "a log is written into a folder that does",
            f"mkdir -p {target.parent}",
        )
    if target.exists():
        if log.exists() and target.samefile(log):
            raise OutputError(
                f"{out} is the log itself", "a log is never overwritten", "pass another name"
            )
        if target.is_dir() == log.is_file():
            raise OutputError(
                f"{out} is of another kind than {log}",
                "a file is replaced by a file and a folder by a folder",
                "pass another name",
            )
        if not force:
            raise OutputError(
                f"{out} exists", "nothing is overwritten unasked", "pass --force or another name"
            )
    taken = [name for name in ADDED if name in columns]
    if taken:
        raise OutputError(
            f"{log} already has {taken[0]}",
            "it would be added a second time",
            "correct the log that it was made from",
        )
    return target


@contextmanager
def renamed(target: Path) -> Iterator[Path]:
    """Give a place beside the target to write to; what is there moves to the target at the end.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with renamed(Path(folder, "x.csv")) as place:
        ...         _ = place.write_text("a,b")
        ...     os.listdir(folder)
        ['x.csv']
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as folder:
            place = Path(folder) / target.name
            yield place
            if target.is_dir():
                shutil.rmtree(target)
            os.replace(place, target)
    except OSError as error:
        raise OutputError(
            f"{target} can't be written ({error.strerror or error})",
            "the folder must be writable and the disk have room",
            "nothing was written; pass another place",
        ) from None
