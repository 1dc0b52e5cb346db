"""Hermite moments of the targets; they live in :mod:`planted.moments`, below the starts that use them too."""

from planted.moments import (
    Moments,
    QuadraticFit,
    fit_quadratic,
    fourth_contraction,
    moments,
    without_linear_part,
    without_lower_parts,
)

__all__ = [
    "Moments",
    "QuadraticFit",
    "fit_quadratic",
    "fourth_contraction",
    "moments",
    "without_linear_part",
    "without_lower_parts",
]
