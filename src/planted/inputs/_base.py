"""What every density of the inputs promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from numpy.typing import ArrayLike

from planted.inputs._scores import MAX_ORDER
from planted.names import count_of
from planted.numerics.precision import float64, to_jax
from planted.numerics.pytrees import Pytree
from planted.numerics.validation import as_matrix

_ENTRIES_IN_FLIGHT = 2**21


class SingularScoreWarning(UserWarning):
    """A score function was asked for that is not a function but a distribution with point masses."""


class Density(Pytree, ABC):
    """A density f of the inputs, known through its score functions S_m = ∇^m f / f.

    A subclass writes three traceable functions for rows x (n, d); this class checks arguments, compiles and
    runs them in float64.
    """

    smooth: bool = True

    @property
    def has_marginals(self) -> bool:
        """Whether :meth:`marginal` is known."""
        return False

    def marginal(self, direction: np.ndarray) -> Callable[[jax.Array], jax.Array]:
        """The log density of direction·x up to a constant, from a number to a number, traceable, where it is known."""
        raise ValueError(f"{type(self).__name__} does not know the laws of its projections")

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number of inputs d."""

    @abstractmethod
    def sample(self, n_samples: int, random_state: Any = None) -> np.ndarray:
        """Draw rows (n_samples, d)."""

    @abstractmethod
    def traced_log_density(self, x: jax.Array) -> jax.Array:
        """log f (n,) at rows x (n, d), traceable."""

    @abstractmethod
    def traced_score(self, x: jax.Array, order: int) -> jax.Array:
        """S_order (n, d, …, d) at rows x (n, d), traceable."""

    @abstractmethod
    def traced_contract(self, x: jax.Array, u: jax.Array, v: jax.Array) -> jax.Array:
        """S₄(x)(u, u, v, v) (n,) at rows x (n, d), traceable, without a tensor of d³ or d⁴ entries."""

    @float64
    def log_density(self, x: ArrayLike) -> np.ndarray:
        """log f (n,) at rows x (n, d)."""
        return np.asarray(_log_density(self, to_jax(self._rows(x))))

    @float64
    def score(self, x: ArrayLike, order: int) -> np.ndarray:
        """S_order at rows x (n, d): an array (n, d, …, d) with `order` axes of length d, order 1 to 4."""
        return np.asarray(_score(self, to_jax(self._rows(x)), checked_order(order)))

    @float64
    def contract(self, x: ArrayLike, u: ArrayLike, v: ArrayLike) -> np.ndarray:
        """S₄(x)(u, u, v, v) (n,) at rows x (n, d) for vectors u, v (d,)."""
        rows = self._rows(x)
        directions = [as_matrix(name, value, 1) for name, value in (("u", u), ("v", v))]
        for name, direction in zip("uv", directions, strict=True):
            if len(direction) != self.n_features:
                raise ValueError(f"{name} has {len(direction)} entries, expected {self.n_features}")
        return np.asarray(_contract(self, to_jax(rows), *map(to_jax, directions)))

    def mean_score(self, x: ArrayLike, y: ArrayLike, order: int) -> np.ndarray:
        """Average of y S_order(x) over the rows, an array (d, …, d), a block of rows at a time.

        >>> from planted.inputs import Gaussian
        >>> Gaussian([0.0]).mean_score([[2.0], [0.0]], [1.0, 3.0], 2)
        array([[0.]])
        """
        rows, targets = self._rows(x), as_matrix("y", y, 1)
        size = max(1, _ENTRIES_IN_FLIGHT // self.n_features**order)
        total = np.zeros((self.n_features,) * order)
        for start in range(0, len(rows), size):
            score = self.score(rows[start : start + size], order)
            total += np.tensordot(targets[start : start + size], score, axes=1)
        return total / len(rows)

    def _rows(self, x: ArrayLike) -> np.ndarray:
        rows = as_matrix("x", x)
        if rows.shape[1] != self.n_features:
            raise ValueError(
                f"x has {count_of(rows.shape[1], 'column')}, but the density has {count_of(self.n_features, 'input')}"
            )
        return rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({count_of(self.n_features, 'input')})"


def checked_order(order: Any) -> int:
    """`order` if it is an integer from 1 to 4.

    >>> checked_order(5)
    Traceback (most recent call last):
    ValueError: the order of a score function must be 1, 2, 3 or 4, not 5
    """
    if isinstance(order, bool) or order not in range(1, MAX_ORDER + 1):
        raise ValueError(f"the order of a score function must be 1, 2, 3 or 4, not {order!r}")
    return int(order)


@jax.jit
def _log_density(density: Density, x: jax.Array) -> jax.Array:
    return density.traced_log_density(x)


@jax.jit(static_argnums=2)
def _score(density: Density, x: jax.Array, order: int) -> jax.Array:
    return density.traced_score(x, order)


@jax.jit
def _contract(density: Density, x: jax.Array, u: jax.Array, v: jax.Array) -> jax.Array:
    return density.traced_contract(x, u, v)
