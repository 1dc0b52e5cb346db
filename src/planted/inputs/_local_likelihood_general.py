r"""Local likelihood of any degree p ≤ 4 for at most three inputs (eq. 5 of Gao et al. 2018).

In units of the bandwidth, t = u/h, the local density K(t) exp(θ·φ(t)) over the monomials φ_α(t) = t^α,
1 ≤ |α| ≤ p, is an exponential family, and eq. 5 says that its moments equal the weighted moments of the data.
Equivalently θ maximises the concave function

    θ·m − log ∫ exp(θ·φ(t)) N(t; 0, I) dt,        m = Σ_i w_i φ(t_i) / Σ_i w_i,

with the integral on a Gauss–Hermite grid; Newton's method with step halving solves it. Then
∂^α log f(x) = α! θ_α / h^{|α|}, and degree 4 estimates 𝒢₃ and 𝒢₄ consistently, as S₄ in Theorem 1 needs.
"""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import combinations_with_replacement, product
from math import factorial, prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from scipy.special import roots_hermitenorm

MAX_FEATURES = 3
_NODES = {1: 64, 2: 20, 3: 14}
_QUERIES_AT_ONCE = 64
_TILE = 2048
_MAX_STEPS = 60
_TOLERANCE = 1e-10
# More probability than this on the outermost nodes means that the fitted polynomial is not integrable.
_EDGE_MASS = 1e-4
_LEAST_LOG = -1e30


@lru_cache(maxsize=16)
def exponents(d: int, degree: int) -> np.ndarray:
    """Exponents α (M, d) of the monomials of d variables with 1 ≤ |α| ≤ degree, by rising degree.

    >>> exponents(2, 2).tolist()
    [[1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    exponents = []
    for total in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(d), total):
            exponents.append([chosen.count(j) for j in range(d)])
    return np.array(exponents)


def monomials(t: jax.Array, degree: int) -> jax.Array:
    """φ(t), an array (..., M), at points t (..., d).

    >>> monomials(jnp.array([2.0, 3.0]), 2)
    Array([2., 3., 4., 6., 9.], dtype=float32)
    """
    d = t.shape[-1]
    powers = [jnp.ones_like(t)]
    for _ in range(degree):
        powers.append(powers[-1] * t)
    columns = [prod((powers[a][..., j] for j, a in enumerate(alpha) if a), start=1) for alpha in exponents(d, degree)]
    return jnp.stack([jnp.asarray(column) for column in columns], axis=-1)


@lru_cache(maxsize=4)
def _grid(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes (g, d), log-weights (g,) summing to one, and which nodes are outermost (g,)."""
    nodes, weights = roots_hermitenorm(_NODES[d])
    points = np.array(list(product(nodes, repeat=d)))
    mass = np.array([prod(w) for w in product(weights / weights.sum(), repeat=d)])
    return points, np.log(mass), np.any(np.abs(points) >= np.max(nodes) - 1e-9, axis=1)


def _moments(
    points: jax.Array, n: int, query: jax.Array, number: jax.Array, h: jax.Array, degree: int, leave_one_out: bool
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Largest log-weight, Σ w, Σ w², Σ w φ of one query, tile by tile, relative to the largest weight so far."""

    def add(carry: Any, tile: Any) -> tuple[Any, None]:
        largest, total, squares, sums = carry
        rows, start = tile
        index = start + jnp.arange(rows.shape[0])
        t = (rows - query) / h
        hidden = index >= n
        if leave_one_out:
            hidden = hidden | (index == number)
        log_weight = jnp.where(hidden, -jnp.inf, -0.5 * jnp.sum(t * t, axis=1))
        new = jnp.maximum(largest, jnp.max(log_weight))
        weight, shrink = jnp.exp(log_weight - new), jnp.exp(largest - new)
        sums = sums * shrink + weight @ monomials(t, degree)
        return (new, total * shrink + weight.sum(), squares * shrink**2 + jnp.sum(weight**2), sums), None

    zero = jnp.zeros((), points.dtype)
    start = (zero + _LEAST_LOG, zero, zero, jnp.zeros(len(exponents(points.shape[-1], degree)), points.dtype))
    return lax.scan(add, start, (points, jnp.arange(points.shape[0]) * points.shape[1]))[0]


def moment_covariance(theta: jax.Array, d: int, degree: int) -> jax.Array:
    """Covariance (M, M) of φ(t) under the density proportional to exp(θ·φ(t)) N(t; 0, I).

    >>> from planted.numerics.precision import float64
    >>> np.diag(np.asarray(float64(moment_covariance)(np.zeros(2), 1, 2))).round(6)
    array([1., 2.])
    """
    nodes, log_mass, _ = (jnp.asarray(value) for value in _grid(d))
    features = monomials(nodes, degree)
    mass = jax.nn.softmax(log_mass + features @ theta)
    centred = features - mass @ features
    return (centred * mass[:, None]).T @ centred


def _solve(target: jax.Array, d: int, degree: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """θ with E_θ[φ] = target, log ∫ exp(θ·φ) N(0, I), and whether Newton's method found it."""
    nodes, log_mass, edge = (jnp.asarray(value) for value in _grid(d))
    features = monomials(nodes, degree)
    sizes = 0.5 ** jnp.array([0.0, 1.0, 2.0, 4.0, 8.0])

    def log_integral(theta: jax.Array) -> jax.Array:
        return jax.nn.logsumexp(log_mass + features @ theta)

    def residual(theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        mass = jax.nn.softmax(log_mass + features @ theta)
        return target - mass @ features, mass

    def step(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        theta, _, count = state
        slope = residual(theta)[0]
        hessian = moment_covariance(theta, d, degree)
        ridge = 1e-12 * jnp.trace(hessian) * jnp.eye(len(theta), dtype=theta.dtype)
        direction = jnp.linalg.solve(hessian + ridge, slope)
        tried = theta + sizes[:, None] * direction
        values = tried @ target - jax.vmap(log_integral)(tried)
        theta = tried[jnp.argmax(jnp.where(jnp.isfinite(values), values, -jnp.inf))]
        return theta, jnp.max(jnp.abs(residual(theta)[0])), count + 1

    def unfinished(state: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        return (state[1] > _TOLERANCE) & (state[2] < _MAX_STEPS)

    start = (jnp.zeros_like(target), jnp.asarray(jnp.inf, target.dtype), jnp.asarray(0))
    theta, error, _ = lax.while_loop(unfinished, step, start)
    mass = residual(theta)[1]
    return theta, log_integral(theta), (error < 1e-6) & (jnp.sum(jnp.where(edge, mass, 0.0)) < _EDGE_MASS)


@partial(jax.jit, static_argnames=("n", "degree", "leave_one_out"))
def _fit_all(
    points: jax.Array, n: int, queries: jax.Array, h: jax.Array, degree: int, leave_one_out: bool
) -> tuple[jax.Array, ...]:
    d = points.shape[-1]

    def one(query: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, ...]:
        largest, total, squares, sums = _moments(points, n, *query, h, degree, leave_one_out)
        theta, log_integral, solved = _solve(sums / total, d, degree)
        count = n - int(leave_one_out)
        log_density = largest + jnp.log(total / count) - log_integral - 0.5 * d * jnp.log(2 * jnp.pi * h * h)
        return theta, log_density, total**2 / squares, solved

    return lax.map(one, (queries, jnp.arange(len(queries))), batch_size=_QUERIES_AT_ONCE)


def derivative_tensors(theta: np.ndarray, d: int, degree: int, h: float) -> list[np.ndarray]:
    """∇^j log f (q, d, …, d), j = 1 … degree, from coefficients θ (q, M) of monomials in u/h.

    >>> tensors = derivative_tensors(np.array([[0.0, 3.0]]), 1, 2, 1.0)     # log f = 3u²
    >>> float(tensors[1][0, 0, 0])
    6.0
    """
    tensors = [np.zeros((len(theta),) + (d,) * j) for j in range(1, degree + 1)]
    for column, alpha in zip(theta.T, exponents(d, degree), strict=True):
        order = int(alpha.sum())
        value = column * prod(factorial(a) for a in alpha) / h**order
        for index in product(range(d), repeat=order):
            if all(index.count(j) == a for j, a in enumerate(alpha)):
                at: tuple[Any, ...] = (slice(None), *index)
                tensors[order - 1][at] = value
    return tensors


def fit_general(
    points: np.ndarray, queries: np.ndarray, h: float, degree: int, leave_one_out: bool
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Local fits of degree 1 to 4 at queries (q, d) from points (n, d), d ≤ 3 (call under float64).

    Returns the derivatives ∇^j log f̂ (q, d, …, d), log f̂ (q,), effective neighbours (q,) and whether Newton's
    method found an integrable solution (q,). Memory: 64 queries × a tile of 2048 points × monomials (at most
    34), and the grid of at most 4096 nodes × monomials.

    >>> from planted.numerics.precision import float64
    >>> points = np.random.default_rng(0).normal(size=(4000, 1))
    >>> tensors, *_ = float64(fit_general)(points, np.array([[0.5]]), 1.0, 4, False)
    >>> bool(abs(tensors[0][0, 0] + 0.5) < 0.15)
    True
    """
    n, d = points.shape
    tile = min(_TILE, n)
    tiles = -(-n // tile)
    padded = np.zeros((tiles * tile, d))
    padded[:n] = points
    theta, log_density, neighbours, solved = _fit_all(
        jnp.asarray(padded.reshape(tiles, tile, d)), n, jnp.asarray(queries), jnp.asarray(h), degree, leave_one_out
    )
    tensors = derivative_tensors(np.asarray(theta), d, degree, h)
    return tensors, np.array(log_density), np.array(neighbours), np.array(solved)
