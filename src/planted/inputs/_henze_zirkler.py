"""Are the inputs Gaussian? The test of Henze and Zirkler (1990), which is consistent against every alternative."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.stats import lognorm

from planted.numerics.validation import as_matrix

_ROWS = 1000


class Normality(NamedTuple):
    """Statistic and p-value of a test of multivariate normality, and the rows it used."""

    statistic: float
    p_value: float
    rows: int


def henze_zirkler(X: ArrayLike, max_rows: int = _ROWS, seed: int = 0) -> Normality:
    """Test whether the rows of X (n, d) are Gaussian with any mean and covariance.

    The statistic compares the empirical characteristic function of standardised rows with exp(−‖t‖²/2):

        T = 1/n Σ_jk exp(−β²/2 ‖z_j − z_k‖²) − 2(1+β²)^{−d/2} Σ_j exp(−β²‖z_j‖²/(2(1+β²))) + n(1+2β²)^{−d/2},
        β = ((2d+1)n/4)^{1/(d+4)} / √2,

    and is close to log-normal if they are. It costs rows², so at most `max_rows`, drawn with `seed`, are used.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> henze_zirkler(rng.standard_normal((500, 3))).p_value > 0.05
    True
    >>> henze_zirkler(rng.uniform(-1, 1, (500, 3))).p_value < 0.01
    True
    """
    rows = as_matrix("X", X)
    if len(rows) > max_rows:
        rows = rows[np.random.default_rng(seed).choice(len(rows), max_rows, replace=False)]
    n, d = rows.shape
    if n <= d + 1:
        return Normality(float("nan"), float("nan"), n)
    centred = rows - rows.mean(axis=0)
    covariance = centred.T @ centred / n
    values, vectors = np.linalg.eigh(covariance)
    if values[0] <= 1e-12 * values[-1]:
        return Normality(float("nan"), 0.0, n)
    z = centred @ vectors / np.sqrt(values)
    square = ((2 * d + 1) * n / 4) ** (2 / (d + 4)) / 2
    pairs = np.sum(np.exp(-square / 2 * cdist(z, z, "sqeuclidean"))) / n
    singles = np.sum(np.exp(-square / (2 * (1 + square)) * np.sum(z * z, axis=1)))
    statistic = pairs - 2 * (1 + square) ** (-d / 2) * singles + n * (1 + 2 * square) ** (-d / 2)
    a = 1 + 2 * square
    w = (1 + square) * (1 + 3 * square)
    mean = 1 - a ** (-d / 2) * (1 + d * square / a + d * (d + 2) * square**2 / (2 * a**2))
    variance = (
        2 * (1 + 4 * square) ** (-d / 2)
        + 2 * a**-d * (1 + 2 * d * square**2 / a**2 + 3 * d * (d + 2) * square**4 / (4 * a**4))
        - 4 * w ** (-d / 2) * (1 + 3 * d * square**2 / (2 * w) + d * (d + 2) * square**4 / (2 * w**2))
    )
    spread = np.sqrt(np.log1p(variance / mean**2))
    centre = np.log(mean) - spread**2 / 2
    return Normality(float(statistic), float(lognorm.sf(statistic, spread, scale=np.exp(centre))), n)
