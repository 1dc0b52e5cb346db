r"""tanh, its slope sech² and the logistic function, each by one reduced exponential and one division.

XLA has them as functions of the exponential, which in float64 costs as much as a whole tanh does here. With

    −2|z| = n ln 2 + 2y,    |y| ≤ (ln 2)/4,    exp(2y) = (Q + P)/(Q − P),    P/Q ≈ tanh y,

and s = 2ⁿ, where P/Q is a convergent of Lambert's continued fraction y/(1 + y²/(3 + y²/(5 + …))),

    tanh|z| = (Q(1 − s) − P(1 + s))/E,    sech² z = 4s(Q + P)(Q − P)/E²,    E = Q(1 + s) − P(1 − s).

Nothing cancels: both have a relative error of a few units of rounding, near zero and far out, until the slope is
less than any normal number and becomes zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


@dataclass(frozen=True)
class _Format:
    """What a floating-point type needs.

    Attributes
    ----------
    integer, shift, bias
        Of the same width; the place of the exponent in its bits, and what is added to it there.
    high, low : float
        (ln 2)/2 in two parts, of which the first is short enough that n times it is exact.
    numerator, denominator : tuple of int
        Coefficients of P/y and Q in powers of y², from the constant on.
    """

    integer: Any
    shift: int
    bias: int
    high: float
    low: float
    numerator: tuple[int, ...]
    denominator: tuple[int, ...]

    @property
    def magic(self) -> float:
        """A whole number whose last bits are the exponent's bias: the sum of it and n has the bits of n + bias."""
        return 1.5 * 2**self.shift + self.bias

    @property
    def farthest(self) -> float:
        """|z| from which on 2ⁿ counts as zero."""
        return self.bias * math.log(2) / 2


# The convergents' relative errors, about y⁸/(105²·9) and y¹²/(10395²·13), are at most 9e-12 and 6e-19.
_FORMATS = {
    "float32": _Format(jnp.int32, 23, 127, 1419 / 2**12, 0.00013804340497265471, (105, 10), (105, 45, 1)),
    "float64": _Format(
        jnp.int64, 52, 1023, 381061692392 / 2**40, 8.232974791448541e-13, (10395, 1260, 21), (10395, 4725, 210, 1)
    ),
}


def _polynomial(coefficients: tuple[int, ...], t: jax.Array) -> jax.Array:
    value = jnp.full_like(t, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * t + coefficient
    return value


def _parts(z: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """P, Q and s."""
    form = _FORMATS[z.dtype.name]
    size = jnp.minimum(jnp.abs(z), form.farthest)
    n = lax.round(size * (-2 / math.log(2)), lax.RoundingMethod.TO_NEAREST_EVEN)
    y = (-size - n * form.high) - n * form.low
    bits = lax.bitcast_convert_type(n + form.magic, form.integer)
    scale = lax.bitcast_convert_type(lax.shift_left(bits, jnp.full_like(bits, form.shift)), z.dtype)
    square = y * y
    return y * _polynomial(form.numerator, square), _polynomial(form.denominator, square), scale


def _floating(z: Any) -> jax.Array:
    """`z` in float32 or float64."""
    z = jnp.asarray(z)
    return z if z.dtype.name in _FORMATS else z.astype(jnp.float32)


@jax.custom_jvp
def tanh(z: Any) -> jax.Array:
    """tanh z, of the shape and type of z.

    >>> [float(tanh(z)) for z in (-50.0, 0.0, 50.0)]
    [-1.0, 0.0, 1.0]
    """
    x = _floating(z)
    P, Q, s = _parts(x)
    value = (Q * (1 - s) - P * (1 + s)) / (Q * (1 + s) - P * (1 - s))
    return jnp.where(x < 0, -value, value).astype(jnp.result_type(z))


@jax.custom_jvp
def sech_squared(z: Any) -> jax.Array:
    """1 − tanh² z, the slope of tanh.

    >>> [float(sech_squared(z)) for z in (0.0, 1000.0)]
    [1.0, 0.0]
    """
    P, Q, s = _parts(_floating(z))
    scale = Q * (1 + s) - P * (1 - s)
    return (4 * s * (Q + P) * (Q - P) / (scale * scale)).astype(jnp.result_type(z))


@jax.custom_jvp
def logistic(z: Any) -> jax.Array:
    """1/(1 + exp(−z)).

    >>> [float(logistic(z)) for z in (-1000.0, 0.0, 1000.0)]
    [0.0, 0.5, 1.0]
    """
    x = _floating(z)
    P, Q, s = _parts(0.5 * x)
    return (jnp.where(x < 0, s * (Q + P), Q - P) / (Q * (1 + s) - P * (1 - s))).astype(jnp.result_type(z))


@tanh.defjvp
def _tanh_rule(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    return tanh(*primals), sech_squared(*primals) * tangents[0]


@sech_squared.defjvp
def _sech_squared_rule(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    slope = sech_squared(*primals)
    return slope, -2 * tanh(*primals) * slope * tangents[0]


@logistic.defjvp
def _logistic_rule(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    return logistic(*primals), 0.25 * sech_squared(0.5 * primals[0]) * tangents[0]
