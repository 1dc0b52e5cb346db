"""Starts around known parameters."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree


def near(key: jax.Array, params: Any, distance: Any, restarts: int) -> Any:
    """`params` moved by `distance` in uniform directions of all their entries, stacked (restarts, …), traceable.

    >>> starts = near(jax.random.key(0), jnp.eye(2), 0.1, restarts=3)
    >>> bool(jnp.allclose(jnp.sum((starts - jnp.eye(2)) ** 2, axis=(1, 2)), 0.01, rtol=1e-4))
    True
    """
    centre, unravel = ravel_pytree(params)
    noise = jax.random.normal(key, (restarts, centre.size), centre.dtype)
    return jax.vmap(unravel)(centre + distance * noise / jnp.linalg.norm(noise, axis=1, keepdims=True))
