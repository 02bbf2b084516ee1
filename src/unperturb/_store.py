"""Arrays on disk: one .npz file, written whole or not at all, and never a pickle."""

from __future__ import annotations

import os
import secrets
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from unperturb.errors import DamagedFileError

_ARCHIVE = (b"PK\x03\x04", b"PK\x05\x06")
"""How a .npz file begins: one with arrays, and one without."""


def save_arrays(path: str | Path, arrays: Mapping[str, np.ndarray]) -> Path:
    """Write arrays to a temporary file beside `path`, then rename it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = save_arrays(folder + "/a.npz", {"x": np.arange(3)})
        ...     load_arrays(path)["x"]
        array([0, 1, 2])
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    # Not by tempfile, whose files nobody else may read: not the colleague who looks at the records.
    place = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with open(place, "xb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        os.replace(place, target)
    except BaseException:
        place.unlink(missing_ok=True)
        raise
    return target


def load_arrays(path: str | Path, needs: Sequence[str] = ()) -> dict[str, np.ndarray]:
    """Read the arrays back; a file that is damaged, or lacks a name in `needs`, is one error."""
    try:
        # Opened here, since NumPy does not close a file that turns out to be no archive.
        with open(path, "rb") as handle:
            if handle.read(4) not in _ARCHIVE:  # NumPy would advise to unpickle it
                raise ValueError("it is no archive of arrays")
            handle.seek(0)
            file = np.load(handle, allow_pickle=False)
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        raise
    except (
        *(OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error),
        *(NotImplementedError, RuntimeError, MemoryError, OverflowError, struct.error, SyntaxError),
    ) as error:
        raise DamagedFileError(
            f"{path} can't be read ({error})",
            "it must be an .npz file that unperturb wrote",
            "delete it, or restore it from a copy",
        ) from error
    missing = [name for name in needs if name not in arrays]
    if missing:
        raise DamagedFileError(
            f"{path} holds no {', '.join(missing)}",
            "it must be an .npz file that unperturb wrote for this purpose",
            "pass the right file",
        )
    return arrays
