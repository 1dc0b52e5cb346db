"""Decompositions of matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from planted.numerics.threads import one_thread

# Columns that are many, and the share of each that those before it have to leave.
_MANY, _INDEPENDENT = 100, 1e-2


def svd(matrix: np.ndarray, full_matrices: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular vectors (n, r), values (r,) and vectors (r, m) of a finite matrix (n, m).

    LAPACK's divide and conquer, which NumPy takes, is the quicker way and does not converge for a few finite matrices;
    its QR iteration does. One thread is used: for the matrices here a second one gains little, and on a busy machine
    threads that wait for each other take many times as long.

    >>> svd(np.diag([2.0, 1.0]))[1]
    array([2., 1.])
    """
    with one_thread():
        try:
            left, values, right = np.linalg.svd(matrix, full_matrices=full_matrices)
        except np.linalg.LinAlgError:
            left, values, right = scipy.linalg.svd(matrix, full_matrices=full_matrices, lapack_driver="gesvd")
    return left, values, right


def least_squares(columns: np.ndarray, targets: np.ndarray, rcond: float) -> np.ndarray:
    """Coefficients (c, m) of columns (n, c) that are nearest to targets (n, m); the shortest where several are.

    Many columns that hardly depend on one another are solved for by their products, with one step of refinement, in a
    fifth of the time of a decomposition.

    >>> least_squares(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[2.0], [2.0]]), 1e-12).round(12)
    array([[1.],
           [1.]])
    """
    factor = _factor_of_products(columns) if columns.shape[1] >= _MANY and len(columns) >= columns.shape[1] else None
    if factor is None:
        return np.asarray(np.linalg.lstsq(columns, targets, rcond=rcond)[0])
    solution = factor(columns.T @ targets)
    return solution + factor(columns.T @ (targets - columns @ solution))


def _factor_of_products(columns: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
    """What solves for (columnsᵀ columns) s = t, if columns of unit length are far from dependent."""
    products = columns.T @ columns
    size = np.sqrt(np.diagonal(products))
    if not size.all():
        return None
    try:
        factor = scipy.linalg.cho_factor(products / np.outer(size, size), check_finite=False)
    except scipy.linalg.LinAlgError:
        return None
    # An entry of the diagonal is what the columns before leave of one.
    if not np.min(np.diagonal(factor[0])) > _INDEPENDENT:
        return None
    return lambda right: scipy.linalg.cho_solve(factor, right / size[:, None], check_finite=False) / size[:, None]
