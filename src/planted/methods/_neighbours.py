r"""Do rows that follow one another have errors in common, as in a time series? Then each says less than it seems to.

With r the residuals and Q an orthonormal basis of the network's derivatives J, both times roots of the rows' weights,
s_i = r_i Q_i is what row i moves the parameters by. If rows are independent, s_i·s_{i+1} has mean zero, whatever the
variances are, and z = Σ s_i·s_{i+1} / (Σ (s_i·s_{i+1})²)^½ is a standard normal. Correlated errors of rows whose inputs
are not alike do no harm, and do not show.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from planted.methods._facts import ALONG, LEVEL, LEVERAGE_ENTRIES, TELLING_ROWS
from planted.methods._observations import Observations
from planted.networks import ConvNetwork, Network

_VANISHING = 1e-9


def neighbours_correlation(network: Network | ConvNetwork, data: Observations, *, intercept: bool) -> float:
    """Correlation Σ s_i·s_{i+1} / Σ |s_i|² of what neighbouring rows say of the parameters; zero if it may be chance.

    It is zero too where it is small, where rows are few, and where they are in the order of a target.

    >>> rng = np.random.default_rng(0)
    >>> x, noise = np.cumsum(rng.standard_normal((2, 300)), axis=1)
    >>> line = Network(np.zeros((0, 1)), np.zeros(0), skip=[1.0])
    >>> neighbours_correlation(line, Observations(x[:, None], x + noise), intercept=False) > 0.9
    True
    >>> neighbours_correlation(line, Observations(x[:, None], x + rng.standard_normal(300)), intercept=False)
    0.0
    """
    unknowns = sum(np.size(part) for part in network.arrays().values())
    n = min(len(data.y), LEVERAGE_ENTRIES // max(unknowns, 1))
    y = data.y[:n].reshape(n, -1)
    steps = np.diff(y, axis=0)
    if n < max(TELLING_ROWS, 2 * unknowns) or np.any(np.all(steps >= 0, axis=0) | np.all(steps <= 0, axis=0)):
        return 0.0
    residual = y - network.predict(data.X[:n]).reshape(n, -1)
    unit = np.sqrt(np.mean(residual**2, axis=0))
    root = np.ones((n, 1)) if data.weight is None else np.sqrt(data.weight[:n])[:, None]
    root = root / np.where(unit > 0, unit, 1.0)
    J = (network.jacobian(data.X[:n], intercept=intercept) * root[:, :, None]).reshape(residual.size, -1)
    size = np.linalg.norm(J, axis=0)
    J = J / np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(J.T @ J)
    known = values > _VANISHING * max(float(values.max(initial=0.0)), 1e-300)
    basis = J @ (vectors[:, known] / np.sqrt(values[known]))
    moves = np.einsum("na,nap->np", residual * root, basis.reshape(*residual.shape, -1))
    products = np.sum(moves[1:] * moves[:-1], axis=1)
    spread, total = float(np.linalg.norm(products)), float(np.sum(moves**2))
    if not spread or norm.sf(float(np.sum(products)) / spread) >= LEVEL:
        return 0.0
    correlation = float(np.sum(products)) / total
    return correlation if correlation > ALONG else 0.0
