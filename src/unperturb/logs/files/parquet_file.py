"""Parquet logs, streamed by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from unperturb.errors import DamagedFileError
from unperturb.logs.files.base import CHUNK, Added, Log, Values, from_arrow, needed


class ParquetLog(Log):
    """A Parquet file; a column of equally long lists counts as that many numbers."""

    kind = "Parquet"

    def __init__(self, path: Path, chunk: int = CHUNK) -> None:
        super().__init__(path, chunk)
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise needed("pyarrow", "logs", "reading Parquet") from error
        self._arrow = pyarrow
        try:
            with self._open() as file:
                self._schema = file.schema_arrow
                self.widths = {field.name: self._width(file, field) for field in self._schema}
                rows = file.metadata.num_rows
        except (pyarrow.ArrowException, OSError) as error:
            raise self.damaged(error) from None
        if not rows:
            raise self.no_rows()

    def _open(self) -> Any:
        return self._arrow.parquet.ParquetFile(self.path)

    def _width(self, file: Any, field: Any) -> int:
        kind, types = field.type, self._arrow.types
        if types.is_fixed_size_list(kind):
            width = kind.list_size
        elif types.is_list(kind) or types.is_large_list(kind):
            first = next(file.iter_batches(batch_size=1, columns=[field.name]), None)
            width = len(first.column(0)[0].as_py() or []) if first is not None else 0
        else:
            return 0
        return 0 if width == 1 else int(width)

    def chunks(self, names: Sequence[str]) -> Iterator[dict[str, Values]]:
        """Give these columns, chunk by chunk."""
        start = 0
        try:
            with self._open() as file:
                for batch in file.iter_batches(batch_size=self.chunk, columns=list(names)):
                    yield {name: self._values(batch, name, start) for name in names}
                    start += batch.num_rows
        except (self._arrow.ArrowException, OSError) as error:
            raise self.damaged(error) from None

    def _values(self, batch: Any, name: str, start: int) -> Values:
        try:
            return from_arrow(batch.column(name), self, name, start, self.widths[name])
        except (self._arrow.ArrowNotImplementedError, self._arrow.ArrowInvalid):
            raise DamagedFileError(
                f"{self.path}: column {name!r} has the type {batch.column(name).type}",
                "numbers, text and lists of numbers can be read",
                "convert it, or name another column",
            ) from None

    def write(self, out: Path, added: Added, name: str) -> None:
        """Write a copy with columns added."""
        pa = self._arrow
        schema = self._schema
        for name in added.tables:
            schema = schema.append(pa.field(name, pa.float64()))
        with self._open() as file:
            codec = file.metadata.row_group(0).column(0).compression.lower()
            codec = "none" if codec == "uncompressed" else codec
            with pa.parquet.ParquetWriter(out, schema, compression=codec) as writer:
                for batch in file.iter_batches(batch_size=self.chunk):
                    pairs = added.take(batch.num_rows)
                    more = [pa.array(table[pairs]) for table in added.tables.values()]
                    columns = [*batch.columns, *more]
                    writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
