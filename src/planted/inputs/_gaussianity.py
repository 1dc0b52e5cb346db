r"""Are these inputs Gaussian? A multivariate normality test of two kinds.

Mardia's tests see third and fourth moments, on which the Gaussian-only losses rest: with z the whitened rows,

    n/6 ‖E[z^{⊗3}]‖²  ~  χ² with d(d+1)(d+2)/6 degrees of freedom,
    (E‖z‖⁴ − d(d+2)) / √(8d(d+2)/n)  ~  N(0, 1).

The Henze–Zirkler test sees every departure: a weighted distance between the empirical characteristic function
and the normal one, whose null law is close to lognormal. It compares all pairs, so it takes at most
`max_pairs_rows` rows. The three p-values are combined by Bonferroni's rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from planted.inputs._gaussian import Gaussian
from planted.inputs._henze_zirkler import henze_zirkler
from planted.numerics.validation import as_matrix

_BLOCK = 8192


@dataclass(frozen=True)
class Gaussianity:
    """Outcome of :func:`gaussianity`.

    Attributes
    ----------
    gaussian : bool
        Whether normality was not rejected.
    p_value : float
        Combined by Bonferroni's rule.
    p_values : dict
        By test: "skewness", "kurtosis", "Henze-Zirkler".
    reason : str
        One sentence.
    """

    gaussian: bool
    p_value: float
    p_values: dict[str, float]
    reason: str

    def __str__(self) -> str:
        return self.reason


def mardia(z: np.ndarray) -> tuple[float, float]:
    """P-values of Mardia's skewness and kurtosis tests for whitened rows z (n, d), O(n d³).

    >>> z = np.random.default_rng(0).laplace(size=(4000, 2)) / 2**0.5
    >>> mardia(z)[1] < 1e-10
    True
    """
    n, d = z.shape
    third, fourth = np.zeros((d * d, d)), 0.0
    for start in range(0, n, _BLOCK):
        block = z[start : start + _BLOCK]
        third += (block[:, :, None] * block[:, None, :]).reshape(len(block), -1).T @ block
        fourth += float(np.sum(np.sum(block**2, axis=1) ** 2))
    # Mardia's (1974) factor makes the skewness test honest for small n as well.
    factor = (d + 1) * (n + 1) * (n + 3) / (n * ((n + 1) * (d + 1) - 6)) if n > 6 else 1.0
    skewness = n / 6 * factor * np.sum((third / n) ** 2)
    # Exact mean and variance of the sample kurtosis under normality (Mardia 1974).
    mean = d * (d + 2) * (n - 1) / (n + 1)
    variance = 8 * d * (d + 2) * (n - 3) * (n - d - 1) * (n - d + 1) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    kurtosis = (fourth / n - mean) / np.sqrt(variance)
    freedom = d * (d + 1) * (d + 2) / 6
    return float(stats.chi2.sf(skewness, freedom)), float(2 * stats.norm.sf(abs(kurtosis)))


def gaussianity(X: ArrayLike, level: float = 0.001, max_pairs_rows: int = 2000) -> Gaussianity:
    """Test whether the rows of X (n, d) are Gaussian, with any mean and covariance.

    Parameters
    ----------
    X : array (n, d)
        With n > d + 1 and a covariance of full rank.
    level : float
        Normality is rejected where the combined p-value is below it.
    max_pairs_rows : int
        Rows, drawn at random, that the Henze–Zirkler test sees.

    Examples
    --------
    >>> print(gaussianity(Gaussian(np.zeros(3)).sample(5000, random_state=0)).gaussian)
    True
    >>> rng = np.random.default_rng(0)
    >>> print(gaussianity(rng.laplace(size=(5000, 3))))
    the inputs are not Gaussian: the kurtosis test gives p = ...
    """
    rows = as_matrix("X", X)
    n, d = rows.shape
    if n <= d + 1:
        raise ValueError(f"{n} rows are too few to test {d} inputs for normality; give more than {d + 1}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level!r}")
    z = Gaussian.fit(rows).whiten(rows)
    skewness, kurtosis = mardia(z)
    all_pairs = henze_zirkler(rows, max_pairs_rows).p_value
    p_values = {"skewness": skewness, "kurtosis": kurtosis, "Henze-Zirkler": all_pairs}
    least = min(p_values, key=lambda name: p_values[name])
    combined = min(1.0, len(p_values) * p_values[least])
    if combined < level:
        reason = f"the inputs are not Gaussian: the {least} test gives p = {p_values[least]:.2g} on {n} rows"
    else:
        reason = f"the inputs look Gaussian: no test of three rejects on {n} rows (combined p = {combined:.2g})"
    return Gaussianity(combined >= level, combined, p_values, reason)
