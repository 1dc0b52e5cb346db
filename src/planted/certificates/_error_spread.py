r"""How much standard errors depend on where they are taken, for intervals beyond the first order.

Standard errors are those at the estimate. A neuron whose output came out too large looks better determined than it is:
its weights have errors ∝ 1/|output|. So errors are also taken at parameters θ_m ~ N(θ̂, C) that are as likely as the
estimate, C its covariance, and an interval of level 1 − α reaches as far as the mixture of the normal laws with these
errors does:

    mean over m of Φ(q/(s ρ_m)) = 1 − α/2,

s the first-order error and ρ_m its ratio at θ_m. Where errors are small, all ρ_m are one and q is the normal quantile.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.certificates._uncertainty import Uncertainty, inverse_beside
from planted.numerics.precision import float64, to_jax
from planted.objectives import Fit, curvature_matrix, flatten, noise_scores, unflatten

_DRAWS = 32


@float64
def error_ratios(objective: Fit, about: Uncertainty, seed: int = 0) -> np.ndarray:
    """First-order errors at parameters drawn around an estimate, over those at the estimate: (draws, p).

    Draws at which the rows determine less than at the estimate are left out.

    >>> from planted.certificates import uncertainty
    >>> from planted.datasets import make_planted
    >>> from planted.objectives import Squared
    >>> data = make_planted(2000, 2, 1, noise=0.1, random_state=0)
    >>> loss = Squared(data.X, data.y)
    >>> about = uncertainty(loss, loss.model.params(data.teacher))
    >>> ratios = error_ratios(loss, about)
    >>> ratios.shape, bool(abs(np.median(ratios) - 1) < 0.01)
    ((32, 3), True)
    """
    centre = flatten(about.estimate)
    values, vectors = np.linalg.eigh(about.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    half = np.random.default_rng(seed).standard_normal((_DRAWS // 2, len(centre)))
    own, rank = _errors(objective, about.estimate, about.noise_covariance)
    ratios = []
    for draw in np.concatenate([half, -half]):
        place = objective.model.normalised(unflatten(centre + root @ draw, about.estimate))
        drawn = {name: np.asarray(value) for name, value in place.items()}
        there, determined = _errors(objective, drawn, about.noise_covariance)
        if determined >= rank:
            ratios.append(np.where(own > 0, there / np.where(own > 0, own, 1.0), 1.0))
    return np.array(ratios).reshape(-1, len(centre))


def _errors(objective: Fit, arrays: dict[str, Any], between: np.ndarray | None) -> tuple[np.ndarray, int]:
    """√ of the diagonal of A⁻¹, or A⁻¹MA⁻¹, for the canonical network, and how many numbers rows determine."""
    model = objective.model
    matrix = np.asarray(curvature_matrix(objective, to_jax(arrays))[0])
    inverse, slope = inverse_beside(matrix, model.gauge(arrays)), model.canonical_slope(arrays)
    covariance = inverse.matrix
    if between is not None:
        covariance = covariance @ np.asarray(noise_scores(objective, to_jax(arrays), between)) @ covariance
    return np.sqrt(np.maximum(np.sum((slope @ covariance) * slope, axis=1), 0.0)), inverse.rank
