"""Where to begin with a shared filter: the initialisation of Theorem 3.2 of Du et al. (2017) and its four signs."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.activations import Activation

SIGNS = ((1, 1), (1, -1), (-1, 1), (-1, -1))
"""Signs of (filter, output) of the four restarts, in this order."""


def output_radius(mean: float, variance: float, n_patches: int, activation: Activation) -> float:
    """Radius |1ᵀa*|/√k of the ball that the output weights are drawn from, estimated from the targets.

    E[y] = m 1ᵀa* with m = E φ(z), which is 1/√(2π) for ReLU. Where m = 0 (odd φ) the mean says nothing and the
    radius is that of outputs of one sign with the same norm: Var y = E[φ(z)²] ‖a*‖², so ‖a*‖.

    >>> from planted import activations
    >>> round(output_radius(1.0, 1.0, 4, activations.get("relu")), 6)    # √(2π)/√4
    1.253314
    """
    typical = activation.hermite(0)
    if abs(typical) < 1e-12:
        return math.sqrt(max(variance, 0.0) / activation.second_moment())
    return abs(mean / typical) / math.sqrt(n_patches)


@partial(jax.jit, static_argnames=("patch_size", "n_patches"))
def uniform_start(key: jax.Array, patch_size: int, n_patches: int, radius: Any) -> dict[str, jax.Array]:
    """A filter (p,) uniform on the unit sphere and outputs (k,) uniform in the ball of this radius, traceable.

    >>> import jax
    >>> start = uniform_start(jax.random.key(0), 3, 2, 0.5)
    >>> bool(jnp.linalg.norm(start["output"]) <= 0.5)
    True
    """
    sphere, direction, length = jax.random.split(key, 3)
    v = jax.random.normal(sphere, (patch_size,))
    a = jax.random.normal(direction, (n_patches,))
    # A uniform point of the ball in k dimensions has norm radius·U^(1/k).
    scale = radius * jax.random.uniform(length) ** (1 / n_patches)
    return {"filter": v / jnp.linalg.norm(v), "output": a * scale / jnp.linalg.norm(a)}


@jax.jit
def sign_restarts(start: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """The four restarts (v, a), (v, −a), (−v, a), (−v, −a) as arrays (4, p) and (4, k), traceable.

    >>> sign_restarts({"filter": jnp.ones(1), "output": jnp.ones(1)})["filter"].ravel()
    Array([ 1.,  1., -1., -1.], dtype=float32)
    """
    signs = np.array(SIGNS, dtype=np.float64)
    return {
        "filter": jnp.multiply.outer(jnp.asarray(signs[:, 0], start["filter"].dtype), start["filter"]),
        "output": jnp.multiply.outer(jnp.asarray(signs[:, 1], start["output"].dtype), start["output"]),
    }
