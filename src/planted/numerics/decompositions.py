"""Decompositions of matrices."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from planted.numerics.threads import one_thread


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
