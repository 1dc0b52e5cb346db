r"""What can be said of a fit without knowing the teacher.

"recovered": the network explains every row to rounding, and there are more rows than unknowns by a margin.
"noise-limited": it does not, and what is left has no structure that a test could find.
"not this kind of network": structure is left. "not enough data": too few rows for the unknowns to tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import f as fisher

from planted.methods._recovery import EXACT
from planted.networks import Network

VERDICTS = ("recovered", "noise-limited", "not this kind of network", "not enough data")
_PROBES = 40
_ROWS_PER_UNKNOWN = 4
_MARGIN = 1.2
_LEVEL = 1e-3
_TESTED_UNKNOWNS = 1000
_LARGE_ROWS = 50_000


@dataclass(frozen=True)
class Verdict:
    """One of :data:`VERDICTS`, the reason in one sentence, and the p-value of the residual test (NaN if not run)."""

    kind: str
    reason: str
    p_value: float


def judge(
    X: np.ndarray,
    y: np.ndarray,
    network: Network,
    relative_loss: float,
    *,
    sample_weight: np.ndarray | None = None,
    seed: int = 0,
) -> Verdict:
    r"""Judge a network fitted to X (n, d), y (n,) by its loss and by a test of its residuals.

    The test asks whether forty probes g(x), bumps and ridges in random directions, explain residuals beyond what the
    network's own derivatives J do: an F-test of the probes in a regression of the residuals on (J, g), see
    :func:`residual_p_value`.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(2000, 3, 2, noise=0.1, random_state=0)
    >>> judge(data.X, data.y, data.teacher, 0.01).kind
    'noise-limited'
    >>> judge(data.X, data.y + 0.3 * data.X[:, 0] ** 2, data.teacher, 0.05).kind
    'not this kind of network'
    """
    n, d = X.shape
    unknowns = network.n_hidden * (d + 1 + (network.bias is not None))
    free = unknowns - network.n_hidden * (network.activation.homogeneity is not None)
    if n < _MARGIN * free:
        return Verdict(
            "not enough data", f"{n} rows hardly exceed the {free} unknowns, so any fit would be good", np.nan
        )
    if relative_loss <= EXACT:
        return Verdict("recovered", f"{n} rows are explained to rounding error by {free} unknowns", np.nan)
    if n < 2 * (free + _PROBES):
        return Verdict("not enough data", f"{n} rows are too few to test {free} unknowns' residuals", np.nan)
    p_value = residual_p_value(X, y, network, sample_weight=sample_weight, seed=seed)
    if p_value < _LEVEL:
        return Verdict(
            "not this kind of network",
            f"the residuals have structure (p = {p_value:.1g}): more neurons, another activation, or the search failed",
            p_value,
        )
    return Verdict("noise-limited", f"no structure was found in the residuals (p = {p_value:.2g})", p_value)


def residual_p_value(
    X: np.ndarray, y: np.ndarray, network: Network, *, sample_weight: np.ndarray | None = None, seed: int = 0
) -> float:
    """p-value of the F-test of random probes in a regression of residuals on the network's derivatives and them.

    It uses four rows an unknown, and at most all. Above 1,000 unknowns the derivatives are left out and 50,000 rows
    are used: residuals of a least-squares fit are orthogonal to them already, so the probes' share is overestimated
    in the denominator only, and the p-value errs upwards.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, noise=0.1, random_state=0)
    >>> 0.0 < residual_p_value(data.X, data.y, data.teacher) < 1.0
    True
    """
    n, d = X.shape
    k = network.n_hidden
    rng = np.random.default_rng(seed)
    unknowns = k * (d + 1 + (network.bias is not None))
    large = unknowns > _TESTED_UNKNOWNS
    count = min(n, _LARGE_ROWS if large else max(_ROWS_PER_UNKNOWN * (unknowns + k + _PROBES), 4000))
    some = rng.choice(n, count, replace=False)
    x, r = X[some], y[some] - network.predict(X[some])
    J = np.ones((count, 1)) if large else _derivatives(network, x)
    scale = np.sqrt(np.mean(X**2, axis=0))
    directions = rng.standard_normal((_PROBES, d)) / np.sqrt(d) / np.where(scale > 0, scale, 1.0)
    t = x @ directions.T
    # Odd, even and local functions in equal parts: wrong activations, missing neurons and interactions all show.
    third = _PROBES // 3
    G = np.concatenate([np.abs(t[:, :third]), t[:, third : 2 * third] ** 2, np.sin(3 * t[:, 2 * third :])], axis=1)
    root = np.ones(count) if sample_weight is None else np.sqrt(sample_weight[some])
    J, G, r = J * root[:, None], G * root[:, None], r * root
    left, values, _ = np.linalg.svd(J, full_matrices=False)
    basis = left[:, values > 1e-9 * values[0]]
    r = r - basis @ (basis.T @ r)
    G = G - basis @ (basis.T @ G)
    explained = G @ np.linalg.lstsq(G, r, rcond=1e-8)[0]
    freedom = count - (unknowns * count // n if large else basis.shape[1]) - _PROBES
    rest = float(np.sum((r - explained) ** 2))
    if freedom <= 0 or rest <= 0:
        return 1.0
    return float(fisher.sf(float(np.sum(explained**2)) / _PROBES / (rest / freedom), _PROBES, freedom))


def _derivatives(network: Network, x: np.ndarray) -> np.ndarray:
    """Derivatives (n, p) of the network's output by weights, outputs, biases and an intercept."""
    act = network.activation
    z = x @ network.weights.T + (0.0 if network.bias is None else network.bias)
    slope = act.derivative(z) * network.output
    columns = [act(z), np.einsum("ni,nj->nij", slope, x).reshape(len(x), -1), np.ones((len(x), 1))]
    if network.bias is not None:
        columns.append(slope)
    return np.concatenate(columns, axis=1)
