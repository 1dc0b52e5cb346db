"""Newton's method on the gradient: from near a critical point, of any kind, onto it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, minres

from planted.numerics.progress import Progress, silent
from planted.objectives import Objective
from planted.solvers._iterate import Ending, Point, Trial, VectorSolver, iterate
from planted.solvers._result import Descent

_DENSE = 200


def newton_polish(
    objective: Objective,
    params: Any,
    *,
    tolerance: float = 1e-12,
    steps: int = 21,
    progress: Progress = silent,
) -> Descent:
    """Solve ∇f = 0 from `params` by Newton steps that shorten the gradient.

    Quasi-Newton methods stop where the value no longer changes in float64, at a gradient of about the root of the
    rounding error; this one looks at the gradient only. Directions in which the Hessian is singular to 1e-10 are left
    alone. Systems of more than 200 unknowns are solved by MINRES on Hessian-vector products.

    Examples
    --------
    >>> from planted import Network, objectives
    >>> loss = objectives.PopulationSquared(Network(np.eye(2), np.ones(2)))
    >>> newton_polish(loss, np.eye(2) + 0.01).gradient_norm < 1e-12
    True
    """
    return iterate(_Newton(tolerance), objective, objective.check(params), steps=steps, progress=progress)


class _Newton(VectorSolver):
    records_start = True

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance

    def step(self, state: Point, count: int) -> Trial | None:
        direction = _direction(state)
        trials = (self.at(state.flat, state.vector + length * direction) for length in (1.0, 0.3, 0.1, 0.01))
        return next((trial for trial in trials if np.linalg.norm(trial[2]) < state.gradient_norm), None)

    def terminate(self, state: Point) -> Ending | None:
        if not np.isfinite(state.gradient_norm):
            return Ending.INFINITE
        return Ending.GRADIENT if state.gradient_norm <= self.tolerance else None


def _direction(state: Point) -> np.ndarray:
    size = len(state.vector)
    if size <= _DENSE:
        return -np.linalg.lstsq(state.flat.hessian(state.vector), state.gradient, rcond=1e-10)[0]
    operator = LinearOperator((size, size), matvec=partial(state.flat.product, state.vector), dtype=np.float64)
    # As accurate as the convergence it serves: an error √‖∇f‖ of the step keeps it superlinear.
    accuracy = float(np.clip(state.gradient_norm**0.5, 1e-8, 1e-2))
    return minres(operator, -state.gradient, rtol=accuracy, maxiter=500)[0]
