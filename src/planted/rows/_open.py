"""Rows of whatever a caller gave that is not an array."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

from planted.rows._chunks import ChunkedRows
from planted.rows._files import file_rows


def outside_memory(X: Any) -> bool:
    """Whether X is a path, chunked rows or a Dask collection, rather than an array.

    >>> outside_memory("data.parquet"), outside_memory([[1.0]])
    (True, False)
    """
    return isinstance(X, (str, PathLike, ChunkedRows)) or type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def open_rows(X: Any, y: Any = None) -> ChunkedRows:
    """Chunked rows of a path, of rows, of Dask arrays X and y, or of a Dask dataframe.

    Parameters
    ----------
    y : str or sequence of str, optional
        The target column or columns of a file or dataframe, "y" unless given; the targets of a Dask array.

    Examples
    --------
    >>> open_rows("nowhere.parquet")
    Traceback (most recent call last):
    planted.numerics.reading.DataError: no data file or folder at nowhere.parquet
    """
    if isinstance(X, ChunkedRows):
        return X
    named = isinstance(y, str) or (isinstance(y, Sequence) and all(isinstance(name, str) for name in y))
    if isinstance(X, (str, PathLike)):
        return file_rows(X, y if named else "y")
    from planted.rows._dask import dask_rows

    return dask_rows(X, target=y) if named else dask_rows(X, y)
