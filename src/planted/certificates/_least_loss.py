r"""How low can the squared loss be with outputs of one sign? A bound that no weights pass.

With v ≥ 0 and φ convex, φ(z) ≥ φ(0) + sz with s a slope of φ at zero, so that for all weights

    f(x) = Σ v_i φ(w_i·x) ≥ c + u·x,   c = φ(0) Σ v_i,   u = s Σ v_i w_i,

and the loss ½ mean (f(x) − y)² is at least the minimum over u of ½ mean (c + u·x − y)₊², which is convex; for s = 0
(z², ReLU, |z|) there is no u to choose.

For φ(z) = z² f(x) = xᵀMx with M ⪰ 0, and the least loss over all such M, of whatever rank, is a semidefinite problem.
Every λ with Σ λ_i x_i x_iᵀ ⪰ 0 bounds it from below by mean(−λy − ½λ²); at the optimum λ are the residuals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from planted import activations
from planted.numerics.validation import as_matrix
from planted.objectives import Squared
from planted.solvers import lbfgs

_SLOPES = {"quadratic": 0.0, "relu": 0.0, "abs": 0.0, "softplus": 0.5}
"""A slope at zero of each convex φ; zero where there is such a one."""
_STEPS = 5000


def least_loss(X: ArrayLike, y: ArrayLike, activation: Any, output: ArrayLike) -> float:
    """A lower bound on ½ mean (Σ v_i φ(w_i·x) − y)² over all weights, the outputs v being fixed.

    Parameters
    ----------
    X, y : array (n, d), (n,)
    activation : str or Activation
        "quadratic", "relu", "abs" or "softplus".
    output : array (k,)
        Of one sign.

    Examples
    --------
    Two labels of −1 and 1: no positive network comes near the first.

    >>> least_loss([[1.0], [2.0]], [-1.0, 1.0], "relu", [1.0, 1.0])
    0.25
    """
    inputs, targets, v = as_matrix("X", X), as_matrix("y", y, 1), as_matrix("output", output, 1)
    act = activations.get(activation)
    if act.name not in _SLOPES:
        raise ValueError(f"the bound is for {', '.join(_SLOPES)}, not for {act.name}")
    if np.any(v > 0) and np.any(v < 0):
        raise ValueError("output has both signs, and then no loss is out of reach")
    sign = -1.0 if np.any(v < 0) else 1.0
    below = _above_a_line(inputs, sign * targets, float(act(0.0)) * float(np.sum(np.abs(v))), _SLOPES[act.name])
    return max(below, _semidefinite(inputs, sign * targets)) if act.name == "quadratic" else below


def _above_a_line(X: np.ndarray, y: np.ndarray, level: float, slope: float) -> float:
    """The least of ½ mean (c + u·x − y)₊² over u (d,), or at u = 0 where the slope is zero."""

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        excess = np.maximum(level + X @ u - y, 0.0)
        return float(np.mean(excess**2) / 2), X.T @ excess / len(y)

    zero = np.zeros(X.shape[1])
    if slope == 0:
        return loss(zero)[0]
    return float(minimize(loss, zero, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10}).fun)


def _semidefinite(X: np.ndarray, y: np.ndarray) -> float:
    """A dual bound on the least of ½ mean (xᵀMx − y)² over M ⪰ 0; zero where the rows do not span the inputs."""
    n, d = X.shape
    spread = float(np.linalg.eigvalsh(X.T @ X / n)[0])
    if spread <= 0:
        return 0.0
    start = np.random.default_rng(0).standard_normal((d, d)) / d**0.5
    weights = lbfgs(Squared(X, y, "quadratic", np.ones(d)), start, steps=_STEPS, tolerance=1e-12, target=-np.inf).params
    multipliers = np.sum((X @ np.asarray(weights).T) ** 2, axis=1) - y
    # Shifted until Σ λxxᵀ is positive semidefinite, which makes the bound one wherever the descent ended.
    multipliers += max(-float(np.linalg.eigvalsh((X.T * multipliers) @ X / n)[0]), 0.0) / spread
    return max(float(np.mean(-multipliers * y - multipliers**2 / 2)), 0.0)
