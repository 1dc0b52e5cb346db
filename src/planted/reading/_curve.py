"""Smooth networks of one input: a curve, fitted with one neuron more until it is met to rounding."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.optimize import least_squares

from planted.networks import Network
from planted.reading._check import Check, fidelity
from planted.reading._polish import polish
from planted.reading._query import Frame
from planted.reading._survey import Survey
from planted.reading._values import CountedNetwork, function_of

_MOST = 4
_STARTS = 8
_POINTS = 160
_CLOSE = 1e-4


def _outputs(name: str, t: np.ndarray, answers: np.ndarray, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outputs and intercept (k + 1, m) by least squares for weights and biases `inner`, and what is left (n, m)."""
    weights, bias = inner.reshape(2, -1)
    columns = np.column_stack([function_of(name)(np.outer(t, weights) + bias), np.ones(len(t))])
    solution = np.linalg.lstsq(columns, answers, rcond=1e-12)[0]
    return solution, answers - columns @ solution


def _left(name: str, t: np.ndarray, answers: np.ndarray, inner: np.ndarray) -> np.ndarray:
    return _outputs(name, t, answers, inner)[1].ravel()


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
        frame.query.stage = f"a curve of {k} neurons"
        for name in names:
            inner, least = np.zeros(2 * k), np.inf
            for start in rng.standard_normal((_STARTS, 2 * k)) * 1.5:
                fit = least_squares(partial(_left, name, t, answers), start, method="lm", max_nfev=200 * k)
                if fit.cost < least:
                    inner, least = fit.x, float(fit.cost)
                if least < (0.1 * _CLOSE * spread) ** 2:
                    break
            solution, left = _outputs(name, t, answers, inner)
            if np.abs(left).max() > _CLOSE * spread:
                continue
            weights, bias = inner.reshape(2, -1)
            network = Network(weights[:, None], solution[:-1].T, name, bias=bias, intercept=solution[-1])
            network = polish(frame, network, rng)
            check = fidelity(frame, CountedNetwork(network), survey, rng)
            if best[1] is None or check.largest < best[1].largest:
                best = (network, check)
            if check.largest <= check.rounding:
                return best
    return best
