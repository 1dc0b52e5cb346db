"""Tables of numbers in files: CSV, TSV, Parquet and NPZ."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from planted.names import unknown
from planted.numerics.validation import as_matrix


class DataError(ValueError):
    """A data file, or something in it, cannot be used; the message says what and where."""


def _column_to_float(frame: Any, name: str, path: Path) -> np.ndarray:
    import polars as pl

    column = frame[name]
    if not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        text = column.cast(pl.String, strict=False)
        numbers = text.cast(pl.Float64, strict=False)
        bad = (numbers.is_null() & text.is_not_null()).arg_max()
        if bad is not None and numbers[bad] is None and text[bad] is not None:
            raise DataError(f"{path}: column {name!r} holds text, {text[bad]!r} in row {bad + 1}")
        column = numbers
    if column.null_count():
        row = int(column.is_null().arg_max()) + 1
        raise DataError(f"{path}: column {name!r} has a missing value in row {row}")
    values = column.cast(pl.Float64).to_numpy()
    if not np.all(np.isfinite(values)):
        row = int(np.argmax(~np.isfinite(values))) + 1
        raise DataError(f"{path}: column {name!r} has a NaN or infinite value in row {row}")
    return values


def _read_frame(path: Path) -> Any:
    import polars as pl

    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        if path.suffix in {".csv", ".tsv", ".txt"}:
            separator = "\t" if path.suffix == ".tsv" else ","
            return pl.read_csv(path, separator=separator, infer_schema_length=None)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path} cannot be read as {path.suffix[1:]}: {reason}") from None
    raise DataError(f"{path}: unknown kind of file {path.suffix!r}; use .csv, .tsv, .parquet or .npz")


def _targets(target: str | Sequence[str] | None) -> list[str]:
    return [] if target is None else [target] if isinstance(target, str) else list(target)


def _npz_arrays(path: Path, targets: list[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """X and the targets as they are in the file, several side by side."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except Exception:
        raise DataError(f"{path} cannot be read as npz, or it is damaged") from None
    if "X" not in arrays:
        raise DataError(f"{path} holds no array named X; it has {', '.join(arrays) or 'nothing'}")
    missing = next((name for name in targets if name not in arrays), None)
    if missing is not None:
        raise DataError(f"{path}: {unknown('array', missing, tuple(arrays))}")
    if not all(np.issubdtype(arrays[name].dtype, np.number) for name in ["X", *targets]):
        raise DataError(f"{path}: X and the target must be numbers")
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
    path = Path(path)
    if not path.is_file():
        raise DataError(f"no data file at {path}")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty")
    targets = _targets(target)
    if path.suffix == ".npz":
        X, y = _checked(path, *_npz_arrays(path, targets), ndim=2)
        return X, y, [f"x{i}" for i in range(X.shape[1])]
    frame = _read_frame(path)
    columns = frame.columns
    for name in [*(features or []), *targets]:
        if name not in columns:
            raise DataError(f"{path}: {unknown('column', name, tuple(columns))}")
    chosen = features if features is not None else [name for name in columns if name not in targets]
    both = next((name for name in targets if name in chosen), None)
    if both is not None:
        raise DataError(f"{path}: column {both!r} is both an input and the target")
    if frame.height == 0:
        raise DataError(f"{path} has a header but no rows")
    if not chosen:
        raise DataError(f"{path} has no input columns besides the target")
    X = np.column_stack([_column_to_float(frame, name, path) for name in chosen])
    values = [_column_to_float(frame, name, path) for name in targets]
    return X, None if not values else values[0] if len(values) == 1 else np.column_stack(values), list(chosen)


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
    path = Path(path)
    if path.suffix != ".npz":
        return read_table(path, target)[:2]
    if not path.is_file():
        raise DataError(f"no data file at {path}")
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
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".csv":
        frame.write_csv(path)
    else:
        raise DataError(f"{path}: write .csv or .parquet")
    return path
