r"""The best polynomial of y, and the derivatives of it that Stein's identity takes out of y.

For a polynomial q, whatever the density of x, E[q(x) S_m(x)] = (−1)^m E[∇^m q(x)], so that for even m

    E[y S_m] = E[∇^m q] + E[(y − q) S_m].

With q the least-squares fit of degree ≤ 4 the first term of m = 4 is the constant tensor ∇⁴q, and the second has the
noise, and for an estimated S₄ also the bias, of what q leaves of y only: an error of S₄ and an error of q multiply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, permutations
from math import comb, factorial, prod

import numpy as np

# Rows a coefficient, by degree: fitting more would take signal with it.
_ROWS_PER_COEFFICIENT = {0: 1, 1: 8, 2: 8, 3: 20, 4: 20}
_MOST_COEFFICIENTS = 1001
_ENTRIES = 2**22


@dataclass(frozen=True)
class PolynomialFit:
    """What is left of y by a polynomial, and its highest even derivatives.

    Attributes
    ----------
    residual : array (n,)
    degree : int
        That was used.
    second : array (d, d)
        ∇²q of a quadratic; zero for degree 0 and 1. Degrees 3 and 4 have no constant one, and zero stands for it.
    fourth : array (d, d, d, d) or None
        ∇⁴q; None below degree 4, where it is zero.
    """

    residual: np.ndarray
    degree: int
    second: np.ndarray
    fourth: np.ndarray | None


def _monomials(d: int, degree: int) -> list[tuple[int, ...]]:
    return [chosen for total in range(degree + 1) for chosen in combinations_with_replacement(range(d), total)]


def affordable_degree(n: int, d: int, degree: int) -> int:
    """The degree, lowered until rows and memory suffice for its coefficients.

    >>> affordable_degree(10_000, 5, 4), affordable_degree(1000, 5, 4), affordable_degree(10, 5, 4)
    (4, 2, 0)
    """
    while degree and (
        n < _ROWS_PER_COEFFICIENT[degree] * comb(d + degree, degree)
        or (degree > 2 and comb(d + degree, degree) > _MOST_COEFFICIENTS)
    ):
        degree -= 1
    return degree


def polynomial_fit(X: np.ndarray, y: np.ndarray, degree: int, weight: np.ndarray | None = None) -> PolynomialFit:
    """Least squares of y (n,) on the monomials of the columns of X (n, d), rows weighted by `weight`.

    The degree, at most 4, is lowered by :func:`affordable_degree`. Normal equations of standardised columns, a block of
    rows at a time; a block of the design matrix has as many columns as there are coefficients.

    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> fit = polynomial_fit(X, 1 + X[:, 0] ** 2 + X[:, 0] ** 2 * X[:, 1] ** 2, 4)
    >>> bool(np.abs(fit.residual).max() < 1e-9), round(float(fit.fourth[0, 0, 1, 1]), 6), fit.degree
    (True, 4.0, 4)
    """
    n, d = X.shape
    degree = affordable_degree(n, d, degree)
    spread = X.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    z = (X - X.mean(axis=0)) / spread
    names = _monomials(d, degree)

    def blocks() -> Iterator[tuple[slice, np.ndarray]]:
        size = max(1, _ENTRIES // len(names))
        for start in range(0, n, size):
            rows = z[start : start + size]
            # A monomial is one of a lower degree times one column.
            columns: dict[tuple[int, ...], np.ndarray] = {(): np.ones(len(rows))}
            for name in names[1:]:
                columns[name] = columns[name[:-1]] * rows[:, name[-1]]
            yield slice(start, start + size), np.stack(list(columns.values()), axis=1)

    gram, cross = np.zeros((len(names),) * 2), np.zeros(len(names))
    for rows, block in blocks():
        weighted = block if weight is None else block * weight[rows, None]
        gram += weighted.T @ block
        cross += weighted.T @ y[rows]
    coefficients = np.linalg.lstsq(gram, cross, rcond=None)[0]
    residual = np.concatenate([y[rows] - block @ coefficients for rows, block in blocks()])
    second = _derivative(names, coefficients, spread, 2) if degree == 2 else np.zeros((d, d))
    fourth = _derivative(names, coefficients, spread, 4) if degree == 4 else None
    return PolynomialFit(residual, degree, second, fourth)


def _derivative(names: list[tuple[int, ...]], coefficients: np.ndarray, spread: np.ndarray, order: int) -> np.ndarray:
    """∇^order of a polynomial of that degree in standardised columns, with respect to the columns themselves."""
    d = len(spread)
    tensor = np.zeros((d,) * order)
    for name, value in zip(names, coefficients, strict=True):
        if len(name) == order:
            entry = value * prod(factorial(name.count(j)) for j in set(name)) / prod(spread[list(name)])
            for place in set(permutations(name)):
                tensor[place] = entry
    return tensor
