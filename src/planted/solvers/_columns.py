"""Columns of a least-squares problem by an orthonormal basis, and coefficients of them from those of the basis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgeqrf, dorgqr, dtrcon, dtrtrs

# Singular values of the columns below this share count as zero; columns whose least one is estimated to be above the
# second number have none that does.
_SINGULAR, _REGULAR = 1e-13, 1e-9
# Columns that LAPACK takes at a time.
_BLOCK = 32


class Regular(NamedTuple):
    """Independent columns by an orthonormal basis (n, c): `triangle` has R of their QR decomposition in its upper part.

    Columns are in units of `scale` (c,).
    """

    basis: np.ndarray
    triangle: np.ndarray
    scale: np.ndarray

    def solution(self, projected: np.ndarray) -> np.ndarray:
        """Coefficients (c, m) of the columns for those (c, m) of the basis; infinite where these are too large."""
        with np.errstate(over="ignore"):
            return dtrtrs(self.triangle, projected)[0] / self.scale[:, None]


class Singular(NamedTuple):
    """Columns by an orthonormal basis (n, r) and the singular vectors (r, c) and values (r,) of them that count.

    Columns are in units of `scale` (c,).
    """

    basis: np.ndarray
    right: np.ndarray
    values: np.ndarray
    scale: np.ndarray

    def solution(self, projected: np.ndarray) -> np.ndarray:
        """The least coefficients (c, m) of the columns for those (r, m) of the basis; infinite where too large."""
        with np.errstate(over="ignore"):
            return (self.right.T @ (projected / self.values[:, None])) / self.scale[:, None]


Factor = Regular | Singular


def norms_of(columns: np.ndarray) -> np.ndarray:
    """The norm of each column (n, c).

    >>> norms_of(np.array([[3.0, 0.0], [4.0, 1.0]]))
    array([5., 1.])
    """
    return np.sqrt(np.einsum("ij,ij->j", columns, columns))


def factored(columns: np.ndarray, size: np.ndarray | None = None, *, relative: bool = False) -> Factor:
    """Columns (n, c) in units of `size` (c,), by default their norms, by an orthonormal basis of what they span.

    What is singular counts relative to the largest singular value where units are norms, as `relative` says of a
    size that is given.

    >>> factor = factored(np.array([[1.0, 1.0], [0.0, 2.0], [0.0, 0.0]]))
    >>> factor.solution(factor.basis.T @ np.array([[3.0], [4.0], [5.0]]))
    array([[1.],
           [2.]])
    """
    relative = relative or size is None
    # Columns of any size count: an idle neuron's is tiny.
    scale = np.maximum(norms_of(columns) if size is None else size, 1e-300)
    scaled, count = columns / scale, columns.shape[1]
    if len(columns) < count:
        left, values, right = np.linalg.svd(scaled, full_matrices=False)
        known = values > _SINGULAR * (values[0] if relative else 1.0)
        return Singular(left[:, known], right[known], values[known], scale)
    packed, tau, _, _ = dgeqrf(scaled, lwork=_BLOCK * count, overwrite_a=True)
    triangle = packed[:count].copy(order="F")
    basis = dorgqr(packed, tau, lwork=_BLOCK * count, overwrite_a=True)[0]
    # The least singular value is at least 1/(√c ‖R⁻¹‖₁), and ‖R‖₁ at least any entry: an estimate takes a fraction
    # of the time of singular values.
    if dtrcon(triangle)[0] * np.abs(np.diagonal(triangle)).max() > _REGULAR:
        return Regular(basis, triangle, scale)
    left, values, right = np.linalg.svd(np.triu(triangle), full_matrices=False)
    known = values > _SINGULAR * (values[0] if relative else 1.0)
    return Singular(basis @ left[:, known], right[known], values[known], scale)
