r"""Gaussian inputs: score functions, and the change of variables that makes them standard.

log f has derivatives −P(x − m), −P, 0, 0 with P = cov⁻¹, so with p = P(x − m)

    S₁ = −p,  S₂ = pp^T − P,  S₃ = −p^{⊗3} + 3 sym(p ⊗ P),  S₄ = p^{⊗4} − 6 sym(p ⊗ p ⊗ P) + 3 sym(P ⊗ P).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted.inputs._base import Density
from planted.inputs._scores import score_contraction, score_tensor
from planted.numerics.precision import float64
from planted.numerics.random import normal
from planted.numerics.seeding import words_from

# A pivot that is this small beside its variance, by the number of inputs, is rounding.
_ROUNDING = 100 * np.finfo(np.float64).eps


class Gaussian(Density):
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
    >>> inputs.score([[2.0, 1.5]], 1)
    array([[-1., -1.]])
    """

    _arrays = ("mean", "cov", "_factor")

    mean: Any
    cov: Any
    _factor: Any

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
            self._factor = np.zeros((d, d))
        # Of a singular matrix rounding decides whether the last pivot is positive, and z would be rounding alone.
        if np.any(np.diagonal(self._factor) ** 2 <= _ROUNDING * d * np.diagonal(self.cov)):
            raise ValueError("cov must be positive definite: a combination of inputs is constant")

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
        rows = normal(words_from(random_state), (n_samples, self.n_features))
        return self.mean + rows @ self._factor.T

    def traced_log_density(self, x: jax.Array) -> jax.Array:
        """−½ (x − m)ᵀP(x − m) − ½ log det(2π cov)."""
        return log_normal(x, self.mean, self._factor)

    def traced_score(self, x: jax.Array, order: int) -> jax.Array:
        """S_order (n, d, …, d) at rows x (n, d), traceable."""
        return normal_score(x, self.mean, self._factor, order)

    def traced_contract(self, x: jax.Array, u: jax.Array, v: jax.Array) -> jax.Array:
        """S₄(x)(u, u, v, v) (n,), traceable: O(d) a row once Pu and Pv are known."""
        return normal_contraction(x, self.mean, self._factor, u, v)

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


def log_normal(x: jax.Array, mean: jax.Array, factor: jax.Array) -> jax.Array:
    """log density (n,) of N(mean, factor factorᵀ) at rows x (n, d), factor lower triangular.

    >>> round(float(log_normal(jnp.zeros((1, 1)), jnp.zeros(1), jnp.eye(1))[0]), 4)
    -0.9189
    """
    z = jax.scipy.linalg.solve_triangular(factor, (x - mean).T, lower=True)
    log_det = jnp.sum(jnp.log(jnp.diagonal(factor)))
    return -0.5 * jnp.sum(z * z, axis=0) - log_det - 0.5 * x.shape[1] * jnp.log(2 * jnp.pi)


def normal_score(x: jax.Array, mean: jax.Array, factor: jax.Array, order: int) -> jax.Array:
    """S_order (n, d, …, d) of N(mean, factor factorᵀ) at rows x (n, d).

    >>> normal_score(jnp.array([[3.0]]), jnp.array([1.0]), jnp.eye(1), 1)
    Array([[-2.]], dtype=float32)
    """
    precision = jax.scipy.linalg.cho_solve((factor, True), jnp.eye(x.shape[1], dtype=x.dtype))
    return score_tensor([(mean - x) @ precision, -precision[None]], order)


def normal_contraction(x: jax.Array, mean: jax.Array, factor: jax.Array, u: jax.Array, v: jax.Array) -> jax.Array:
    """S₄(x)(u, u, v, v) (n,) of N(mean, factor factorᵀ) at rows x (n, d).

    >>> e = jnp.array([1.0])
    >>> normal_contraction(jnp.array([[2.0]]), jnp.zeros(1), jnp.eye(1), e, e)
    Array([-5.], dtype=float32)
    """
    pu, pv = (jax.scipy.linalg.cho_solve((factor, True), w) for w in (u, v))
    known = {"u": (mean - x) @ pu, "v": (mean - x) @ pv, "uu": -u @ pu, "uv": -u @ pv, "vv": -v @ pv}
    return score_contraction(known.get)
