r"""E[φ^{(m)}(u)] for a number u whose log density is a given function, by one-dimensional quadrature.

    E[φ^{(m)}(u)] = (−1)^m ∫ φ(z) f^{(m)}(z) dz / ∫ f(z) dz,      f^{(m)} = f S_m,

with S_m from the derivatives of log f by automatic differentiation, so that φ is never differentiated. The line is
z = c + s sinh(t) with c and s the median and the distance of the quartiles of f: tails that fall like a power of z fall
exponentially in t. Panels are halved where the integrand asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.inputs._scores import from_log_derivatives
from planted.numerics.quadrature import gaussian_expectation

# Where f is looked for: magnitudes from 1e-6 to 1e6, then again around what was found.
_MAGNITUDES = np.logspace(-6, 6, 2401)
_SEARCHES = 4
_CHUNK = 4096


def line_expectation(
    log_density: Callable[[jax.Array], jax.Array],
    function: Callable[[np.ndarray], Any],
    kinks: Sequence[float],
    order: int,
) -> float:
    """E[φ^{(order)}(u)] for u with a log density known up to a constant (call under float64).

    Parameters
    ----------
    log_density : callable
        From a number to a number, traceable and `order` times differentiable.
    function : callable
        φ, elementwise.
    kinks : sequence of float
        Where φ has kinks.
    order : 0 to 4
        0 is the expectation of φ itself.

    Examples
    --------
    >>> from planted.numerics.precision import float64
    >>> normal = lambda z: -((z - 3) ** 2) / 2
    >>> round(float64(line_expectation)(normal, lambda z: z**4, (), 2), 9)      # 12 E[u²]
    120.0
    """
    derivatives: list[Callable[[jax.Array], jax.Array]] = [log_density]
    for _ in range(order):
        derivatives.append(jax.grad(derivatives[-1]))
    stacked = jax.jit(jax.vmap(lambda z: jnp.stack([derivative(z) for derivative in derivatives])))

    def evaluate(z: np.ndarray) -> np.ndarray:
        # Chunks of one size, so that there is one compilation.
        padded = np.resize(z, -(-len(z) // _CHUNK) * _CHUNK).reshape(-1, _CHUNK)
        return np.concatenate([np.asarray(stacked(jnp.asarray(chunk))) for chunk in padded])[: len(z)]

    centre, scale, largest = _located(lambda z: evaluate(z)[:, 0])

    def integrand(t: np.ndarray) -> np.ndarray:
        z = centre + scale * np.sinh(t)
        values = evaluate(z)
        # The weight of a standard normal, which the rule multiplies by, is taken out again.
        mass = np.exp(values[:, 0] - largest + t**2 / 2) * np.cosh(t)
        columns = [jnp.asarray(column) for column in values.T]
        score = np.asarray(from_log_derivatives(order, lambda block: columns[len(block)]) if order else 1.0)
        density = mass * np.where(mass > 0, score, 0.0)
        return np.stack([np.where(mass > 0, np.asarray(function(z)), 0.0) * density, mass], axis=1)

    places = [float(np.arcsinh((kink - centre) / scale)) for kink in kinks]
    above, below = gaussian_expectation(integrand, (0.0, *places), tolerance=1e-12)
    return float((-1) ** order * above / below)


def _located(log_density: Callable[[np.ndarray], np.ndarray]) -> tuple[float, float, float]:
    """Median, distance of the quartiles, and largest value seen, of a log density on the line."""
    centre, scale = 0.0, 1.0
    for _ in range(_SEARCHES):
        grid = centre + scale * np.concatenate([-_MAGNITUDES[::-1], [0.0], _MAGNITUDES])
        values = log_density(grid)
        usable = ~np.isnan(values)
        largest = float(np.max(values[usable], initial=-np.inf))
        if not np.isfinite(largest):
            raise ValueError("the density of a projection of the inputs is nowhere a positive number")
        mass = np.exp(np.where(usable, values, -np.inf) - largest)
        share = np.cumsum(np.diff(grid) * (mass[1:] + mass[:-1]) / 2)
        low, middle, high = np.interp(np.array([0.25, 0.5, 0.75]) * share[-1], share, grid[1:])
        centre, scale = float(middle), max(float(high - low), 1e-12 * max(1.0, abs(float(middle))))
    return centre, scale, largest
