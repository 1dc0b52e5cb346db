"""The smallest eigenpair of a Hessian: dense when small, Lanczos on Hessian-vector products when large.

Lanczos runs on shift·I − H, whose largest eigenvalue is shift − λ_min. Its stopping rule is then relative to the
spectral norm, which is what a certificate needs, and not to λ_min, which may be zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from planted.objectives._base import Objective, Params
from planted.objectives._flat import Flat

DENSE_SIZE = 2000
"""Up to this many parameters the Hessian is formed."""
WHOLE_SPECTRUM = 600
"""Up to this many parameters all eigenvalues of a Hessian that is formed are computed."""

_LANCZOS_VECTORS = 48


@dataclass(frozen=True)
class Curvature:
    """The smallest eigenvalue of a Hessian (on a complement, where one is given) and how well it is known.

    Attributes
    ----------
    eigenvalue : float
        Rayleigh quotient vᵀHv of `vector`: an upper bound on the smallest eigenvalue.
    vector : array (p,)
        Unit vector v.
    residual : float
        ‖Hv − eigenvalue·v‖: an eigenvalue lies within it.
    norm : float
        Spectral norm ‖H‖ (from below by Lanczos, when not dense).
    method : "dense" or "lanczos"
    products : int
        Hessian-vector products used; p when dense.
    values, vectors : arrays (p,), (p, p) or None
        The whole spectrum, where it was computed.
    """

    eigenvalue: float
    vector: np.ndarray
    residual: float
    norm: float
    method: str
    products: int
    values: np.ndarray | None = None
    vectors: np.ndarray | None = None


class _Products:
    """H v for flat v, counted; + shift T Tᵀ v for an orthonormal basis T of directions to be lifted away."""

    def __init__(self, multiply: Callable[[np.ndarray], np.ndarray]) -> None:
        self.multiply, self.count = multiply, 0

    def __call__(self, vector: np.ndarray) -> np.ndarray:
        self.count += 1
        return self.multiply(np.asarray(vector).reshape(-1))


def _raised(matrix: np.ndarray, lifted: np.ndarray | None, norm: float) -> np.ndarray:
    """The matrix on the complement of orthonormal columns `lifted` (p, s), which get the eigenvalue `norm`."""
    if lifted is None or not lifted.shape[1]:
        return matrix
    image = matrix @ lifted
    inside = lifted.T @ image + norm * np.eye(lifted.shape[1])
    return matrix - image @ lifted.T - lifted @ image.T + lifted @ inside @ lifted.T


def _dense(matrix: np.ndarray, lifted: np.ndarray | None, whole: bool, seed: int) -> Curvature:
    """The whole spectrum, or the smallest eigenpair alone: that takes a third of the time."""
    p = len(matrix)
    values: np.ndarray | None = None
    vectors: np.ndarray | None = None
    if whole:
        values, vectors = np.linalg.eigh(matrix)
        norm = float(np.max(np.abs(values)))
        raised = _raised(matrix, lifted, norm or 1.0)
        if raised is not matrix:
            values, vectors = np.linalg.eigh(raised)
        least, v = values[0], vectors[:, 0]
    else:
        norm = _norm(matrix, p, seed)
        raised = _raised(matrix, lifted, norm or 1.0)
        (least,), leading = scipy.linalg.eigh(raised, subset_by_index=[0, 0])
        v = leading[:, 0]
    residual = float(np.linalg.norm(raised @ v - least * v))
    return Curvature(float(v @ matrix @ v), v, residual, norm, "dense", p, values, vectors)


def _norm(operator: Any, p: int, seed: int) -> float:
    """Spectral norm of a matrix (p, p) or of an operator, by Lanczos: from below, to a thousandth."""
    start = np.random.default_rng(seed).standard_normal(p)
    top = eigsh(operator, k=1, which="LM", tol=1e-3, v0=start, ncv=min(20, p - 1), return_eigenvectors=False)
    return float(abs(top[0]))


def _lanczos(
    multiply: Callable[[np.ndarray], np.ndarray],
    p: int,
    lifted: np.ndarray | None,
    tolerance: float,
    max_restarts: int,
    seed: int,
    null: np.ndarray | None,
) -> Curvature:
    products = _Products(multiply)
    start = np.random.default_rng(seed).standard_normal(p)
    vectors = min(_LANCZOS_VECTORS, p - 1)
    norm = _norm(LinearOperator((p, p), matvec=products, dtype=np.float64), p, seed)
    if norm == 0.0:
        return Curvature(0.0, start / np.linalg.norm(start), 0.0, 0.0, "lanczos", products.count)
    if null is not None:
        unit = null / np.linalg.norm(null)
        image = products(unit)
        quotient = float(unit @ image)
        residual = float(np.linalg.norm(image - quotient * unit))
        if max(abs(quotient), residual) <= tolerance * norm:
            return Curvature(quotient, unit, residual, norm, "lanczos", products.count)
    shift = 1.01 * norm

    def raised(vector: np.ndarray) -> np.ndarray:
        vector = np.asarray(vector).reshape(-1)
        if lifted is None or not lifted.shape[1]:
            return shift * vector - products(vector)
        inside = lifted @ (lifted.T @ vector)
        outside = vector - inside
        image = products(outside)
        return shift * outside - (image - lifted @ (lifted.T @ image))

    operator = LinearOperator((p, p), matvec=raised, dtype=np.float64)
    try:
        _, leading = eigsh(operator, k=1, which="LA", tol=tolerance, v0=start, ncv=vectors, maxiter=max_restarts)
        v = leading[:, 0]
    except ArpackNoConvergence as error:
        v = error.eigenvectors[:, 0] if error.eigenvectors.size else _last_resort(raised, start, max_restarts)
    v = v / np.linalg.norm(v)
    image = raised(v)
    quotient = shift - float(v @ image)
    residual = float(np.linalg.norm(image - (shift - quotient) * v))
    return Curvature(quotient, v, residual, norm, "lanczos", products.count)


def _last_resort(raised: Callable[[np.ndarray], np.ndarray], start: np.ndarray, steps: int) -> np.ndarray:
    """Power iteration from `start`: a vector whose residual is honest, where Lanczos gave none."""
    v = start / np.linalg.norm(start)
    for _ in range(steps):
        image = raised(v)
        v = image / np.linalg.norm(image)
    return v


def smallest_curvature(
    objective: Objective,
    params: Params,
    *,
    lifted: np.ndarray | None = None,
    dense_size: int = DENSE_SIZE,
    tolerance: float = 1e-7,
    max_restarts: int = 100,
    seed: int = 0,
) -> Curvature:
    """Smallest eigenpair of the Hessian of `objective` at `params`, on the complement of `lifted` if given.

    Parameters
    ----------
    lifted : array (p, m), optional
        Orthonormal columns to leave out, such as the tangents of known symmetries.
    dense_size : int
        Form the Hessian (p, p) up to this many parameters, use Lanczos above.
    tolerance : float
        Lanczos stops when its residual is below tolerance·‖H‖.

    Examples
    --------
    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0], "quadratic")
    >>> round(smallest_curvature(loss, np.zeros((1, 2))).eigenvalue, 12)
    -1.0
    """
    flat = Flat(objective, objective.check(params))
    return smallest_eigenpair(hessian_of(flat, dense_size), len(flat.start), lifted, tolerance, max_restarts, seed)


Hessian = np.ndarray | Callable[[np.ndarray], np.ndarray]
"""A matrix (p, p), or v (p,) ↦ Hv (p,)."""


def hessian_of(flat: Flat, dense_size: int = DENSE_SIZE) -> Hessian:
    """The Hessian at `flat.start`: formed up to `dense_size` parameters, products above.

    >>> from planted.objectives import Squared
    >>> hessian_of(Flat(Squared([[1.0]], [0.0], "quadratic"), np.ones((1, 1))))
    array([[6.]])
    """
    if len(flat.start) <= max(dense_size, 2):
        return flat.hessian(flat.start)
    return partial(flat.product, flat.start)


def smallest_eigenpair(
    hessian: Hessian, size: int, lifted: np.ndarray | None = None, tolerance: float = 1e-7, max_restarts: int = 100,
    seed: int = 0, null: np.ndarray | None = None, whole: bool | None = None,
) -> Curvature:  # fmt: skip
    """The same for a symmetric matrix that is given, or known by its products with vectors of length `size`.

    Of a matrix that is given the whole spectrum is computed where that is asked for, or where it is small.
    Of a matrix that is known to have no negative eigenvalue `null` (p,) may lie in the kernel: if it does to the
    tolerance, it is the answer, and Lanczos only measures the norm.

    >>> smallest_eigenpair(np.diag([3.0, -1.0]), 2).eigenvalue
    -1.0
    """
    if isinstance(hessian, np.ndarray):
        return _dense(hessian, lifted, size <= WHOLE_SPECTRUM if whole is None else whole, seed)
    return _lanczos(hessian, size, lifted, tolerance, max_restarts, seed, null)
