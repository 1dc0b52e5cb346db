"""Tables as people keep them: files of many kinds, standard input, and DataFrames."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from planted.names import count_of, unknown
from planted.numerics.files import write_whole
from planted.numerics.reading import DataError, check_source
from planted.numerics.validation import as_matrix
from planted.rows import (
    Encoding,
    Frame,
    MissingError,
    Remark,
    TextError,
    Wanted,
    check_columns,
    npz_arrays,
    read_frame,
    remarks,
    table_kind,
)


def _targets(target: str | Sequence[str] | None) -> list[str]:
    return [] if target is None else [target] if isinstance(target, str) else list(target)


def _npz_arrays(path: Path, targets: list[str], text: bool = False) -> tuple[np.ndarray, np.ndarray | None]:
    """X and the targets as they are in the file, several side by side; other members are not read.

    A single target may hold text where that is asked for.
    """
    arrays = npz_arrays(path, ["X", *targets], "X", targets if text and len(targets) == 1 else ())
    if not targets:
        return arrays["X"], None
    if len({len(arrays[name]) if arrays[name].ndim == 1 else -1 for name in targets}) > 1:
        raise DataError(f"{path}: several targets must be one-dimensional arrays of one length")
    return arrays["X"], arrays[targets[0]] if len(targets) == 1 else np.column_stack([arrays[n] for n in targets])


def _checked(path: Path, X: np.ndarray, y: np.ndarray | None, ndim: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Inputs with `ndim` dimensions and targets (n,) or (n, m) as finite float64 arrays of equal length."""
    try:
        X = as_matrix("X", X, ndim)
        if y is not None and y.dtype.kind == "U" and y.ndim != 1:
            raise ValueError(f"labels must have 1 dimension, not {y.ndim}")
        if y is not None and y.dtype.kind != "U":
            y = as_matrix("the target", y, 1 if np.ndim(y) < 2 else 2)
        if y is not None and len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows but the target has {len(y)} entries")
    except ValueError as error:
        raise DataError(f"{path}: {error}") from None
    return X, y


@dataclass(frozen=True, eq=False)
class Table:
    """A table as a network takes it.

    Attributes
    ----------
    X : array (n, d)
    y : array (n,), (n, m) for several targets, or None
        Text where labels are.
    names, targets : lists of str
        Of the inputs, those of encoded columns being "column=level", and of the targets.
    encoding : Encoding
        How columns became inputs; `read_inputs` applies it to other tables.
    words : str
        What was understood of the table, in one line.
    remarks : tuple of Remark
        Columns that are constant, count the rows, or repeat another.
    rows : array of bool
        Which rows of the source these are.
    lacking : tuple of str
        Input columns of the source that lack values which nothing was filled in for.
    """

    X: np.ndarray
    y: np.ndarray | None
    names: list[str]
    targets: list[str]
    encoding: Encoding
    words: str
    remarks: tuple[Remark, ...]
    rows: np.ndarray
    lacking: tuple[str, ...] = ()


def open_table(
    source: Any,
    target: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    *,
    exclude: Sequence[str] = (),
    categorical: Any = False,
    missing: str = "refuse",
    header: bool | None = None,
    labels: bool = False,
) -> Table:
    """Read a table of any kind: which columns are inputs, what is text, what is missing.

    Parameters
    ----------
    source : path, binary file, or table of pandas, polars or Arrow
        Text with any of the usual separators and decimal marks, with or without header, comments (#) and compression
        (.gz, .zst, .bz2, .xz, .zip); Parquet, Arrow (Feather), NPY; NPZ with the inputs in an array X; Excel with the
        extra `excel`.
    target : str or several, optional
        Column to predict, or columns.
    features : list of str, optional
        Input columns; all but the target if omitted.
    exclude : list of str
        Columns to leave out.
    categorical : bool, or list of str
        Make columns of zeros and ones of every column of text, or of those named; text is refused otherwise.
    missing : "refuse", "drop" or "mean"
        Refuse missing values, leave their rows out, or fill in the mean (the most frequent level of text). Rows without
        a target are left out either way.
    header : bool, optional
        Whether a text file names its columns; told from its lines if omitted.
    labels : bool
        Whether the target may be text.

    Returns
    -------
    Table

    Examples
    --------
    >>> table = open_table(io.BytesIO(b"city;u;y\\nRome;1,5;1\\nOslo;2,5;2\\nRome;;3\\nOslo;4;4\\n"), "y",
    ...                    categorical=True, missing="mean")
    >>> table.names, table.X[2].round(2).tolist()
    (['city=Rome', 'u'], [1.0, 2.67])
    >>> print(table.words)
    standard input: semicolons, decimal comma, header; 4 rows × 2 columns; target y; city: Oslo, or 1 for Rome;
    1 missing value filled in
    """
    targets = _targets(target)
    if isinstance(source, (str, PathLike)) and table_kind(check_source(source)) == ".npz":
        table = _npz_table(Path(source), targets, features, exclude)
        return _with_target(table, source, labels)
    wanted = Wanted(
        tuple(targets), None if features is None else tuple(features), exclude=tuple(exclude), header=header
    )
    # A column may be text only where something can be done about it: without, numbers are read at once.
    mixed = bool(categorical) or missing != "refuse"
    frame = read_frame(source, wanted, mixed=mixed, labels=labels)
    encoding = Encoding.of(frame, categorical, missing)
    X, whole = encoding.inputs(frame)
    y, present = _target_values(frame, targets, labels, missing)
    rows = whole & present
    if not rows.any():
        raise DataError(f"{frame.name}: every row has a missing value", "use missing='mean'", "use --missing mean")
    words = _words(frame, targets, encoding, rows)
    # What is whole already is not copied: tables may be as large as memory allows.
    X, y = (X, y) if rows.all() else (X[rows], y[rows] if targets else y)
    del frame
    noted = remarks(X, encoding.names)
    return Table(X, y if targets else None, list(encoding.names), targets, encoding, words, noted, rows)


def read_inputs(source: Any, encoding: Encoding, target: Sequence[str] = (), header: bool | None = None) -> Table:
    """Read a table as another one was read: columns are known by name, in any order, and others do not matter.

    A file without header has the columns in the order of the fit, then the target if there is one more.

    Parameters
    ----------
    source : as in :func:`open_table`
    encoding : Encoding
        Of the table that was fitted.
    target : sequence of str
        Columns to compare with; text stays text.
    header : bool, optional

    Returns
    -------
    Table
        All rows of the source: those that lack an input hold NaN where missing values were dropped, and so do
        targets that are missing (empty where they are text).

    Examples
    --------
    >>> read_inputs(io.BytesIO(b"y,extra,v,u\\n9,8,2,1\\n"), Encoding(("u", "v"))).X
    array([[1., 2.]])
    """
    targets = _targets(target)
    if isinstance(source, (str, PathLike)) and table_kind(check_source(source)) == ".npz":
        table = _npz_table(Path(source), targets, None, ())
        if len(table.names) != len(encoding.columns):
            raise DataError(
                f"{source}: X has {count_of(len(table.names), 'column')}, not {len(encoding.columns)} as in the fit"
            )
        return table
    unnamed = (*encoding.columns, *(targets or ["the target"]))
    wanted = Wanted(tuple(targets), encoding.columns, header=header, unnamed=unnamed)
    try:
        frame = read_frame(source, wanted, mixed=True, labels=True)
    except DataError as error:
        # No column that the network takes can be left out, as its remedy may say.
        raise DataError(error.sentence) from None
    try:
        X, whole = encoding.inputs(frame)
    except MissingError as error:
        again = "the fit refused missing values: leave the row out, or fit again with"
        raise DataError(error.sentence, f"{again} missing=", f"{again} --missing") from None
    y, present = _target_values(frame, targets, True, "drop")
    y = np.where(present, y.astype(str), "") if y.dtype == bool and not present.all() else y
    words = f"{frame.name}: {frame.words}; {count_of(len(X), 'row')}"
    lacking = () if whole.all() else tuple(name for name in encoding.columns if frame.frame[name].null_count())
    return Table(X, y if targets else None, list(encoding.names), targets, encoding, words, (), whole, lacking)


def _with_target(table: Table, source: Any, labels: bool) -> Table:
    """The table of an archive if its target can be fitted: text is for labels, of which each row has one."""
    if table.y is None or table.y.dtype.kind != "U":
        return table
    name = table.targets[0]
    if not labels:
        wanted = "labels go with --task classification"
        raise DataError(f"{source}: array {name!r} holds text", "PlantedClassifier takes labels", wanted)
    if np.any(table.y == ""):
        raise DataError(f"{source}: array {name!r} has no label in row {int(np.argmax(table.y == '')) + 1}")
    return table


def _npz_table(path: Path, targets: list[str], features: Sequence[str] | None, exclude: Sequence[str]) -> Table:
    inputs, given = _npz_arrays(path, targets, text=True)
    if inputs.ndim in (3, 4):
        raise DataError(
            f"{path}: X must have 2 dimensions, not {inputs.ndim}",
            "PlantedConvRegressor fits patches, and images with patch_shape",
            "planted fit --conv fits patches, and images with --patch HEIGHTxWIDTH",
        )
    X, y = _checked(path, inputs, given, ndim=2)
    check_columns(path, X.shape[1])
    names = [f"x{i}" for i in range(X.shape[1])]
    chosen = [name for name in (names if features is None else features) if name not in exclude]
    missing = next((name for name in (*chosen, *exclude) if name not in names), None)
    if missing is not None:
        raise DataError(f"{path}: {unknown('column', missing, tuple(names))}")
    X = X if chosen == names else X[:, [names.index(name) for name in chosen]]
    words = f"{path}: NPZ; {count_of(len(X), 'row')} × {count_of(X.shape[1], 'column')}" + "".join(
        f"; target {name}" for name in targets
    )
    every = np.ones(len(X), bool)
    return Table(X, y, chosen, targets, Encoding(tuple(chosen)), words, remarks(X, chosen), every)


def _target_values(frame: Frame, targets: list[str], labels: bool, missing: str) -> tuple[np.ndarray, np.ndarray]:
    """Targets (n,) or (n, m), and which rows have them."""
    present = np.ones(frame.frame.height, bool)
    columns = []
    for name in targets:
        column = frame.frame[name]
        absent = column.is_null().to_numpy()
        if absent.any() and missing == "refuse":
            raise MissingError(frame.name, name, int(np.argmax(absent)) + 1)
        present &= ~absent
        if str(column.dtype) == "String":
            if not labels:
                row = int(np.argmin(absent))
                raise TextError(frame.name, name, str(column[row]), row + 1, label=True)
            columns.append(np.array(["" if entry is None else entry for entry in column.to_list()]))
        elif str(column.dtype) == "Boolean":
            columns.append(column.fill_null(False).to_numpy())
        else:
            columns.append(column.to_numpy())
            infinite = ~np.isfinite(columns[-1]) & ~absent
            if infinite.any():
                row = int(np.argmax(infinite)) + 1
                raise DataError(f"{frame.name}: column {name!r} has a NaN or infinite value in row {row}")
    return (columns[0] if len(columns) == 1 else np.column_stack([present, *columns])[:, 1:]), present


def _words(frame: Frame, targets: list[str], encoding: Encoding, rows: np.ndarray) -> str:
    """What was understood, in one line."""
    left, filled = int((~rows).sum()), sum(frame.frame[name].null_count() for name in encoding.columns)
    used = (f"{len(rows) - left:,} of " if left else "") + count_of(len(rows), "row")
    parts = [f"{used} × {count_of(len(encoding.columns), 'column')}"]
    parts += [f"target{'s' * (len(targets) > 1)} {', '.join(targets)}"] * bool(targets)
    for name, levels in encoding.levels.items():
        shown = ", ".join(levels[1:4]) + (f" and {len(levels) - 4} more" if len(levels) > 4 else "")
        parts.append(f"{name}: {levels[0]}, or 1 for {shown}")
    if frame.truths:
        more = f" and {len(frame.truths) - 4} more" if len(frame.truths) > 4 else ""
        parts.append(f"{', '.join(frame.truths[:4])}{more}: 1 for true, 0 for false")
    if left:
        parts.append(f"{count_of(left, 'row')} with missing values left out")
    if filled and encoding.missing == "mean":
        parts.append(f"{count_of(filled, 'missing value')} filled in")
    return "; ".join([f"{frame.name}: {frame.words}", *parts])


def read_table(
    path: str | PathLike[str], target: str | Sequence[str] | None = None, features: list[str] | None = None
) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """Read numbers from a file of any kind that :func:`open_table` takes.

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
    table = open_table(path, target, features)
    return table.X, table.y, table.names


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
    if table_kind(path) != ".npz":
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
