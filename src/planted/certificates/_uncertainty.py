r"""How sure the recovered neurons are: standard errors, intervals and confidence ellipsoids.

An estimate that minimises a mean over n rows is asymptotically normal. For the quadratic loss its covariance is the
sandwich H⁻¹ S H⁻¹/n with H the Hessian and S the mean outer product of the rows' gradients; for the likelihood it is
I⁻¹/n with the Fisher information I = mean ∇p ∇pᵀ/(p(1 − p)), which no unbiased estimate can beat (Cramér–Rao).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.flatten_util import ravel_pytree
from numpy.typing import ArrayLike
from scipy.stats import chi2, norm

from planted.numerics.precision import float64, to_jax
from planted.objectives import Likelihood, Params, Squared
from planted.rows import Block, over_rows

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """The normal approximation around an estimate.

    Attributes
    ----------
    estimate : array (p,)
        Parameters, flattened as in `Objective.hessian`: biases first if there are any, then weights row by row.
    covariance : array (p, p)
        Of the estimate; NaN where the information is singular, so that some parameters are not determined.
    n_rows : float
    shape : (int, int)
        Neurons and inputs.
    kind : "sandwich" or "inverse Fisher information"

    Examples
    --------
    >>> one = Uncertainty(np.zeros(2), np.diag([1.0, 4.0]), 100.0, (1, 2), "sandwich")
    >>> one.standard_errors
    array([[1., 2.]])
    >>> one.ellipsoid(0).contains([1.0, 0.0]), one.ellipsoid(0).contains([3.0, 0.0])
    (True, False)
    """

    estimate: np.ndarray
    covariance: np.ndarray
    n_rows: float
    shape: tuple[int, int]
    kind: str

    @property
    def determined(self) -> bool:
        """Whether the data determine every parameter to first order."""
        return bool(np.all(np.isfinite(self.covariance)))

    @property
    def _weights(self) -> slice:
        return slice(len(self.estimate) - self.shape[0] * self.shape[1], None)

    @property
    def weights(self) -> np.ndarray:
        """Estimated weights (k, d)."""
        return self.estimate[self._weights].reshape(self.shape)

    @property
    def standard_errors(self) -> np.ndarray:
        """Of each weight, (k, d)."""
        return np.sqrt(np.diag(self.covariance)[self._weights]).reshape(self.shape)

    def intervals(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper ends (k, d) of intervals that each cover their weight with this probability."""
        reach = norm.ppf(0.5 + level / 2) * self.standard_errors
        return self.weights - reach, self.weights + reach

    def ellipsoid(self, neuron: int, level: float = 0.95) -> Ellipsoid:
        """The confidence ellipsoid of one neuron's weights."""
        d = self.shape[1]
        start = self._weights.start + neuron * d
        part = slice(start, start + d)
        return Ellipsoid(self.weights[neuron], self.covariance[part, part], float(chi2.ppf(level, d)))

    @property
    def expected_error(self) -> float:
        """√(tr Cov)/‖W‖ over the weights: the expected relative Frobenius error."""
        variance = np.sum(self.standard_errors**2)
        size = np.linalg.norm(self.weights)
        return float(np.sqrt(variance) / size) if size > 0 else np.inf

    def rows_for(self, error: float) -> float:
        """How many rows bring the expected relative error down to `error`; infinite if not determined."""
        return float(self.n_rows * (self.expected_error / error) ** 2) if self.determined else np.inf


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """{w : (w − centre)ᵀ covariance⁻¹ (w − centre) ≤ quantile}."""

    centre: np.ndarray
    covariance: np.ndarray
    quantile: float

    @property
    def axes(self) -> np.ndarray:
        """Semi-axes as rows (d, d), longest first."""
        values, vectors = np.linalg.eigh(self.covariance)
        return (vectors * np.sqrt(self.quantile * values)).T[::-1]

    def contains(self, point: ArrayLike) -> bool:
        """Whether a point (d,) lies inside."""
        gap = np.asarray(point, dtype=np.float64) - self.centre
        return bool(gap @ np.linalg.solve(self.covariance, gap) <= self.quantile)


def block_information(block: Block, objective: Any, params: Params) -> jax.Array:
    """Σ weight ∇p ∇pᵀ/(p(1 − p)); holds one block's Jacobian (rows in a block, parameters)."""
    p = objective.predict(params, block["x"])
    return _gram(block, objective, params, 1 / jnp.maximum(p * (1 - p), _TINY))


def block_scatter(block: Block, objective: Any, params: Params) -> jax.Array:
    """Σ weight (p − y)² ∇p ∇pᵀ; holds one block's Jacobian (rows in a block, parameters)."""
    return _gram(block, objective, params, (objective.predict(params, block["x"]) - block["y"]) ** 2)


def _gram(block: Block, objective: Any, params: Params, c: jax.Array) -> jax.Array:
    def row_gradient(x: jax.Array) -> jax.Array:
        return ravel_pytree(jax.grad(lambda p: objective.predict(p, x[None])[0])(params))[0]

    J = jax.vmap(row_gradient)(block["x"])
    return (J * (block["weight"] * c)[:, None]).T @ J


@over_rows
def information(objective: Any, params: Params) -> jax.Array:
    return objective.rows.mean(block_information, objective.bare, params)


@over_rows
def _scatter(objective: Any, params: Params) -> jax.Array:
    return objective.rows.mean(block_scatter, objective.bare, params)


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric matrix, NaN unless it is safely positive definite."""
    nothing = np.full(matrix.shape, np.nan)
    if not np.all(np.isfinite(matrix)):
        return nothing
    values, vectors = scipy.linalg.eigh(matrix)
    if values[0] <= 1e-12 * max(values[-1], _TINY):
        return nothing
    return (vectors / values) @ vectors.T


@float64
def uncertainty(objective: Likelihood | Squared, params: Params) -> Uncertainty:
    """Covariance of the estimate `params` that minimises `objective` over its rows.

    Parameters
    ----------
    objective : Likelihood, or Squared with fixed outputs
        Inverse Fisher information for the first, sandwich for the second.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(5000, 3, 1, activation="sigmoid", task="classification", random_state=0)
    >>> sure = uncertainty(Likelihood(data.X, data.y), data.teacher.weights)
    >>> bool(np.all(sure.standard_errors < 0.1)), sure.kind
    (True, 'inverse Fisher information')
    """
    checked = objective.check(params)
    weights = np.asarray(checked["weights"] if isinstance(checked, dict) else checked)
    n = float(objective.rows.total_weight)
    flat = np.asarray(ravel_pytree(checked)[0])
    if isinstance(objective, Likelihood):
        covariance = _inverse(np.asarray(information(objective, checked))) / n
        return Uncertainty(flat, covariance, n, weights.shape, "inverse Fisher information")
    if objective.output is None:
        raise ValueError("the sandwich is for weights only: give the squared loss a fixed output")
    bread = _inverse(objective.hessian(params))
    covariance = bread @ np.asarray(_scatter(objective, checked)) @ bread / n
    return Uncertainty(flat, covariance, n, weights.shape, "sandwich")


@float64
def cramer_rao(X: ArrayLike, weights: ArrayLike, activation: Any = "sigmoid") -> Uncertainty:
    """The bound on any unbiased estimate of `weights` (k, d) from labels drawn at the rows of X.

    >>> X = np.random.default_rng(0).standard_normal((1000, 2))
    >>> bool(cramer_rao(X, [[1.0, 0.0]]).expected_error < 0.2)
    True
    """
    inputs = to_jax(np.asarray(X))
    return uncertainty(Likelihood(np.asarray(inputs), np.zeros(len(inputs)), activation), np.asarray(weights))
