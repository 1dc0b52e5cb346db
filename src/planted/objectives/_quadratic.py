r"""Quadratic activations: the convex view of the loss, and exact verdicts (Soltanolkotabi et al. 2017, section 6).

With φ(z) = z² the network is xᵀMx for M = WᵀD_vW, so the squared loss is a convex function of M,

    L(M) = 1/(2n) Σ_i (xᵢᵀMxᵢ − yᵢ)²,    S = ∇L(M) = 1/n Σ_i rᵢ xᵢxᵢᵀ,    ∇_W L = 2 D_v W S,

    vect(U)ᵀ ∇²_W L vect(U) = 2 ⟨UᵀD_vU, S⟩ + 4/n Σ_i (xᵢᵀWᵀD_vU xᵢ)².

S = 0 makes W a global minimum whatever its width (Lemma 6.1). If all outputs have the sign s, M ranges over s times
positive semidefinite matrices, and S W ᵀ = 0 with sS ⪰ 0 are the optimality conditions of that convex problem. At any
other critical point a vector a with WᵀD_va = 0 gives U = abᵀ of curvature 2 (aᵀD_va)(bᵀSb), which is negative for a
suitable eigenvector b of S; with d positive and d negative outputs, or d of one sign, there is always such an a.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_matrix, as_rows
from planted.objectives._base import Params, RowObjective
from planted.rows import ArrayRows, Block


class QuadraticForm(RowObjective):
    """The convex loss L(M) = ½ mean (xᵀMx − y)² over matrices M (d, d).

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)

    Examples
    --------
    >>> loss = QuadraticForm([[1.0, 2.0]], [5.0])
    >>> loss.value(np.eye(2)), loss.value(np.zeros((2, 2)))
    (0.0, 12.5)
    """

    _arrays = ("rows",)
    non_negative = True
    convex = True

    @float64
    def __init__(self, X: ArrayLike, y: ArrayLike) -> None:
        inputs, targets = as_rows(X, y)
        self.rows = ArrayRows(to_jax(inputs), to_jax(targets))

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """One matrix (d, d)."""
        super().check_shapes(arrays)
        if arrays["weights"].shape[0] != self.n_features:
            raise ValueError(f"M has shape {arrays['weights'].shape}, expected ({self.n_features}, {self.n_features})")

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """½ Σ weight (xᵀMx − y)² over a block."""
        residual = jnp.sum((block["x"] @ params) * block["x"], axis=1) - block["y"]
        return 0.5 * jnp.sum(block["weight"] * residual * residual)


def quadratic_matrix(weights: ArrayLike, output: ArrayLike) -> np.ndarray:
    """M = Wᵀ diag(v) W (d, d).

    >>> quadratic_matrix([[1.0, 1.0]], [2.0])
    array([[2., 2.],
           [2., 2.]])
    """
    W = np.asarray(weights, dtype=np.float64)
    return (W.T * np.asarray(output, dtype=np.float64)) @ W


def residual_matrix(X: ArrayLike, y: ArrayLike, M: ArrayLike) -> np.ndarray:
    """S = 1/n Σ rᵢ xᵢxᵢᵀ (d, d), the gradient of L(M).

    >>> residual_matrix([[1.0, 0.0]], [2.0], np.eye(2))
    array([[-1.,  0.],
           [ 0.,  0.]])
    """
    inputs, targets = as_rows(X, y)
    residual = np.sum((inputs @ np.asarray(M)) * inputs, axis=1) - targets
    return (inputs.T * residual) @ inputs / len(inputs) + 0.0


def quadratic_jacobian(X: ArrayLike, weights: ArrayLike, output: ArrayLike) -> np.ndarray:
    """Jacobian (kd, n) of the predictions with respect to W row by row, column i being 2 v_q (w_q·xᵢ) xᵢ (eq. 6.2).

    An array of parameters × rows: for studies of its spectrum, not for fitting.

    >>> quadratic_jacobian([[1.0, 2.0]], [[1.0, 0.0]], [3.0]).T
    array([[ 6., 12.]])
    """
    inputs, W = as_matrix("X", X), as_matrix("weights", weights)
    slopes = 2 * np.asarray(output)[:, None] * (W @ inputs.T)
    return np.einsum("kn,nd->kdn", slopes, inputs).reshape(-1, len(inputs))


def hessian_form(X: ArrayLike, y: ArrayLike, weights: ArrayLike, output: ArrayLike, direction: ArrayLike) -> float:
    """vect(U)ᵀ∇²_W L vect(U) = 2⟨UᵀD_vU, S⟩ + 4/n Σ (xᵢᵀWᵀD_vUxᵢ)² (eq. 6.4, its second factor corrected).

    >>> hessian_form([[1.0]], [0.0], [[1.0]], [1.0], [[1.0]])
    6.0
    """
    inputs, _ = as_rows(X, y)
    W, U, v = np.asarray(weights), np.asarray(direction), np.asarray(output)
    S = residual_matrix(X, y, quadratic_matrix(W, v))
    cross = np.sum((inputs @ ((W.T * v) @ U)) * inputs, axis=1)
    return float(2 * np.sum(((U.T * v) @ U) * S) + 4 * np.mean(cross**2))


@dataclass(frozen=True)
class QuadraticVerdict:
    """What section 6 says about one point.

    Attributes
    ----------
    kind : "global minimum", "saddle", "not critical" or "undecided"
    reason : str
    direction : array (k, d) or None
        Unit descent direction, or direction of negative curvature.
    curvature : float
        vect(U)ᵀ∇²L vect(U) of that direction at a saddle, otherwise 0.
    residual : float
        ‖S‖ relative to 1/n ‖Σ (|yᵢ| + |predictionᵢ|) xᵢxᵢᵀ‖.
    """

    kind: str
    reason: str
    direction: np.ndarray | None
    curvature: float
    residual: float


def quadratic_verdict(
    X: ArrayLike, y: ArrayLike, weights: ArrayLike, output: ArrayLike, tolerance: float = 1e-6
) -> QuadraticVerdict:
    """Exact verdict on W (k, d) for fixed outputs v (k,), any data set; "undecided" only if the width is too small.

    Examples
    --------
    >>> X, y = np.eye(2), np.array([1.0, -1.0])
    >>> quadratic_verdict(X, y, np.zeros((4, 2)), [1.0, 1.0, -1.0, -1.0]).kind
    'saddle'
    >>> quadratic_verdict(X, y, [[1.0, 0.0], [0.0, 0.0]], [1.0, 1.0]).reason
    'all outputs are positive, S is positive semidefinite and S Wᵀ = 0'
    """
    inputs, targets = as_rows(X, y)
    W, v = as_matrix("weights", weights), as_matrix("output", output, 1)
    if W.shape != (len(v), inputs.shape[1]):
        raise ValueError(f"weights has shape {W.shape}, expected ({len(v)}, {inputs.shape[1]})")
    M = quadratic_matrix(W, v)
    predictions = np.sum((inputs @ M) * inputs, axis=1)
    S = residual_matrix(X, y, M)
    spread = (inputs.T * (np.abs(predictions) + np.abs(targets))) @ inputs / len(inputs)
    sizes = max(float(np.linalg.norm(spread, 2)), 1e-300)
    small = tolerance * sizes
    relative = float(np.linalg.norm(S, 2)) / sizes
    if relative <= tolerance:
        return QuadraticVerdict("global minimum", "S = 1/n Σ rᵢ xᵢxᵢᵀ = 0", None, 0.0, relative)
    gradient = 2 * v[:, None] * (W @ S)
    size = float(np.linalg.norm(W, 2)) * float(np.max(np.abs(v)))
    if np.linalg.norm(gradient) > 2 * small * max(size, 1e-300):
        descent = -gradient / np.linalg.norm(gradient)
        return QuadraticVerdict("not critical", "S ≠ 0 and D_v W S ≠ 0", descent, 0.0, relative)
    eigenvalues, eigenvectors = np.linalg.eigh(S)
    for sign, word in ((1.0, "positive"), (-1.0, "negative")):
        if np.all(sign * v >= 0) and np.all(sign * eigenvalues >= -small):
            reason = f"all outputs are {word}, S is {word} semidefinite and S Wᵀ = 0"
            return QuadraticVerdict("global minimum", reason, None, 0.0, relative)
    direction, curvature = _negative_curvature(W, v, eigenvalues, eigenvectors)
    if curvature < 0:
        return QuadraticVerdict("saddle", "S ≠ 0 and abᵀ with WᵀD_va = 0 curves down", direction, curvature, relative)
    return QuadraticVerdict("undecided", "too few neurons for the theorem", None, 0.0, relative)


def _negative_curvature(
    W: np.ndarray, v: np.ndarray, eigenvalues: np.ndarray, eigenvectors: np.ndarray
) -> tuple[np.ndarray, float]:
    """abᵀ of least curvature 2 (aᵀD_va)(bᵀSb) with WᵀD_va = 0, and that curvature; zero if there is no such a."""
    scaled = v[:, None] * W
    left, singular, _ = np.linalg.svd(scaled, full_matrices=True)
    rank = int(np.sum(singular > 1e-7 * max(singular.max(initial=0.0), 1e-300)))
    null = left[:, rank:]
    best, curvature = np.zeros_like(W), 0.0
    if null.shape[1]:
        form, mix = np.linalg.eigh(null.T @ (v[:, None] * null))
        for a_end in (0, -1):
            for b_end in (0, -1):
                value = 2 * form[a_end] * eigenvalues[b_end]
                if value < curvature:
                    best, curvature = np.outer(null @ mix[:, a_end], eigenvectors[:, b_end]), float(value)
    return best, curvature


@dataclass(frozen=True)
class ApproximateMinimumBound:
    """Bounds on the loss where ‖∇L‖ ≤ ε_g and ∇²L ⪰ −ε_H I, for v = ν1 and k > d (Theorem 2.2).

    Attributes
    ----------
    printed : float
        The theorem's own, with high probability for Gaussian inputs.
    exact : float
        ε_g ‖W‖_F / 4 + ε_H ‖M*‖_* / (4|ν|), which the corrected proof gives for every data set.
    """

    printed: float
    exact: float


def approximate_minimum_bound(
    gradient_norm: float, curvature: float, weights: ArrayLike, nu: float, teacher_matrix: ArrayLike
) -> ApproximateMinimumBound:
    """The bound of Theorem 2.2 at a point with gradient norm ε_g and smallest Hessian eigenvalue −ε_H.

    >>> bound = approximate_minimum_bound(0.0, 0.0, np.eye(2), 1.0, np.eye(2))
    >>> bound.exact, bound.printed
    (0.0, 0.0)
    """
    if not nu:
        raise ValueError("nu must not be zero")
    nuclear = float(np.linalg.norm(np.asarray(teacher_matrix), "nuc"))
    eps, root = float(gradient_norm), abs(nu) ** 0.5
    down = max(0.0, -float(curvature))
    printed = eps / root * max((1 + 14 * nuclear) ** 0.5, 4 * eps / root) + down / (2 * abs(nu)) * nuclear
    exact = eps * float(np.linalg.norm(np.asarray(weights))) / 4 + down * nuclear / (4 * abs(nu))
    return ApproximateMinimumBound(printed, exact)
