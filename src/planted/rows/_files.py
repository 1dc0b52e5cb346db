"""Rows in files that need not fit in memory: Parquet files and folders of them, CSV, NPY.

Chunks are read when they are computed on, so memory is that of a few chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from planted.names import unknown
from planted.rows._chunks import Arrays, ChunkedRows, Engine, LocalEngine, Scratch, aligned, rows_in_a_chunk

KINDS = (".parquet", ".csv", ".tsv", ".npy")
_SCAN_BYTES = 2**24


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
        columns = [pl.col(name).cast(kind) for name in (*self.features, *self.targets)]
        frame = pl.scan_parquet(self.path).slice(self.offset, self.rows).select(columns).collect()
        return _split(frame, self)


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
        import polars as pl

        with open(self.path, "rb") as file:
            file.seek(self.begin)
            content = file.read(self.end - self.begin)
        kind = pl.Float32 if self.dtype == "float32" else pl.Float64
        wanted = (*self.features, *self.targets)
        schema = {name: kind if name in wanted else pl.String for name in self.columns}
        try:
            frame = pl.read_csv(content, has_header=False, separator=self.separator, schema=schema)
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
            raise ValueError(f"{self.path}, rows {self.start + 1} to {self.start + self.rows}: {reason}") from None
        return _split(frame, self)


@dataclass(frozen=True)
class NpyChunk:
    """Some rows of a C-ordered array (n, columns) in an NPY file."""

    path: str
    offset: int
    start: int
    rows: int
    width: int
    stored: str
    features: tuple[int, ...] | None
    targets: tuple[int, ...]
    dtype: str

    def load(self, scratch: Scratch | None = None) -> Arrays:
        """The rows themselves."""
        # A map of this chunk only: pages of a larger one would count as resident memory.
        table = np.memmap(self.path, self.stored, "r", self.offset, (self.rows, self.width))
        chosen = table[:, : self.targets[0]] if self.features is None else table[:, list(self.features)]
        aim = table[:, self.targets[0]] if len(self.targets) == 1 else table[:, list(self.targets)]
        make = aligned if scratch is None else scratch
        x, y = make(chosen.shape, self.dtype), make(aim.shape, self.dtype)
        np.copyto(x, chosen, casting="unsafe")
        np.copyto(y, aim, casting="unsafe")
        return x, y, None


def _split(frame: Any, chunk: ParquetChunk | CsvChunk) -> Arrays:
    if frame.height != chunk.rows:
        raise ValueError(f"{chunk.path} has changed: {chunk.rows} rows were expected, {frame.height} are there")
    x = frame.select(list(chunk.features)).to_numpy(order="c")
    # Missing values become NaN, which the first pass refuses.
    y = frame[chunk.targets[0]] if len(chunk.targets) == 1 else frame.select(list(chunk.targets))
    return np.asarray(x, chunk.dtype), np.array(y.to_numpy(), chunk.dtype, order="C"), None


def _choose(path: Path, columns: list[str], targets: tuple[str, ...], features: list[str] | None) -> tuple[str, ...]:
    for name in [*(features or []), *targets]:
        if name not in columns:
            raise ValueError(f"{path}: {unknown('column', name, tuple(columns))}")
    chosen = tuple(features) if features is not None else tuple(name for name in columns if name not in targets)
    both = next((name for name in targets if name in chosen), None)
    if both is not None:
        raise ValueError(f"{path}: column {both!r} is both an input and the target")
    if not chosen:
        raise ValueError(f"{path} has no input columns besides the target")
    return chosen


def _parquet(
    paths: list[Path], targets: tuple[str, ...], features: list[str] | None, dtype: str, size: int | None
) -> Any:
    import polars as pl

    chunks: list[ParquetChunk] = []
    chosen: tuple[str, ...] | None = None
    start = 0
    for path in paths:
        try:
            lazy = pl.scan_parquet(path)
            schema = lazy.collect_schema()
            n = int(lazy.select(pl.len()).collect().item())
        except (pl.exceptions.PolarsError, OSError) as error:
            raise ValueError(f"{path} cannot be read as parquet: {str(error).splitlines()[0]}") from None
        own = _choose(path, schema.names(), targets, features if chosen is None else list(chosen))
        chosen = own if chosen is None else chosen
        for name in (*own, *targets):
            if not (schema[name].is_numeric() or schema[name] == pl.Boolean):
                raise ValueError(f"{path}: column {name!r} holds {schema[name]}, not numbers")
        step = size or rows_in_a_chunk(len(own) + len(targets))
        for offset in range(0, n, step):
            rows = min(step, n - offset)
            chunks.append(ParquetChunk(str(path), offset, start + offset, rows, own, targets, dtype))
        start += n
    return chunks, chosen


def _csv(path: Path, targets: tuple[str, ...], features: list[str] | None, dtype: str, size: int | None) -> Any:
    separator = "\t" if path.suffix == ".tsv" else ","
    with path.open("rb") as file:
        header = file.readline()
        columns = [name.strip().strip('"') for name in header.decode("utf-8-sig").rstrip("\r\n").split(separator)]
        chosen = _choose(path, columns, targets, features)
        step = size or rows_in_a_chunk(len(chosen) + len(targets))
        chunks: list[CsvChunk] = []
        begin, start, counted, position, tail = len(header), 0, 0, len(header), False

        def cut(end: int, rows: int) -> None:
            nonlocal begin, start
            chunks.append(
                CsvChunk(str(path), begin, end, start, rows, tuple(columns), chosen, targets, separator, dtype)
            )
            begin, start = end, start + rows

        # Lines are counted once; a line break inside quotes does not occur in a table of numbers.
        while piece := file.read(_SCAN_BYTES):
            breaks = np.flatnonzero(np.frombuffer(piece, np.uint8) == 10) + 1
            used = 0
            while counted + len(breaks) - used >= step:
                used += step - counted
                cut(position + int(breaks[used - 1]), step)
                counted = 0
            counted += len(breaks) - used
            position += len(piece)
            tail = not piece.endswith(b"\n")
        rest = counted + (1 if tail else 0)
        if rest:
            cut(position, rest)
    return chunks, chosen


def _npy(path: Path, targets: tuple[str, ...], features: list[str] | None, dtype: str, size: int | None) -> Any:
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read as npy: {error}") from None
    if table.ndim != 2 or not table.flags.c_contiguous or not np.issubdtype(table.dtype, np.number):
        raise ValueError(f"{path} must hold numbers (rows, columns) in C order, not {table.dtype} {table.shape}")
    n, width = table.shape
    columns = [*(f"x{i}" for i in range(width - 1)), "y"]
    chosen = _choose(path, columns, targets, features)
    place = {name: i for i, name in enumerate(columns)}
    plain = features is None and targets == ("y",)
    step = size or rows_in_a_chunk(width)
    common = {
        "width": width,
        "stored": table.dtype.str,
        "targets": tuple(place[name] for name in targets),
        "dtype": dtype,
    }
    picked = None if plain else tuple(place[name] for name in chosen)
    chunks = [
        NpyChunk(
            str(path), int(table.offset) + begin * width * table.dtype.itemsize, begin, min(step, n - begin),
            features=picked, **common,
        )
        for begin in range(0, n, step)
    ]  # fmt: skip
    return chunks, chosen


def file_rows(
    path: str | PathLike[str],
    target: str | Sequence[str] = "y",
    features: list[str] | None = None,
    *,
    dtype: Any = None,
    chunk_rows: int | None = None,
    engine: Engine | None = None,
) -> ChunkedRows:
    """Rows of a file or folder, read in chunks: memory stays bounded however many there are.

    Parameters
    ----------
    path : path
        A Parquet file, a folder of Parquet files (read in the order of their names), a CSV or TSV file with a header,
        or an NPY file (n, columns), whose columns are called x0, x1, … and, the last one, y.
    target : str, or several
        Column to explain, or columns.
    features : list of str, optional
        Input columns; all but the target if omitted.
    dtype : numpy dtype, optional
        What values are held in on the way in, float64 or float32; float64 unless the file is an NPY of float32.
        Sums are in float64 either way.
    chunk_rows : int, optional
        Rows in a chunk, about 32 MB of float64 unless given.
    engine : Engine, optional
        Where chunks are computed on; this process unless given.

    Examples
    --------
    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "data.npy")
    ...     np.save(path, np.arange(12.0).reshape(4, 3))
    ...     rows = file_rows(path, chunk_rows=3)
    ...     rows.n_rows, rows.names, rows.chunks[1].load()[0]
    (4, ('x0', 'x1'), array([[ 9., 10.]]))
    """
    path = Path(path)
    targets = (target,) if isinstance(target, str) else tuple(target)
    if path.is_dir():
        paths = sorted(p for p in path.rglob("*.parquet") if p.is_file())
        if not paths:
            raise ValueError(f"{path} is a folder without Parquet files")
    elif path.is_file():
        paths = [path]
    else:
        raise ValueError(f"no data file or folder at {path}")
    kind = paths[0].suffix
    if kind not in KINDS:
        raise ValueError(f"{path}: unknown kind of file {kind!r}; files read in blocks are {', '.join(KINDS)}")
    if dtype is None:
        stored = np.load(path, mmap_mode="r", allow_pickle=False).dtype if kind == ".npy" else None
        dtype = np.float32 if stored == np.float32 else np.float64
    name = np.dtype(dtype).name
    if name not in ("float32", "float64"):
        raise ValueError(f"rows are held in float32 or float64, not {name}")
    if kind == ".parquet":
        chunks, chosen = _parquet(paths, targets, features, name, chunk_rows)
    else:
        chunks, chosen = (_npy if kind == ".npy" else _csv)(path, targets, features, name, chunk_rows)
    if not chunks:
        raise ValueError(f"{path} has no rows")
    shape = () if len(targets) == 1 else (len(targets),)
    return ChunkedRows(tuple(chunks), (len(chosen),), engine or LocalEngine(), chosen, target_shape=shape)
