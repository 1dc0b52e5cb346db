"""Points that theory says are global minima: zero loss, the convex view of quadratic networks, the losses G and F."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planted.objectives import (
    SMALL,
    Objective,
    Params,
    PopulationFullRankLandscape,
    PopulationLandscape,
    as_quadratic,
    quadratic_verdict,
)

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Verdict:
    """A kind, the reason for it, and an escape direction (in the structure of the parameters) or None."""

    kind: str
    reason: str
    direction: Any = None


def landscape_minimum(alpha: np.ndarray, mu: float, lam: float) -> float | None:
    """The least value of G_{α,β,μ} with β = α/12, or None where Theorem 5.1 of Ge et al. (2017) does not apply.

    Its minima are signed permutations with squared norms D² = 1/(1 − μβ_i/λ).

    >>> landscape_minimum(np.ones(2), 0.0, 4.0)
    0.0
    >>> landscape_minimum(np.ones(2), 1.0, 4.0) is None
    True
    """
    beta = alpha / 12
    if np.any(alpha <= 0):
        return None
    slack = 1 + _ROUNDING
    small = mu * beta.max() <= SMALL * alpha.min() * slack
    large = lam * slack >= 4 * max(mu * beta.max(), alpha.max())
    if not (small and large):
        return None
    square = 1 / (1 - mu * beta / lam)
    return float(np.sum(-mu * beta * square**2 + lam * (square - 1) ** 2))


def _orthonormal(rows: np.ndarray) -> bool:
    return rows.shape[0] == rows.shape[1] and bool(np.allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-9))


def known_minimum(objective: Objective) -> tuple[float, str] | None:
    """The least value of an objective and the theorem that gives it, where one does.

    >>> from planted.networks import Network
    >>> known_minimum(PopulationLandscape(Network(np.eye(2), np.ones(2)), mu=0.0))[0]
    0.0
    """
    if objective.non_negative:
        return 0.0, "the loss is never negative, and here it is zero"
    if isinstance(objective, PopulationLandscape):
        directions, weights = np.asarray(objective.directions), np.asarray(objective.weights)
        if _orthonormal(directions):
            least = landscape_minimum(6**0.5 * weights, float(objective.mu), float(objective.lam))
            if least is not None:
                return least, "every local minimum of G is global (Theorem 2.3 of Ge et al. 2017)"
    if isinstance(objective, PopulationFullRankLandscape) and float(objective.delta) == 0:
        directions, weights = np.asarray(objective.directions), np.asarray(objective.weights)
        T = np.asarray(objective.T)
        if directions.shape[0] == directions.shape[1] and np.linalg.matrix_rank(T) == len(T):
            # o_i = T^{-1/2} √s_i u_i is orthonormal, and ⟨u_i, b⟩⁴ = ⟨o_i, T^{1/2}b⟩⁴ / s_i².
            inverse = 1 / np.sum((directions @ np.linalg.inv(T)) * directions, axis=1)
            least = landscape_minimum(6**0.5 * weights / inverse**2, float(objective.mu), float(objective.lam))
            if least is not None:
                return least, "every local minimum of F is global (Theorem A.4 of Ge et al. 2017)"
    return None


def global_verdict(
    objective: Objective, params: Params, value: float, scale: float, tolerance: float
) -> Verdict | None:
    """What theory alone decides about `params`, or None.

    `scale` is the size of a typical value, ‖∇²f‖‖θ‖²: a value within ½·tolerance²·scale of the least possible is taken
    to attain it, which is what a point at relative distance `tolerance` from a minimum has.
    """
    least = known_minimum(objective)
    if least is not None and value - least[0] <= 0.5 * tolerance**2 * scale + 1e-15 * abs(least[0]):
        return Verdict("global minimum", least[1])
    quadratic = as_quadratic(objective, params)
    if quadratic is not None:
        exact = quadratic_verdict(*quadratic, tolerance=tolerance)
        if exact.kind == "global minimum":
            return Verdict("global minimum", f"quadratic network: {exact.reason}")
        if exact.kind == "saddle":
            like = exact.direction if not isinstance(params, dict) else {"weights": exact.direction}
            return Verdict("saddle", f"quadratic network: {exact.reason}", like)
    return None
