r"""Are the residuals of a network noise? A score test that needs no teacher, and no noise of one size.

A right network leaves r = ε − J δ, with J its derivatives and δ the error of its parameters, however these were
estimated. Functions g(x) of the inputs, the probes, are cleared of J by least squares with the rows' weights w, so
that their score does not see δ:

    u = Σ_i w_i g̃_i r_i = Σ_i w_i g̃_i ε_i,   V = Σ_i w_i² g̃_i g̃_iᵀ r_i²/(1 − h_i),   T = uᵀ V⁺ u,

h the leverages of J. V estimates the covariance of u whatever the variances of the rows are, without bias where they
are equal (HC2). Given the sizes of its terms, with random signs, T has mean q = rank V and variance 2(q − Σ_i P_ii²),
P the projection onto the terms of V. T/ν, ν = q²/Σ_i P_ii², is compared with the Beta(q/2, (ν − q)/2) distribution,
which has these moments.

Of several targets one may have so little noise that its residuals are the errors of neurons that it shares with a
noisier one. Cleared of J they are then what these errors do to the second order, which is structure and no misfit: such
a target has no probes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from planted.methods._facts import (
    LARGE_ROWS,
    LEAST_PROBES,
    PROBES,
    ROWS_PER_PROBE,
    ROWS_PER_UNKNOWN,
    TESTED_ROWS,
    TESTED_UNKNOWNS,
)
from planted.methods._observations import Observations
from planted.networks import ConvNetwork, Network
from planted.numerics.decompositions import svd

_VANISHING, _ROUNDED = 1e-6, 1e-9
_FULL_LEVERAGE = 1 - 1e-6
# The share of a target's residuals that has to be left when they are cleared of J.
_LEFT = 0.5


class _Cleared(NamedTuple):
    """Residuals (n, m), probes (n, m, q) and leverages (n, m), cleared of the derivatives and times √w."""

    residual: np.ndarray
    probes: np.ndarray
    leverage: np.ndarray


def residual_p_value(
    data: Observations,
    network: Network | ConvNetwork,
    *,
    intercept: bool = False,
    seed: int = 0,
) -> float:
    r"""p-value of the score test of probes: bumps and ridges of the inputs, of the neurons and of the prediction.

    The test uses four rows an unknown, at least 4,000, and at most all. Above 1,000 unknowns the derivatives are left
    out and 50,000 rows are used: the residuals of a least-squares fit are orthogonal to them already, so that V is too
    large and the p-value errs upwards.

    Parameters
    ----------
    data : Observations
        Rows with their weights.
    intercept : bool
        Whether the intercept was free; a constant is a probe otherwise.

    Returns
    -------
    float
        NaN where there are too few rows.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, noise=0.1, random_state=0)
    >>> 0.0 < residual_p_value(Observations(data.X, data.y), data.teacher) < 1.0
    True
    """
    X, y, weight, counted = data
    n, m = len(X), 1 if y.ndim == 1 else y.shape[1]
    free = {"intercept": intercept}
    unknowns = sum(np.size(value) for name, value in network.arrays().items() if free.get(name, True))
    large = unknowns > TESTED_UNKNOWNS
    rng = np.random.default_rng(seed)
    probes = max(PROBES // m, LEAST_PROBES)
    count = min(n, LARGE_ROWS if large else max(ROWS_PER_UNKNOWN * (unknowns + probes * m) // m, TESTED_ROWS))
    observed = int(count * data.number / n) if counted else count
    spare = observed * m - (0 if large else unknowns)
    probes = min(probes, spare // (ROWS_PER_PROBE * m))
    if probes < LEAST_PROBES:
        return float("nan")
    some = np.arange(n) if count == n else rng.choice(n, count, replace=False)
    rows = X[some]
    residual = (y[some] - network.predict(rows)).reshape(count, m)
    unit = np.sqrt(np.mean(residual**2, axis=0))
    root = np.ones((count, 1)) if weight is None else np.sqrt(weight[some] / np.mean(weight))[:, None]
    root = root / np.where(unit > 0, unit, 1.0)
    J = np.ones((count, 1, 1)) * np.eye(m) if large else network.jacobian(rows, intercept=intercept)
    G = probe_values(network, rows, probes, constant=not (intercept or large), rng=rng)
    each = np.einsum("np,ab->napb", G, np.eye(m)).reshape(count, m, -1)
    cleared = _cleared(residual * root, each * root[:, :, None], J * root[:, :, None])
    if not cleared.probes.any():
        # The network's own parts are every function of these inputs.
        return 1.0
    return _p_value(cleared, weight[some] if counted and weight is not None else np.ones(count))


def _cleared(residual: np.ndarray, probes: np.ndarray, J: np.ndarray) -> _Cleared:
    """Residuals and probes beside the span of J, and its leverages."""
    shape = residual.shape
    flat = J.reshape(residual.size, -1)
    size = np.linalg.norm(flat, axis=0)
    left, values, _ = svd(flat / np.where(size > 0, size, 1.0))
    basis = left[:, values > 1e-9 * values[0]]
    r, whole = residual.ravel(), np.linalg.norm(probes.reshape(residual.size, -1), axis=0)
    r = (r - basis @ (basis.T @ r)).reshape(shape)
    noisy = np.linalg.norm(r, axis=0) >= _LEFT * np.linalg.norm(residual, axis=0)
    G = (probes * (noisy | ~noisy.any())[:, None]).reshape(residual.size, -1)
    G = G - basis @ (basis.T @ G)
    # What is left of a probe that the network's own parts make up is rounding.
    G = G * (np.linalg.norm(G, axis=0) > _ROUNDED * whole)
    return _Cleared(r, G.reshape(*shape, -1), np.sum(basis**2, axis=1).reshape(shape))


def _p_value(parts: _Cleared, number: np.ndarray) -> float:
    """Of cleared rows that stand for a number (n,) of observations each."""
    score = np.einsum("na,naq->q", parts.residual, parts.probes)
    residual = parts.residual / np.sqrt(1 - np.minimum(parts.leverage / number[:, None], _FULL_LEVERAGE))
    # Outputs of a row may have errors in common: its terms are added before they are squared.
    terms = np.einsum("na,naq->nq", residual, parts.probes) / np.sqrt(number)[:, None]
    size = np.linalg.norm(terms, axis=0)
    size = np.where(size > 0, size, 1.0)
    left, values, right = svd(terms / size)
    known = values > _VANISHING * max(values[0], 1e-300)
    if not known.any():
        return float("nan")
    statistic = float(np.sum((right[known] @ (score / size) / values[known]) ** 2))
    freedom = int(known.sum())
    effective = freedom**2 / float(np.sum(np.sum(left[:, known] ** 2, axis=1) ** 2 / number))
    if effective <= freedom + 1:
        return float("nan")
    return float(beta.sf(min(statistic / effective, 1.0), freedom / 2, (effective - freedom) / 2))


def probe_values(
    network: Network | ConvNetwork, X: np.ndarray, count: int, *, constant: bool, rng: np.random.Generator
) -> np.ndarray:
    """Functions (n, count) of rows X (n, …) in which a wrong network shows.

    A third are even, odd and local functions of the network's own neurons, where a wrong activation shows; then come
    powers of the prediction (too few layers), random linear functions (a missing linear part) and perhaps a constant;
    the rest are even, odd and local functions of random projections (missing neurons, interactions).

    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> probe_values(Network([[1.0, 0.0]], [1.0]), X, 12, constant=True, rng=np.random.default_rng(0)).shape
    (50, 12)
    """
    flat = X.reshape(len(X), -1)
    mean, scale = flat.mean(axis=0), flat.std(axis=0)
    scale = np.where(scale > _VANISHING * np.abs(mean), scale, 1.0)
    directions = rng.standard_normal((count, flat.shape[1])) / np.sqrt(flat.shape[1]) / np.where(scale > 0, scale, 1.0)
    # Far from where the rows lie every projection would be a straight line.
    t = (flat - mean) @ directions.T
    columns: list[np.ndarray] = [np.ones(len(X))] if constant else []
    prediction = np.asarray(network.predict(X)).reshape(len(X), -1)
    spread = prediction.std(axis=0)
    standard = (prediction - prediction.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    columns += [np.sum(standard**2, axis=1), np.sum(standard**3, axis=1)]
    if isinstance(network, Network) and network.n_hidden:
        z = network.preactivations(flat)
        z = z[:, rng.permutation(network.n_hidden)] / np.maximum(np.sqrt(np.mean(z**2)), 1e-300)
        columns += [_SHAPES[j // z.shape[1] % 3](z[:, j % z.shape[1]]) for j in range(count // 3)]
    columns += [t[:, j] for j in range(count // 12)]
    columns += [_SHAPES[j % 3](t[:, j]) for j in range(count // 12, count)]
    return np.stack(columns[:count], axis=1)


_SHAPES = (np.abs, np.square, lambda t: np.sin(3 * t))
