r"""Do rows that follow one another have errors in common, as in a time series? Then each says less than it seems to.

With r the residuals and Q an orthonormal basis of the network's derivatives J, both times roots of the rows' weights,
s_i = r_i Q_i is what row i moves the parameters by. If rows are independent, s_i·s_{i+1} has mean zero, whatever the
variances are, and z = Σ s_i·s_{i+1} / (Σ (s_i·s_{i+1})²)^½ is a standard normal. Correlated errors of rows whose inputs
are not alike do no harm, and do not show. What rows say that are as alike in their inputs but far from one another is
compared: where that goes together too, it is the inputs that the residuals depend on. It cannot be told where the rows
are in the order of an input.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import norm

from planted.methods._facts import ALONG, LEVEL, LEVERAGE_ENTRIES, TELLING_ROWS
from planted.methods._observations import Observations
from planted.networks import ConvNetwork, Network

_VANISHING = 1e-9
# Rows of which others with the same inputs are looked for, the share of the correlation that these have where inputs
# are behind it, and letters of a name.
_LOOKED, _HALF, _LETTERS = 400, 0.5, 40


def neighbours_correlation(network: Network | ConvNetwork, data: Observations, *, intercept: bool) -> float:
    """Correlation Σ s_i·s_{i+1} / Σ |s_i|² of what neighbouring rows say of the parameters; zero if it may be chance.

    It is zero too where it is small, where rows are few, where they are in the order of a target, and where rows that
    are alike in their inputs, but far from one another, go together half as much.

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
    if correlation <= ALONG or _alike(data.X[:n].reshape(n, -1), moves) > _HALF * correlation:
        return 0.0
    return correlation


def input_in_order(X: np.ndarray, names: tuple[str, ...] = ()) -> str:
    """The first input of rows X (n, ...) that only grows, or only falls, from row to row, in words; empty if none does.

    >>> X = np.array([[1.0, 5.0], [1.0, 6.0], [1.0, 8.0]])
    >>> input_in_order(X, ("a", "b")), input_in_order(X[[0, 2, 1]])
    ('b', '')
    """
    flat = X.reshape(len(X), -1)
    steps = np.diff(flat, axis=0)
    ordered = (np.all(steps >= 0, axis=0) | np.all(steps <= 0, axis=0)) & np.any(steps != 0, axis=0)
    if not ordered.any():
        return ""
    place = int(np.argmax(ordered))
    return str(names[place])[:_LETTERS] if len(names) == flat.shape[1] else f"input {place}"


def _alike(X: np.ndarray, moves: np.ndarray) -> float:
    """Correlation of what rows X (n, d) say whose inputs are as alike as those of rows that follow one another.

    They are at least a quarter of the rows apart. Zero where there are few such pairs.
    """
    scale = X.std(axis=0)
    unit = X / np.where(scale > 0, scale, 1.0)
    step = float(np.median(np.linalg.norm(np.diff(unit, axis=0), axis=1)))
    rows = np.arange(len(X))
    looked = rows[:: -(-len(X) // _LOOKED)]
    distance = cdist(unit[looked], unit)
    distance[np.abs(looked[:, None] - rows) < len(X) / 4] = np.inf
    other = np.argmin(distance, axis=1)
    near = distance[np.arange(len(looked)), other] <= step
    if np.sum(near) < TELLING_ROWS:
        return 0.0
    one, two = moves[looked[near]], moves[other[near]]
    return float(np.sum(one * two) / max(np.sqrt(np.sum(one**2) * np.sum(two**2)), 1e-300))
