r"""Networks of squares as matrices: where a search begins, and one with orthogonal rows where squares nearly cancel.

The function Σ_i a_i (w_i·x + b_i)² is that of the matrix M = Wᵀ diag(a) W, of which any W with the same matrix is as
good, and M itself is found by linear least squares. With outputs of both signs W may run away along hyperbolic
rotations without a change of the function, until rounding hides what the rows determine. The eigenvectors of M, inputs
being in units of their root mean squares, have no such terms.
"""

from __future__ import annotations

import numpy as np

from planted.methods._problem import Problem
from planted.networks import Network
from planted.numerics.decompositions import least_squares
from planted.solvers import SeparableRows

# Terms that are so many times as large as what they add up to nearly cancel.
_CANCELLING = 10.0
# Rows that each product of two inputs needs.
_ROWS_PER_PRODUCT = 2


def square_rows(rows: SeparableRows, width: int) -> np.ndarray | None:
    """Hidden rows (width, q) of the squares that explain rows best: leading eigenvectors of the best matrices.

    For several outputs o they are those of Σ_o M_o². None where products of inputs are many for the rows.

    >>> from planted import activations
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> rows = SeparableRows(X, np.ones((50, 1)), (X[:, :1] + X[:, 1:2]) ** 2, activations.get("quadratic"))
    >>> np.abs(square_rows(rows, 1)).round(6) + 0.0
    array([[0.707107, 0.707107, 0.      ]])
    """
    n, q = rows.X.shape
    first, second = np.triu_indices(q)
    if len(first) * _ROWS_PER_PRODUCT > n or width > q:
        return None
    columns, y = np.column_stack([rows.X[:, first] * rows.X[:, second], rows.nuisance]), rows.y
    if rows.weight is not None:
        columns, y = columns * rows.weight[:, None], y * rows.weight[:, None]
    solution = least_squares(columns, y, 1e-12)[: len(first)]
    matrices = np.zeros((y.shape[1], q, q))
    matrices[:, first, second] = solution.T
    matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
    values, vectors = np.linalg.eigh(np.einsum("oab,obc->ac", matrices, matrices))
    return vectors[:, np.argsort(-values, kind="stable")[:width]].T


def orthogonal_squares(problem: Problem, network: Network) -> Network:
    """The same function by orthogonal rows, where the network is one of squares that nearly cancel.

    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> far = Network([[100.0, 99.0], [99.0, 100.0]], [1.0, -1.0], "quadratic")
    >>> near = orthogonal_squares(Problem.of(X, far.predict(X), 2, "quadratic"), far)
    >>> np.allclose(near.predict(X), far.predict(X)), bool(abs(near.weights[0] @ near.weights[1]) < 1)
    (True, True)
    """
    rows = network.weights if network.bias is None else np.column_stack([network.weights, network.bias])
    k, d = rows.shape
    if network.activation.name != "quadratic" or network.output.ndim > 1 or not 2 <= k <= d:
        return network
    size = np.sqrt(np.maximum(np.diagonal(problem.survey.second), 0.0))
    size = np.concatenate([np.where(size > 0, size, 1.0), np.ones(d - len(size))])
    terms = float(np.abs(network.output) @ np.sum((rows * size) ** 2, axis=1))
    values, vectors = np.linalg.eigh(((rows * size).T * network.output) @ (rows * size))
    if terms <= _CANCELLING * float(np.sum(np.abs(values))):
        return network
    largest = np.argsort(-np.abs(values), kind="stable")[:k]
    rows = vectors[:, largest].T / size
    shift = None if network.bias is None else rows[:, -1]
    return network.replace(weights=rows[:, : network.n_features], output=values[largest], bias=shift)
