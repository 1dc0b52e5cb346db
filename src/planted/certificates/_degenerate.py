"""Critical points whose Hessian has a kernel that no symmetry explains: third and fourth order.

Along a unit kernel vector v the loss, minimised over the other directions, is

    f(θ) + s³/6 f'''[v,v,v] + s⁴/24 (f''''[v,v,v,v] − 3 f'''[v,v,·] H⁺ f'''[v,v,·]) + O(s⁵).

A cubic term, or a negative quartic one, is an escape. One kernel direction with no cubic and a positive quartic term is
a local minimum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from planted.objectives import Objective, Params
from planted.precision import float64

_SAMPLES = 16


class Expansion(NamedTuple):
    """Third- and reduced fourth-order coefficients along a direction."""

    third: float
    fourth: float


@jax.jit
def _directional(objective: Objective, params: Params, direction: Params) -> tuple[Params, Params]:
    """Second and third derivatives of t ↦ ∇f(θ + t v) at t = 0."""

    def along(t: jax.Array) -> Params:
        moved = jax.tree.map(lambda leaf, step: leaf + t * step, params, direction)
        return jax.grad(objective.traced_value)(moved)

    def derivative(function: Callable[[jax.Array], Params]) -> Callable[[jax.Array], Params]:
        return lambda t: jax.jvp(function, (t,), (jnp.ones_like(t),))[1]

    second = derivative(derivative(along))
    zero = jnp.zeros((), jnp.float64)
    return second(zero), derivative(second)(zero)


@float64
def expand(objective: Objective, params: Params, direction: np.ndarray, inverse: np.ndarray) -> Expansion:
    """Coefficients along the flat unit vector `direction` (p,), with H⁺ (p, p) given.

    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0]], [0.0], "quadratic")
    >>> expand(loss, np.zeros((1, 1)), np.ones(1), np.zeros((1, 1)))
    Expansion(third=0.0, fourth=12.0)
    """
    checked = objective.check(params)
    unravel = ravel_pytree(checked)[1]
    second, third = _directional(objective, checked, unravel(jnp.asarray(direction)))
    u, w = np.asarray(ravel_pytree(second)[0]), np.asarray(ravel_pytree(third)[0])
    return Expansion(float(u @ direction), float(w @ direction - 3 * u @ inverse @ u))


def examine(
    objective: Objective,
    params: Params,
    kernel: np.ndarray,
    inverse: np.ndarray,
    norm: float,
    size: float,
    tolerance: float,
) -> tuple[str, str, np.ndarray | None]:
    """Kind, reason and escape direction (p,) from third and fourth order on the columns of `kernel` (p, m)."""
    m = kernel.shape[1]
    random = np.random.default_rng(0).standard_normal((m, _SAMPLES if m > 1 else 0))
    mixes = np.column_stack([np.eye(m), random / np.linalg.norm(random, axis=0)]) if m > 1 else np.eye(1)
    lowest = np.inf
    for mix in mixes.T:
        v = kernel @ mix
        third, fourth = expand(objective, params, v, inverse)
        if not (np.isfinite(third) and np.isfinite(fourth)):
            return "undecided", "higher derivatives are not finite here", None
        if abs(third) > tolerance * norm / size:
            return "saddle", "flat to second order, but the third derivative is not zero", -np.sign(third) * v
        if fourth < -tolerance * norm / size**2:
            return "saddle", "flat to third order, and the fourth derivative is negative", v
        lowest = min(lowest, fourth)
    if m == 1 and lowest > tolerance * norm / size**2:
        return "local minimum", "flat to third order in one direction, where the fourth derivative is positive", None
    directions = f"{m} direction{'s' * (m > 1)}"
    return "undecided", f"flat in {directions} that no known symmetry explains", None
