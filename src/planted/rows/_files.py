"""Rows in files that need not fit in memory: Parquet files and folders of them, CSV, NPY.

Chunks are read when they are computed on, so memory is that of a few chunks. The same readers serve tables that are
read into memory, so that both take the same files and say the same of those that they cannot take.
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
from planted.rows._npy import npy_chunks, npy_dtype
from planted.rows._parquet import parquet_chunks
from planted.rows._tables import Wanted

KINDS = (".parquet", ".csv", ".tsv", ".txt", ".npy")


def _paths(path: Path) -> list[Path]:
    """The files that a path stands for."""
    check_source(path, folder=True)
    if not path.is_dir():
        if path.suffix not in KINDS:
            kinds = ", ".join(KINDS)
            raise DataError(f"{path}: unknown kind of file {path.suffix!r}; files read in blocks are {kinds}")
        return [path]
    paths = sorted(entry for entry in path.rglob("*.parquet") if entry.is_file())
    if not paths:
        raise DataError(f"{path} is a folder without Parquet files")
    return [check_source(entry) for entry in paths]


def _chunks(paths: list[Path], wanted: Wanted, in_memory: bool) -> tuple[list[Any], tuple[str, ...]]:
    kind = paths[0].suffix
    if kind == ".parquet":
        return parquet_chunks(paths, wanted, in_memory)
    return (npy_chunks if kind == ".npy" else csv_chunks)(paths[0], wanted)


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
    paths = _paths(path)
    if dtype is None:
        dtype = np.float32 if paths[0].suffix == ".npy" and npy_dtype(path) == np.float32 else np.float64
    name = np.dtype(dtype).name
    if name not in ("float32", "float64"):
        raise ValueError(f"rows are held in float32 or float64, not {name}")
    wanted = Wanted(targets, None if features is None else tuple(features), name, chunk_rows)
    chunks, chosen = _chunks(paths, wanted, in_memory=False)
    if not chunks:
        raise DataError(f"{path} has a header but no rows")
    shape = () if len(targets) == 1 else (len(targets),)
    return ChunkedRows(tuple(chunks), (len(chosen),), engine or LocalEngine(), chosen, target_shape=shape)


def read_file(
    path: str | PathLike[str], targets: Sequence[str] = (), features: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """All rows of a file as arrays: inputs (n, d), targets (n,), or (n, m) for other numbers of them, and names.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.csv")
    ...     _ = open(path, "w").write("u,v\\n1,2\\n")
    ...     read_file(path, ["v"])
    (array([[1.]]), array([2.]), ('u',))
    """
    path = Path(path)
    wanted = Wanted(tuple(targets), None if features is None else tuple(features), "float64")
    chunks, chosen = _chunks(_paths(check_source(path)), wanted, in_memory=True)
    if not chunks:
        raise DataError(f"{path} has a header but no rows")
    n = sum(chunk.rows for chunk in chunks)
    X = np.empty((n, len(chosen)))
    y = np.empty((n, *(() if len(targets) == 1 else (len(targets),))))
    for chunk in chunks:
        part = slice(chunk.start, chunk.start + chunk.rows)
        X[part], y[part], _ = chunk.load()
    return X, y, chosen
