r"""Squares that nearly cancel: of all networks Σ_i a_i (w_i·x + b_i)² that are one function, one with orthogonal rows.

The function is that of the matrix M = Wᵀ diag(a) W, of which any W with the same matrix is as good. With outputs of
both signs W may run away along hyperbolic rotations without a change of the function, until rounding hides what the
rows determine. The eigenvectors of M, inputs being in units of their root mean squares, have no such terms.
"""

from __future__ import annotations

import numpy as np

from planted.methods._problem import Problem
from planted.networks import Network

# Terms that are so many times as large as what they add up to nearly cancel.
_CANCELLING = 10.0


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
