"""NPZ logs: each array is streamed out of the archive; pickles are never opened."""

from __future__ import annotations

import math
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy

from unperturb.errors import DamagedFileError, UnperturbError
from unperturb.logs.files.base import CHUNK, Added, Log, Values, from_numpy

_BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError)


class _Array(NamedTuple):
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]


class NpzLog(Log):
    """An archive of arrays with one row for each transition, as numpy.savez writes it."""

    kind = "NPZ"

    def __init__(self, path: Path, chunk: int = CHUNK) -> None:
        super().__init__(path, chunk)
        self._arrays: dict[str, _Array] = {}
        try:
            with zipfile.ZipFile(path) as archive:
                for member in archive.namelist():
                    if member.endswith(".npy"):
                        with archive.open(member) as stream:
                            self._arrays[member[:-4]] = _header(stream)
        except _BROKEN as error:
            raise self.damaged(error) from None
        # Scalars describe the log as a whole; they are no columns.
        self.widths = {
            name: 0 if math.prod(array.shape[1:]) == 1 else math.prod(array.shape[1:])
            for name, array in self._arrays.items()
            if array.shape
        }
        if not self.widths:
            raise self.no_rows()

    def chunks(self, names: Sequence[str]) -> Iterator[dict[str, Values]]:
        """Give these columns, chunk by chunk."""
        rows = self._rows(names)
        with ExitStack() as stack:
            try:
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                readers = {name: self._reader(archive, stack, name) for name in names}
                for start in range(0, rows, self.chunk):
                    count = min(self.chunk, rows - start)
                    chunk = {name: next(readers[name]) for name in names}
                    assert all(_length(values) == count for values in chunk.values())
                    yield chunk
                for reader in readers.values():
                    next(reader, None)  # reads on to the end, where the checksum is compared
            except _BROKEN as error:
                if isinstance(error, UnperturbError):
                    raise
                raise self.damaged(error) from None

    def _rows(self, names: Sequence[str]) -> int:
        for name in names:
            dtype = self._arrays[name].dtype
            if dtype.hasobject:
                raise DamagedFileError(
                    f"{self.path}: array {name!r} holds Python objects",
                    "numbers and text are read, pickles never",
                    f"save it as numbers, such as {name}.astype(float)",
                )
            if dtype.kind not in "biufUS" or (dtype.kind in "US" and self.widths[name]):
                raise DamagedFileError(
                    f"{self.path}: array {name!r} has the type {dtype}",
                    "numbers and flat arrays of text can be read",
                    "convert it, or name another array",
                )
        lengths = {name: self._arrays[name].shape[0] for name in names}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise DamagedFileError(
                f"{self.path}: the arrays have different lengths ({shown})",
                "each has one row for each transition",
                "cut them to the same length; observations often have one more at the end",
            )
        rows = next(iter(lengths.values()))
        if not rows:
            raise self.no_rows()
        return rows

    def _reader(self, archive: zipfile.ZipFile, stack: ExitStack, name: str) -> Iterator[Values]:
        stream = stack.enter_context(archive.open(f"{name}.npy"))
        return self._pieces(stream, name)

    def _pieces(self, stream: IO[bytes], name: str) -> Iterator[Values]:
        shape, fortran, dtype = _header(stream)
        width = math.prod(shape[1:])
        whole = None
        if fortran and len(shape) > 1:
            # Column by column on disk: rows can be had only from the whole.
            flat = np.frombuffer(_exactly(stream, math.prod(shape) * dtype.itemsize), dtype)
            whole = flat.reshape(shape, order="F").reshape(shape[0], width)
        for start in range(0, shape[0], self.chunk):
            count = min(self.chunk, shape[0] - start)
            if whole is not None:
                piece = whole[start : start + count]
            else:
                raw = _exactly(stream, count * width * dtype.itemsize)
                piece = np.frombuffer(raw, dtype).reshape(count, width)
            values = from_numpy(piece[:, 0] if width == 1 else piece)
            assert values is not None
            yield values
        if stream.read(1):
            raise EOFError(f"array {name!r} is longer than it says")

    def write(self, out: Path, added: Added, name: str) -> None:
        """Write a copy with columns added."""
        with ExitStack() as stack:
            columns = {
                name: stack.enter_context(tempfile.TemporaryFile(dir=out.parent))
                for name in added.tables
            }
            rows = 0
            for pairs in added.pairs:
                rows += len(pairs)
                for name, table in added.tables.items():
                    columns[name].write(table[pairs].astype("<f8").tobytes())
            source = stack.enter_context(zipfile.ZipFile(self.path))
            target = stack.enter_context(zipfile.ZipFile(out, "x"))
            packing = zipfile.ZIP_STORED
            for member in source.infolist():
                packing = member.compress_type
                with source.open(member) as old, _new(target, member.filename, packing) as new:
                    shutil.copyfileobj(old, new)
            for name, column in columns.items():
                column.seek(0)
                with _new(target, f"{name}.npy", packing) as new:
                    header = {"descr": "<f8", "fortran_order": False, "shape": (rows,)}
                    npy.write_array_header_1_0(new, header)
                    shutil.copyfileobj(column, new)


def _header(stream: IO[bytes]) -> _Array:
    version = npy.read_magic(stream)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise ValueError(f"version {version} of the .npy format is not known")
    return _Array(*readers[version](stream))


def _exactly(stream: IO[bytes], size: int) -> bytes:
    raw = stream.read(size)
    if len(raw) < size:
        raise EOFError("an array ends early")
    return raw


def _length(values: Values) -> int:
    return len(values) if isinstance(values, np.ndarray) else len(values.codes)


def _new(archive: zipfile.ZipFile, name: str, packing: int) -> IO[bytes]:
    member = zipfile.ZipInfo(name)
    member.compress_type = packing
    return archive.open(member, "w", force_zip64=True)
