"""Gaussian inputs, and the change of variables that makes them standard."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted.precision import float64
from planted.seeding import key_from


class Gaussian:
    """x ~ N(mean, cov).

    Parameters
    ----------
    mean : array (d,)
    cov : array (d, d), optional
        Symmetric positive definite; the identity if omitted.

    Examples
    --------
    >>> inputs = Gaussian([0.0, 1.0], [[2.0, 0.0], [0.0, 0.5]])
    >>> inputs.sample(4, random_state=0).shape
    (4, 2)
    """

    def __init__(self, mean: ArrayLike, cov: ArrayLike | None = None) -> None:
        self.mean = np.array(mean, dtype=np.float64)
        if self.mean.ndim != 1 or not np.all(np.isfinite(self.mean)):
            raise ValueError("mean must be a vector of finite numbers")
        d = len(self.mean)
        self.cov = np.eye(d) if cov is None else np.array(cov, dtype=np.float64)
        if self.cov.shape != (d, d) or not np.all(np.isfinite(self.cov)):
            raise ValueError(f"cov must be a finite matrix of shape ({d}, {d}), as mean has {d} entries")
        if not np.allclose(self.cov, self.cov.T, atol=1e-10 * max(1.0, np.abs(self.cov).max())):
            raise ValueError("cov must be symmetric")
        try:
            self._factor = np.linalg.cholesky(self.cov)
        except np.linalg.LinAlgError:
            raise ValueError("cov must be positive definite: a combination of inputs is constant") from None

    @classmethod
    def fit(cls, X: ArrayLike) -> Gaussian:
        """The Gaussian with the sample mean and covariance of the rows of X (n, d).

        >>> Gaussian.fit([[0.0], [2.0]]).mean
        array([1.])
        """
        rows = np.asarray(X, dtype=np.float64)
        return cls(rows.mean(axis=0), np.atleast_2d(np.cov(rows, rowvar=False, bias=True)))

    @property
    def n_features(self) -> int:
        """Number of inputs d."""
        return len(self.mean)

    @float64
    def sample(self, n_samples: int, random_state: Any = None) -> np.ndarray:
        """Draw rows (n_samples, d)."""
        normal = jax.random.normal(key_from(random_state), (n_samples, self.n_features), jnp.float64)
        return self.mean + np.asarray(normal) @ self._factor.T

    def whiten(self, X: ArrayLike) -> np.ndarray:
        """Rows z = L⁻¹(x − mean) with cov = LLᵀ, so that z ~ N(0, I).

        >>> Gaussian([1.0], [[4.0]]).whiten([[3.0]])
        array([[1.]])
        """
        from scipy.linalg import solve_triangular

        centred = np.asarray(X, dtype=np.float64) - self.mean
        return solve_triangular(self._factor, centred.T, lower=True).T

    def unwhiten_weights(self, weights: ArrayLike, bias: ArrayLike | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Weights and biases on x of a layer with the given ones on z: W z + b = (W L⁻¹) x + (b − W L⁻¹ mean).

        >>> Gaussian([1.0], [[4.0]]).unwhiten_weights([[2.0]])
        (array([[1.]]), array([-1.]))
        """
        from scipy.linalg import solve_triangular

        on_x = solve_triangular(self._factor, np.asarray(weights, dtype=np.float64).T, lower=True, trans="T").T
        shift = on_x @ self.mean
        return on_x, (0.0 if bias is None else np.asarray(bias, dtype=np.float64)) - shift

    def __repr__(self) -> str:
        return f"Gaussian({self.n_features} inputs)"
