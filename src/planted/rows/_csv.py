"""Rows of CSV and TSV files, in memory and in blocks alike: one parser for both."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planted.numerics.reading import DataError, reading
from planted.rows._chunks import Arrays, Scratch
from planted.rows._tables import Wanted, arrays_of, check_values

_SCAN_BYTES = 2**24
_HEADER_BYTES = 2**24
_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")
_QUOTE, _BREAK, _RETURN = 34, 10, 13
_BLANK = re.compile(rb"(?:^|(?<=\n))\r?\n")


@dataclass(frozen=True)
class CsvChunk:
    """Some whole lines of a CSV file: its bytes from `begin` to `end`."""

    path: str
    begin: int
    end: int
    start: int
    rows: int
    columns: tuple[str, ...]
    features: tuple[str, ...]
    targets: tuple[str, ...]
    separator: str
    dtype: str

    def load(self, scratch: Scratch | None = None) -> Arrays:
        """The rows themselves."""
        with reading(self.path, "csv"), open(self.path, "rb") as file:
            file.seek(self.begin)
            content = file.read(self.end - self.begin)
            frame = self._parsed(content)
            if frame.height != self.rows and len(self.columns) > 1:
                frame = self._parsed(_BLANK.sub(b"", content))
            if frame.height != self.rows:
                raise DataError(
                    f"{self.path}: rows {self.start + 1} to {self.start + self.rows} cannot be told apart, or the "
                    "file has changed"
                )
            check_values(self.path, frame, self.start)
            return arrays_of(frame, self.features, self.targets, self.dtype)

    def _parsed(self, content: bytes) -> Any:
        """The wanted columns as numbers: at once if every cell is one, else cell by cell."""
        import polars as pl

        kind = pl.Float32 if self.dtype == "float32" else pl.Float64
        wanted = list(dict.fromkeys((*self.features, *self.targets)))
        chosen = set(wanted)
        # Names may be anything: columns are known by their places.
        places = {f"{place}": name for place, name in enumerate(self.columns)}
        options: dict[str, Any] = {"has_header": False, "separator": self.separator}
        schema = {place: kind if name in chosen else pl.String for place, name in places.items()}
        try:
            frame = pl.read_csv(content, schema=schema, **options)
        except pl.exceptions.PolarsError:
            try:
                frame = pl.read_csv(content, schema=dict.fromkeys(places, pl.String), **options)
            except pl.exceptions.PolarsError:
                raise DataError(
                    f"{self.path} cannot be read as csv: among rows {self.start + 1} to {self.start + self.rows} one "
                    f"does not have the header's {len(places)} cells, or its quotes do not match"
                ) from None
            frame = frame.with_columns(
                self._numbers(frame[place].alias(place), name).cast(kind)
                for place, name in places.items()
                if name in chosen
            )
        return frame.rename(places).select(wanted)

    def _numbers(self, text: Any, name: str) -> Any:
        """A column of text as numbers; true and false are one and zero."""
        import polars as pl

        plain = text.str.strip_chars()
        plain = plain.set(plain == "", None)
        if plain.is_in(["true", "false"]).all():
            return (plain == "true").cast(pl.Float64).alias(text.name)
        numbers = plain.cast(pl.Float64, strict=False)
        wrong = numbers.is_null() & plain.is_not_null()
        if wrong.any():
            row = int(wrong.arg_max())
            cell = str(plain[row])
            raise DataError(f"{self.path}: column {name!r} holds text, {cell[:60]!r} in row {self.start + row + 1}")
        return numbers


def csv_chunks(path: Path, wanted: Wanted) -> tuple[list[CsvChunk], tuple[str, ...]]:
    """The chunks of a CSV file with a header, and its input columns."""
    separator = "\t" if path.suffix == ".tsv" else ","
    with reading(path, path.suffix[1:]), path.open("rb") as file:
        header = file.readline(_HEADER_BYTES)
        if header.startswith(_COMPRESSED):
            raise DataError(f"{path} is compressed: unpack it first, or write Parquet")
        if len(header) == _HEADER_BYTES:
            raise DataError(f"{path} begins with a line of more than {_HEADER_BYTES // 2**20} MB: that is no header")
        columns = _names(header, separator)
        chosen = wanted.chosen(path, columns)
        step, single = wanted.step(len(chosen)), len(columns) == 1
        chunks: list[CsvChunk] = []
        begin, start = len(header), 0
        for end, rows in _cuts(file, len(header), step, single):
            chunks.append(
                CsvChunk(
                    str(path), begin, end, start, rows, tuple(columns), chosen, wanted.targets, separator, wanted.dtype
                )
            )
            begin, start = end, start + rows
    return chunks, chosen


def _names(header: bytes, separator: str) -> list[str]:
    """Names of the columns in the first line."""
    text = header.decode("utf-8-sig").rstrip("\r\n")
    csv.field_size_limit(_HEADER_BYTES)
    return [name.strip() for name in next(csv.reader(io.StringIO(text), delimiter=separator), [""])]


def _cuts(file: Any, position: int, step: int, single: bool) -> Any:
    """(end, rows) of pieces of `step` rows each, and of what is left: where lines end, blank ones not counted.

    A line break inside quotes ends no line. In a table of one column a blank line is a row with a missing value.
    """
    counted, quoted, tail = 0, False, np.full(2, _BREAK, np.uint8)
    while piece := file.read(_SCAN_BYTES):
        codes = np.frombuffer(piece, np.uint8)
        ends = codes == _BREAK
        if quoted or _QUOTE in piece:
            inside = (np.cumsum(codes == _QUOTE) + quoted) % 2 == 1
            ends &= ~inside
            quoted = bool(inside[-1])
        known = np.concatenate([tail, codes])
        if not single:
            before = known[1:-1]
            ends &= ~((before == _BREAK) | ((before == _RETURN) & (known[:-2] == _BREAK)))
        breaks = np.flatnonzero(ends) + 1
        used = 0
        while counted + len(breaks) - used >= step:
            used += step - counted
            yield position + int(breaks[used - 1]), step
            counted = 0
        counted += len(breaks) - used
        position += len(piece)
        tail = known[-2:]
    open_line = quoted or tail[1] != _BREAK
    if counted or open_line:
        yield position, counted + int(open_line)
