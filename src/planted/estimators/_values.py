"""Values in arrays that are no numbers, refused in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.numerics.validation import check_plain


def check_meaning(name: str, value: Any) -> None:
    """Raise a ValueError for masked values, dates and spans of time, which scikit-learn's own checks take for numbers.

    >>> check_meaning("y", np.array([1, 2], dtype="timedelta64[s]"))
    Traceback (most recent call last):
    ValueError: y holds spans of time, not real numbers
    """
    if isinstance(value, np.ma.MaskedArray) or getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M"):
        check_plain(name, value)


def check_numbers(name: str, value: Any) -> None:
    """Raise a ValueError for missing values and text in an array, lists or a table, with what to do about them.

    >>> check_numbers("X", np.array([[1.0], [np.nan]]))
    Traceback (most recent call last):
    ValueError: X has missing values (NaN), the first in row 1: leave such rows out, or fill in what is missing
    >>> check_numbers("X", [[1.0, 2.0], [3.0, "red"]])
    Traceback (most recent call last):
    ValueError: X holds text, 'red' in row 1: inputs are numbers
    """
    array = _array(value)
    if array is None or not array.ndim:
        return
    if array.dtype.kind in "OUS":
        flat = array.reshape(len(array), -1)
        for row, entries in enumerate(flat.tolist()):
            text = next((entry for entry in entries if isinstance(entry, (str, bytes)) and not _is_number(entry)), None)
            if text is not None:
                raise ValueError(f"{name} holds text, {str(text)[:60]!r} in row {row}: inputs are numbers")
        missing = np.array([any(_is_missing(entry) for entry in entries) for entries in flat.tolist()])
    elif array.dtype.kind == "f":
        missing = np.isnan(array).reshape(len(array), -1).any(axis=1)
    else:
        return
    if missing.any():
        where = f"{name} has missing values (NaN), the first in row {int(np.argmax(missing))}"
        raise ValueError(f"{where}: leave such rows out, or fill in what is missing")


def check_targets(y: Any) -> None:
    """Raise a ValueError for text among the targets of a regression, with what takes it.

    >>> check_targets(["1.5", "Rome"])
    Traceback (most recent call last):
    ValueError: y holds text, 'Rome' in row 1: PlantedClassifier takes labels
    """
    array = np.asarray(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
    if array.dtype.kind not in "OUS":
        return
    for place in np.ndindex(array.shape):
        entry = array[place]
        if isinstance(entry, (str, bytes)) and not _is_number(entry):
            raise ValueError(f"y holds text, {str(entry)[:60]!r} in row {place[0]}: PlantedClassifier takes labels")


def _array(value: Any) -> np.ndarray | None:
    """An array of what a caller gave; None where it is none, which scikit-learn refuses."""
    if hasattr(value, "toarray"):
        return None
    try:
        return np.asarray(value) if isinstance(value, np.ndarray) or not hasattr(value, "dtype") else None
    except (TypeError, ValueError):
        return None


def _is_missing(entry: Any) -> bool:
    """Whether an entry stands for no value.

    >>> [_is_missing(entry) for entry in (None, float("nan"), "nan", 1, "1")]
    [True, True, True, False, False]
    """
    if entry is None or type(entry).__name__ == "NAType":
        return True
    return bool(isinstance(entry, (float, str, bytes)) and np.isnan(float(entry)))


def _is_number(entry: str | bytes) -> bool:
    """Whether a text is a number, as scikit-learn takes it for one.

    >>> _is_number("1e3"), _is_number("red")
    (True, False)
    """
    try:
        float(entry)
    except ValueError:
        return False
    return True
