r"""Networks with φ(z) = z² (Soltanolkotabi et al. 2017, Theorems 2.1 and 2.2).

The network is xᵀMx with M = WᵀD_vW. With d positive and d negative outputs (k ≥ 2d) every symmetric M is within reach
and the loss has no spurious minima, so its minimum is that of linear least squares in M, which is solved directly. With
outputs of one sign (k ≥ d) M is semidefinite; the factored loss, which then has no spurious minima either, is descended
from the projected least-squares solution. In both cases the end is checked by the exact optimality conditions.

M is determined by the data if and only if the products xᵢxᵢᵀ span the symmetric matrices, which takes d(d+1)/2 rows.
With fewer rows, and both signs, any labels are fitted exactly. W is determined by M up to a D_v-orthogonal factor; the
eigenvectors of M, scaled by the roots of its eigenvalues, are the representative given here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, lsmr

from planted.names import unknown
from planted.networks import Network
from planted.numerics.validation import as_matrix, as_rows
from planted.objectives import QuadraticVerdict, Squared, quadratic_matrix, quadratic_verdict
from planted.solvers import leave_saddles

SIGNS = ("auto", "mixed", "positive", "negative")
_RANK = 1e-7
_TIGHT, _LSMR_ITERATIONS = 1e-15, 20_000
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class QuadraticFit:
    """A fitted quadratic network.

    Attributes
    ----------
    network : Network
    matrix : array (d, d)
        M.
    loss, relative_loss : float
        ½ mean residual², and mean residual² / mean y².
    optimality : QuadraticVerdict
        Exact optimality of the network for outputs of the signs used.
    unique : bool
        Whether the rows determine every symmetric matrix, and so M whatever its rank.
    """

    network: Network
    matrix: np.ndarray
    loss: float
    relative_loss: float
    optimality: QuadraticVerdict
    unique: bool


def fit_matrix(X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> np.ndarray:
    """The symmetric M (d, d) of least norm that minimises Σ wᵢ(xᵢᵀMxᵢ − yᵢ)², by LSMR on M ↦ (√wᵢ xᵢᵀMxᵢ)ᵢ.

    >>> fit_matrix([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, -2.0, 1.0]).round(6)
    array([[ 1.,  1.],
           [ 1., -2.]])
    """
    inputs, targets = as_rows(X, y)
    n, d = inputs.shape
    root = np.ones(n) if sample_weight is None else np.sqrt(as_matrix("sample_weight", sample_weight, 1))
    targets = root * targets

    def forward(flat: np.ndarray) -> np.ndarray:
        return root * np.sum((inputs @ flat.reshape(d, d)) * inputs, axis=1)

    def adjoint(residual: np.ndarray) -> np.ndarray:
        return ((inputs.T * (root * residual.reshape(-1))) @ inputs).reshape(-1)

    operator = LinearOperator((n, d * d), matvec=forward, rmatvec=adjoint, dtype=np.float64)
    flat = np.zeros(d * d)
    for _ in range(3):
        # LSMR stops at a residual relative to its right-hand side, so each round gains the digits the last one left.
        flat = (
            flat
            + lsmr(operator, targets - forward(flat), atol=_TIGHT, btol=_TIGHT, conlim=0.0, maxiter=_LSMR_ITERATIONS)[0]
        )
    M = flat.reshape(d, d)
    return (M + M.T) / 2


def determined(X: ArrayLike) -> bool:
    """Whether the rows of X determine a symmetric matrix: Σᵢ vec(xᵢxᵢᵀ) vec(xᵢxᵢᵀ)ᵀ has rank d(d+1)/2 (Lemma 5.6).

    Decided from d(d+1)/2 ± a few rows and the n ≥ d(d+1)/2 count; the Gram matrix of at most 2·d(d+1)/2 rows is formed
    when d(d+1)/2 ≤ 600, above that the count alone decides, which is right for almost every X.

    >>> determined(np.eye(3)), determined(np.random.default_rng(0).standard_normal((6, 3)))
    (False, True)
    """
    inputs = np.asarray(X, dtype=np.float64)
    n, d = inputs.shape
    size = d * (d + 1) // 2
    if n < size:
        return False
    if size > 600:
        return True
    upper = np.triu_indices(d)
    gram = np.zeros((size, size))
    for start in range(0, n, _BLOCK):
        block = inputs[start : start + _BLOCK]
        products = (block[:, upper[0]] * block[:, upper[1]]) / np.maximum(
            np.sum(block**2, axis=1, keepdims=True), 1e-300
        )
        gram += products.T @ products
    values = np.linalg.eigvalsh(gram)
    return bool(values[0] > 1e-12 * values[-1])


def factorise(M: ArrayLike, n_hidden: int | None = None, rank_tolerance: float = _RANK) -> Network:
    """A network with xᵀMx: rows √|λ_i| u_i and outputs sign(λ_i) from the eigenpairs of M, largest |λ| first.

    Parameters
    ----------
    n_hidden : int, optional
        The rank of M if omitted. More neurons get zero rows; fewer leave the smallest |λ_i| out.

    Examples
    --------
    >>> factorise(np.diag([4.0, -1.0, 0.0])).output
    array([ 1., -1.])
    """
    matrix = np.asarray(M, dtype=np.float64)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    order = np.argsort(-np.abs(values), kind="stable")
    values, vectors = values[order], vectors[:, order]
    top = np.abs(values[0]) if len(values) else 0.0
    rank = max(int(np.sum(np.abs(values) > rank_tolerance * max(top, 1e-300))), 1)
    k = rank if n_hidden is None else n_hidden
    used = min(k, rank)
    rows, output = np.zeros((k, len(matrix))), np.ones(k)
    rows[:used] = (vectors[:, :used] * np.sqrt(np.abs(values[:used]))).T
    output[:used] = np.where(values[:used] < 0, -1.0, 1.0)
    if k > used:
        # Spare neurons alternate in sign, so that both are available where the width allows it.
        output[used:] = np.where(np.arange(k - used) % 2 == 0, 1.0, -1.0) if np.any(values[:used] < 0) else 1.0
    return Network(rows, output, "quadratic")


def _one_sign(X: np.ndarray, y: np.ndarray, M: np.ndarray, sign: float, k: int, seed: int) -> np.ndarray:
    """The minimiser of the loss over matrices sign·WᵀW with W (k, d), by descent from the projection of M."""
    values, vectors = np.linalg.eigh(sign * M)
    d = len(M)
    start = np.zeros((k, d))
    roots = (vectors * np.sqrt(np.maximum(values, 0.0))).T[::-1]
    start[: min(k, d)] = roots[: min(k, d)]
    scale = max(float(np.abs(values).max(initial=0.0)) ** 0.5, 1e-3)
    start += 1e-3 * scale * np.random.default_rng(seed).standard_normal((k, d))
    loss = Squared(X, y, "quadratic", output=np.full(k, sign))
    reached = leave_saddles(loss, start, gradient_tolerance=1e-12 * max(float(np.mean(y * y)), 1e-300) / scale)
    return quadratic_matrix(reached.params, np.full(k, sign))


def fit_quadratic(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_hidden: int | None = None,
    signs: str = "auto",
    sample_weight: ArrayLike | None = None,
    random_state: int = 0,
) -> QuadraticFit:
    """Fit y ≈ Σ_i v_i (w_i·x)² by the matrix M behind it.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
    n_hidden : int, optional
        Number of neurons; the rank of M if omitted.
    signs : "auto", "mixed", "positive" or "negative"
        Signs of the outputs. "auto" takes one sign if the unconstrained M is semidefinite.
    sample_weight : array (n,), optional

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(200, 5, 3, activation="quadratic", output="mixed", random_state=0)
    >>> fit = fit_quadratic(data.X, data.y)
    >>> fit.unique, fit.network
    (True, Network(3 quadratic neurons, 5 inputs))
    """
    inputs, targets = as_rows(X, y)
    if signs not in SIGNS:
        raise ValueError(unknown("signs", signs, SIGNS))
    if n_hidden is not None and (isinstance(n_hidden, bool) or n_hidden < 1):
        raise ValueError(f"n_hidden must be a positive integer, not {n_hidden!r}")
    d = inputs.shape[1]
    weight = None if sample_weight is None else as_matrix("sample_weight", sample_weight, 1)
    M = fit_matrix(inputs, targets, weight)
    if signs in ("positive", "negative"):
        sign = 1.0 if signs == "positive" else -1.0
        values = sign * np.linalg.eigvalsh(M)
        if values[0] < -_RANK * max(values[-1], 0.0) or values[-1] <= 0:
            M = _one_sign(inputs, targets, M, sign, max(n_hidden or d, d), random_state)
    network = factorise(M, n_hidden)
    residual = network.predict(inputs) - targets
    loss = float(np.average(residual**2, weights=weight) / 2)
    # The conditions are those of the widest network of these signs, of which a narrower one is a part.
    one_sign = signs != "mixed" and (np.all(network.output > 0) or np.all(network.output < 0))
    spare = np.full(d, network.output[0]) if one_sign else np.repeat([1.0, -1.0], d)
    wide = np.vstack([network.weights, np.zeros((len(spare), d))])
    return QuadraticFit(
        network=network,
        matrix=quadratic_matrix(network.weights, network.output),
        loss=loss,
        relative_loss=2 * loss / max(float(np.average(targets**2, weights=weight)), 1e-300),
        optimality=quadratic_verdict(inputs, targets, wide, np.concatenate([network.output, spare])),
        unique=determined(inputs),
    )
