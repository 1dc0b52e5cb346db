r"""Independent inputs: products of one-dimensional densities f(x) = Π_j p((x_j − loc_j)/scale_j)/scale_j.

The derivatives of log f are diagonal, with entries ℓ_m(z_j)/scale_j^m for the m-th derivative ℓ_m of log p, so

    S₄(u,u,v,v) = (g·u)²(g·v)² + (g·u)² ℓ₂[v,v] + (g·v)² ℓ₂[u,u] + 4(g·u)(g·v) ℓ₂[u,v] + ℓ₂[u,u] ℓ₂[v,v]
                  + 2 ℓ₂[u,v]² + 2(g·u) ℓ₃[u,v,v] + 2(g·v) ℓ₃[u,u,v] + ℓ₄[u,u,v,v]

costs O(d) a row, where g_j = ℓ₁ and ℓ₂[u,v] = Σ_j ℓ₂ u_j v_j.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted.inputs._base import Density, SingularScoreWarning
from planted.inputs._scores import score_contraction, score_tensor
from planted.numerics.precision import float64
from planted.numerics.seeding import key_from
from planted.numerics.validation import as_matrix


class ProductDensity(Density):
    """Independent inputs of one shape; a subclass gives log p, its derivatives and samples for loc 0, scale 1."""

    _arrays: ClassVar[tuple[str, ...]] = ("loc", "scale")

    loc: Any
    scale: Any

    def __init__(self, n_features: int, scale: ArrayLike = 1.0, loc: ArrayLike = 0.0) -> None:
        if isinstance(n_features, bool) or not isinstance(n_features, (int, np.integer)) or n_features < 1:
            raise ValueError(f"n_features must be a positive integer, not {n_features!r}")
        for name, value in (("scale", scale), ("loc", loc)):
            array = np.asarray(value, dtype=np.float64)
            if array.shape not in ((), (n_features,)) or not np.all(np.isfinite(array)):
                raise ValueError(f"{name} must be a finite number or {n_features} of them")
            setattr(self, name, np.broadcast_to(array, (n_features,)).copy())
        if np.any(self.scale <= 0):
            raise ValueError("scale must be positive")

    @classmethod
    def fit(cls, X: ArrayLike) -> Self:
        """The density whose location and scale give each column of X (n, d) its sample mean and variance.

        >>> Logistic.fit([[0.0], [2.0]]).loc
        array([1.])
        """
        rows = as_matrix("X", X)
        unit = cls(rows.shape[1])
        return cls(rows.shape[1], scale=rows.std(axis=0) / unit.line_variance**0.5, loc=rows.mean(axis=0))

    @property
    def n_features(self) -> int:
        """Number of inputs d."""
        return self.loc.shape[0]

    @property
    @abstractmethod
    def line_variance(self) -> float:
        """Variance of p."""

    @abstractmethod
    def line_log_density(self, z: jax.Array) -> jax.Array:
        """log p(z), elementwise."""

    @abstractmethod
    def line_derivatives(self, z: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """First to fourth derivative of log p at z, elementwise."""

    @abstractmethod
    def line_sample(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """Independent draws from p."""

    @float64
    def sample(self, n_samples: int, random_state: Any = None) -> np.ndarray:
        """Draw rows (n_samples, d)."""
        draws = self.line_sample(key_from(random_state), (n_samples, self.n_features))
        return self.loc + self.scale * np.asarray(draws)

    def log_derivatives(self, x: jax.Array) -> tuple[jax.Array, ...]:
        """The diagonals (n, d) of ∇^m log f, m = 1 to 4, at rows x (n, d), traceable."""
        each = self.line_derivatives((x - self.loc) / self.scale)
        return tuple(value / self.scale**m for m, value in enumerate(each, start=1))

    def traced_log_density(self, x: jax.Array) -> jax.Array:
        """Σ_j log p((x_j − loc_j)/scale_j) − log scale_j, traceable."""
        each = self.line_log_density((x - self.loc) / self.scale) - jnp.log(jnp.asarray(self.scale))
        return jnp.sum(each, axis=1)

    def traced_score(self, x: jax.Array, order: int) -> jax.Array:
        """S_order (n, d, …, d), traceable."""
        d = self.n_features
        tensors = []
        for m, diagonal in enumerate(self.log_derivatives(x)[:order], start=1):
            index = (slice(None),) + (jnp.arange(d),) * m
            tensors.append(jnp.zeros((x.shape[0],) + (d,) * m, x.dtype).at[index].set(diagonal))
        return score_tensor(tensors, order)

    def traced_contract(self, x: jax.Array, u: jax.Array, v: jax.Array) -> jax.Array:
        """S₄(x)(u, u, v, v) (n,), traceable: O(d) a row."""
        diagonals = self.log_derivatives(x)

        def directional(name: str) -> jax.Array:
            return diagonals[len(name) - 1] @ (u ** name.count("u") * v ** name.count("v"))

        return score_contraction(directional)


class Logistic(ProductDensity):
    """Independent logistic inputs, p(z) = ¼ sech²(z/2), variance π²/3; tails like exp(−|z|).

    Examples
    --------
    >>> Logistic(2).score([[0.0, 0.0]], 2)
    array([[[-0.5,  0. ],
            [ 0. , -0.5]]])
    """

    @property
    def line_variance(self) -> float:
        """π²/3."""
        return np.pi**2 / 3

    def line_log_density(self, z: jax.Array) -> jax.Array:
        """−|z| − 2 log(1 + exp(−|z|))."""
        size = jnp.abs(z)
        return -size - 2 * jnp.log1p(jnp.exp(-size))

    def line_derivatives(self, z: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """Polynomials in t = tanh(z/2), as dt/dz = (1 − t²)/2."""
        t = jnp.tanh(z / 2)
        slope = 1 - t * t
        return -t, -slope / 2, t * slope / 2, slope * (1 - 3 * t * t) / 4

    def line_sample(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """Draws by JAX."""
        return jax.random.logistic(key, shape, jnp.float64)


class HyperbolicSecant(ProductDensity):
    """Independent hyperbolic-secant inputs, p(z) = ½ sech(πz/2), variance 1.

    The smooth neighbour of the Laplace density: with scale π/2 it is sech(z)/π, whose tails are
    proportional to exp(−|z|), with a rounded peak in place of the kink. Its score functions are functions.

    Examples
    --------
    >>> HyperbolicSecant(2).score([[0.0, 0.0]], 1)
    array([[-0., -0.]])
    """

    @property
    def line_variance(self) -> float:
        """1."""
        return 1.0

    def line_log_density(self, z: jax.Array) -> jax.Array:
        """−a|z| − log(1 + exp(−2a|z|)) with a = π/2."""
        size = jnp.pi / 2 * jnp.abs(z)
        return -size - jnp.log1p(jnp.exp(-2 * size))

    def line_derivatives(self, z: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """Polynomials in t = tanh(az), a = π/2."""
        a = jnp.pi / 2
        t = jnp.tanh(a * z)
        slope = 1 - t * t
        return -a * t, -(a**2) * slope, 2 * a**3 * t * slope, 2 * a**4 * slope * (1 - 3 * t * t)

    def line_sample(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """Draws as (2/π) log |c| of a standard Cauchy variable c."""
        return 2 / jnp.pi * jnp.log(jnp.abs(jax.random.cauchy(key, shape, jnp.float64)))


class StudentT(ProductDensity):
    """Independent Student-t inputs with `df` degrees of freedom, p(z) ∝ (1 + z²/df)^{−(df+1)/2}.

    Examples
    --------
    >>> StudentT(1, df=3.0).score([[1.0]], 1)
    array([[-1.]])
    """

    _arrays = ("loc", "scale", "df")

    df: Any

    def __init__(self, n_features: int, df: float = 5.0, scale: ArrayLike = 1.0, loc: ArrayLike = 0.0) -> None:
        super().__init__(n_features, scale, loc)
        if not (np.isfinite(df) and df > 0):
            raise ValueError(f"df must be a positive number, not {df!r}")
        self.df = np.float64(df)

    @property
    def line_variance(self) -> float:
        """df/(df − 2), infinite for df ≤ 2."""
        return float(self.df / (self.df - 2)) if self.df > 2 else float("inf")

    def line_log_density(self, z: jax.Array) -> jax.Array:
        """−(df + 1)/2 log(1 + z²/df) plus a constant."""
        gammaln = jax.scipy.special.gammaln
        constant = gammaln((self.df + 1) / 2) - gammaln(self.df / 2) - 0.5 * jnp.log(self.df * jnp.pi)
        return constant - (self.df + 1) / 2 * jnp.log1p(z * z / self.df)

    def line_derivatives(self, z: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """Rational functions with denominators (df + z²)^m."""
        nu, z2 = self.df, z * z
        q = 1 / (nu + z2)
        return (
            -(nu + 1) * z * q,
            -(nu + 1) * (nu - z2) * q**2,
            2 * (nu + 1) * z * (3 * nu - z2) * q**3,
            6 * (nu + 1) * (nu**2 - 6 * nu * z2 + z2**2) * q**4,
        )

    def line_sample(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """Draws by JAX."""
        return jax.random.t(key, self.df, shape, jnp.float64)


class Laplace(ProductDensity):
    r"""Independent Laplace inputs, p(z) = ½ exp(−|z|), variance 2.

    p is not differentiable at 0, and its derivatives beyond the first are not functions: p'' = p − δ,
    p''' = −sgn·p − δ', p'''' = p − δ − δ''. Score functions of order m ≥ 2 are therefore functions only at
    entries whose indices all differ. Away from x_j = 0 the others equal ±1 too, and these pointwise values,
    S_m = (−sgn x)^{⊗m}, are what this class returns, with a :class:`SingularScoreWarning`: they leave out the
    point masses, and Stein's identity fails for them. Use :class:`HyperbolicSecant` or :class:`Logistic`.

    Examples
    --------
    >>> Laplace(2).score([[1.0, -3.0]], 1)
    array([[-1.,  1.]])
    """

    smooth = False

    def score(self, x: ArrayLike, order: int) -> np.ndarray:
        """The pointwise tensor (−sgn x)^{⊗order}; a warning for order ≥ 2, see the class."""
        if order != 1:
            self.warn(f"S_{order} of the Laplace density is not a function at entries with repeated indices")
        return super().score(x, order)

    def contract(self, x: ArrayLike, u: ArrayLike, v: ArrayLike) -> np.ndarray:
        """(sgn x · u)² (sgn x · v)² with a warning, see the class."""
        self.warn("S_4(u, u, v, v) of the Laplace density is not a function")
        return super().contract(x, u, v)

    @staticmethod
    def warn(what: str) -> None:
        """Say that point masses are left out."""
        warnings.warn(
            f"{what}: its point masses at x_j = 0 are left out, so Stein's identity fails; "
            "HyperbolicSecant has a similar shape and none",
            SingularScoreWarning,
            stacklevel=3,
        )

    @property
    def line_variance(self) -> float:
        """2."""
        return 2.0

    def line_log_density(self, z: jax.Array) -> jax.Array:
        """−|z| − log 2."""
        return -jnp.abs(z) - jnp.log(2.0)

    def line_derivatives(self, z: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
        """−sgn z and zeros: the derivatives away from z = 0."""
        zero = jnp.zeros_like(z)
        return -jnp.sign(z), zero, zero, zero

    def line_sample(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """Draws by JAX."""
        return jax.random.laplace(key, shape, jnp.float64)
