"""Float64 inside `planted`, without touching the caller's process.

JAX computes in float32 unless told otherwise. Public functions that compute are wrapped in
:func:`float64`, which switches double precision on for the duration of the call only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np

P = ParamSpec("P")
T = TypeVar("T")


def float64(function: Callable[P, T]) -> Callable[P, T]:
    """Run `function` with JAX's double precision switched on, and switch it back afterwards.

    >>> import jax, jax.numpy as jnp
    >>> before = jax.config.jax_enable_x64
    >>> float64(lambda: jnp.zeros(1).dtype.name)()
    'float64'
    >>> jax.config.jax_enable_x64 == before
    True
    """

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return wrapped


def to_jax(tree: Any) -> Any:
    """Every leaf of a pytree as a float64 JAX array (call under :func:`float64`).

    >>> float64(to_jax)({"weights": [[1, 2]]})["weights"].dtype.name
    'float64'
    """
    is_leaf = lambda node: not isinstance(node, dict)  # noqa: E731
    return jax.tree.map(lambda leaf: jax.device_put(np.asarray(leaf, dtype=np.float64)), tree, is_leaf=is_leaf)


def to_numpy(tree: Any) -> Any:
    """Every leaf of a pytree as a NumPy array.

    >>> to_numpy({"a": jnp.ones(2)})["a"]
    array([1., 1.], dtype=float32)
    """
    return jax.tree.map(np.asarray, tree)
