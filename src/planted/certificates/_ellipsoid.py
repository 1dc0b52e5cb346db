"""Confidence ellipsoids of a neuron's weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

# Share of the largest eigenvalue of a covariance below which others are rounding.
_VANISHING = 1e-10


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """{w : (w − centre)ᵀ covariance⁺ (w − centre) ≤ quantile}.

    Examples
    --------
    >>> ellipsoid = Ellipsoid(np.zeros(2), np.diag([1.0, 4.0]), 4.0)
    >>> ellipsoid.contains([0.0, 3.0]), ellipsoid.contains([3.0, 0.0])
    (True, False)
    """

    centre: np.ndarray
    covariance: np.ndarray
    quantile: float

    @property
    def axes(self) -> np.ndarray:
        """Semi-axes as rows (d, d), longest first."""
        values, vectors = np.linalg.eigh(self.covariance)
        return (vectors * np.sqrt(self.quantile * np.maximum(values, 0.0))).T[::-1]

    def contains(self, point: ArrayLike) -> bool:
        """Whether a point (d,) lies inside; for a unit row, its part across the row decides."""
        gap = np.asarray(point, dtype=np.float64) - self.centre
        return bool(gap @ np.linalg.pinv(self.covariance, rcond=_VANISHING, hermitian=True) @ gap <= self.quantile)
