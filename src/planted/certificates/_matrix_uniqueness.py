r"""Is a quadratic network's matrix the only one that explains the rows?

A network of neurons φ(z) = z² is xᵀMx, M = WᵀD_vW. The rows are linear in M, 𝒜(M) = (xᵢᵀMxᵢ)ᵢ, and d(d+1)/2 of them in
general position leave no choice. With fewer there are two certificates, for a matrix M of rank r with range U and
complement V.

*Tangent space.* If 𝒜 is injective on T = {UAᵀ + AUᵀ}, of dimension rd − r(r−1)/2, no other matrix of rank r nearby
explains the rows.

*Dual.* If λ exists with Q = Σ λᵢ xᵢxᵢᵀ, QU = 0 and VᵀQV ≻ 0, then every semidefinite M' that explains the rows has
⟨Q, M'⟩ = Σ λᵢyᵢ = ⟨Q, M⟩ = 0, hence its range in U; and if 𝒜 is injective on matrices with range in U, M' = M: no other
network whose outputs share M's sign explains the rows, of whatever width. λ is looked for by maximising the smallest
eigenvalue of VᵀQV, which is concave, and then checked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space
from scipy.optimize import minimize

from planted.numerics.validation import as_matrix

KINDS = ("among all matrices", "among semidefinite matrices", "among matrices of this rank nearby", "not proved")
_RANK = 1e-7
_INJECTIVE = 1e-7
_POSITIVE = 1e-6
_DUAL_ROWS = 2000
_SHARPNESS = (10.0, 100.0, 1000.0)


@dataclass(frozen=True)
class MatrixUniqueness:
    """Whether another matrix explains the rows as well.

    Attributes
    ----------
    kind : str
        The strongest of :data:`KINDS` that was proved.
    reason : str
    rank : int
        Of the matrix.
    tangent : float
        Smallest over largest singular value of 𝒜 on the tangent space.
    dual : float
        Smallest eigenvalue of VᵀQV over its largest for the best λ; NaN where M has both signs or is determined.
    multipliers : array (n,) or None
        λ of the dual certificate.
    """

    kind: str
    reason: str
    rank: int
    tangent: float
    dual: float
    multipliers: np.ndarray | None = None

    @property
    def one_sign(self) -> bool:
        """Whether no other network with outputs of one sign explains the rows."""
        return self.kind in KINDS[:2]


def matrix_uniqueness(X: ArrayLike, matrix: ArrayLike) -> MatrixUniqueness:
    """The strongest certificate that rows X (n, d) give for a symmetric matrix (d, d) which explains their targets.

    >>> rng = np.random.default_rng(0)
    >>> X, w = rng.standard_normal((40, 10)), rng.standard_normal(10)
    >>> matrix_uniqueness(X, np.outer(w, w)).kind, matrix_uniqueness(X[:9], np.outer(w, w)).kind
    ('among semidefinite matrices', 'not proved')
    """
    rows = as_matrix("X", X)
    n, d = rows.shape
    whole = np.asarray(matrix, dtype=np.float64)
    values, vectors = np.linalg.eigh((whole + whole.T) / 2)
    size = float(np.max(np.abs(values)))
    large = np.abs(values) > _RANK * max(size, 1e-300)
    inside, outside = vectors[:, large], vectors[:, ~large]
    rank = int(np.sum(large))
    # Rows of equal length weigh alike, which changes no certificate but keeps the numbers comparable.
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    entries = d * (d + 1) // 2
    if n >= entries and _injective(_products(rows, np.eye(d))) > _INJECTIVE:
        reason = f"they determine all {entries} entries of the network's matrix"
        return MatrixUniqueness(KINDS[0], reason, rank, 1.0, math.nan)
    dimension = rank * d - rank * (rank - 1) // 2
    tangent = _injective(_tangent(rows, inside, outside)) if n >= dimension else 0.0
    signs = np.sign(values[large])
    dual, multipliers = math.nan, None
    if rank and np.all(signs == signs[0]) and n <= _DUAL_ROWS:
        dual, multipliers = _dual(rows, inside, outside)
        if dual > _POSITIVE and _injective(_products(rows, inside)) > _INJECTIVE:
            reason = "a dual certificate shows that no other network with outputs of one sign explains them"
            return MatrixUniqueness(KINDS[1], reason, rank, tangent, dual, multipliers)
    if tangent <= _INJECTIVE:
        reason = f"they leave directions open among the {dimension} of matrices of rank {rank}"
        return MatrixUniqueness(KINDS[3], reason, rank, tangent, dual)
    reason = f"they determine the {dimension} numbers of a matrix of rank {rank} near this one"
    return MatrixUniqueness(KINDS[2], reason, rank, tangent, dual)


def _injective(design: np.ndarray) -> float:
    """Smallest over largest singular value of a matrix (n, m), zero where n < m."""
    if design.shape[0] < design.shape[1] or not design.size:
        return 0.0 if design.size else 1.0
    values = np.linalg.svd(design, compute_uv=False)
    return float(values[-1] / values[0]) if values[0] > 0 else 0.0


def _products(rows: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """𝒜 on matrices basis·S·basisᵀ, S symmetric, in an orthonormal basis of S: (n, r(r+1)/2)."""
    inner = rows @ basis
    upper = np.triu_indices(inner.shape[1])
    return inner[:, upper[0]] * inner[:, upper[1]] * np.where(upper[0] == upper[1], 1.0, math.sqrt(2))


def _tangent(rows: np.ndarray, inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """𝒜 on the tangent space in an orthonormal basis: S within U, and U Bᵀ + B Uᵀ with B in V."""
    across = np.einsum("na,nb->nab", rows @ inside, rows @ outside).reshape(len(rows), -1) * math.sqrt(2)
    return np.concatenate([_products(rows, inside), across], axis=1)


def _dual(rows: np.ndarray, inside: np.ndarray, outside: np.ndarray) -> tuple[float, np.ndarray | None]:
    """The largest ratio of extreme eigenvalues of VᵀQV that was reached, and its λ with QU = 0."""
    if not outside.shape[1]:
        return 1.0, np.zeros(len(rows))
    # QU = 0 says that Q has no part in the tangent space.
    free = null_space(_tangent(rows, inside, outside).T)
    if not free.shape[1]:
        return -math.inf, None
    inner = rows @ outside
    trace = free.T @ np.sum(inner**2, axis=1)
    if np.linalg.norm(trace) <= 1e-12:
        return -math.inf, None
    base = trace / (trace @ trace)
    turn = null_space(trace[None])

    def matrix(z: np.ndarray) -> np.ndarray:
        return (inner.T * (free @ (base + turn @ z))) @ inner

    def soft(z: np.ndarray, sharp: float) -> tuple[float, np.ndarray]:
        """A smooth bound on the largest eigenvalue of −VᵀQV with trace one, and its gradient."""
        values, vectors = np.linalg.eigh(matrix(z) * inner.shape[1])
        shifted = np.exp(-sharp * (values - values[0]))
        total = float(np.sum(shifted))
        weight = (vectors * (shifted / total)) @ vectors.T
        slope = -turn.T @ (free.T @ np.einsum("na,ab,nb->n", inner, weight, inner)) * inner.shape[1]
        return -float(values[0]) + math.log(total) / sharp, slope

    z = np.zeros(turn.shape[1])
    for sharp in _SHARPNESS:
        if len(z):
            z = minimize(soft, z, args=(sharp,), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
        values = np.linalg.eigvalsh(matrix(z))
        if values[0] > _POSITIVE * values[-1]:
            break
    multipliers = free @ (base + turn @ z)
    values = np.linalg.eigvalsh((inner.T * multipliers) @ inner)
    touching = np.linalg.norm((rows.T * multipliers) @ (rows @ inside), 2)
    if touching > 1e-9 * max(float(np.abs(values).max()), 1e-300):
        return -math.inf, None
    return float(values[0] / max(float(values[-1]), 1e-300)), multipliers
