"""Rows of Parquet files. What a file says of itself is checked against its size before anything is decoded."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planted.numerics.reading import DataError
from planted.rows._chunks import Arrays, Scratch
from planted.rows._limits import reading
from planted.rows._tables import Wanted, arrays_of, check_values
from planted.rows._trial import check_pages, start_trials

_FOOTER_BYTES = 2**22
_ROW_GROUP_BYTES = 2**32
_DEPTH = 16


@dataclass(frozen=True)
class ParquetChunk:
    """Some rows of a Parquet file."""

    path: str
    offset: int
    start: int
    rows: int
    features: tuple[str, ...]
    targets: tuple[str, ...]
    dtype: str

    def load(self, scratch: Scratch | None = None) -> Arrays:
        """The rows themselves."""
        import polars as pl

        kind = pl.Float32 if self.dtype == "float32" else pl.Float64
        names = dict.fromkeys((*self.features, *self.targets))
        with reading(self.path, "parquet"):
            columns = [pl.col(name).cast(kind) for name in names]
            frame = scan_parquet(self.path).slice(self.offset, self.rows).select(columns).collect()
            if frame.height != self.rows:
                raise DataError(
                    f"{self.path} has changed or is damaged: {self.rows} rows were expected, {frame.height} are there"
                )
            check_values(self.path, frame, self.start)
            return arrays_of(frame, self.features, self.targets, self.dtype)


def scan_parquet(path: Any) -> Any:
    """A lazy frame of one Parquet file, a path or a binary file; nothing is looked for beside it."""
    import polars as pl

    return pl.scan_parquet(path, glob=False, hive_partitioning=False)


def parquet_chunks(paths: list[Path], wanted: Wanted) -> tuple[list[ParquetChunk], tuple[str, ...]]:
    """The chunks of Parquet files, one after the other, and their input columns."""
    start_trials()
    import polars as pl

    chunks: list[ParquetChunk] = []
    chosen: tuple[str, ...] | None = None
    start = 0
    for path in paths:
        with reading(path, "parquet"):
            check_footer(path)
            check_pages(path, "parquet")
            lazy = scan_parquet(path)
            schema = lazy.collect_schema()
            n = int(lazy.select(pl.len()).collect().item())
            if chosen is None:
                chosen = wanted.chosen(path, schema.names())
            else:
                Wanted(wanted.targets, chosen, wanted.dtype).chosen(path, schema.names())
            for name in (*chosen, *wanted.targets):
                if not (schema[name].is_numeric() or schema[name] == pl.Boolean):
                    raise DataError(f"{path}: column {name!r} holds {kind_of(schema[name])}, not numbers")
            step = wanted.step(len(chosen))
            check_pages(path, "parquet", (*chosen, *wanted.targets), step=step)
        for offset in range(0, n, step):
            rows = min(step, n - offset)
            chunks.append(ParquetChunk(str(path), offset, start + offset, rows, chosen, wanted.targets, wanted.dtype))
        start += n
    return chunks, chosen or ()


def kind_of(dtype: Any) -> str:
    """What a polars type holds, in words.

    >>> import polars as pl
    >>> kind_of(pl.String), kind_of(pl.Date())
    ('text', 'dates')
    """
    name = str(dtype).split("(")[0]
    words = {"String": "text", "Categorical": "text", "Enum": "text", "Date": "dates", "Datetime": "dates"}
    return words.get(name, str(dtype))


def check_footer(path: Path, content: bytes | None = None) -> int:
    """The size of a Parquet file, given as a path or in memory, in bytes.

    Raises a DataError unless the row groups that it declares lie inside it and fit together: a reader reserves memory
    for what a file declares, and a damaged one may declare anything.
    """
    size = path.stat().st_size if content is None else len(content)
    with path.open("rb") if content is None else io.BytesIO(content) as file:
        head = file.read(4)
        file.seek(max(size - 8, 0))
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if head != b"PAR1" or tail[4:] != b"PAR1" or length > size - 12:
            raise DataError(f"{path} cannot be read as parquet: it is no Parquet file, or it is cut short")
        if length > _FOOTER_BYTES:
            return size
        file.seek(size - 8 - length)
        footer = file.read(length)
    try:
        fields = _Compact(footer).struct()
        declared, groups = int(fields[3]), fields.get(4, [])
        held = 0
        for group in groups:
            rows, columns = int(group[3]), [chunk[3] for chunk in group[1]]
            held += rows
            for column in columns:
                begin = min(int(column[9]), int(column.get(11, column[9])) or int(column[9]))
                # Lists and missing values make other numbers of values, which the schema tells.
                fits = rows >= 0 and 0 < begin <= begin + int(column[7]) <= size and int(column[6]) >= 0
                fits = fits and int(column[6]) <= _ROW_GROUP_BYTES and int(column[5]) >= 0
                flat = len(column[3]) == 1
                if not fits or (flat and int(column[5]) != rows):
                    raise ValueError
        if declared != held or declared < 0:
            raise ValueError
    except (KeyError, IndexError, TypeError, ValueError, RecursionError):
        raise DataError(f"{path} cannot be read as parquet: what it declares does not fit together") from None
    return size


class _Compact:
    """Thrift's compact protocol, as far as the footer of a Parquet file needs it: structs are dicts by field number."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def byte(self) -> int:
        self.at += 1
        return self.content[self.at - 1]

    def varint(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise ValueError

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _DEPTH:
            raise ValueError
        fields: dict[int, Any] = {}
        number = 0
        while (head := self.byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            kind = head & 0x0F
            fields[number] = kind == 1 if kind in (1, 2) else self.value(kind, depth)
        return fields

    def value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return self.byte() == 1
        if kind == 3:
            return self.byte()
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind in (7, 8):
            length = 8 if kind == 7 else self.varint()
            self.at += length
            if self.at > len(self.content):
                raise ValueError
            return self.content[self.at - length : self.at]
        if kind in (9, 10):
            head = self.byte()
            count = head >> 4 if head >> 4 < 15 else self.varint()
            if count > len(self.content):
                raise ValueError
            return [self.value(head & 0x0F, depth + 1) for _ in range(count)]
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError
