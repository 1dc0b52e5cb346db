r"""Losses of small shared filters on the host, in NumPy, as :mod:`planted.objectives._host` has them of dense networks.

With filters F_f (p,), outputs A_fi of the patches and z = F_f·Z_i the prediction is Σ_fi A_fi φ(z), so that

    ∂/∂A_fi = φ(z),    ∂/∂F_f = Σ_i A_fi φ'(z) Z_i,

and second derivatives are Σ_i A_fi φ''(z) Z_i Z_iᵀ for a filter and φ'(z) Z_i between it and its outputs. Filters are
functions of what is free in them, such as v/‖v‖: a :class:`FilterChart` has the derivatives of that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class FilterCoordinates(NamedTuple):
    """Filters (f, p) at some parameters, the name of what is free in them, and their outputs (f, k).

    `slope` (p, q) is the derivative of one filter by its q free numbers, the identity where it is None; `bend` has the
    second derivative (q, q) of g·filter for a vector g (p,), zero where it is None.
    """

    name: str
    filters: np.ndarray
    output: np.ndarray
    slope: np.ndarray | None = None
    bend: Callable[[np.ndarray], np.ndarray] | None = None


def unit_coordinates(name: str, v: np.ndarray, output: np.ndarray) -> FilterCoordinates:
    r"""Of the filter u = v/‖v‖, v itself where it is zero.

    ∂u/∂v = P/‖v‖ with P = I − uuᵀ, and the second derivative of g·u is −(Pg uᵀ + u (Pg)ᵀ + (g·u) P)/‖v‖².

    >>> unit_coordinates("filter", np.array([3.0, 4.0]), np.ones(2)).filters
    array([[0.6, 0.8]])
    """
    length = float(np.linalg.norm(v))
    if length == 0:
        return FilterCoordinates(name, v[None], output[None])
    u = v / length
    across = np.eye(len(v)) - np.outer(u, u)

    def bend(g: np.ndarray) -> np.ndarray:
        mixed = np.outer(across @ g, u)
        return np.asarray(-(mixed + mixed.T + (g @ u) * across) / length**2)

    return FilterCoordinates(name, u[None], output[None], across / length, bend)


def neurons(activation: Any, x: np.ndarray, at: FilterCoordinates) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """z = F_f·Z_i, φ(z) and φ'(z), each (n, k, f), for patches x (n, k, p)."""
    z = x @ at.filters.T
    return z, activation(z), activation.derivative(z)


def predictions(feature: np.ndarray, at: FilterCoordinates) -> np.ndarray:
    """Σ_fi A_fi φ(z) (n, 1)."""
    return feature.reshape(len(feature), -1) @ at.output.T.reshape(-1, 1)


def jacobian(x: np.ndarray, feature: np.ndarray, slope: np.ndarray, at: FilterCoordinates) -> np.ndarray:
    """∂p/∂θ (n, 1, q f + k f), parameters by sorted name."""
    n = len(x)
    by_filter = np.einsum("nkf,fk,nkp->nfp", slope, at.output, x, optimize=True)
    parts = {
        at.name: (by_filter if at.slope is None else by_filter @ at.slope).reshape(n, -1),
        "output": feature.transpose(0, 2, 1).reshape(n, -1),
    }
    return np.concatenate([parts[name] for name in sorted(parts)], axis=1)[:, None]


def second_derivatives(
    x: np.ndarray, weighted: np.ndarray, slope: np.ndarray, curve: np.ndarray, at: FilterCoordinates
) -> np.ndarray:
    """Σ weighted ∂²p/∂θ² (θ, θ), for weights (n,) of the rows, φ'(z) and φ''(z), parameters by sorted name."""
    (f, k), p = at.output.shape, x.shape[2]
    chart = np.eye(p) if at.slope is None else at.slope
    q = chart.shape[1]
    first, second = (0, f * q) if at.name < "output" else (f * k, 0)
    matrix = np.zeros((f * (q + k), f * (q + k)))
    for one in range(f):
        place = first + one * q
        outputs = second + one * k + np.arange(k)
        own = np.ix_(place + np.arange(q), place + np.arange(q))
        scale = weighted[:, None] * curve[:, :, one] * at.output[one]
        matrix[own] += chart.T @ np.einsum("nk,nkp,nkq->pq", scale, x, x, optimize=True) @ chart
        steep = np.einsum("n,nk,nkp->kp", weighted, slope[:, :, one], x, optimize=True)
        if at.bend is not None:
            matrix[own] += at.bend(at.output[one] @ steep)
        matrix[np.ix_(outputs, place + np.arange(q))] += steep @ chart
        matrix[np.ix_(place + np.arange(q), outputs)] += (steep @ chart).T
    return matrix
