"""A density that the user writes down: its score functions come from automatic differentiation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.inputs._base import Density
from planted.inputs._scores import score_contraction, score_tensor
from planted.numerics.precision import float64


class CustomDensity(Density):
    """Inputs with a given log density, known up to a constant.

    Parameters
    ----------
    log_density : callable
        From one row (d,) to a number; traceable and four times differentiable by JAX.
    n_features : int
    sampler : callable, optional
        `sampler(n_samples, random_state) -> array (n, d)`, needed only to draw samples.
    marginal : callable, optional
        `marginal(direction) -> function`, the log density of direction·x up to a constant, from a number to a number,
        traceable and four times differentiable. With it the expected loss L needs quadrature only, without it draws.
        A density of one input is its own marginal.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> inputs = CustomDensity(lambda x: -0.5 * jnp.sum(x**2), 2)
    >>> inputs.contract([[2.0, 3.0]], [1.0, 0.0], [0.0, 1.0])
    array([24.])
    """

    _static = ("function", "_n_features", "sampler", "marginals")

    def __init__(
        self,
        log_density: Callable[[jax.Array], jax.Array],
        n_features: int,
        sampler: Callable[..., Any] | None = None,
        marginal: Callable[[np.ndarray], Callable[[jax.Array], jax.Array]] | None = None,
    ) -> None:
        if not callable(log_density):
            raise TypeError("log_density must be a function of one row (d,)")
        if isinstance(n_features, bool) or not isinstance(n_features, (int, np.integer)) or n_features < 1:
            raise ValueError(f"n_features must be a positive integer, not {n_features!r}")
        self.function, self._n_features = log_density, int(n_features)
        self.sampler, self.marginals = sampler, marginal
        self._check_function()

    @float64
    def _check_function(self) -> None:
        shape = jax.eval_shape(self.function, jnp.zeros(self._n_features)).shape
        if shape != ():
            raise ValueError(f"log_density must give one number for a row, not an array of shape {shape}")

    @property
    def n_features(self) -> int:
        """Number of inputs d."""
        return self._n_features

    @property
    def has_marginals(self) -> bool:
        """Whether the laws of projections were given, or there is one input only."""
        return self.marginals is not None or self.n_features == 1

    def marginal(self, direction: np.ndarray) -> Callable[[jax.Array], jax.Array]:
        """The log density of direction·x up to a constant.

        >>> inputs = CustomDensity(lambda x: -0.5 * jnp.sum(x**2), 1)
        >>> float(inputs.marginal(np.array([2.0]))(2.0))
        -0.5
        """
        if self.marginals is not None:
            return self.marginals(direction)
        if self.n_features == 1:
            return lambda z: self.function(jnp.atleast_1d(z / direction[0]))
        return super().marginal(direction)

    def sample(self, n_samples: int, random_state: Any = None) -> np.ndarray:
        """Draw rows (n_samples, d) with the given sampler."""
        if self.sampler is None:
            raise ValueError("this density cannot be sampled: give CustomDensity a sampler")
        return np.asarray(self.sampler(n_samples, random_state), dtype=np.float64)

    def traced_log_density(self, x: jax.Array) -> jax.Array:
        """The given function at every row."""
        return jax.vmap(self.function)(x)

    def traced_score(self, x: jax.Array, order: int) -> jax.Array:
        """S_order (n, d, …, d): forward-mode Jacobians of Jacobians, as large as the answer."""
        tensors, function = [], self.function
        for _ in range(order):
            function = jax.jacfwd(function)
            tensors.append(jax.vmap(function)(x))
        return score_tensor(tensors, order)

    def traced_contract(self, x: jax.Array, u: jax.Array, v: jax.Array) -> jax.Array:
        """S₄(x)(u, u, v, v) (n,): nested directional derivatives, a fixed multiple of one evaluation a row."""
        directions = {"u": u, "v": v}

        def directional(name: str) -> jax.Array:
            function = self.function
            for letter in name:
                function = _along(function, directions[letter])
            return jax.vmap(function)(x)

        return score_contraction(directional)


def _along(function: Callable[[jax.Array], jax.Array], direction: jax.Array) -> Callable[[jax.Array], jax.Array]:
    """The derivative of `function` along `direction`, as a function of the point."""
    return lambda x: jax.jvp(function, (x,), (direction,))[1]
