r"""Score functions of an unknown density, from samples: local likelihood (Gao et al. 2018, section 2).

Around a query point x the log density is taken to be a polynomial of degree p, log f(x + u) = a₀ + a₁·u +
½ uᵀA₂u + …, fitted by the likelihood that the kernel K(u/h) = exp(−‖u‖²/2h²) localises (eq. 3–5). Its
coefficients estimate the derivatives of log f, and the recursion of `_scores.py` turns them into S_1 … S_4.

For p = 2 the solution is closed (eq. 14, 15): with weights w_i ∝ K((X_i − x)/h), the weighted mean m and
covariance V of the offsets X_i − x,

    a₁ = V⁻¹ m,    A₂ = h⁻² I − V⁻¹,    log f̂(x) = log(Σ_i K_i/n) − ½ log det(2πV) − ½ mᵀV⁻¹m.

S₃ and S₄ of a quadratic fit leave out 𝒢₃ and 𝒢₄, so for them it is consistent only where log f is quadratic;
degrees 3 and 4 (`_local_likelihood_general.py`, at most three inputs) do not leave them out.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import comb
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from planted.inputs._bandwidth import choose_bandwidth
from planted.inputs._base import checked_order
from planted.inputs._kernel_sums import kernel_sums
from planted.inputs._local_likelihood_general import MAX_FEATURES, fit_general
from planted.inputs._moment_bandwidth import bandwidth_for_moment
from planted.inputs._scores import score_contraction, score_tensor
from planted.names import count_of
from planted.numerics.precision import float64
from planted.numerics.validation import as_matrix

_SOLVED_AT_ONCE = 8192
# Below this (spread/h)² the rounding of float32 changes a weight by less than one part in a thousand.
_SINGLE_PRECISION_REACH = 1e3
_ENTRIES_IN_FLIGHT = 2**21
_NEIGHBOURS_PER_COEFFICIENT = 5

OK, FEW, FLAT, DIVERGED = "ok", "too few neighbours", "neighbours lie in a subspace", "no solution"


class LocalFitWarning(UserWarning):
    """Some query points have no usable local fit."""


class LowDegreeWarning(UserWarning):
    """S₄ comes from local polynomials of a degree below 4, against Assumption 1(a) of Gao et al. (2018)."""


@dataclass(frozen=True)
class LocalFit:
    """Local polynomial fits at query points.

    Attributes
    ----------
    derivatives : tuple of arrays
        Estimates of ∇^j log f, shapes (n, d), (n, d, d), …; NaN where `status` is not "ok".
    log_density : array (n,)
    neighbours : array (n,)
        Effective number of neighbours (Σw)²/Σw².
    status : array (n,) of str
        "ok", "too few neighbours", "neighbours lie in a subspace" or "no solution".
    """

    derivatives: tuple[np.ndarray, ...]
    log_density: np.ndarray
    neighbours: np.ndarray
    status: np.ndarray

    @property
    def ok(self) -> np.ndarray:
        """Which query points have a fit, (n,) of bool."""
        return self.status == OK

    @float64
    def score(self, order: int) -> np.ndarray:
        """Ŝ_order (n, d, …, d) at the query points."""
        return np.asarray(score_tensor([jnp.asarray(tensor) for tensor in self.derivatives[:order]], order))

    def __str__(self) -> str:
        kinds, counts = np.unique(self.status, return_counts=True)
        parts = ", ".join(f"{count} {kind}" for kind, count in zip(kinds, counts, strict=True))
        return (
            f"{count_of(len(self.status), 'query point')}: {parts}; median neighbours {np.median(self.neighbours):.3g}"
        )


def _places(d: int) -> np.ndarray:
    """Where the entries of a symmetric (d, d) matrix are in the list of those on and above its diagonal."""
    places = np.zeros((d, d), dtype=int)
    places[np.triu_indices(d)] = np.arange(d * (d + 1) // 2)
    return np.maximum(places, places.T)


@jax.jit
def quadratic_fit(
    largest: jax.Array, sums: jax.Array, squares: jax.Array, queries: jax.Array, n: jax.Array, h: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]:
    """Eq. 14 and 15 from weighted sums: a₁ (q, d), A₂ (q, d, d), log f̂, effective neighbours, flatness (q,).

    The flatness is the least pivot of V over h²: zero where the neighbours lie in a subspace.

    >>> sums = jnp.array([[2.0, 0.0, 2.0]])          # two points at ±1, weight one each, query at 0
    >>> a1, A2, *_ = quadratic_fit(jnp.zeros(1), sums, jnp.array([2.0]), jnp.zeros((1, 1)), 2, 1.0)
    >>> float(a1[0, 0]), float(A2[0, 0, 0])
    (0.0, 0.0)
    """
    from jax.scipy.linalg import solve_triangular

    d = queries.shape[1]
    total = sums[:, 0]
    mean = sums[:, 1 : 1 + d] / total[:, None]
    second = sums[:, 1 + d + _places(d)]
    # The covariance of the offsets does not depend on where they are measured from.
    covariance = second / total[:, None, None] - mean[:, :, None] * mean[:, None, :]
    offset = mean - queries
    factor = jnp.linalg.cholesky(covariance)
    pivots = jnp.diagonal(factor, axis1=1, axis2=2) ** 2
    usable = jnp.all(pivots > 0, axis=1)
    eye = jnp.broadcast_to(jnp.eye(d, dtype=sums.dtype), covariance.shape)
    inverse_factor = solve_triangular(jnp.where(usable[:, None, None], factor, eye), eye, lower=True)
    precision = jnp.einsum("qki,qkj->qij", inverse_factor, inverse_factor)
    first = jnp.einsum("qij,qj->qi", precision, offset)
    log_det = jnp.sum(jnp.log(2 * jnp.pi * jnp.where(usable[:, None], pivots, 1.0)), axis=1)
    log_density = largest + jnp.log(total / n) - 0.5 * log_det - 0.5 * jnp.sum(first * offset, axis=1)
    curvature = eye / h**2 - precision
    flatness = jnp.where(usable, jnp.min(pivots, axis=1) / h**2, 0.0)
    return first, curvature, log_density, total**2 / squares, flatness


class LocalLikelihood(BaseEstimator):
    """Score functions S_1 … S_4 of the density that the rows of X were drawn from.

    Parameters
    ----------
    bandwidth : float, "rule", "held-out" or "moment"
        h; "rule" is h = s n^{−1/(2p+2+d)} of Remark 1 with s the root of the inputs' mean variance;
        "held-out" minimises Hyvärinen's score-matching criterion on held-out rows, good for S₁; "moment" minimises the
        error of E[y Ŝ₄] for functions y whose E[y S₄] is known (:func:`bandwidth_for_moment`), good for the loss L.
    degree : int
        p, 1 to 4. Degree 2 has a closed form for any number of inputs; others need at most three.
    min_neighbours : float, optional
        Effective neighbours (Σw)²/Σw² that a query point must have; by default what a unique solution needs:
        d + 1 for degree 2, otherwise the number of coefficients of the polynomial. With "moment" five for each
        coefficient: one far row with a few neighbours can outweigh all others in E[y Ŝ₄].
    random_state : None, int, RandomState or Generator
        Decides which rows "held-out" holds out, and which functions "moment" tries.

    Attributes
    ----------
    bandwidth_ : float
    n_features_in_ : int
    criterion_ : dict or None
        With "held-out": Hyvärinen's criterion by bandwidth; with "moment": the relative error of E[y Ŝ₄].

    Examples
    --------
    >>> from planted.inputs import Gaussian
    >>> X = Gaussian([0.0, 0.0]).sample(5000, random_state=0)
    >>> estimate = LocalLikelihood(bandwidth=1.0).fit(X)
    >>> bool(abs(estimate.score([[1.0, 0.0]], 1) - [[-1.0, 0.0]]).max() < 0.15)
    True
    >>> print(estimate.local_fit([[100.0, 0.0]]))
    1 query point: 1 too few neighbours; median neighbours 1
    """

    def __init__(
        self,
        bandwidth: float | str = "rule",
        degree: int = 2,
        min_neighbours: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.degree = degree
        self.min_neighbours = min_neighbours
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Keep the rows of X (n, d) and settle the bandwidth."""
        rows = as_matrix("X", X)
        d = rows.shape[1]
        if self.degree not in (1, 2, 3, 4):
            raise ValueError(f"degree must be 1, 2, 3 or 4, not {self.degree!r}")
        if self.degree != 2 and d > MAX_FEATURES:
            raise ValueError(f"degree {self.degree} needs at most {MAX_FEATURES} inputs, not {d}; use degree=2")
        least = d + 1 if self.degree == 2 else comb(d + self.degree, self.degree)
        if self._for_moment:
            least = _NEIGHBOURS_PER_COEFFICIENT * comb(d + self.degree, self.degree)
        self.min_neighbours_ = float(least if self.min_neighbours is None else self.min_neighbours)
        if not self.min_neighbours_ >= 1:
            raise ValueError(f"min_neighbours must be at least 1, not {self.min_neighbours!r}")
        self.n_features_in_ = d
        self._centre = rows.mean(axis=0)
        self._points = rows - self._centre
        self._own_fit: LocalFit | None = None
        self.bandwidth_, self.criterion_ = self._chosen(rows)
        return self

    @property
    def _for_moment(self) -> bool:
        return isinstance(self.bandwidth, str) and self.bandwidth == "moment"

    def _chosen(self, rows: np.ndarray) -> tuple[float, dict[float, float] | None]:
        if self._for_moment:
            return bandwidth_for_moment(rows, self.degree, self._with, self.random_state)
        return choose_bandwidth(rows, self.bandwidth, self.degree, self.min_neighbours_, self.random_state)

    def _with(self, bandwidth: float, rows: np.ndarray) -> LocalLikelihood:
        return LocalLikelihood(bandwidth, self.degree, self.min_neighbours_).fit(rows)

    @property
    def n_features(self) -> int:
        """Number of inputs d."""
        return self.n_features_in_

    @property
    def n_samples(self) -> int:
        """Number of rows that it was fitted to."""
        return len(self._points)

    @float64
    def local_fit(self, x: ArrayLike | None = None) -> LocalFit:
        """The fits at query points x (n, d); without x at the fitted rows, each left out of its own fit."""
        if not hasattr(self, "_points"):
            raise NotFittedError("this LocalLikelihood has no data yet: call fit(X) first")
        # The fit at the fitted rows is asked for again and again: by every order, and by every contraction.
        if x is None and self._own_fit is not None:
            return self._own_fit
        leave_one_out = x is None
        queries = self._points if x is None else self._rows(x) - self._centre
        if self.degree == 2:
            *derivatives, log_density, neighbours, flatness = self._quadratic(queries, leave_one_out)
            flat, diverged = ~(flatness > self._rounding), np.zeros(len(queries), bool)
        else:
            derivatives, log_density, neighbours, solved = fit_general(
                self._points, queries, self.bandwidth_, self.degree, leave_one_out
            )
            flat, diverged = np.zeros(len(queries), bool), ~solved
        status = np.select([~(neighbours >= self.min_neighbours_), flat, diverged], [FEW, FLAT, DIVERGED], default=OK)
        bad = status != OK
        for array in (*derivatives, log_density):
            array[bad] = np.nan
        local_fit = LocalFit(tuple(derivatives), log_density, np.nan_to_num(neighbours), status)
        if leave_one_out:
            self._own_fit = local_fit
        return local_fit

    @property
    def _dtype(self) -> Any:
        reach = np.max(np.sum(self._points**2, axis=1)) / self.bandwidth_**2
        return np.float32 if reach < _SINGLE_PRECISION_REACH else np.float64

    @property
    def _rounding(self) -> float:
        """Least pivot of V/h² that is more than rounding."""
        return 1e-3 if self._dtype == np.float32 else 1e-9

    def _quadratic(self, queries: np.ndarray, leave_one_out: bool) -> list[np.ndarray]:
        """The closed form at all queries; memory O(n d + q d²)."""
        sums = kernel_sums(self._points, queries, self.bandwidth_, self._dtype, leave_one_out)
        answers = []
        for start in range(0, len(queries), _SOLVED_AT_ONCE):
            some = slice(start, start + _SOLVED_AT_ONCE)
            block = [jnp.asarray(value[some]) for value in (*sums, queries)]
            fitted = quadratic_fit(*block, len(self._points) - int(leave_one_out), self.bandwidth_)
            answers.append([np.array(value) for value in fitted])
        return [np.concatenate(parts) for parts in zip(*answers, strict=True)]

    def log_density(self, x: ArrayLike) -> np.ndarray:
        """log f̂ (n,) at rows x (n, d)."""
        return self._checked(self.local_fit(x)).log_density

    @float64
    def score(self, x: ArrayLike | None, order: int) -> np.ndarray:
        """Ŝ_order (n, d, …, d) at rows x (n, d); x = None means the fitted rows, each left out of its own fit.

        Rows without a usable fit are NaN, and a :class:`LocalFitWarning` says how many and why.
        """
        order = checked_order(order)
        return self._checked(self.local_fit(x)).score(order)

    @float64
    def contract(self, x: ArrayLike | None, u: ArrayLike, v: ArrayLike) -> np.ndarray:
        """Ŝ₄(x)(u, u, v, v) (n,) at rows x, without a tensor of more entries than the fit has."""
        derivatives = self._checked(self.local_fit(x)).derivatives
        directions = {"u": as_matrix("u", u, 1), "v": as_matrix("v", v, 1)}

        def directional(name: str) -> jax.Array | None:
            if len(name) > len(derivatives):
                return None
            tensor = derivatives[len(name) - 1]
            for letter in name:
                tensor = tensor @ directions[letter]
            return jnp.asarray(tensor)

        return np.asarray(score_contraction(directional))

    @float64
    def mean_score(self, x: ArrayLike | None, y: ArrayLike, order: int) -> np.ndarray:
        """Average (d, …, d) of y Ŝ_order over the rows that have a usable fit, a block of rows at a time."""
        targets = as_matrix("y", y, 1)
        fit = self._checked(self.local_fit(x))
        if not fit.ok.any():
            raise ValueError(f"no row has a usable local fit ({fit}); choose a larger bandwidth")
        derivatives = [tensor[fit.ok] for tensor in fit.derivatives[:order]]
        targets = targets[fit.ok]
        size = max(1, _ENTRIES_IN_FLIGHT // self.n_features**order)
        total = np.zeros((self.n_features,) * order)
        for start in range(0, len(targets), size):
            tensors = [jnp.asarray(tensor[start : start + size]) for tensor in derivatives]
            total += np.tensordot(targets[start : start + size], np.asarray(score_tensor(tensors, order)), axes=1)
        return total / len(targets)

    def knows(self, X: np.ndarray) -> bool:
        """Whether X are the fitted rows, so that each must be left out of its own fit."""
        return X.shape == self._points.shape and np.allclose(X - self._centre, self._points, atol=0.0)

    def _rows(self, x: ArrayLike) -> np.ndarray:
        rows = as_matrix("x", x)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"x has {count_of(rows.shape[1], 'column')}, but the estimator was fitted with {self.n_features_in_}"
            )
        return rows

    @staticmethod
    def _checked(fit: LocalFit) -> LocalFit:
        if not fit.ok.all():
            warnings.warn(f"{fit}; the others are NaN: raise the bandwidth", LocalFitWarning, stacklevel=3)
        return fit
