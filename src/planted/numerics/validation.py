"""Arrays that callers give, checked once, with one clear sentence when they cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def check_plain(name: str, value: Any) -> None:
    """Raise a ValueError for what would turn into numbers that it does not mean: masked, complex, times.

    >>> check_plain("X", np.ma.masked_equal([1.0, 2.0], 2.0))
    Traceback (most recent call last):
    ValueError: X has masked values: fill them in, or leave their rows out
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} has masked values: fill them in, or leave their rows out")
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    words = {"c": "complex numbers", "m": "spans of time", "M": "dates"}
    if kind in words:
        raise ValueError(f"{name} holds {words[kind]}, not real numbers")


def as_matrix(name: str, value: ArrayLike, ndim: int = 2) -> np.ndarray:
    """`value` as a finite float64 array with `ndim` dimensions.

    >>> as_matrix("X", [[1, 2]])
    array([[1., 2.]])
    >>> as_matrix("X", [[1, float("nan")]])
    Traceback (most recent call last):
    ValueError: X has a NaN or infinite value in row 0
    """
    check_plain(name, value)
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a rectangular array of numbers") from None
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension{'s' * (ndim > 1)}, not {array.ndim}")
    if not array.size:
        raise ValueError(f"{name} is empty")
    finite = np.isfinite(array)
    if not finite.all():
        row = int(np.argmin(finite.reshape(len(array), -1).all(axis=1)))
        raise ValueError(f"{name} has a NaN or infinite value in row {row}")
    return array


def as_rows(X: ArrayLike, y: ArrayLike, ndim: int = 2, several: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """X (n, d) and y (n,), or (n, m) where there may be several outputs, as finite float64 arrays of equal length.

    >>> as_rows([[1.0], [2.0]], [1.0])
    Traceback (most recent call last):
    ValueError: X has 2 rows but y has 1 entries
    """
    inputs, targets = as_matrix("X", X, ndim), as_matrix("y", y, 2 if several and np.ndim(y) == 2 else 1)
    if len(inputs) != len(targets):
        raise ValueError(f"X has {len(inputs)} rows but y has {len(targets)} entries")
    return inputs, targets


def count(name: str, value: Any) -> int:
    """`value` as a positive integer, or a ValueError.

    >>> count("n_samples", 0)
    Traceback (most recent call last):
    ValueError: n_samples must be a positive integer, not 0
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a positive integer, not {value!r}")
    return int(value)


def non_negative(name: str, value: Any) -> float:
    """`value` as a finite number of at least zero, or a ValueError.

    >>> non_negative("noise", -1.0)
    Traceback (most recent call last):
    ValueError: noise must be a non-negative number, not -1.0
    """
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{name} must be a non-negative number, not {value!r}")
    return float(value)
