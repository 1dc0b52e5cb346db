"""Points that theory says are global minima: zero loss, the convex view of quadratic networks, the losses G and F."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from planted.objectives import Objective, Params, named, quadratic_verdict

_ROUNDED = 1e-28


@dataclass(frozen=True)
class Verdict:
    """A kind, the reason for it, and an escape direction (in the structure of the parameters) or None."""

    kind: str
    reason: str
    direction: Any = None


def global_verdict(
    objective: Objective, params: Params, value: float, scale: float, tolerance: float
) -> Verdict | None:
    """What theory alone decides about `params`, or None.

    `scale` is the size of a typical value, ‖∇²f‖‖θ‖²: a value within ½·tolerance²·scale of the least possible is taken
    to attain it, which is what a point at relative distance `tolerance` from a minimum has. Over rows it must also be
    below `tolerance` times the value with all parameters zero, and tolerance² times that of the best constant: where
    large weights cancel, `scale` exceeds every value, and where targets are far from zero, both grow with their mean.
    """
    least = objective.known_minimum()
    if least is not None and value - least[0] <= 0.5 * tolerance**2 * scale + 1e-15 * abs(least[0]):
        nothing = np.inf if objective.rows is None else objective.value(jax.tree.map(np.zeros_like, params))
        # Squares of what rounding makes of targets that are far from zero are no part of them.
        beside = max(tolerance**2 * objective.constant_loss(), _ROUNDED * nothing)
        if not value - least[0] > min(tolerance * (nothing - least[0]), beside):
            return Verdict("global minimum", least[1])
    quadratic = objective.quadratic_problem(named(params))
    if quadratic is not None:
        exact = quadratic_verdict(*quadratic, tolerance=tolerance)
        if exact.kind == "global minimum":
            return Verdict("global minimum", f"quadratic network: {exact.reason}")
        if exact.kind == "saddle":
            like = exact.direction if not isinstance(params, dict) else {"weights": exact.direction}
            return Verdict("saddle", f"quadratic network: {exact.reason}", like)
    return None
