"""Random starting weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.numerics.random import normal


def random_rows(key: Any, n_hidden: int, n_features: int, restarts: int | None = None) -> np.ndarray:
    """Rows uniform on the unit sphere: (k, d), or (restarts, k, d).

    >>> random_rows(np.array([0, 0]), 2, 3, restarts=4).shape
    (4, 2, 3)
    """
    shape = (n_hidden, n_features) if restarts is None else (restarts, n_hidden, n_features)
    rows = normal(key, shape)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)
