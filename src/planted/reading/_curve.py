"""Smooth networks of one input: a curve, fitted with one neuron more until it is met to rounding."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import least_squares

from planted.names import count_of
from planted.networks import Network
from planted.reading._check import Check, fidelity
from planted.reading._polish import polish
from planted.reading._query import Frame
from planted.reading._survey import Survey
from planted.reading._values import CountedNetwork, function_of

_MOST = 4
_STARTS = 16
_POINTS = 160
_CLOSE = 1e-4


_SOFT = ("softplus", "gelu", "silu")
_NO_SLOPE = 1e-6


def _outputs(name: str, t: np.ndarray, answers: np.ndarray, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outputs, slope and intercept (k + 2, m) by least squares for weights and biases `inner`, and what is left (n, m).

    Soft corners may be turned around, φ(z) = φ(−z) + z, at the price of a slope; others are fitted without one.
    """
    weights, bias = inner.reshape(2, -1)
    slope = t if name in _SOFT else np.zeros(len(t))
    columns = np.column_stack([function_of(name)(np.outer(t, weights) + bias), slope, np.ones(len(t))])
    solution = np.linalg.lstsq(columns, answers, rcond=1e-12)[0]
    return solution, answers - columns @ solution


def _left(name: str, t: np.ndarray, answers: np.ndarray, inner: np.ndarray) -> np.ndarray:
    return _outputs(name, t, answers, inner)[1].ravel()


def _starts(k: int, rng: np.random.Generator) -> np.ndarray:
    """Weights and biases (starts, 2k) of neurons that turn somewhere in the middle."""
    weights = rng.choice([-1.0, 1.0], (_STARTS, k)) * np.exp(rng.uniform(-1.2, 1.2, (_STARTS, k)))
    return np.hstack([weights, -weights * 2.0 * rng.standard_normal((_STARTS, k))])


def _turned(name: str, inner: np.ndarray, solution: np.ndarray) -> Network:
    """The network of a fit, with neurons turned around if that does without a slope."""
    weights, bias = inner.reshape(2, -1)
    k = len(weights)
    output, slope, constant = solution[:k], solution[k], solution[k + 1]
    size = float(np.abs(output * weights[:, None]).sum())
    for pattern in range(2**k if name in _SOFT else 0):
        away = np.array([pattern >> i & 1 for i in range(k)], bool)
        tilt = slope + weights[away] @ output[away]
        if np.abs(tilt).max() <= _NO_SLOPE * size:
            sign = np.where(away, -1.0, 1.0)
            weights, constant, slope = sign * weights, constant + bias[away] @ output[away], np.zeros_like(slope)
            bias = sign * bias
            break
    skip = slope[:, None] if np.any(slope) else None
    return Network(weights[:, None], output.T, name, bias=bias, intercept=constant, skip=skip)


def _fewest(name: str, t: np.ndarray, answers: np.ndarray, inner: np.ndarray, tolerance: float) -> np.ndarray:
    """Weights and biases of a fit without the neurons that are not needed to meet the answers to the tolerance.

    >>> t = np.linspace(-3.0, 3.0, 60)
    >>> answers = function_of("tanh")(2 * t + 1)[:, None]
    >>> _fewest("tanh", t, answers, np.array([2.0, 2.1, 1.0, 1.2]), 1e-6).round(6)
    array([2., 1.])
    """
    k = inner.size // 2
    for i in range(k if k > 1 else 0):
        start = np.delete(inner.reshape(2, k), i, axis=1).ravel()
        fit = least_squares(partial(_left, name, t, answers), start, method="lm", max_nfev=200 * k)
        if np.abs(fit.fun).max() <= tolerance:
            return _fewest(name, t, answers, fit.x, tolerance)
    return inner


def fit_curve(
    frame: Frame, survey: Survey, names: tuple[str, ...], rng: np.random.Generator
) -> tuple[Network | None, Check | None]:
    """The smallest network of one input, up to four neurons, that meets the model, and its check.

    Outputs are eliminated; weights and biases are found by Levenberg–Marquardt from several starts.
    """
    t = 3 * np.sinh(np.linspace(-3, 3, _POINTS)) / np.sinh(3) * 4
    answers = frame(t[:, None])
    spread = float(np.std(answers, axis=0).max())
    best: tuple[Network | None, Check | None] = (None, None)
    for k in range(1, _MOST + 1):
        frame.query.stage = f"a curve of {count_of(k, 'neuron')}"
        for name in names:
            inner, least = np.zeros(2 * k), np.inf
            for start in _starts(k, rng):
                fit = least_squares(partial(_left, name, t, answers), start, method="lm", max_nfev=200 * k)
                if fit.cost < least:
                    inner, least = fit.x, float(fit.cost)
                if least < (0.1 * _CLOSE * spread) ** 2:
                    break
            solution, left = _outputs(name, t, answers, inner)
            if np.abs(left).max() > _CLOSE * spread:
                continue
            network = polish(frame, _turned(name, inner, solution), rng)
            check = fidelity(frame, CountedNetwork(network), survey, rng)
            if best[1] is None or check.largest < best[1].largest:
                best = (network, check)
            if check.largest <= check.rounding:
                # A width that no start has met may be met from a larger one.
                inner = _fewest(name, t, answers, inner, _CLOSE * spread)
                if inner.size < 2 * network.n_hidden:
                    fewer = polish(frame, _turned(name, inner, _outputs(name, t, answers, inner)[0]), rng)
                    less = check.again(CountedNetwork(fewer))
                    best = (fewer, less) if less.largest <= less.rounding else best
                return best
    return best
