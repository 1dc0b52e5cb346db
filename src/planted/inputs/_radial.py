r"""Rotation-invariant laws of a patch z = ρu, u uniform on the sphere: what a ReLU sees of the radius ρ.

ReLU is positively homogeneous, so E φ(w·z)φ(w'·z) = E[ρ²]/p times its value for a Gaussian, whatever the law of ρ, and
E φ(w·z_i)φ(w'·z_j) for two patches is E[ρ_iρ_j] times a constant of p. So one number is left beside the scale,

    factor = E[ρ_iρ_j] / (E[ρ²]/p · (E‖g‖)²),   g ~ N(0, I_p),

one for Gaussian patches, at most p/(E‖g‖)², on the sphere. Then m² = factor/(2π) takes the place of 1/(2π) in the
theory of Du et al. (2017). The radii of two patches of a row need not be independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from planted.numerics.validation import as_matrix, count

_SLACK = 1e-9


def gaussian_radius(n_features: int) -> float:
    """E‖g‖ for g ~ N(0, I) in `n_features` dimensions, √2 Γ((p+1)/2)/Γ(p/2).

    >>> round(gaussian_radius(1), 6)    # √(2/π)
    0.797885
    """
    return math.sqrt(2) * math.exp(math.lgamma((n_features + 1) / 2) - math.lgamma(n_features / 2))


@dataclass(frozen=True)
class RadialLaw:
    """A rotation-invariant law of patches.

    Attributes
    ----------
    n_features : int
        Inputs p of a patch.
    second : float
        E[ρ²]/p: every component has this variance.
    factor : float
        E[ρ_iρ_j] over second·(E‖g‖)²; one for Gaussian patches.
    name : str
    radii : callable or None
        (n, generator) ↦ radii (n,), where the law is known well enough to be drawn from.

    Examples
    --------
    >>> RadialLaw.gaussian(5).factor, round(RadialLaw.student(5, 4.0).factor, 4), round(RadialLaw.sphere(5).factor, 4)
    (1.0, 0.7854, 1.1045)
    """

    n_features: int
    second: float
    factor: float
    name: str = "radial"
    radii: Callable[[int, np.random.Generator], np.ndarray] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        largest = self.n_features / gaussian_radius(self.n_features) ** 2
        if not (self.second > 0 and math.isfinite(self.second)):
            raise ValueError(
                f"the mean squared radius must be positive and finite, not {self.second!r} for a component"
            )
        if not 0 < self.factor <= largest * (1 + _SLACK):
            raise ValueError(f"no radius has a factor of {self.factor:.4g}: it is positive and at most {largest:.4g}")

    @property
    def mean_square(self) -> float:
        """m² = (E φ(w·z))² for ReLU, a unit w and patches of second moment one: 1/(2π) for Gaussian ones."""
        return self.factor / (2 * math.pi)

    @classmethod
    def gaussian(cls, n_features: int) -> RadialLaw:
        """N(0, I)."""
        p = count("n_features", n_features)
        return cls(p, 1.0, 1.0, "gaussian", lambda n, rng: np.sqrt(rng.chisquare(p, n)))

    @classmethod
    def sphere(cls, n_features: int) -> RadialLaw:
        """Uniform on the sphere of radius √p."""
        p = count("n_features", n_features)
        return cls.known(p, math.sqrt(p), p, "sphere", lambda n, rng: np.full(n, math.sqrt(p)))

    @classmethod
    def student(cls, n_features: int, df: float) -> RadialLaw:
        """Student's t with `df` > 2 degrees of freedom: g √(df/χ²), the same χ² for all components of a patch."""
        p = count("n_features", n_features)
        if not df > 2:
            raise ValueError(f"df must exceed 2 for a variance to exist, not {df!r}")
        stretch = math.sqrt(df / 2) * math.exp(math.lgamma((df - 1) / 2) - math.lgamma(df / 2))

        def radii(n: int, rng: np.random.Generator) -> np.ndarray:
            return np.sqrt(rng.chisquare(p, n) * df / rng.chisquare(df, n))

        return cls.known(p, stretch * gaussian_radius(p), p * df / (df - 2), f"student({df:g})", radii)

    @classmethod
    def known(
        cls,
        n_features: int,
        mean: float,
        mean_square: float,
        name: str = "known",
        radii: Callable[[int, np.random.Generator], np.ndarray] | None = None,
    ) -> RadialLaw:
        """From E[ρ] and E[ρ²] of independent patches.

        >>> round(RadialLaw.known(1, math.sqrt(2 / math.pi), 1.0).factor, 12)
        1.0
        """
        p = count("n_features", n_features)
        second = mean_square / p
        return cls(p, second, mean**2 / (second * gaussian_radius(p) ** 2), name, radii)

    @classmethod
    def of(cls, Z: ArrayLike) -> RadialLaw:
        """Estimated from patches (n, k, p): E[ρ_iρ_j] over the pairs of a row, E[ρ]² where a row has one patch.

        >>> Z = np.random.default_rng(0).standard_normal((4000, 3, 5))
        >>> abs(RadialLaw.of(Z).factor - 1) < 0.02
        True
        """
        patches = as_matrix("Z", Z, 3)
        k, p = patches.shape[1:]
        radii = np.linalg.norm(patches, axis=2)
        squares = float(np.mean(radii**2))
        if squares == 0:
            raise ValueError("all patches are zero")
        pairs = (np.sum(radii, axis=1) ** 2 - np.sum(radii**2, axis=1)) / (k * (k - 1)) if k > 1 else None
        cross = float(np.mean(radii)) ** 2 if pairs is None else float(np.mean(pairs))
        largest = p / gaussian_radius(p) ** 2
        return cls(p, squares / p, min(cross * p / (squares * gaussian_radius(p) ** 2), largest), "estimated")

    def sample(self, n_samples: int, random_state: Any = None) -> np.ndarray:
        """Patches (n_samples, p), independent.

        >>> round(float(np.linalg.norm(RadialLaw.sphere(4).sample(1, 0))), 12)
        2.0
        """
        if self.radii is None:
            raise ValueError(f"the radial law {self.name!r} is known by two moments only and cannot be drawn from")
        rng = np.random.default_rng(random_state)
        direction = rng.standard_normal((count("n_samples", n_samples), self.n_features))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return direction * self.radii(len(direction), rng)[:, None]
