r"""tanh, its slope sech² and the logistic function, each by one reduced exponential and one division.

XLA has them as functions of the exponential, which in float64 costs as much as a whole tanh does here. With

    −2|z| = n ln 2 + 2y,    |y| ≤ (ln 2)/4,    exp(2y) = (Q + P)/(Q − P),    P/Q ≈ tanh y,

and s = 2ⁿ, where P/Q has the form of a convergent of Lambert's continued fraction y/(1 + y²/(3 + y²/(5 + …))),

    tanh|z| = (Q(1 − s) − P(1 + s))/E,    sech² z = 4s(Q + P)(Q − P)/E²,    E = Q(1 + s) − P(1 − s).

The first holds for −2z and tanh z as well, where 2ⁿ is not too large.

Nothing cancels: both have a relative error of a few units of rounding, near zero and far out, until the slope is
less than any normal number and becomes zero.

Automatic differentiation takes the slope of tanh as (1 − tanh z)(1 + tanh z) instead, from the value that is there:
no second division. What rounding has taken from tanh z is then missing in the slope, an absolute error of at most
three units of rounding of the number one, as the values of that neuron have themselves.
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
    numerator, denominator : tuple of float
        Coefficients of P/y and Q in powers of y², from the constant on.
    """

    integer: Any
    shift: int
    bias: int
    high: float
    low: float
    numerator: tuple[float, ...]
    denominator: tuple[float, ...]

    @property
    def magic(self) -> float:
        """A whole number whose last bits are the exponent's bias: the sum of it and n has the bits of n + bias."""
        return 1.5 * 2**self.shift + self.bias

    @property
    def farthest(self) -> float:
        """|z| from which on 2ⁿ counts as zero."""
        return self.bias * math.log(2) / 2

    @property
    def one(self) -> float:
        """z from which on tanh z is rounded to one: 1 − tanh z ≤ 2 exp(−2z) is an eighth of a unit there."""
        return (self.shift + 4) * math.log(2) / 2


# For float32 the convergent (15 + y²)/(15 + 6y²), whose relative error y⁶/1575 is at most 1.8e-8. For float64 the next
# but one in degree, equal to (tanh y)/y at y = 0 and at four more points, near those of Chebyshev in y²: 5.5e-18.
_FORMATS = {
    "float32": _Format(jnp.int32, 23, 127, 1419 / 2**12, 0.00013804340497265471, (15.0, 1.0), (15.0, 6.0)),
    "float64": _Format(
        jnp.int64,
        52,
        1023,
        381061692392 / 2**40,
        8.232974791448541e-13,
        (63.018638453487235, 7.001331228968226, 0.06663711141484938),
        (63.018638453487235, 28.00754404679694, 1.0),
    ),
}


def _polynomial(coefficients: tuple[float, ...], t: jax.Array) -> jax.Array:
    value = jnp.full_like(t, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * t + coefficient
    return value


def _parts(x: jax.Array, *half: float) -> tuple[jax.Array, jax.Array, jax.Array]:
    """P, Q and s of −2x = n ln 2 + 2y, with (ln 2)/2 in one part or two; |n| must be less than the exponent's bias."""
    form = _FORMATS[x.dtype.name]
    n = lax.round(x * (-2 / math.log(2)), lax.RoundingMethod.TO_NEAREST_EVEN)
    y = -x
    for part in half:
        y = y - n * part
    bits = lax.bitcast_convert_type(n + form.magic, form.integer)
    scale = lax.bitcast_convert_type(lax.shift_left(bits, jnp.full_like(bits, form.shift)), x.dtype)
    square = y * y
    return y * _polynomial(form.numerator, square), _polynomial(form.denominator, square), scale


def _parts_of_size(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The same for |x|, however large."""
    form, size = _FORMATS[x.dtype.name], jnp.abs(x)
    return _parts(jnp.where(size > form.farthest, form.farthest, size), form.high, form.low)


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
    one = _FORMATS[x.dtype.name].one
    # A choice is one instruction, which a minimum is not that has to look for NaN.
    x = jnp.where(x > one, one, x)
    x = jnp.where(x < -one, -one, x)
    # n is at most 2|z|/ln 2 + ½: what rounding (ln 2)/2 takes from ny moves tanh by less than half a unit.
    P, Q, s = _parts(x, math.log(2) / 2)
    return ((Q * (1 - s) - P * (1 + s)) / (Q * (1 + s) - P * (1 - s))).astype(jnp.result_type(z))


@jax.custom_jvp
def sech_squared(z: Any) -> jax.Array:
    """1 − tanh² z, the slope of tanh.

    >>> [float(sech_squared(z)) for z in (0.0, 1000.0)]
    [1.0, 0.0]
    """
    P, Q, s = _parts_of_size(_floating(z))
    scale = Q * (1 + s) - P * (1 - s)
    return (4 * s * (Q + P) * (Q - P) / (scale * scale)).astype(jnp.result_type(z))


@jax.custom_jvp
def logistic(z: Any) -> jax.Array:
    """1/(1 + exp(−z)).

    >>> [float(logistic(z)) for z in (-1000.0, 0.0, 1000.0)]
    [0.0, 0.5, 1.0]
    """
    x = _floating(z)
    P, Q, s = _parts_of_size(0.5 * x)
    return (jnp.where(x < 0, s * (Q + P), Q - P) / (Q * (1 + s) - P * (1 - s))).astype(jnp.result_type(z))


@tanh.defjvp
def _tanh_rule(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    value = tanh(*primals)
    return value, (1 - value) * (1 + value) * tangents[0]


@sech_squared.defjvp
def _sech_squared_rule(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    slope = sech_squared(*primals)
    return slope, -2 * tanh(*primals) * slope * tangents[0]


@logistic.defjvp
def _logistic_rule(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    return logistic(*primals), 0.25 * sech_squared(0.5 * primals[0]) * tangents[0]
