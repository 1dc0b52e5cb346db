r"""E[φ^{(m)}(a·x + b)] from draws of x, for densities whose projections a·x have no known law.

Stein's identity turns the expectation into one of φ itself, with the unit vector u = a/‖a‖,

    E[φ^{(m)}(a·x + b)] = (−1)^m E[φ(a·x + b) S_m(x)(u, …, u)] / ‖a‖^m,

so that kinks do no harm, but S_m has a large variance. For every polynomial p of t = a·x the rows

    p(t) S_m(x)(u, …, u) − (−1)^m ‖a‖^m p^{(m)}(t)

have mean zero. Least squares of the rows φ S_m on those of t⁰, …, t⁶ (control variates) leaves an intercept, which is
the expectation, and residuals, which are its standard error: 0.1 to 0.3 % of it with 200,000 draws of logistic, Student
and mixture inputs and ReLU, where plain averages have 2 to 20 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from planted.activations import Activation
from planted.inputs._base import Density, checked_order
from planted.numerics.validation import as_matrix

DRAWS = 200_000
_PARTS = 100
_DEGREE = 6
_ENTRIES_IN_FLIGHT = 2**21


@dataclass(frozen=True, eq=False)
class SampledDerivatives:
    """Estimates of E[φ^{(m)}(a_i·x + b_i)] from one set of draws.

    Attributes
    ----------
    parts : array (100, k)
        Estimates from disjoint parts of the draws, all with the same coefficients of the control variates.
    """

    parts: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """The estimates (k,): means over the parts."""
        mean: np.ndarray = self.parts.mean(axis=0)
        return mean

    @property
    def standard_errors(self) -> np.ndarray:
        """Their standard errors (k,), from the spread of the parts."""
        spread: np.ndarray = self.parts.std(axis=0, ddof=1)
        return spread / len(self.parts) ** 0.5


def draws_of(density: Density, n_samples: int = DRAWS, random_state: Any = 0) -> np.ndarray:
    """Draws (n, d) of the density, n a multiple of 100, for :func:`sampled_derivatives`.

    >>> from planted.inputs import Logistic
    >>> draws_of(Logistic(2), 1000).shape
    (1000, 2)
    """
    whole = isinstance(n_samples, (int, np.integer)) and not isinstance(n_samples, bool)
    if not (whole and n_samples >= 10 * _PARTS):
        raise ValueError(f"n_samples must be an integer of at least {10 * _PARTS}, not {n_samples!r}")
    wanted = int(n_samples) // _PARTS * _PARTS
    draws = as_matrix("the sampler's answer", density.sample(wanted, random_state))
    if draws.shape != (wanted, density.n_features):
        raise ValueError(
            f"the sampler was asked for {wanted} rows of {density.n_features} inputs and gave {draws.shape}"
        )
    return draws


def sampled_derivatives(
    density: Density,
    directions: ArrayLike,
    activation: Activation,
    order: int = 4,
    *,
    bias: ArrayLike = 0.0,
    draws: ArrayLike | None = None,
) -> SampledDerivatives:
    """E[φ^{(order)}(a_i·x + b_i)] for any density with score functions, by Monte Carlo with control variates.

    Parameters
    ----------
    density : Density
    directions : array (k, d)
        a_i, of any length but zero.
    activation : Activation
        φ, with kinks as it may have them.
    order : 1, 2, 3 or 4
    bias : float or array (k,)
        b_i.
    draws : array (n, d), optional
        Rows drawn from the density, n a multiple of 100; by default 200,000, :func:`draws_of`.

    Examples
    --------
    The quadrature of :func:`mean_derivative` gives −1/8 here:

    >>> from planted import activations
    >>> from planted.inputs import Logistic
    >>> law = Logistic(2)
    >>> estimate = sampled_derivatives(law, [[1.0, 0.0]], activations.get("relu"), draws=draws_of(law, 20_000))
    >>> bool(abs(estimate.values[0] + 1 / 8) < 4 * estimate.standard_errors[0] < 0.01)
    True
    """
    rows = as_matrix("directions", directions)
    order = checked_order(order)
    if rows.shape[1] != density.n_features or not np.all(np.any(rows, axis=1)):
        raise ValueError(f"directions must have {density.n_features} columns and no zero row")
    x = draws_of(density) if draws is None else as_matrix("draws", draws)
    if len(x) % _PARTS or x.shape[1] != density.n_features:
        raise ValueError(f"draws must be an array (n, {density.n_features}) with n a multiple of {_PARTS}")
    shifts = np.broadcast_to(np.asarray(bias, dtype=np.float64), (len(rows),))
    columns = [_rows_of_one(density, x, a, b, activation, order) for a, b in zip(rows, shifts, strict=True)]
    return SampledDerivatives(np.stack([column.reshape(_PARTS, -1).mean(axis=1) for column in columns], axis=1))


def _rows_of_one(
    density: Density, x: np.ndarray, a: np.ndarray, b: float, activation: Activation, order: int
) -> np.ndarray:
    """Rows (n,) whose mean is the estimate of E[φ^{(order)}(a·x + b)]."""
    length = float(np.linalg.norm(a))
    score = _along(density, x, a / length, order)
    z = x @ a
    centre, spread = float(z.mean()), float(z.std())
    t = (z - centre) / spread
    sign = (-1) ** order
    design = [np.ones_like(t)]
    for power in range(_DEGREE + 1):
        derivative = np.polynomial.Polynomial.basis(power).deriv(order)
        design.append(t**power * score - sign * (length / spread) ** order * derivative(t))
    columns = np.stack(design, axis=1)
    units = np.linalg.norm(columns, axis=0)
    wanted = np.asarray(activation(z + b)) * score
    if not (np.all(np.isfinite(wanted)) and np.all(np.isfinite(columns))):
        raise ValueError(f"{type(density).__name__} has a score function that is not finite at one of its draws")
    coefficients = np.linalg.lstsq(columns / units, wanted, rcond=None)[0] / units
    rest: np.ndarray = wanted - columns[:, 1:] @ coefficients[1:]
    return sign * rest / length**order


def _along(density: Density, x: np.ndarray, u: np.ndarray, order: int) -> np.ndarray:
    """S_order(x)(u, …, u) (n,), a block of rows at a time where tensors are formed."""
    if order == 4:
        return density.contract(x, u, u)
    size = max(1, _ENTRIES_IN_FLIGHT // len(u) ** order)
    parts = []
    for start in range(0, len(x), size):
        tensor = density.score(x[start : start + size], order)
        for _ in range(order):
            tensor = tensor @ u
        parts.append(tensor)
    return np.concatenate(parts)
