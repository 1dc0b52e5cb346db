"""Whether the residuals of a network are noise: a test that needs no teacher."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import f as fisher

from planted.methods._verdict import LARGE_ROWS, LEAST_PROBES, PROBES, ROWS_PER_UNKNOWN, TESTED_UNKNOWNS
from planted.networks import ConvNetwork, Network, jacobian


def residual_p_value(
    X: np.ndarray,
    y: np.ndarray,
    network: Network | ConvNetwork,
    *,
    intercept: bool = False,
    outputs: bool = True,
    spread: np.ndarray | None = None,
    seed: int = 0,
) -> float:
    r"""p-value of an F-test of random probes in a regression of the residuals on the network's derivatives and them.

    Probes g(x) are bumps and ridges in random directions, a constant and, in equal parts, odd, even and local
    functions. A right network leaves noise minus J δ, J its derivatives and δ the error of its parameters: since J is
    in the regression, it does not matter how they were estimated, with which row weights for example. The test uses
    four rows an unknown, and at most all. Above 1,000 unknowns the derivatives are left out and 50,000 rows are used:
    residuals of a least-squares fit are orthogonal to them already, so the probes' share is overestimated in the
    denominator only, and the p-value errs upwards.

    Parameters
    ----------
    X : array (n, …)
    y : array (n,) or (n, m)
    intercept, outputs : bool
        Whether the intercept and the outputs were free.
    spread : array (n,), optional
        Standard deviation of the noise of each row, where it is known up to a factor.

    Returns
    -------
    float
        NaN where there are too few rows.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, noise=0.1, random_state=0)
    >>> 0.0 < residual_p_value(data.X, data.y, data.teacher) < 1.0
    True
    """
    n, flat = len(X), X.reshape(len(X), -1)
    m = 1 if y.ndim == 1 else y.shape[1]
    unknowns = sum(np.size(value) for value in _arrays(network, intercept, outputs))
    probes = max(PROBES // m, LEAST_PROBES)
    large = unknowns > TESTED_UNKNOWNS
    rng = np.random.default_rng(seed)
    count = min(n, LARGE_ROWS if large else max(ROWS_PER_UNKNOWN * (unknowns + probes * m) // m, 4000))
    if count * m < unknowns + 2 * probes * m:
        probes = max((count * m - unknowns) // (2 * m), 0)
        if probes < LEAST_PROBES:
            return float("nan")
    some = rng.choice(n, count, replace=False)
    residual = (y[some] - network.predict(X[some])).reshape(count, m)
    unit = np.sqrt(np.mean(residual**2, axis=0))
    unit = np.where(unit > 0, unit, 1.0) * (np.ones((count, 1)) if spread is None else spread[some, None])
    r = (residual / unit).reshape(-1)
    J = np.ones((count, 1, 1)) * np.eye(m) if large else jacobian(network, X[some], intercept=intercept)
    J = J / unit[:, :, None]
    G = _probes(flat, flat[some], probes, rng)
    if not (intercept or large):
        G[:, -1] = 1.0
    design = np.einsum("rp,ra,ab->rapb", G, 1 / unit, np.eye(m)).reshape(count * m, -1)
    left, values, _ = np.linalg.svd(J.reshape(count * m, -1), full_matrices=False)
    basis = left[:, values > 1e-9 * values[0]]
    r = r - basis @ (basis.T @ r)
    design = design - basis @ (basis.T @ design)
    explained = design @ np.linalg.lstsq(design, r, rcond=1e-8)[0]
    freedom = count * m - (unknowns * count // n if large else basis.shape[1]) - design.shape[1]
    remaining = float(np.sum((r - explained) ** 2))
    if freedom <= 0 or remaining <= 0:
        return float("nan")
    statistic = float(np.sum(explained**2)) / design.shape[1] / (remaining / freedom)
    return float(fisher.sf(statistic, design.shape[1], freedom))


def _probes(whole: np.ndarray, rows: np.ndarray, probes: int, rng: np.random.Generator) -> np.ndarray:
    """Values (r, probes) of odd, even and local functions of random projections, a third each."""
    scale = np.sqrt(np.mean(whole**2, axis=0))
    directions = rng.standard_normal((probes, rows.shape[1])) / np.sqrt(rows.shape[1]) / np.where(scale > 0, scale, 1.0)
    t = rows @ directions.T
    third = probes // 3
    # Wrong activations, missing neurons and interactions all show in one of them.
    return np.concatenate([np.abs(t[:, :third]), t[:, third : 2 * third] ** 2, np.sin(3 * t[:, 2 * third :])], axis=1)


def _arrays(network: Network | ConvNetwork, intercept: bool, outputs: bool) -> list[Any]:
    free = {"intercept": intercept, "output": outputs}
    return [value for name, value in network.arrays().items() if free.get(name, True)]
