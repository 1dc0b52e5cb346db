"""Random starting weights."""

from __future__ import annotations

import jax


def random_rows(key: jax.Array, n_hidden: int, n_features: int, restarts: int | None = None) -> jax.Array:
    """Rows uniform on the unit sphere: (k, d), or (restarts, k, d).

    >>> random_rows(jax.random.key(0), 2, 3, restarts=4).shape
    (4, 2, 3)
    """
    shape = (n_hidden, n_features) if restarts is None else (restarts, n_hidden, n_features)
    rows = jax.random.normal(key, shape)
    return rows / (rows**2).sum(axis=-1, keepdims=True) ** 0.5
