"""Rows in files that need not fit in memory: Parquet files and folders of them, CSV, NPY.

Chunks are read when they are computed on, so memory is that of a few chunks. Tables that are read into memory
(:mod:`planted.rows._frames`) go through the same readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from planted.numerics.reading import DataError, check_source
from planted.rows._chunks import ChunkedRows, Engine, LocalEngine
from planted.rows._csv import csv_chunks
from planted.rows._dialect import UTF16
from planted.rows._frames import PARQUET, TEXT
from planted.rows._limits import reading
from planted.rows._npy import npy_chunks, npy_dtype
from planted.rows._parquet import parquet_chunks
from planted.rows._tables import Wanted
from planted.rows._unpack import compressed

KINDS = (*PARQUET, *TEXT, ".npy")


def in_blocks(path: str | PathLike[str]) -> bool:
    """Whether a path is read in blocks: a folder, or a file whose kind keeps rows where they can be read alone.

    >>> in_blocks("data.parquet"), in_blocks(__file__)
    (True, False)
    """
    path = Path(path)
    if not path.is_file():
        return True
    kind = path.suffix.lower()
    if kind not in TEXT:
        return kind in KINDS
    with reading(path, kind[1:]), path.open("rb") as file:
        head = file.read(8)
    return not (compressed(head) or head.startswith(UTF16))


def _paths(path: Path) -> list[Path]:
    """The files that a path stands for."""
    check_source(path, folder=True)
    if not path.is_dir():
        if path.suffix.lower() not in KINDS:
            kinds = ", ".join(KINDS)
            raise DataError(
                f"{path}: blocks of a file {path.suffix!r} cannot be read; files read in blocks are {kinds}",
                "planted.datasets.open_table reads others into memory",
                "--engine memory reads others",
            )
        return [path]
    paths = sorted(entry for entry in path.rglob("*.parquet") if entry.is_file())
    if not paths:
        raise DataError(f"{path} is a folder without Parquet files")
    return [check_source(entry) for entry in paths]


def _chunks(paths: list[Path], wanted: Wanted) -> tuple[list[Any], tuple[str, ...]]:
    path, kind = paths[0], paths[0].suffix.lower()
    if kind in PARQUET:
        return parquet_chunks(paths, wanted)
    if kind == ".npy":
        return npy_chunks(path, wanted)
    with reading(path, kind[1:]), path.open("rb") as file:
        if compressed(file.read(8)):
            raise DataError(
                f"{path} is compressed: blocks of it cannot be read",
                "read it with planted.datasets.open_table, or unpack it",
                "read it into memory with --engine memory, or unpack it",
            )
    return csv_chunks(path, wanted)


def file_rows(
    path: str | PathLike[str],
    target: str | Sequence[str] = "y",
    features: Sequence[str] | None = None,
    *,
    dtype: Any = None,
    chunk_rows: int | None = None,
    engine: Engine | None = None,
) -> ChunkedRows:
    """Rows of a file or folder, read in chunks: memory stays bounded however many there are.

    Parameters
    ----------
    path : path
        A Parquet file, a folder of Parquet files (read in the order of their names), a text file such as CSV, whose
        separator, decimal mark and header are told from its first lines, or an NPY file (n, columns), whose columns
        are called x0, x1, … and, the last one, y.
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
    paths = _paths(path)
    if dtype is None:
        dtype = np.float32 if paths[0].suffix.lower() == ".npy" and npy_dtype(path) == np.float32 else np.float64
    name = np.dtype(dtype).name
    if name not in ("float32", "float64"):
        raise ValueError(f"rows are held in float32 or float64, not {name}")
    wanted = Wanted(targets, None if features is None else tuple(features), name, chunk_rows)
    chunks, chosen = _chunks(paths, wanted)
    if not chunks:
        raise DataError(f"{path} has a header but no rows")
    shape = () if len(targets) == 1 else (len(targets),)
    return ChunkedRows(tuple(chunks), (len(chosen),), engine or LocalEngine(), chosen, target_shape=shape)
