r"""Sums over points with Gaussian kernel weights, at every query: two matrix products and an exponential a tile.

For queries q and points X_i the weights are w_i = exp(−‖X_i − q‖²/2h²), and wanted are

    Σ_i w_i (1, X_i, upper triangle of X_iX_iᵀ)   and   Σ_i w_i².

log w_i + ‖q‖²/2h² is the product of (q/h², 1) with (X_i, −‖X_i‖²/2h²), and the sums are the product of the weights
with the features (1, X, XXᵀ), which are precomputed for a chunk of points. Tiles of queries are shared among threads,
one a core: NumPy lets go of the interpreter in products and exponentials alike.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from planted.numerics.threads import cores, one_thread

# A tile of weights of this size stays in the processor's cache.
_QUERIES, _POINTS = 500, 1000
# Points whose features are in memory at once.
_CHUNK = 16_000
_LEAST_LOG = -1e30


def kernel_sums(
    points: np.ndarray, queries: np.ndarray, h: float, dtype: Any = np.float64, leave_one_out: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Largest log-weight (q,), Σ w·(1, X, upper triangle of XXᵀ) (q, 1 + d + d(d+1)/2) and Σ w² (q,), in float64.

    Weights are relative to the largest one, which is updated as tiles of points pass by: a query far from all points
    has a largest weight of one, never 0/0.

    Parameters
    ----------
    points : array (n, d)
    queries : array (q, d)
    h : float
        Bandwidth.
    dtype : NumPy type
        Of the weights and products.
    leave_one_out : bool
        The queries are the points, in order, and each is left out of its own sums.

    Memory: the answer, 16,000 × (1 + d + d(d+1)/2) features, and a tile of 500 × 1,000 weights a thread.

    Examples
    --------
    >>> kernel_sums(np.array([[1.0], [-1.0]]), np.array([[0.0]]), 1.0)
    (array([-0.5]), array([[2., 0., 2.]]), array([2.]))
    """
    n, d = points.shape
    upper = np.triu_indices(d)
    scale = 1 / h**2
    left = np.concatenate([scale * queries, np.ones((len(queries), 1))], axis=1).astype(dtype)
    largest = np.full(len(queries), _LEAST_LOG, dtype)
    sums = np.zeros((len(queries), 1 + d + len(upper[0])), dtype)
    squares = np.zeros(len(queries), dtype)

    def add(start: int, first: int, right: np.ndarray, features: np.ndarray) -> None:
        """Add the points of one chunk, numbers first, first + 1, …, to the sums of one tile of queries."""
        mine = slice(start, start + _QUERIES)
        q = left[mine]
        memory = np.empty((len(q), min(_POINTS, len(right))), dtype)
        for tile in range(0, len(right), _POINTS):
            here = slice(tile, tile + _POINTS)
            weight = memory[:, : len(right[here])]
            np.matmul(q, right[here].T, out=weight)
            if leave_one_out:
                own = np.arange(max(start, first + tile), min(start + len(q), first + tile + weight.shape[1]))
                weight[own - start, own - first - tile] = -np.inf
            new = np.maximum(largest[mine], weight.max(axis=1))
            weight -= new[:, None]
            np.exp(weight, out=weight)
            shrink = np.exp(largest[mine] - new)
            largest[mine] = new
            sums[mine] = sums[mine] * shrink[:, None] + weight @ features[here]
            squares[mine] = squares[mine] * shrink**2 + np.einsum("ij,ij->i", weight, weight)

    with one_thread(), ThreadPoolExecutor(cores()) as pool:
        for first in range(0, n, _CHUNK):
            x = points[first : first + _CHUNK]
            half = 0.5 * scale * np.sum(x * x, axis=1, keepdims=True)
            right = np.concatenate([x, -half], axis=1).astype(dtype)
            features = np.concatenate([np.ones((len(x), 1)), x, x[:, upper[0]] * x[:, upper[1]]], axis=1).astype(dtype)
            starts = range(0, len(queries), _QUERIES)
            list(pool.map(lambda start, f=first, r=right, g=features: add(start, f, r, g), starts))
    wide = largest.astype(np.float64) - 0.5 * scale * np.sum(queries * queries, axis=1)
    return wide, sums.astype(np.float64), squares.astype(np.float64)
