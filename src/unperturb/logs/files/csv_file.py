"""CSV logs, streamed by pyarrow; other columns are copied byte by byte."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unperturb.errors import DamagedFileError, UnperturbError
from unperturb.logs.files.base import CHUNK, Added, Log, Restart, Values, from_arrow, needed

_LARGEST_BLOCK = 1 << 28
_DELIMITERS = ",;\t|"


class CsvLog(Log):
    """A text file with a header, separated by commas, semicolons, tabs or bars."""

    kind = "CSV"

    def __init__(self, path: Path, chunk: int = CHUNK) -> None:
        super().__init__(path, chunk)
        try:
            import pyarrow.csv
        except ImportError as error:
            raise needed("pyarrow", "logs", "reading CSV") from error
        self._arrow = pyarrow
        # Some 32 bytes a row, a guess that only sets how much is in memory at a time.
        self._block = 32 * chunk
        self._types: dict[str, Any] = {}
        self._header = self._read_header()
        self.widths = dict.fromkeys(self._header, 0)

    def _read_header(self) -> list[str]:
        try:
            with open(self.path, encoding="utf-8-sig", newline="") as file:
                first = file.readline()
                self._delimiter = max(_DELIMITERS, key=first.count)
                file.seek(0)
                header = next(csv.reader(file, delimiter=self._delimiter), [])
        except (UnicodeDecodeError, csv.Error) as error:
            raise self.damaged(f"no text in UTF-8: {error}") from None
        if first.endswith("\r"):
            # Arrow reads such lines; the copy, made byte by byte, needs the newline.
            raise self.damaged("its lines end in carriage returns alone")
        if not header:
            raise DamagedFileError(
                f"{self.path} is empty",
                "a log has a header and rows",
                "check what wrote it, or pass another file",
            )
        if len(set(header)) < len(header):
            twice = next(name for name in header if header.count(name) > 1)
            raise DamagedFileError(
                f"{self.path}: two columns are called {twice!r}",
                "each column has its own name",
                "rename one of them",
            )
        if all(_is_number(name) for name in header):
            raise DamagedFileError(
                f"{self.path} begins with the numbers {', '.join(header[:4])}",
                "the first line names the columns",
                "add a line such as state,action,reward",
            )
        return header

    def must_be_numbers(self, name: str) -> None:
        """Say that this column holds numbers, whatever it looks like."""
        self._infer([name])
        # True and False are numbers too, but Arrow reads them as what they are.
        if not self._arrow.types.is_boolean(self._types[name]):
            self._types[name] = self._arrow.float64()

    def chunks(self, names: Sequence[str]) -> Iterator[dict[str, Values]]:
        """Give these columns, chunk by chunk."""
        self._infer(names)
        start = 0
        try:
            for batch in self._open(names):
                if batch.num_rows:
                    yield {
                        name: from_arrow(batch.column(name), self, name, start, 0) for name in names
                    }
                start += batch.num_rows
        except self._arrow.ArrowInvalid as error:
            raise self._explain(error) from None

    def _infer(self, names: Sequence[str]) -> None:
        unknown = [name for name in names if name not in self._types]
        if not unknown:
            return
        pa = self._arrow
        try:
            schema = self._open(unknown).schema
        except pa.ArrowInvalid as error:
            raise self._explain(error) from None
        plain = (pa.types.is_int64, pa.types.is_float64, pa.types.is_boolean)
        for name in unknown:
            kind = schema.field(name).type
            words = pa.dictionary(pa.int32(), pa.string())
            self._types[name] = kind if any(is_it(kind) for is_it in plain) else words

    def _open(self, names: Sequence[str]) -> Any:
        reader = self._arrow.csv
        return reader.open_csv(
            self.path,
            read_options=reader.ReadOptions(block_size=self._block),
            parse_options=reader.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            # "NaN" and "NA" stay what they are, so that a message can name them.
            convert_options=reader.ConvertOptions(
                include_columns=list(names),
                column_types={name: self._types[name] for name in names if name in self._types},
                null_values=[""],
            ),
        )

    def _explain(self, error: Exception) -> UnperturbError | Restart:
        """Find the first row that is wrong; Arrow's own message may not say which it is."""
        if "straddling" in str(error) and self._block < _LARGEST_BLOCK:
            self._block *= 8
            return Restart()
        if str(error) == "Empty CSV file":
            return self.no_rows()
        numbers = {
            self._header.index(name): name
            for name, kind in self._types.items()
            if not self._arrow.types.is_dictionary(kind)
        }
        try:
            for row, _, fields in self._rows():
                if len(fields) != len(self._header):
                    return self.bad_row(
                        row,
                        f"{len(fields)} values in a row",
                        f"the header names {len(self._header)} columns",
                        "correct the row or drop it",
                    )
                for place, name in numbers.items():
                    wrong = self._check(row, name, fields[place].strip())
                    if wrong:
                        return wrong
        except (UnicodeDecodeError, csv.Error) as problem:
            return self.damaged(problem)
        return self.damaged(error)

    def _check(self, row: int, name: str, text: str) -> UnperturbError | Restart | None:
        kind = self._types[name]
        if not text:
            return self.missing(row, name)
        if self._arrow.types.is_boolean(kind):
            if text.lower() in ("true", "false", "0", "1"):
                return None
        elif _is_number(text):
            if not self._arrow.types.is_integer(kind) or text.lstrip("+-").isdecimal():
                return None
            # Whole numbers so far, and now others: the column is continuous.
            self.must_be_numbers(name)
            return Restart()
        return self.bad_row(
            row,
            f"{name} is {text[:40]!r}",
            "it is a number" if not self._arrow.types.is_boolean(kind) else "it is true or false",
            "correct the row or drop it",
        )

    def _rows(self) -> Iterator[tuple[int, int, list[str]]]:
        """Give each row, the line on which it begins, and its fields; slow, for messages."""
        with open(self.path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=self._delimiter)
            next(reader)
            row, line = 0, reader.line_num + 1
            for fields in reader:
                if fields:
                    yield row, line, fields
                    row += 1
                line = reader.line_num + 1

    def where(self, row: int) -> str:
        """Say where a row is, and on which line it begins."""
        line = next((line for place, line, _ in self._rows() if place == row), None)
        return f"row {row}" if line is None else f"row {row} (line {line})"

    def write(self, out: Path, added: Added, name: str) -> None:
        """Write a copy with columns added."""
        mark = self._delimiter.encode()
        tables = list(added.tables.values())
        with open(self.path, "rb") as source, open(out, "xb") as target:
            records = _records(source)
            header = next(records)
            end = b"\r\n" if header.endswith(b"\r\n") else b"\n"
            names = [header.rstrip(b"\r\n"), *(name.encode() for name in added.tables)]
            target.write(mark.join(names) + end)
            for pairs in added.pairs:
                kinds, which = np.unique(pairs, return_inverse=True)
                tails = [
                    mark + mark.join(b"%.9g" % table[kind] for table in tables) + end
                    for kind in kinds.tolist()
                ]
                lines = list(islice(records, len(pairs)))
                if len(lines) < len(pairs):
                    raise self.damaged("a quotation mark stands inside a value without quotes")
                target.writelines(
                    [
                        line.rstrip(b"\r\n") + tails[kind]
                        for line, kind in zip(lines, which.tolist(), strict=True)
                    ]
                )


def _records(file: BinaryIO) -> Iterator[bytes]:
    """Give the records of a CSV file as they are: lines, but for line breaks inside quotes."""
    for line in file:
        while line.count(b'"') % 2:
            more = file.readline()
            if not more:
                break
            line += more
        if line.rstrip(b"\r\n"):
            yield line


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
