"""Derivatives of the logistic and the error function to order 4, without cancellation, and their suprema."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from planted.activations._sigmoids import logistic, sech_squared, tanh


def logistic_orders(b: float, scale: float = 1.0) -> list[Callable[[Any], Any]]:
    """s = scale·logistic(bz) and its derivatives to order 4, without cancellation.

    With u = bz/2, logistic(bz)(1 − logistic(bz)) = sech²(u)/4 and 1 − 2 logistic(bz) = −tanh u.

    >>> [float(order(0.0)) for order in logistic_orders(2.0)[:3]]
    [0.5, 0.5, -0.0]
    """

    def product(z: Any) -> Any:
        return 0.25 * sech_squared(0.5 * b * z)

    def difference(z: Any) -> Any:
        return -tanh(0.5 * b * z)

    def order3(z: Any) -> Any:
        return scale * b**3 * product(z) * (1 - 6 * product(z))

    def order4(z: Any) -> Any:
        return scale * b**4 * product(z) * difference(z) * (1 - 12 * product(z))

    return [
        lambda z: scale * logistic(b * z),
        lambda z: scale * b * product(z),
        lambda z: scale * b**2 * product(z) * difference(z),
        order3,
        order4,
    ]


def logistic_bounds(b: float, scale: float = 1.0) -> tuple[float, ...]:
    """Suprema of scale·|logistic(bz)^(n)|, n = 0..4; the last is of |u(1−u²)(3u²−2)|/4 in u = tanh(bz/2)."""
    u = math.sqrt((15 - math.sqrt(105)) / 30)
    last = u * (1 - u**2) * (2 - 3 * u**2) / 4
    peaks = 1.0, 1 / 4, 1 / (6 * math.sqrt(3)), 1 / 8, last
    return tuple(scale * b**n * peak for n, peak in enumerate(peaks))


def erf_orders(height: float, rate: float) -> list[Callable[[Any], Any]]:
    """Derivatives of height·erf(rate·z) of order 1 to 4: polynomials in u = rate·z times exp(−u²)."""

    def gaussian(polynomial: Callable[[Any], Any], factor: float) -> Callable[[Any], Any]:
        def derivative(z: Any) -> Any:
            # exp(−u²) is 0 long before |u| = 40; the clip keeps polynomial × 0 from becoming ∞ × 0.
            u = jnp.clip(rate * z, -40.0, 40.0)
            return factor * polynomial(u) * jnp.exp(-u * u)

        return derivative

    polynomials = jnp.ones_like, lambda u: -2 * u, lambda u: 4 * u * u - 2, lambda u: (12 - 8 * u * u) * u
    top = height * 2 / math.sqrt(math.pi)
    return [gaussian(polynomial, top * rate ** (n + 1)) for n, polynomial in enumerate(polynomials)]


def erf_bounds(height: float, rate: float) -> tuple[float, ...]:
    """Suprema of the absolute values of height·erf(rate·z) and its derivatives to order 4."""
    u = math.sqrt((3 - math.sqrt(6)) / 2)
    peaks = 1.0, math.sqrt(2 / math.e), 2.0, (12 - 8 * u**2) * u * math.exp(-(u**2))
    top = height * 2 / math.sqrt(math.pi)
    return (height, *(top * rate ** (n + 1) * peak for n, peak in enumerate(peaks)))
