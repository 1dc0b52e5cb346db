r"""Mixtures of Gaussians.

With posterior probabilities r_c(x) of the components, derivatives of f = Σ_c w_c f_c give

    S_m(x) = Σ_c r_c(x) S_m^{(c)}(x),

the posterior average of the components' score functions (Example 2 of Gao et al. 2018, any covariances).
"""

from __future__ import annotations

from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted.inputs._base import Density
from planted.inputs._gaussian import Gaussian, log_normal, normal_contraction, normal_score
from planted.names import count_of
from planted.numerics.precision import float64
from planted.numerics.seeding import key_from
from planted.numerics.validation import as_matrix

_FITTED_ROWS = 20_000
_MOST_COMPONENTS = 5


class GaussianMixture(Density):
    """x ~ Σ_c weights_c N(means_c, covs_c).

    Parameters
    ----------
    weights : array (c,)
        Positive; they are divided by their sum.
    means : array (c, d)
    covs : array (c, d, d) or (d, d), optional
        Symmetric positive definite, one a component or one for all; the identity if omitted.

    Examples
    --------
    >>> inputs = GaussianMixture([0.5, 0.5], [[1.0, 1.0], [-1.0, -1.0]])
    >>> inputs.score([[0.0, 0.0]], 2)
    array([[[0., 1.],
            [1., 0.]]])
    """

    _arrays = ("weights", "means", "covs", "_factors")

    weights: Any
    means: Any
    covs: Any
    _factors: Any

    def __init__(self, weights: ArrayLike, means: ArrayLike, covs: ArrayLike | None = None) -> None:
        self.weights, self.means = as_matrix("weights", weights, 1), as_matrix("means", means)
        count, d = self.means.shape
        if len(self.weights) != count:
            raise ValueError(f"weights has {len(self.weights)} entries but means has {count} rows")
        if np.any(self.weights <= 0):
            raise ValueError("the weights of a mixture must be positive")
        self.weights = self.weights / self.weights.sum()
        given = np.eye(d) if covs is None else np.asarray(covs, dtype=np.float64)
        if given.shape not in ((d, d), (count, d, d)):
            raise ValueError(f"covs has shape {given.shape}, expected ({d}, {d}) or ({count}, {d}, {d})")
        self.covs = np.broadcast_to(given, (count, d, d)).copy()
        components = [Gaussian(mean, cov) for mean, cov in zip(self.means, self.covs, strict=True)]
        self._factors = np.stack([component._factor for component in components])

    @classmethod
    def symmetric(cls, n_features: int, length: float | None = None) -> Self:
        """½ N(m, I) + ½ N(−m, I) with m along (1, …, 1) and ‖m‖ = length, √d if omitted (m = (1, …, 1)).

        For a unit vector a the density of a·x is ½ N(μ, 1) + ½ N(−μ, 1) with μ = a·m, so a ReLU neuron has
        E[φ⁗(a·x)] = (μ² − 1) exp(−μ²/2)/√(2π). The length √d of Gao et al. (2018) makes it vanish for each
        a = e_j, and gives it both signs in any other orthonormal basis; lengths below 1 make it negative always.

        >>> GaussianMixture.symmetric(4, length=1.0).means[0]
        array([0.5, 0.5, 0.5, 0.5])
        """
        mean = np.full(n_features, 1.0 if length is None else length / n_features**0.5)
        return cls([0.5, 0.5], [mean, -mean])

    @classmethod
    def fit(cls, X: ArrayLike, n_components: int | None = None, random_state: Any = 0) -> Self:
        """The mixture of highest likelihood for the rows of X (n, d), by expectation–maximisation.

        Without `n_components` the number, one to five, is the one of least BIC. At most 20,000 rows are used.

        >>> rows = GaussianMixture([0.5, 0.5], [[3.0], [-3.0]]).sample(1000, random_state=0)
        >>> GaussianMixture.fit(rows)
        GaussianMixture(2 components, 1 input)
        """
        from sklearn.mixture import GaussianMixture as Likelihood

        rows = as_matrix("X", X)
        if len(rows) > _FITTED_ROWS:
            rows = rows[np.random.default_rng(0).choice(len(rows), _FITTED_ROWS, replace=False)]
        counts = range(1, _MOST_COMPONENTS + 1) if n_components is None else (n_components,)
        if len(rows) < max(counts):
            raise ValueError(f"{len(rows)} rows are too few for a mixture of {max(counts)} components")
        fits = [Likelihood(count, random_state=random_state).fit(rows) for count in counts]
        best = min(fits, key=lambda mixture: mixture.bic(rows))
        return cls(best.weights_, best.means_, best.covariances_)

    @property
    def n_features(self) -> int:
        """Number of inputs d."""
        return self.means.shape[1]

    @property
    def n_components(self) -> int:
        """Number of components c."""
        return self.means.shape[0]

    @float64
    def sample(self, n_samples: int, random_state: Any = None) -> np.ndarray:
        """Draw rows (n_samples, d)."""
        which_key, normal_key = jax.random.split(key_from(random_state))
        log_weights = jnp.log(jnp.asarray(self.weights))
        which = np.asarray(jax.random.categorical(which_key, log_weights, shape=(n_samples,)))
        rows = np.array(jax.random.normal(normal_key, (n_samples, self.n_features), jnp.float64))
        for c in range(self.n_components):
            mine = which == c
            rows[mine] = self.means[c] + rows[mine] @ self._factors[c].T
        return rows

    def component_log_densities(self, x: jax.Array) -> jax.Array:
        """log(weights_c f_c(x)), an array (n, c), traceable."""
        each = jax.vmap(log_normal, in_axes=(None, 0, 0), out_axes=1)(x, self.means, self._factors)
        return each + jnp.log(jnp.asarray(self.weights))

    def posterior(self, x: jax.Array) -> jax.Array:
        """Probabilities r_c(x) of the components, an array (n, c), traceable."""
        return jax.nn.softmax(self.component_log_densities(x), axis=1)

    def traced_log_density(self, x: jax.Array) -> jax.Array:
        """log Σ_c weights_c f_c (n,), traceable."""
        return jax.nn.logsumexp(self.component_log_densities(x), axis=1)

    def traced_score(self, x: jax.Array, order: int) -> jax.Array:
        """S_order (n, d, …, d), traceable: one component's tensor in flight at a time."""
        posterior = self.posterior(x)
        total = jnp.zeros((x.shape[0],) + (x.shape[1],) * order, x.dtype)
        for c in range(self.n_components):
            share = posterior[:, c].reshape(-1, *(1,) * order)
            total = total + share * normal_score(x, self.means[c], self._factors[c], order)
        return total

    def traced_contract(self, x: jax.Array, u: jax.Array, v: jax.Array) -> jax.Array:
        """S₄(x)(u, u, v, v) (n,), traceable: O(d) a row and component beside the posterior's O(d²)."""
        each = jax.vmap(normal_contraction, in_axes=(None, 0, 0, None, None), out_axes=1)
        return jnp.sum(self.posterior(x) * each(x, self.means, self._factors, u, v), axis=1)

    def __repr__(self) -> str:
        return f"GaussianMixture({count_of(self.n_components, 'component')}, {count_of(self.n_features, 'input')})"
