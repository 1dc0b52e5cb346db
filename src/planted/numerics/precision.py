"""Float64 inside `planted`, without touching the caller's process.

JAX computes in float32 unless told otherwise. Public functions that compute are wrapped in
:func:`float64`, which switches double precision on for the duration of the call only.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import jax
import numpy as np

P = ParamSpec("P")
T = TypeVar("T")
_computed_in: int | None = None


class ForkError(RuntimeError):
    """A process was forked from one that had computed already, where JAX would wait without end."""


def check_process() -> None:
    """Raise a :class:`ForkError` in a process that was forked after JAX had computed in its parent.

    JAX's threads are not there after a fork, and whatever waits for them waits for ever.

    >>> check_process()
    """
    global _computed_in
    here = os.getpid()
    if _computed_in is None:
        _computed_in = here
    if _computed_in != here:
        raise ForkError(
            "this process was forked after planted had computed in its parent, and JAX does not survive that: start "
            "processes with multiprocessing.get_context('spawn'), or before the first computation"
        )


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
        check_process()
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

    >>> to_numpy({"a": jax.numpy.ones(2)})["a"]
    array([1., 1.], dtype=float32)
    """
    return jax.tree.map(np.asarray, tree)
