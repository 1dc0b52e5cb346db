"""Values and two derivatives of the library's activations in NumPy: for arrays on the host nothing has to be
compiled.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import erf, erfc

from planted.activations.elementwise import logistic, logistic_slope, softplus

Function = Callable[[np.ndarray], np.ndarray]
Orders = tuple[Function, Function, Function]
"""φ, φ' and φ''."""


def _step(z: np.ndarray) -> np.ndarray:
    return (z > 0).astype(np.float64)


def _logistic(b: float, scale: float = 1.0) -> Orders:
    """Those of scale·σ(bz)."""

    def slope(z: np.ndarray) -> np.ndarray:
        return scale * b * logistic_slope(b * z)

    def bend(z: np.ndarray) -> np.ndarray:
        return b * slope(z) * -np.tanh(0.5 * b * z)

    return lambda z: scale * logistic(b * z), slope, bend


def _erf(height: float, rate: float) -> Orders:
    def bell(z: np.ndarray) -> np.ndarray:
        return height * rate * 2 / math.sqrt(math.pi) * np.exp(-np.minimum(np.square(rate * z), 1600.0))

    return lambda z: height * erf(rate * z), bell, lambda z: -2 * rate * np.clip(rate * z, -40.0, 40.0) * bell(z)


def _leaky_relu(slope: float) -> Orders:
    return lambda z: np.maximum(z, slope * z), lambda z: slope + (1 - slope) * _step(z), np.zeros_like


def _silu() -> Orders:
    value, slope, bend = _logistic(1.0)
    return (
        lambda z: z * value(z),
        lambda z: value(z) + np.clip(z, -800.0, 800.0) * slope(z),
        lambda z: 2 * slope(z) + np.clip(z, -800.0, 800.0) * bend(z),
    )


def _gelu() -> Orders:
    def distribution(z: np.ndarray) -> np.ndarray:
        return 0.5 * erfc(-z / math.sqrt(2))

    def density(z: np.ndarray) -> np.ndarray:
        return np.exp(-0.5 * np.square(np.clip(z, -60.0, 60.0))) / math.sqrt(2 * math.pi)

    return (
        lambda z: z * distribution(z),
        lambda z: distribution(z) + np.clip(z, -60.0, 60.0) * density(z),
        lambda z: (2 - np.square(np.clip(z, -60.0, 60.0))) * density(z),
    )


def _clipped(low: float, high: float, bottom: float, top: float) -> Callable[[], Orders]:
    slope = (top - bottom) / (high - low)
    return lambda: (
        lambda z: bottom + slope * (np.clip(z, low, high) - low),
        lambda z: slope * ((z > low) & (z < high)),
        np.zeros_like,
    )


ORDERS: dict[str, Callable[..., Orders]] = {
    "relu": lambda: (lambda z: np.maximum(z, 0.0), _step, np.zeros_like),
    "leaky_relu": _leaky_relu,
    "abs": lambda: (np.abs, np.sign, np.zeros_like),
    "quadratic": lambda: (np.square, lambda z: 2 * z, lambda z: np.full_like(z, 2.0)),
    "squared_relu": lambda: (
        lambda z: np.square(np.maximum(z, 0.0)),
        lambda z: 2 * np.maximum(z, 0.0),
        lambda z: 2 * _step(z),
    ),
    "softplus": lambda b: (lambda z: softplus(b * z) / b, *_logistic(b)[:2]),
    "sigmoid": _logistic,
    "tanh": lambda: (np.tanh, *_logistic(2.0, 2.0)[1:]),
    "tanh_probability": lambda: _logistic(2.0),
    "erf": lambda: _erf(math.sqrt(2), math.sqrt(0.5)),
    "standard_erf": lambda: _erf(1.0, 1.0),
    "erf_probability": lambda: (lambda z: 0.5 * erfc(-z), *_erf(0.5, 1.0)[1:]),
    "gelu": _gelu,
    "silu": _silu,
    "relu6": _clipped(0.0, 6.0, 0.0, 6.0),
    "hard_tanh": _clipped(-1.0, 1.0, -1.0, 1.0),
    "hard_sigmoid": _clipped(-3.0, 3.0, 0.0, 1.0),
}
"""The activations that the host knows, by name and parameters."""
