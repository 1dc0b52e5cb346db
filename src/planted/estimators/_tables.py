"""DataFrames of pandas, polars and Arrow on their way into an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from planted.datasets import Table, open_table, read_arrays, read_inputs
from planted.numerics.reading import DataError
from planted.rows import Encoding, TextError, in_blocks, is_frame, remarks, table_kind

_ENCODE = "categorical=True makes columns of zeros and ones of it"
_FILL = "missing='drop' leaves such rows out, missing='mean' fills them in"


class TableWarning(UserWarning):
    """Columns of a table are constant, count the rows, or repeat another."""


def fitted_table(estimator: Any, X: Any, y: Any, weight: Any, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Inputs, targets and row weights of a table, or of a file that is read at once; anything else as it is.

    Takes `categorical`, `missing` and `exclude` out of the options (see :func:`planted.datasets.open_table`). Where one
    of them is given, or y names columns of X, the estimator's `encoding_` says how columns became inputs.
    """
    asked: dict[str, Any] = {
        name: options.pop(name) for name in ("categorical", "missing", "exclude") if name in options
    }
    estimator.__dict__.pop("encoding_", None)
    if isinstance(X, (str, PathLike)) and (asked or not in_blocks(X)):
        return _of_file(estimator, X, y, weight, asked)
    if not is_frame(X):
        if asked:
            raise TypeError(f"{next(iter(asked))}= is for tables with named columns: X is no DataFrame and no file")
        if not isinstance(X, Table):
            return X, y, weight
        if y is not None and (_names(y) or X.targets):
            raise TypeError("a table from open_table has the target that was named there: leave y out")
        return _of_table(estimator, X, y, weight)
    target = y if _names(y) else None
    if not asked and target is None:
        _check_numbers(X, _ENCODE, _FILL)
        frame = X.collect() if hasattr(X, "collect") else X
        _warn(remarks(_numbers(frame), [str(name) for name in _columns(frame)]))
        return frame, y, weight
    return _of_table(estimator, open_table(X, target, labels=is_classifier(estimator), **asked), y, weight)


def _of_file(estimator: Any, path: Any, y: Any, weight: Any, asked: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Those of a file whose rows are all read into memory; the target is the column "y" unless one is named."""
    target = "y" if y is None else y if _names(y) else None
    if table_kind(Path(path)) == ".npz" and estimator.__sklearn_tags__().input_tags.three_d_array:
        if asked or not (target is None or isinstance(target, str)):
            raise TypeError(f"{path} holds arrays: one of them is the target, and there are no columns to choose from")
        X, read = read_arrays(path, target)
        return X, y if read is None else read, weight
    table = open_table(path, target, labels=is_classifier(estimator), **asked)
    return _of_table(estimator, table, y if target is None else None, weight)


def _of_table(estimator: Any, table: Table, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Those of a table that was read; the estimator then knows how columns became inputs."""
    estimator.encoding_ = table.encoding
    estimator.target_names_ = tuple(table.targets)
    _warn(table.remarks)
    if table.y is None and y is not None:
        values = np.asarray(y)
        y = values[table.rows] if len(values) == len(table.rows) else values
    else:
        y = table.y
    if weight is not None:
        weight = np.asarray(weight)
        weight = weight[table.rows] if len(weight) == len(table.rows) else weight
    return _named_frame(table.X, table.names), y, weight


@contextmanager
def text_labels_refused(estimator: Any) -> Iterator[None]:
    """Say of text labels in rows that are read in blocks that these are for numbers.

    >>> from planted import PlantedClassifier
    >>> with text_labels_refused(PlantedClassifier()):
    ...     raise TextError("a.csv", "kind", "cat", 1, label=True)
    Traceback (most recent call last):
    planted.numerics.reading.DataError: a.csv: column 'kind' holds text, 'cat' in row 1; labels that are read in blocks
    are numbers: fit planted.datasets.open_table(path, target, labels=True)
    """
    try:
        yield
    except TextError as error:
        if not (error.label and is_classifier(estimator)):
            raise
        blocks = "labels that are read in blocks are numbers:"
        whole = "fit planted.datasets.open_table(path, target, labels=True)"
        raise DataError(error.sentence, f"{blocks} {whole}", f"{blocks} add --engine memory") from None


def coded_table(estimator: Any, X: Any) -> Any:
    """A table or file to predict from, brought into the form of what was fitted; anything else as it is."""
    file, names = isinstance(X, (str, PathLike)), getattr(estimator, "input_names_", ())
    if not (file or is_frame(X)):
        return X
    encoding = getattr(estimator, "encoding_", None)
    if encoding is None and file:
        if not names:
            raise TypeError("the fit took an array, which has no names of columns: give an array, not a file")
        encoding = Encoding(names)
    if encoding is None:
        frame = X.collect() if hasattr(X, "collect") else X
        _check_numbers(frame, "the fit took numbers there", "leave such rows out, or fill in what is missing")
        return frame
    table = read_inputs(X, encoding)
    if np.isnan(table.X).any():
        row = int(np.argmax(np.isnan(table.X).any(axis=1))) + 1
        raise DataError(f"row {row} has a missing value, and missing values were left out of the fit: leave it out")
    return _named_frame(table.X, table.names) if hasattr(estimator, "feature_names_in_") else table.X


def _names(y: Any) -> bool:
    return isinstance(y, str) or (
        isinstance(y, Sequence) and len(y) > 0 and all(isinstance(name, str) for name in y) and len(y) < 100
    )


def _columns(frame: Any) -> list[Any]:
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def _numbers(frame: Any) -> np.ndarray:
    try:
        return np.asarray(frame, dtype=np.float64)
    except (TypeError, ValueError):
        # What is wrong with such values scikit-learn says.
        return np.zeros((0, 0))


def _check_numbers(X: Any, text: str, fill: str) -> None:
    """Refuse text and missing values, with what to do about either."""
    frame = X.collect() if hasattr(X, "collect") else X
    for name in _columns(frame):
        column = frame[name]
        kind = str(getattr(column, "dtype", getattr(column, "type", "")))
        if kind.lower().split("[")[0] in ("str", "string", "large_string", "category", "categorical"):
            raise DataError(f"column {name!r} holds text", text)
        empty = column.isna().any() if hasattr(column, "isna") else column.null_count
        if empty() if callable(empty) else empty:
            raise DataError(f"column {name!r} has missing values (NaN)", fill)


def _named_frame(X: np.ndarray, names: Sequence[str]) -> Any:
    import polars as pl

    return pl.DataFrame(X, schema=list(names), orient="row")


def _warn(noted: Any) -> None:
    for remark in noted:
        warnings.warn(remark.sentence(), TableWarning, stacklevel=4)
