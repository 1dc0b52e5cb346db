"""Derivatives of the logistic and the error function to order 4, without cancellation, and their suprema."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


def logistic_orders(b: float, scale: float = 1.0) -> list[Callable[[Any], Any]]:
    """s = scale·logistic(bz) and its derivatives to order 4, through t = 1 − s without cancellation.

    The slope, which every gradient takes, is st = e/(1 + e)² with e = exp(−b|z|): one exponential instead of two.

    >>> [float(order(0.0)) for order in logistic_orders(2.0)[:3]]
    [0.5, 0.5, 0.0]
    """

    def order1(z: Any) -> Any:
        e = jnp.exp(-b * jnp.abs(z))
        return scale * b * e / jnp.square(1 + e)

    def parts(z: Any) -> tuple[Any, Any]:
        s, t = jax.lax.logistic(b * z), jax.lax.logistic(-b * z)
        return s * t, t - s

    def order2(z: Any) -> Any:
        product, difference = parts(z)
        return scale * b**2 * product * difference

    def order3(z: Any) -> Any:
        product, _ = parts(z)
        return scale * b**3 * product * (1 - 6 * product)

    def order4(z: Any) -> Any:
        product, difference = parts(z)
        return scale * b**4 * product * difference * (1 - 12 * product)

    return [
        lambda z: scale * jax.lax.logistic(b * z),
        order1,
        order2,
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
