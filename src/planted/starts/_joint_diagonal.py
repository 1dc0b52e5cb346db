r"""Non-orthogonal decomposition of a small symmetric tensor by simultaneous diagonalisation.

A tensor T = Σ_i c_i u_i⊗u_i⊗u_i contracted with a vector g is the matrix U diag(c_i u_i·g) Uᵀ. All such matrices are
diagonal in the same, in general not orthogonal, basis. Kuleshov, Chaganty and Liang (2015) contract with random
vectors, diagonalise the matrices jointly, contract again with the vectors found and diagonalise once more. The joint
diagonaliser is that of Ziehe et al. (2004), started from the eigenvectors of one pencil.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

_STEPS = 200
_LARGEST_STEP = 0.9


class Decomposition(NamedTuple):
    """Unit columns `factors` (k, k), `coefficients` (m, k) of each tensor, and the relative `residual` of the fit."""

    factors: np.ndarray
    coefficients: np.ndarray
    residual: float


def joint_diagonaliser(matrices: np.ndarray, start: np.ndarray) -> np.ndarray:
    """B (k, k) that makes every B M_l Bᵀ as diagonal as it can, for symmetric `matrices` (m, k, k).

    Multiplicative updates B ← (I + W)B with W from the linearised off-diagonal (FFDIAG).

    >>> rng = np.random.default_rng(0)
    >>> U = rng.standard_normal((3, 3))
    >>> matrices = np.stack([U @ np.diag(rng.standard_normal(3)) @ U.T for _ in range(4)])
    >>> B = joint_diagonaliser(matrices, np.linalg.inv(U + 0.1))
    >>> D = B @ matrices @ B.T
    >>> bool(np.abs(D * (1 - np.eye(3))).max() < 1e-8)
    True
    """
    B = start / np.linalg.norm(start, axis=1, keepdims=True)
    k = len(B)
    off = 1 - np.eye(k)
    for _ in range(_STEPS):
        D = B @ matrices @ B.T
        diagonal = np.einsum("lii->li", D)
        z = diagonal.T @ diagonal
        y = np.einsum("lj,lij->ij", diagonal, D)
        energy = np.diag(z)
        determinant = np.outer(energy, energy) - z**2
        determinant = np.maximum(determinant, 1e-12 * np.outer(energy, energy) + 1e-300)
        # The off-diagonal of (I + W)D(I + W)ᵀ is W_ij D_jj + W_ji D_ii + D_ij to first order: 2 × 2 least squares.
        W = off * (z * y.T - energy[:, None] * y) / determinant
        size = np.linalg.norm(W)
        if size > _LARGEST_STEP:
            W *= _LARGEST_STEP / size
        B = B + W @ B
        B /= np.linalg.norm(B, axis=1, keepdims=True)
        if size < 1e-13:
            break
    return B


def _pencil(matrices: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows that diagonalise two random combinations of the matrices (Jennrich): real parts where noise makes pairs."""
    first, second = (np.tensordot(rng.standard_normal(len(matrices)), matrices, 1) for _ in range(2))
    _, vectors = scipy.linalg.eig(first, second)
    rows = vectors.T.real
    # Complex pairs have equal real parts: the imaginary part of one of them completes the basis.
    imaginary = vectors.T.imag
    paired = np.flatnonzero(np.abs(imaginary).max(axis=1) > 1e-12)[1::2]
    rows[paired] = imaginary[paired]
    return rows


def _contractions(tensors: np.ndarray, directions: np.ndarray) -> np.ndarray:
    k = tensors.shape[-1]
    matrices = np.einsum("mijl,gl->gmij", tensors, directions).reshape(-1, k, k)
    return (matrices + matrices.transpose(0, 2, 1)) / 2


def _fit(tensors: np.ndarray, factors: np.ndarray) -> Decomposition:
    """Coefficients of the tensors on the cubes of given unit columns, by least squares."""
    k = tensors.shape[-1]
    cubes = np.einsum("ia,ja,la->ijla", factors, factors, factors).reshape(k**3, k)
    flat = tensors.reshape(len(tensors), -1)
    coefficients = np.linalg.lstsq(cubes, flat.T, rcond=None)[0].T
    residual = np.linalg.norm(flat - coefficients @ cubes.T) / max(float(np.linalg.norm(flat)), 1e-300)
    return Decomposition(factors, coefficients, float(residual))


def decompose(tensors: np.ndarray, rng: np.random.Generator, projections: int = 20, tries: int = 5) -> Decomposition:
    """Common unit factors u_i (columns) of the tensors T_m = Σ_i c_mi u_i⊗u_i⊗u_i, `tensors` (m, k, k, k).

    Two stages as in the paper of Kuleshov, Chaganty and Liang: `projections` random contractions, then contractions
    along the factors found. Repeated from `tries` random pencils; the best fit wins.

    >>> rng = np.random.default_rng(1)
    >>> U = rng.standard_normal((4, 4))
    >>> U /= np.linalg.norm(U, axis=0)
    >>> found = decompose(np.einsum("ia,ja,la->ijl", U, U, U)[None], rng)
    >>> bool(np.allclose(np.abs(np.linalg.solve(found.factors, U)).max(axis=0), 1.0)), found.residual < 1e-8
    (True, True)
    """
    k = tensors.shape[-1]
    if k == 1:
        return _fit(tensors, np.ones((1, 1)))
    candidates: list[Decomposition] = []
    for _ in range(tries):
        matrices = _contractions(tensors, rng.standard_normal((projections, k)))
        try:
            B = joint_diagonaliser(matrices, _pencil(matrices, rng))
            factors = np.linalg.inv(B)
            factors /= np.linalg.norm(factors, axis=0)
            B = joint_diagonaliser(_contractions(tensors, factors.T), B)
            factors = np.linalg.inv(B)
        except (np.linalg.LinAlgError, ValueError):
            continue
        decomposition = _fit(tensors, factors / np.linalg.norm(factors, axis=0))
        if np.isfinite(decomposition.residual):
            candidates.append(decomposition)
    if not candidates:
        raise ArithmeticError("the moment tensor could not be diagonalised: it is singular or not finite")
    return min(candidates, key=lambda candidate: candidate.residual)
