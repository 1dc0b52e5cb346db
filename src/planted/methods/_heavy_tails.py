"""Residuals most of which lie in a few rows: least squares follows these rows, and what it says is about them."""

from __future__ import annotations

import numpy as np

from planted.methods._observations import Observations

# The share of rows that are a few, the least number of rows of which that is said, and the share of all squares that
# they have: of Gaussian noise they have 8 %, of Laplace noise 16 %, of t noise with five degrees of freedom 18 %.
_FEW, _LEAST_ROWS, _MOST = 0.01, 100, 0.5


def far_rows(network: object, data: Observations) -> str:
    """Which few rows make most of the squared residuals, in words; empty where none do.

    >>> from planted.networks import Network
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> noise = np.where(np.arange(200) == 7, 9.0, 0.1)
    >>> far_rows(Network([[1.0]], [1.0]), Observations(X, np.maximum(X[:, 0], 0) + noise))
    'the 2 of 200 rows farthest off make 98 % of the squared residuals'
    """
    n = len(data.y)
    if n < _LEAST_ROWS:
        return ""
    residual = (data.y - network.predict(data.X)).reshape(n, -1)  # type: ignore[attr-defined]
    # Each of several targets counts by its own residuals.
    size = np.mean(residual**2, axis=0)
    squares = np.sum(residual**2 / np.where(size > 0, size, 1.0), axis=1)
    squares = squares if data.weight is None else squares * data.weight
    few = round(_FEW * n)
    share = float(np.sum(np.sort(squares)[-few:]) / max(float(np.sum(squares)), 1e-300))
    if share <= _MOST:
        return ""
    which = f"row of {n:,} farthest off makes" if few == 1 else f"{few:,} of {n:,} rows farthest off make"
    return f"the {which} {100 * share:.0f} % of the squared residuals"
