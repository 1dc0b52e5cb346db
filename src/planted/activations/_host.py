"""Values and slopes of the library's activations in NumPy: for arrays on the host nothing has to be compiled."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import erf, erfc, expit

Pair = tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]
"""φ and φ'."""


def _step(z: np.ndarray) -> np.ndarray:
    return np.where(z > 0, 1.0, 0.0)


def _logistic(b: float, scale: float = 1.0) -> Pair:
    return lambda z: scale * expit(b * z), lambda z: scale * b * expit(b * z) * expit(-b * z)


def _gaussian(height: float, rate: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda z: height * rate * 2 / math.sqrt(math.pi) * np.exp(-np.minimum(np.square(rate * z), 1600.0))


def _erf(height: float, rate: float) -> Pair:
    return lambda z: height * erf(rate * z), _gaussian(height, rate)


PAIRS: dict[str, Callable[..., Pair]] = {
    "relu": lambda: (lambda z: np.maximum(z, 0.0), _step),
    "leaky_relu": lambda slope: (lambda z: np.maximum(z, slope * z), lambda z: slope + (1 - slope) * _step(z)),
    "abs": lambda: (np.abs, np.sign),
    "quadratic": lambda: (np.square, lambda z: 2 * z),
    "squared_relu": lambda: (lambda z: np.square(np.maximum(z, 0.0)), lambda z: 2 * np.maximum(z, 0.0)),
    "softplus": lambda b: (lambda z: np.logaddexp(b * z, 0.0) / b, lambda z: expit(b * z)),
    "sigmoid": _logistic,
    "tanh": lambda: (np.tanh, _logistic(2.0, 2.0)[1]),
    "tanh_probability": lambda: _logistic(2.0),
    "erf": lambda: _erf(math.sqrt(2), math.sqrt(0.5)),
    "standard_erf": lambda: _erf(1.0, 1.0),
    "erf_probability": lambda: (lambda z: 0.5 * erfc(-z), _gaussian(0.5, 1.0)),
}
