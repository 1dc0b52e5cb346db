"""Coordinates in which rows are white, whatever they have in constant, repeated or empty inputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

# A spread below this share of the mean is rounding, and so are eigenvalues of correlations below this share of the
# largest.
_CONSTANT, _SINGULAR = 1e-12, 1e-12


def white_coordinates(rows: ArrayLike, weight: np.ndarray | None = None) -> np.ndarray:
    """W (p, p) with rows·W white, for rows (n, p): W = L⁻ᵀ where LLᵀ is their covariance.

    Where a combination of inputs is constant there is no such W. What varies is made white then, with the least weights
    in units of the inputs' spreads; one further coordinate is the constant 1, unless constants are zero; and columns
    that are left are zero.

    >>> rows = np.random.default_rng(0).standard_normal((50, 2)) * [1e-6, 1e6]
    >>> np.allclose(np.cov(rows @ white_coordinates(rows), rowvar=False, bias=True), np.eye(2))
    True
    >>> with_constant = np.column_stack([rows, np.full(50, 3.0), rows[:, 0]])
    >>> (with_constant @ white_coordinates(with_constant))[:2, 2:].round(9).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    inputs = np.asarray(rows, dtype=np.float64)
    p = inputs.shape[1]
    mean = np.average(inputs, axis=0, weights=weight)
    cov = np.atleast_2d(np.cov(inputs, rowvar=False, bias=True, aweights=weight))
    spread = np.sqrt(np.diagonal(cov))
    varies = spread > _CONSTANT * np.abs(mean)
    inverse = np.where(varies, 1 / np.where(varies, spread, 1.0), 0.0)
    correlations = cov * np.outer(inverse, inverse)
    values, axes = np.linalg.eigh(correlations)
    known = values > _SINGULAR * max(float(values[-1]), 1e-300)
    if known.all():
        return np.asarray(inverse[:, None] * np.linalg.inv(np.linalg.cholesky(correlations)).T)
    white = np.zeros((p, p))
    rank = int(np.sum(known))
    white[:, :rank] = inverse[:, None] * axes[:, known] / np.sqrt(values[known])
    # Inputs in units of their spread, or of their size where they have none: of what is constant, the least weights.
    size = np.where(varies, spread, np.where(mean != 0, np.abs(mean), 1.0))
    constant = axes[:, ~known] @ (axes[:, ~known].T @ (mean / size))
    length = float(constant @ (mean / size))
    if length > _CONSTANT * float((mean / size) @ (mean / size)):
        white[:, rank] = constant / size / length
    return white
