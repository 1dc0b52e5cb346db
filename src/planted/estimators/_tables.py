"""DataFrames of pandas, polars and Arrow on their way into an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from planted.datasets import open_table, read_inputs
from planted.numerics.reading import DataError
from planted.rows import is_frame, remarks

_ENCODE = "categorical=True makes columns of zeros and ones of it"
_FILL = "missing='drop' leaves such rows out, missing='mean' fills them in"


class TableWarning(UserWarning):
    """Columns of a table are constant, count the rows, or repeat another."""


def fitted_table(estimator: Any, X: Any, y: Any, weight: Any, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Inputs, targets and row weights of a table; anything else is given back as it is.

    Takes `categorical`, `missing` and `exclude` out of the options (see :func:`planted.datasets.open_table`). Where one
    of them is given, or y names columns of X, the estimator's `encoding_` says how columns became inputs.
    """
    asked = {name: options.pop(name) for name in ("categorical", "missing", "exclude") if name in options}
    estimator.__dict__.pop("encoding_", None)
    if not is_frame(X):
        if asked:
            raise TypeError(f"{next(iter(asked))}= is for tables with named columns: X is no DataFrame")
        return X, y, weight
    target = y if _names(y) else None
    if not asked and target is None:
        _check_numbers(X, _ENCODE, _FILL)
        frame = X.collect() if hasattr(X, "collect") else X
        _warn(remarks(_numbers(frame), [str(name) for name in _columns(frame)]))
        return frame, y, weight
    table = open_table(X, target, labels=is_classifier(estimator), **asked)
    estimator.encoding_ = table.encoding
    estimator.target_names_ = tuple(table.targets)
    _warn(table.remarks)
    if target is None and y is not None:
        values = y if hasattr(y, "__array__") else np.asarray(y)
        y = values[table.rows] if len(values) == len(table.rows) else values
    else:
        y = table.y
    weight = weight if weight is None else np.asarray(weight)[table.rows]
    return _named_frame(table.X, table.names), y, weight


def coded_table(estimator: Any, X: Any) -> Any:
    """A table to predict from, brought into the form of the one that was fitted; anything else as it is."""
    if not is_frame(X):
        return X
    encoding = getattr(estimator, "encoding_", None)
    if encoding is None:
        frame = X.collect() if hasattr(X, "collect") else X
        _check_numbers(frame, "the fit took numbers there", "leave such rows out, or fill in what is missing")
        return frame
    table = read_inputs(X, encoding)
    if np.isnan(table.X).any():
        row = int(np.argmax(np.isnan(table.X).any(axis=1))) + 1
        raise DataError(f"row {row} has a missing value, and missing values were left out of the fit: leave it out")
    return _named_frame(table.X, table.names)


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
