r"""Hermite moments of the targets, and targets without their lower Hermite parts.

For x ~ N(0, I) the moments of order 0, 1, 2 are

    m = E[y],    v = E[y x],    M = E[y (xxᵀ − I)],

additive averages over rows. They give the best quadratic fit y ≈ m + v·x + ½(xᵀMx − tr M). The fourth
Hermite polynomial is orthogonal to it, so subtracting it from y changes no fourth-order expectation; for a
ReLU teacher it removes 97 % of the variance.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from planted.rows import ArrayRows, Block, Rows

_ROWS_PER_COEFFICIENT = 8


class Moments(NamedTuple):
    """Raw averages: E[y] (), E[y x] (d,), E[y xxᵀ] (d, d)."""

    zeroth: jax.Array
    first: jax.Array
    second: jax.Array

    @property
    def hermite_second(self) -> jax.Array:
        """E[y (xxᵀ − I)]."""
        return self.second - self.zeroth * jnp.eye(self.first.shape[0], dtype=self.first.dtype)


def moments(rows: Rows) -> Moments:
    """The averages E[y], E[y x], E[y xxᵀ] over `rows`, in one pass.

    >>> rows = ArrayRows(jnp.eye(2), jnp.array([2.0, 4.0]))
    >>> moments(rows).first
    Array([1., 2.], dtype=float32)
    """

    def block_moments(block: Block) -> tuple[jax.Array, jax.Array, jax.Array]:
        y = block["weight"] * block["y"]
        return jnp.sum(y), y @ block["x"], (block["x"] * y[:, None]).T @ block["x"]

    return Moments(*rows.mean(block_moments))


def quadratic_fit(x: jax.Array, fit: Moments) -> jax.Array:
    """m + v·x + ½(xᵀMx − tr M) for rows x (r, d), the part of y that `fit` explains.

    >>> quadratic_fit(jnp.zeros((1, 2)), Moments(jnp.array(1.0), jnp.zeros(2), jnp.eye(2)))
    Array([1.], dtype=float32)
    """
    M = fit.hermite_second
    return fit.zeroth + x @ fit.first + 0.5 * (jnp.sum((x @ M) * x, axis=1) - jnp.trace(M))


def without_lower_parts(rows: ArrayRows) -> ArrayRows:
    """Rows whose targets have lost their fitted constant, linear and quadratic Hermite parts.

    The projection is repeated once where rows are plentiful: the second pass removes what sampling error
    left behind in the first. With fewer than eight rows a coefficient a second pass would add noise.

    >>> x = jax.random.normal(jax.random.key(0), (4000, 2))
    >>> y = 3.0 + x[:, 0] + x[:, 0] * x[:, 1]
    >>> bool(jnp.std(without_lower_parts(ArrayRows(x, y)).blocks["y"]) < 0.02)
    True
    """
    d = rows.n_features
    n = rows.blocks["y"].size
    coefficients = 1 + d + d * (d + 1) // 2
    for _ in range(2 if n >= _ROWS_PER_COEFFICIENT * coefficients else 1):
        fit = moments(rows)
        rows = rows.with_targets(lambda block, fit: block["y"] - quadratic_fit(block["x"], fit), fit)
    return rows


def fourth_contraction(rows: Rows, contracted: jax.Array, fit: Moments) -> jax.Array:
    """E[y H₄(x)(P)], the (d, d) contraction of the fourth Hermite tensor with a symmetric P (d, d).

    H₄(P) = (xᵀPx)(xxᵀ − I) − tr P · xxᵀ − 2(Pxxᵀ + xxᵀP) + tr P · I + 2P, so that for unit u
    E[φ(u·x) H₄(x)(P)] = √24 φ̂₄ (uᵀPu) uuᵀ. `fit` holds the moments of the same rows.

    >>> rows = ArrayRows(jnp.zeros((1, 2)), jnp.ones(1))
    >>> fourth_contraction(rows, jnp.eye(2), moments(rows))
    Array([[4., 0.],
           [0., 4.]], dtype=float32)
    """

    def block_part(block: Block) -> jax.Array:
        x = block["x"]
        y = block["weight"] * block["y"] * jnp.sum((x @ contracted) * x, axis=1)
        return (x * y[:, None]).T @ x

    eye = jnp.eye(contracted.shape[0], dtype=contracted.dtype)
    trace, PM = jnp.trace(contracted), contracted @ fit.second
    return (
        rows.mean(block_part)
        - jnp.trace(PM) * eye
        - trace * fit.second
        - 2 * (PM + PM.T)
        + fit.zeroth * (trace * eye + 2 * contracted)
    )
