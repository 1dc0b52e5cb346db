r"""Gaussian kernels of activations: K(u, v) = E[φ(u·x) ψ(v·x)] for x ~ N(0, I), mostly with ψ = φ.

Closed forms exist for the arc-cosine family (relu, leaky_relu, abs, squared_relu), the quadratic and the
error functions. Any other activation goes through its Hermite series, Claim 4.3 of Ge et al. (2017)
extended to vectors of any length:

    K(u, v) = Σ_j c_j(‖u‖) c_j(‖v‖) ρ^j,    c_j(s) = E[φ(s z) h_j(z)],    ρ = ⟨u, v⟩ / (‖u‖‖v‖),

cut at a stated order. Two activations (Theorem 4.4) have their own c_j each; those that are linear but for a kink at
zero are combinations of z and |z|, for which the kernel is closed. All functions are traceable and twice
differentiable, also where u and v coincide.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from planted.activations import Activation
from planted.numerics.quadrature import hermite_polynomials

SERIES_ORDER = 60
_AT_THE_POLE = 1e-15


def _safe_cosine(cosine: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Whether |cosine| is one up to rounding, and a stand-in at which derivatives are finite."""
    pole = 1.0 - cosine * cosine < _AT_THE_POLE
    return pole, jnp.where(pole, 0.0, cosine)


def _arc(cosine: jax.Array) -> jax.Array:
    """sin θ − θ cos θ for cos θ = cosine: O(θ³) at θ = 0, linear in cos θ up to O((π−θ)³) at θ = π."""
    pole, safe = _safe_cosine(cosine)
    inner = jnp.sqrt(1.0 - safe * safe) - safe * jnp.arccos(safe)
    return jnp.where(pole, jnp.where(cosine > 0, 0.0, -jnp.pi * cosine), inner)


def _arc_squared(cosine: jax.Array) -> jax.Array:
    """3 sin θ cos θ − θ (1 + 2cos² θ) for cos θ = cosine."""
    pole, safe = _safe_cosine(cosine)
    inner = 3 * safe * jnp.sqrt(1.0 - safe * safe) - (1 + 2 * safe * safe) * jnp.arccos(safe)
    return jnp.where(pole, jnp.where(cosine > 0, 0.0, -jnp.pi * (1 + 2 * cosine * cosine)), inner)


def _relu(s: jax.Array, t: jax.Array, rho: jax.Array) -> jax.Array:
    return s * t * (0.5 * rho + _arc(rho) / (2 * jnp.pi))


def _leaky_relu(slope: float) -> Callable[..., jax.Array]:
    # φ(z) = slope·z + (1 − slope)·relu(z), and E[relu(u·x) v·x] = ⟨u, v⟩ / 2 makes the mixed terms linear.
    def kernel(s: jax.Array, t: jax.Array, rho: jax.Array) -> jax.Array:
        return slope * s * t * rho + (1 - slope) ** 2 * _relu(s, t, rho)

    return kernel


def _abs(s: jax.Array, t: jax.Array, rho: jax.Array) -> jax.Array:
    return s * t * (rho + 2 * _arc(rho) / jnp.pi)


def _quadratic(s: jax.Array, t: jax.Array, rho: jax.Array) -> jax.Array:
    return (s * t) ** 2 * (1 + 2 * rho * rho)


def _squared_relu(s: jax.Array, t: jax.Array, rho: jax.Array) -> jax.Array:
    return (s * t) ** 2 * ((1 + 2 * rho * rho) / 2 + _arc_squared(rho) / (2 * jnp.pi))


def _erf(gain: float, rate: float) -> Callable[..., jax.Array]:
    # φ(z) = gain · erf(rate·z); Williams (1998).
    def kernel(s: jax.Array, t: jax.Array, rho: jax.Array) -> jax.Array:
        p, q = 2 * (rate * s) ** 2, 2 * (rate * t) ** 2
        sine = 2 * rate**2 * s * t * rho / jnp.sqrt((1 + p) * (1 + q))
        return gain**2 * 2 / jnp.pi * jnp.arcsin(sine)

    return kernel


@lru_cache(maxsize=8)
def _series_rule(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (q,) and weights (order + 1, q) of c_j(s) ≈ Σ_q weights[j, q] φ(s nodes[q]).

    Gauss–Legendre panels shrink geometrically towards the origin, where softplus(b) bends within 1/b.
    """
    edges = np.concatenate([[0.0], 2.0 ** np.arange(-12, 0), np.arange(1.0, 13.0, 0.5)])
    points, weights = np.polynomial.legendre.leggauss(16)
    half = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + half * (1 + points)).ravel()
    mass = (half * weights).ravel() * np.exp(-0.5 * nodes**2) / np.sqrt(2 * np.pi)
    nodes, mass = np.concatenate([-nodes[::-1], nodes]), np.concatenate([mass[::-1], mass])
    return nodes, hermite_polynomials(nodes, order) * mass


def series_coefficients(activation: Activation, scale: jax.Array, order: int = SERIES_ORDER) -> jax.Array:
    """c_j(s) = E[φ(s z) h_j(z)] for every s in `scale` (k,) and j = 0..order: an array (k, order + 1).

    >>> from planted import activations
    >>> from planted.numerics.precision import float64
    >>> tanh = activations.get("tanh")
    >>> c = float64(series_coefficients)(tanh, np.ones(1), 3)
    >>> bool(abs(c[0, 1] - tanh.hermite(1)) < 1e-12)
    True
    """
    nodes, weights = _series_rule(order)
    return activation(jnp.multiply.outer(scale, jnp.asarray(nodes))) @ jnp.asarray(weights).T


def closed_form(activation: Activation) -> Callable[..., jax.Array] | None:
    """K as a function of (‖u‖, ‖v‖, ρ), or None where only the series is known.

    >>> from planted import activations
    >>> closed_form(activations.get("tanh")) is None
    True
    """
    parameters = dict(activation.parameters)
    match activation.name:
        case "relu":
            return _relu
        case "leaky_relu":
            return _leaky_relu(parameters["slope"])
        case "abs":
            return _abs
        case "quadratic":
            return _quadratic
        case "squared_relu":
            return _squared_relu
        case "erf":
            return _erf(np.sqrt(2.0), np.sqrt(0.5))
        case "standard_erf":
            return _erf(1.0, 1.0)
    return None


def _norms(vectors: jax.Array) -> jax.Array:
    """Row norms (k,) whose derivative at a zero row is zero."""
    squares = jnp.sum(vectors * vectors, axis=1)
    nonzero = squares > 0
    return jnp.where(nonzero, jnp.sqrt(jnp.where(nonzero, squares, 1.0)), 0.0)


def gaussian_kernel(activation: Activation, left: jax.Array, right: jax.Array, order: int = SERIES_ORDER) -> jax.Array:
    """K(left_i, right_j), an array (k, m), for rows left (k, d) and right (m, d).

    >>> from planted import activations
    >>> K = gaussian_kernel(activations.get("relu"), jnp.eye(2), jnp.eye(2))
    >>> print(jnp.round(K, 4))
    [[0.5    0.1592]
     [0.1592 0.5   ]]
    """
    return cross_kernel(activation, activation, left, right, order)


def cross_kernel(
    first: Activation, second: Activation, left: jax.Array, right: jax.Array, order: int = SERIES_ORDER
) -> jax.Array:
    """E[φ(left_i·x) ψ(right_j·x)], an array (k, m), for φ `first`, ψ `second`, rows left (k, d) and right (m, d).

    >>> from planted import activations
    >>> relu, absolute = activations.get("relu"), activations.get("abs")
    >>> np.asarray(cross_kernel(absolute, relu, jnp.eye(2), jnp.eye(2))).round(4)       # ½ E|z||z'|
    array([[0.5   , 0.3183],
           [0.3183, 0.5   ]], dtype=float32)
    """
    s, t = _norms(left), _norms(right)
    scale = s[:, None] * t[None, :]
    rho = (left @ right.T) / jnp.where(scale > 0, scale, 1.0)
    kernel = closed_form(first) if first == second else _closed_pair(first, second)
    if kernel is not None:
        return kernel(s[:, None], t[None, :], rho)
    for activation in (first, second):
        if any(kink != 0.0 for kink in activation.kinks):
            raise ValueError(f"the population form of {activation.name!r} needs kinks at zero only")
    c, e = series_coefficients(first, s, order), series_coefficients(second, t, order)

    def horner(total: jax.Array, pair: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        return total * rho + jnp.multiply.outer(*pair), None

    # A loop that is compiled once: written out, second derivatives of order 60 take ten seconds to compile.
    return lax.scan(horner, jnp.zeros_like(rho), (c.T, e.T), reverse=True)[0]


def _linear_and_absolute(activation: Activation) -> tuple[float, float] | None:
    """(p, q) with φ(z) = p z + q |z|, or None."""
    match activation.name:
        case "relu":
            return 0.5, 0.5
        case "leaky_relu":
            slope = dict(activation.parameters)["slope"]
            return (1 + slope) / 2, (1 - slope) / 2
        case "abs":
            return 0.0, 1.0
    return None


def _closed_pair(first: Activation, second: Activation) -> Callable[..., jax.Array] | None:
    """The kernel of two piecewise linear activations: odd and even functions are orthogonal."""
    left, right = _linear_and_absolute(first), _linear_and_absolute(second)
    if left is None or right is None:
        return None
    (p, q), (r, u) = left, right

    def kernel(s: jax.Array, t: jax.Array, rho: jax.Array) -> jax.Array:
        return p * r * s * t * rho + q * u * _abs(s, t, rho)

    return kernel


def truncation_error(
    activation: Activation, left: np.ndarray, order: int = SERIES_ORDER, other: Activation | None = None
) -> float:
    """Bound on |error| of any kernel entry among the rows of `left`: the largest Σ_{j>order} c_j(s)².

    Zero where a closed form is used, of `activation` alone or with `other`. By Cauchy–Schwarz the
    dropped terms of K(u, v) are at most the
    geometric mean of the two rows' tails, E[φ(s z)²] − Σ_{j≤order} c_j(s)².

    >>> from planted import activations
    >>> truncation_error(activations.get("relu"), np.eye(2))
    0.0
    >>> truncation_error(activations.get("tanh"), np.eye(2)) < 1e-8
    True
    """
    other = activation if other is None else other
    if (closed_form(activation) if other == activation else _closed_pair(activation, other)) is not None:
        return 0.0
    if other != activation:
        return max(_tail(each, left, order) for each in (activation, other))
    return _tail(activation, left, order)


def _tail(activation: Activation, left: np.ndarray, order: int) -> float:
    """The largest Σ_{j>order} c_j(s)² over the lengths s of the rows of `left`."""
    scales = np.unique(np.linalg.norm(np.atleast_2d(left), axis=1))
    scales = scales[scales > 0]
    if not len(scales):
        return 0.0
    with jax.enable_x64(True):
        captured = np.sum(np.asarray(series_coefficients(activation, jnp.asarray(scales), order)) ** 2, axis=1)
    whole = np.array([activation.second_moment(float(s)) for s in scales])
    return float(max(np.max(whole - captured), 0.0))
