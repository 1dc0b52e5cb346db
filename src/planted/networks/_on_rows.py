"""Rows beside a network: which of them count, how well each is explained, and how far rounding goes."""

from __future__ import annotations

import numpy as np

from planted.networks._kind import AT_KINK, Kind

_ROUNDED = 50_000
"""Rows at most over which rounding is averaged."""


def off_kinks(network: Kind, X: np.ndarray) -> np.ndarray:
    """Which rows of X (n, …) no neuron has on a kink of its activation, where rounding decides whether it is active.

    >>> from planted.networks import Network
    >>> off_kinks(Network([[1.0, -1.0]], [1.0]), np.array([[1.0, 1.0], [2.0, 1.0]]))
    array([False,  True])
    """
    if not network.activation.kinks:
        return np.ones(len(X), bool)
    z, bound = network.preactivations(X), network.reach(X)
    near = [np.abs(z - kink) <= AT_KINK * (bound + abs(kink)) for kink in network.activation.kinks]
    return ~np.any(near, axis=(0, 2))


def counting_rows(network: Kind, X: np.ndarray) -> int:
    """Distinct rows of X (n, …) in which some neuron is active: those that say something about the weights.

    >>> from planted.networks import Network
    >>> counting_rows(Network([[1.0]], [1.0]), np.array([[1.0], [1.0], [2.0], [-1.0]]))
    2
    """
    return len(distinct_rows(X[network.speaking(X) & off_kinks(network, X)]))


def distinct_rows(X: np.ndarray) -> np.ndarray:
    """Places of the distinct rows of X (n, …), in ascending order, each that of the first of its copies.

    >>> distinct_rows(np.array([[1.0], [2.0], [1.0]]))
    array([0, 1])
    """
    if not X.size:
        return np.arange(0)
    rows = np.ascontiguousarray(X.reshape(len(X), -1)) + 0.0
    as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))
    return np.sort(np.unique(as_bytes, return_index=True)[1])


def residual_sizes(network: Kind, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """|prediction − y| of each row (n,), relative to the terms that add up to the prediction and the target.

    >>> from planted.networks import Network
    >>> residual_sizes(Network([[1.0]], [2.0]), np.array([[1.0], [2.0]]), np.array([2.0, 12.0])).round(2)
    array([0. , 0.5])
    """
    terms, residual = network.terms(X), np.abs(network.predict(X) - y)
    # Rows where all neurons are silent are compared to a typical row, and to the rounding of the largest.
    size = terms + np.abs(y)
    size = size + np.maximum(1e-3 * np.median(size, axis=0), 1e-8 * np.max(size, axis=0))
    return np.max((residual / np.maximum(size, 1e-300)).reshape(len(X), -1), axis=1)


def largest_residual(network: Kind, X: np.ndarray, y: np.ndarray) -> float:
    """The largest of :func:`residual_sizes`.

    >>> from planted.networks import Network
    >>> largest_residual(Network([[1.0]], [2.0]), np.array([[1.0]]), np.array([2.0]))
    0.0
    """
    return float(np.max(residual_sizes(network, X, y)))


def rounding_noise(network: Kind, X: np.ndarray, y: np.ndarray) -> float:
    """Standard deviation of the rounding of a row's prediction and target: ε times the terms that add up to it.

    >>> from planted.networks import Network
    >>> rounding_noise(Network([[1.0]], [2.0]), np.array([[1.0]]), np.array([2.0])) < 1e-14
    True
    """
    some = slice(0, _ROUNDED)
    rows, targets = X[some], np.abs(y[some])
    total = network.rounding(rows) + targets.reshape(len(rows), -1).sum(axis=1)
    return float(np.finfo(float).eps * np.sqrt(np.mean(total**2)))
