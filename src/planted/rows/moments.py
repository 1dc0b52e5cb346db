r"""Hermite moments of the targets, and targets without their lower Hermite parts.

For x ~ N(0, I) the moments of order 0, 1, 2 are

    m = E[y],    v = E[y x],    M = E[y (xxᵀ − I)],

additive averages over rows. They give the best quadratic fit y ≈ m + v·x + ½(xᵀMx − tr M). The fourth
Hermite polynomial is orthogonal to it, so subtracting it from y changes no fourth-order expectation; for a
ReLU teacher with orthogonal rows it removes 97 % of the variance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from planted.rows import Block, Rows

AnyRows = TypeVar("AnyRows", bound=Rows)


class Moments(NamedTuple):
    """Raw averages: E[y] (), E[y x] (d,), E[y xxᵀ] (d, d)."""

    zeroth: jax.Array
    first: jax.Array
    second: jax.Array


def moments(rows: Rows) -> Moments:
    """The averages E[y], E[y x], E[y xxᵀ] over `rows`, in one pass.

    >>> from planted.rows import ArrayRows
    >>> rows = ArrayRows(jnp.eye(2), jnp.array([2.0, 4.0]))
    >>> moments(rows).first
    Array([1., 2.], dtype=float32)
    """

    return Moments(*rows.mean(block_moments))


def block_moments(block: Block) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Σ y, Σ y x and Σ y xxᵀ over a block."""
    y = block["weight"] * block["y"]
    return jnp.sum(y), y @ block["x"], (block["x"] * y[:, None]).T @ block["x"]


class QuadraticFit(NamedTuple):
    """The polynomial constant + linear·x + ½(xᵀ quadratic x − tr quadratic)."""

    constant: jax.Array
    linear: jax.Array
    quadratic: jax.Array

    def __call__(self, x: jax.Array) -> jax.Array:
        """Its values (r,) at rows x (r, d)."""
        square = jnp.sum((x @ self.quadratic) * x, axis=1) - jnp.trace(self.quadratic)
        return self.constant + x @ self.linear + 0.5 * square


def fit_quadratic(rows: Rows, iterations: int = 8) -> QuadraticFit:
    """Least-squares quadratic fit to the targets, by conjugate gradients.

    In the Hermite basis 1, x_i, (x_i x_j − δ_ij)/√2 the normal equations are the identity plus sampling error,
    so a few iterations solve them, each one pass over the rows at O(rows × inputs²). The fit estimates m, v, M
    with the variance of the residual, not of y.

    >>> from planted.rows import ArrayRows
    >>> x = jax.random.normal(jax.random.key(0), (4000, 2))
    >>> fit = fit_quadratic(ArrayRows(x, 3.0 + x[:, 0] + x[:, 0] * x[:, 1]))
    >>> bool(jnp.allclose(fit.quadratic, jnp.array([[0.0, 1.0], [1.0, 0.0]]), atol=1e-3))
    True
    """
    moment = rows.mean(block_projection)

    def normal(fit: QuadraticFit) -> QuadraticFit:
        return rows.mean(block_normal, fit)

    solve = jax.scipy.sparse.linalg.cg if rows.traceable else _conjugate_gradients
    return _scaled(solve(normal, moment, maxiter=iterations, tol=1e-7)[0])


def _scaled(fit: QuadraticFit) -> QuadraticFit:
    return fit._replace(quadratic=2**0.5 * fit.quadratic)


def _project(values: jax.Array, block: Block) -> QuadraticFit:
    """Sums of values times the Hermite basis over a block."""
    x, r = block["x"], block["weight"] * values
    total = jnp.sum(r)
    quadratic = ((x * r[:, None]).T @ x - total * jnp.eye(x.shape[1], dtype=x.dtype)) / 2**0.5
    return QuadraticFit(total, r @ x, quadratic)


def block_projection(block: Block) -> QuadraticFit:
    """Sums of the targets times the Hermite basis over a block."""
    return _project(block["y"], block)


def block_normal(block: Block, fit: QuadraticFit) -> QuadraticFit:
    """Sums of a fit's values times the Hermite basis over a block."""
    return _project(_scaled(fit)(block["x"]), block)


def block_residual(block: Block, fit: QuadraticFit) -> Block:
    """The block with the fit taken off its targets."""
    return block | {"y": block["y"] - fit(block["x"])}


def _conjugate_gradients(multiply: Callable[[Any], Any], target: Any, *, maxiter: int, tol: float) -> tuple[Any, None]:
    """What JAX's solver does, one product at a time, for products that cannot be traced."""

    def dot(one: Any, other: Any) -> float:
        return float(sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)))

    def plus(one: Any, factor: float, other: Any) -> Any:
        return jax.tree.map(lambda a, b: a + factor * b, one, other)

    solution, residual = jax.tree.map(jnp.zeros_like, target), target
    direction, size = residual, dot(residual, residual)
    enough = tol**2 * size
    for _ in range(maxiter):
        if size <= enough:
            break
        image = multiply(direction)
        step = size / dot(direction, image)
        solution, residual = plus(solution, step, direction), plus(residual, -step, image)
        before, size = size, dot(residual, residual)
        direction = plus(residual, size / before, direction)
    return solution, None


def without_lower_parts(rows: AnyRows, iterations: int = 8) -> tuple[AnyRows, QuadraticFit]:
    """Rows whose targets have lost their fitted constant, linear and quadratic Hermite parts, and that fit.

    >>> from planted.rows import ArrayRows
    >>> x = jax.random.normal(jax.random.key(0), (4000, 2))
    >>> y = 3.0 + x[:, 0] + x[:, 0] * x[:, 1]
    >>> bool(jnp.std(without_lower_parts(ArrayRows(x, y))[0].blocks["y"].ravel()[:4000]) < 1e-4)
    True
    """
    fit = fit_quadratic(rows, iterations)
    return rows.map(block_residual, fit), fit


def without_linear_part(rows: AnyRows) -> AnyRows:
    """Rows whose targets have lost their fitted constant and linear parts only.

    >>> from planted.rows import ArrayRows
    >>> x = jax.random.normal(jax.random.key(0), (4000, 2))
    >>> rest = without_linear_part(ArrayRows(x, 3.0 + x[:, 0]))
    >>> bool(jnp.std(rest.blocks["y"].ravel()[:4000]) < 0.1)
    True
    """
    fit = fit_quadratic(rows, iterations=2)
    linear = fit._replace(quadratic=jnp.zeros_like(fit.quadratic))
    return rows.map(block_residual, linear)


def fourth_contraction(rows: Rows, contracted: jax.Array, fit: Moments) -> jax.Array:
    """E[y H₄(x)(P)], the (d, d) contraction of the fourth Hermite tensor with a symmetric P (d, d).

    H₄(P) = (xᵀPx)(xxᵀ − I) − tr P · xxᵀ − 2(Pxxᵀ + xxᵀP) + tr P · I + 2P, so that for unit u
    E[φ(u·x) H₄(x)(P)] = √24 φ̂₄ (uᵀPu) uuᵀ. `fit` holds the moments of the same rows.

    >>> from planted.rows import ArrayRows
    >>> rows = ArrayRows(jnp.zeros((1, 2)), jnp.ones(1))
    >>> fourth_contraction(rows, jnp.eye(2), moments(rows))
    Array([[4., 0.],
           [0., 4.]], dtype=float32)
    """

    eye = jnp.eye(contracted.shape[0], dtype=contracted.dtype)
    trace, PM = jnp.trace(contracted), contracted @ fit.second
    return (
        rows.mean(block_fourth, contracted)
        - jnp.trace(PM) * eye
        - trace * fit.second
        - 2 * (PM + PM.T)
        + fit.zeroth * (trace * eye + 2 * contracted)
    )


def block_fourth(block: Block, contracted: jax.Array) -> jax.Array:
    """Σ y (xᵀPx) xxᵀ over a block."""
    x = block["x"]
    y = block["weight"] * block["y"] * jnp.sum((x @ contracted) * x, axis=1)
    return (x * y[:, None]).T @ x
