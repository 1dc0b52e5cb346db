"""Tables of numbers in files: CSV, TSV, Parquet and NPZ."""

from __future__ import annotations

import io
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from planted.names import unknown
from planted.numerics.files import write_whole
from planted.numerics.reading import DataError, check_columns, check_source
from planted.numerics.validation import as_matrix
from planted.rows import npz_arrays, read_file


def _targets(target: str | Sequence[str] | None) -> list[str]:
    return [] if target is None else [target] if isinstance(target, str) else list(target)


def _npz_arrays(path: Path, targets: list[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """X and the targets as they are in the file, several side by side; other members are not read."""
    arrays = npz_arrays(path, ["X", *targets], "X")
    if not targets:
        return arrays["X"], None
    if len({len(arrays[name]) if arrays[name].ndim == 1 else -1 for name in targets}) > 1:
        raise DataError(f"{path}: several targets must be one-dimensional arrays of one length")
    return arrays["X"], arrays[targets[0]] if len(targets) == 1 else np.column_stack([arrays[n] for n in targets])


def _checked(path: Path, X: np.ndarray, y: np.ndarray | None, ndim: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Inputs with `ndim` dimensions and targets (n,) or (n, m) as finite float64 arrays of equal length."""
    try:
        X = as_matrix("X", X, ndim)
        y = None if y is None else as_matrix("the target", y, 1 if np.ndim(y) < 2 else 2)
        if y is not None and len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows but the target has {len(y)} entries")
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    return X, y


def read_table(
    path: str | PathLike[str], target: str | Sequence[str] | None = None, features: list[str] | None = None
) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """Read numbers from a CSV, TSV, Parquet or NPZ file.

    Parameters
    ----------
    path : path
        In an NPZ file the inputs are the array X.
    target : str or several, optional
        Column (array in an NPZ file) to predict, or columns.
    features : list of str, optional
        Input columns; all but the target if omitted.

    Returns
    -------
    X (n, d), y (n,), (n, m) for several targets or None, and the names of the input columns.

    Examples
    --------
    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "data.csv")
    ...     _ = open(path, "w").write("u,v,y\\n1,2,3\\n4,5,6\\n")
    ...     read_table(path, target="y")
    (array([[1., 2.],
            [4., 5.]]), array([3., 6.]), ['u', 'v'])
    """
    path = check_source(path)
    targets = _targets(target)
    if path.suffix == ".npz":
        X, y = _checked(path, *_npz_arrays(path, targets), ndim=2)
        check_columns(path, X.shape[1])
        names = [f"x{i}" for i in range(X.shape[1])]
        if features is None:
            return X, y, names
        missing = next((name for name in features if name not in names), None)
        if missing is not None:
            raise DataError(f"{path}: {unknown('column', missing, tuple(names))}")
        return X[:, [names.index(name) for name in features]], y, list(features)
    if path.suffix not in (".csv", ".tsv", ".txt", ".parquet"):
        raise DataError(f"{path}: unknown kind of file {path.suffix!r}; use .csv, .tsv, .parquet or .npz")
    X, values, chosen = read_file(path, targets, features)
    return X, values if targets else None, list(chosen)


def read_arrays(path: str | PathLike[str], target: str | None = None) -> tuple[np.ndarray, np.ndarray | None]:
    """Patches (n, k, p), images (n, H, W) or (n, H, W, channels) from an NPZ file, or flat rows from any table.

    Returns X and y, or None where no target is named.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "images.npz")
    ...     np.savez(path, X=np.ones((2, 4, 4)), y=np.ones(2))
    ...     read_arrays(path, "y")[0].shape
    (2, 4, 4)
    """
    path = check_source(path)
    if path.suffix != ".npz":
        return read_table(path, target)[:2]
    X, y = _npz_arrays(path, _targets(target))
    if X.ndim not in (2, 3, 4):
        raise DataError(f"{path}: X has {X.ndim} dimensions, not two to four")
    return _checked(path, X, y, X.ndim)


def write_table(path: str | PathLike[str], X: ArrayLike, y: ArrayLike | None = None) -> Path:
    """Write inputs as columns x0, x1, … and the target as column y, to CSV or Parquet by the file's ending.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_table(os.path.join(folder, "data.csv"), [[1.0, 2.0]], [3.0])
    ...     path.read_text().splitlines()
    ['x0,x1,y', '1.0,2.0,3.0']
    """
    import polars as pl

    path = Path(path)
    rows = np.asarray(X, dtype=np.float64)
    columns = {f"x{i}": rows[:, i] for i in range(rows.shape[1])}
    if y is not None:
        columns["y"] = np.asarray(y, dtype=np.float64)
    frame = pl.DataFrame(columns)
    content = io.BytesIO()
    if path.suffix == ".parquet":
        frame.write_parquet(content)
    elif path.suffix == ".csv":
        frame.write_csv(content)
    else:
        raise DataError(f"{path}: write .csv or .parquet")
    write_whole(path, content.getvalue())
    return path
