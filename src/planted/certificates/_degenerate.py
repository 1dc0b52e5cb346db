"""Critical points whose Hessian has a kernel that no symmetry explains.

Along a unit kernel vector v the loss, minimised over the other directions, is

    f(θ) + s³/6 f'''[v,v,v] + s⁴/24 (f''''[v,v,v,v] − 3 f'''[v,v,·] H⁺ f'''[v,v,·]) + O(s⁵).

A cubic term, or a negative quartic one, is an escape. One kernel direction with no cubic and a positive quartic term is
a local minimum. What is left, valleys of equal loss and losses that are not four times differentiable (|s|³ at the
spurious minimum of a convolutional network), is measured: steps along kernel directions, relaxed over the others, and
descents from nearby. A point that nothing leaves is called a local minimum, and the reason says that it was measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from planted.names import count_of
from planted.numerics.precision import float64
from planted.objectives import Flat, Objective, Params, flatten

_SAMPLES = 16
_STEPS = (3e-3, 1e-2)
_RELAXATIONS = 8
_NOISE = 1e-13


class Expansion(NamedTuple):
    """Third- and reduced fourth-order coefficients along a direction."""

    third: float
    fourth: float


class Degenerate(NamedTuple):
    """Kind, reason and escape direction (p,) or None."""

    kind: str
    reason: str
    direction: np.ndarray | None = None


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
def expand(flat: Flat, direction: np.ndarray, inverse: np.ndarray) -> Expansion:
    """Coefficients at `flat.start` along the flat unit vector `direction` (p,), with H⁺ (p, p) given.

    >>> from planted.objectives import Squared
    >>> flat = Flat(Squared([[1.0]], [0.0], "quadratic"), np.zeros((1, 1)))
    >>> expand(flat, np.ones(1), np.zeros((1, 1)))
    Expansion(third=0.0, fourth=12.0)
    """
    second, third = _directional(flat.objective, flat.params(flat.start), flat.params(direction))
    u, w = flat.units * flatten(second), flat.units * flatten(third)
    return Expansion(float(u @ direction), float(w @ direction - 3 * u @ inverse @ u))


@np.errstate(over="ignore", invalid="ignore")
def _measured(flat: Flat, directions: np.ndarray, inverse: np.ndarray, norm: float, size: float) -> Degenerate:
    """Look for a way down by relaxed steps along the rows of `directions` (m, p), then by descents from there.

    A step may lead so far that the loss is no number any more: that is no way down.
    """
    start, function = flat.start, flat.value_and_gradient
    here, gradient = function(start)
    noise = _NOISE * max(abs(here), norm * size**2)
    slope = float(np.linalg.norm(gradient))
    least, landings = np.inf, []
    for direction in directions:
        for step in (sign * relative * size for relative in _STEPS for sign in (1.0, -1.0)):
            point = start + step * direction
            best = function(point)[0]
            for _ in range(_RELAXATIONS):
                value, slopes = function(point)
                best = min(best, value)
                point = point - inverse @ slopes
            rise = best - here
            if rise < -noise - 2 * slope * abs(step):
                return Degenerate("saddle", "flat to second order, but the loss falls along a curve", point - start)
            least = min(least, rise)
        landings.append(start + _STEPS[0] * size * direction)
    for landing in landings[-4:]:
        descent = minimize(
            function, landing, jac=True, method="L-BFGS-B", options={"maxiter": 200, "gtol": 0.0, "ftol": 0.0}
        )
        if descent.fun < here - 10 * noise - 2 * slope * float(np.linalg.norm(descent.x - start)):
            return Degenerate(
                "saddle", "flat to second order, and a nearby descent leaves the point", descent.x - start
            )
    what = "is constant" if least <= noise else "does not fall"
    return Degenerate(
        "local minimum",
        f"flat to second order, where the loss {what}: measured in {count_of(len(directions), 'direction')} to "
        f"{_STEPS[-1]:g} of the parameters' size, least change {least:.1g}, and by descents from nearby",
    )


def examine(
    flat: Flat, kernel: np.ndarray, inverse: np.ndarray, norm: float, size: float, tolerance: float
) -> Degenerate:
    """What third and fourth order, and then measurement, say at `flat.start` on the columns of `kernel` (p, m)."""
    m = kernel.shape[1]
    random = np.random.default_rng(0).standard_normal((_SAMPLES if m > 1 else 0, m))
    random /= np.linalg.norm(random, axis=1, keepdims=True)
    directions = np.concatenate([np.eye(m)[:_SAMPLES], random]) @ kernel.T
    lowest = np.inf
    for v in directions:
        third, fourth = expand(flat, v, inverse)
        if not (np.isfinite(third) and np.isfinite(fourth)):
            break
        if abs(third) > tolerance * norm / size:
            return Degenerate("saddle", "flat to second order, with a third derivative", -np.sign(third) * v)
        if fourth < -tolerance * norm / size**2:
            return Degenerate("saddle", "flat to third order, with a negative fourth derivative", v)
        lowest = min(lowest, fourth)
    else:
        if m == 1 and lowest > tolerance * norm / size**2:
            return Degenerate(
                "local minimum", "flat to third order in one direction, with a positive fourth derivative"
            )
    return _measured(flat, directions, inverse, norm, size)
