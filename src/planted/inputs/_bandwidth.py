r"""Bandwidths for local likelihood.

Remark 1 of Gao et al. (2018): h = n^{−1/(2p+2+d)}, for inputs of unit scale. Or by score matching (Hyvärinen
2005): for a vector field ψ meant to be ∇log f,

    E‖ψ(x) − ∇log f(x)‖² = E[‖ψ(x)‖² + 2 div ψ(x)] + const,

so the average of ½‖ψ‖² + div ψ over rows that were held out from the fit compares bandwidths. ψ is the fitted
a₁, and its divergence is exact: the derivative of the estimator with respect to the query point, not tr A₂.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from planted.inputs._local_likelihood_general import _moments, _solve, moment_covariance
from planted.names import unknown
from planted.numerics.precision import float64
from planted.numerics.seeding import key_from

_RULES = ("rule", "held-out", "moment")
# Squares of bandwidths, and of distances over them, are numbers of float64.
_LEAST = 1e-100
_HELD_OUT = 400
_FITTED = 20_000
_FACTORS = tuple(2.0 ** (k / 2) for k in range(-3, 6))


def rule_of_remark(n: int, d: int, degree: int, spread: float = 1.0) -> float:
    """h = spread · n^{−1/(2p+2+d)}.

    >>> rule_of_remark(256, 2, 2)
    0.5
    """
    return spread * float(n) ** (-1.0 / (2 * degree + 2 + d))


def choose_bandwidth(
    X: np.ndarray, bandwidth: Any, degree: int, min_neighbours: float, random_state: Any = None
) -> tuple[float, dict[float, float] | None]:
    """The bandwidth that was asked for, and Hyvärinen's criterion by bandwidth where that decided; not for "moment".

    >>> choose_bandwidth(np.eye(2), 0.5, 2, 3.0)
    (0.5, None)
    """
    if not isinstance(bandwidth, str):
        number = isinstance(bandwidth, (int, float, np.integer, np.floating)) and not isinstance(bandwidth, bool)
        if not (number and _LEAST <= bandwidth <= 1 / _LEAST):
            raise ValueError(
                f"bandwidth must be a number from {_LEAST:g} to {1 / _LEAST:g}, 'rule', 'held-out' or 'moment', "
                f"not {bandwidth!r}"
            )
        return float(bandwidth), None
    if bandwidth not in _RULES:
        raise ValueError(unknown("bandwidth", bandwidth, _RULES))
    n, d = X.shape
    spread = float(np.sqrt(np.mean(np.var(X, axis=0))))
    if not spread > 0:
        raise ValueError("all rows of X are equal, so no bandwidth follows from them")
    rule = rule_of_remark(n, d, degree, spread)
    if bandwidth == "rule":
        return rule, None
    order = np.asarray(jax.random.permutation(key_from(random_state), n))
    held = order[: min(_HELD_OUT, max(1, n // 5))]
    fitted = order[len(held) :][:_FITTED]
    criterion = {
        h: hyvarinen(X[fitted], X[held], h, degree, min_neighbours) for h in (rule * factor for factor in _FACTORS)
    }
    usable = {h: value for h, value in criterion.items() if np.isfinite(value)}
    if not usable:
        raise ValueError("no bandwidth tried leaves enough neighbours at the held-out rows; give one")
    return min(usable, key=lambda h: usable[h]), criterion


@float64
def hyvarinen(points: np.ndarray, queries: np.ndarray, h: float, degree: int, min_neighbours: float) -> float:
    """Average of ½‖a₁‖² + div a₁ over held-out queries (q, d), fitted on points (n, d).

    A bandwidth that leaves more than one in twenty queries without a usable fit scores infinity; the
    others are left out of the average.

    >>> rng = np.random.default_rng(0)
    >>> points, queries = rng.normal(size=(2000, 1)), rng.normal(size=(500, 1))
    >>> hyvarinen(points, queries, 1.0, 2, 2.0) < hyvarinen(points, queries, 0.02, 2, 2.0)
    True
    """
    value, neighbours = _hyvarinen_rows(jnp.asarray(points), jnp.asarray(queries), jnp.asarray(h, jnp.float64), degree)
    ok = np.asarray(neighbours) >= min_neighbours
    ok &= np.isfinite(value)
    return float(np.mean(np.asarray(value)[ok])) if ok.mean() >= 0.95 else np.inf


@jax.jit(static_argnums=3)
def _hyvarinen_rows(points: jax.Array, queries: jax.Array, h: jax.Array, degree: int) -> tuple[jax.Array, jax.Array]:
    n, d = points.shape

    def gradient(query: jax.Array) -> tuple[jax.Array, jax.Array]:
        if degree == 2:
            offset = points - query
            log_weight = -0.5 * jnp.sum(offset * offset, axis=1) / h**2
            weight = jax.nn.softmax(log_weight)
            mean = weight @ offset
            covariance = (offset * weight[:, None]).T @ offset - jnp.outer(mean, mean)
            return jnp.linalg.solve(covariance, mean), 1 / jnp.sum(weight**2)
        _, total, squares, sums = _moments(points[None], n, query, jnp.asarray(-1), h, degree, False)
        slope, solved = _linear_part(sums / total, d, degree)
        return slope / h, jnp.where(solved, total**2 / squares, 0.0)

    def one(query: jax.Array) -> tuple[jax.Array, jax.Array]:
        slope, neighbours = gradient(query)
        jacobian = jax.jacfwd(lambda x: gradient(x)[0])(query)
        return 0.5 * slope @ slope + jnp.trace(jacobian), neighbours

    return lax.map(one, queries)


def _linear_part(target: jax.Array, d: int, degree: int) -> tuple[jax.Array, jax.Array]:
    """Linear coefficients (d,) of the fitted polynomial, and whether it was found.

    They can be differentiated: θ moves by H⁻¹ times the change of the moments.
    """
    theta, _, solved = lax.stop_gradient(_solve(lax.stop_gradient(target), d, degree))
    hessian = lax.stop_gradient(moment_covariance(theta, d, degree))
    return (theta + jnp.linalg.solve(hessian, target - lax.stop_gradient(target)))[:d], solved
