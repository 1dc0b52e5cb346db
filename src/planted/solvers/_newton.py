"""Newton's method on the gradient: from near a critical point, of any kind, onto it."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, minres

from planted.objectives import Flat, Objective
from planted.solvers._result import Descent, History

_DENSE = 200


def newton_polish(objective: Objective, params: Any, *, tolerance: float = 1e-12, steps: int = 20) -> Descent:
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
    began = time.perf_counter()
    flat = Flat(objective, params)
    point, evaluate = flat.start, flat.value_and_gradient

    def step_from(vector: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        if len(vector) <= _DENSE:
            return -np.linalg.lstsq(flat.hessian(vector), gradient, rcond=1e-10)[0]
        operator = LinearOperator((len(vector),) * 2, matvec=partial(flat.product, vector), dtype=np.float64)
        # As accurate as the convergence it serves: an error √‖∇f‖ of the step keeps it superlinear.
        accuracy = float(np.clip(np.linalg.norm(gradient) ** 0.5, 1e-8, 1e-2))
        return minres(operator, -gradient, rtol=accuracy, maxiter=500)[0]

    history, status, reason, done = History(), "step limit", "the step limit was reached", 0
    value, gradient = evaluate(point)
    for done in range(steps + 1):
        norm = float(np.linalg.norm(gradient))
        history.step.append(done)
        history.value.append(value)
        history.gradient_norm.append(norm)
        if norm <= tolerance:
            status, reason = "converged", "the gradient norm fell below the tolerance"
            break
        direction = step_from(point, gradient)
        for length in (1.0, 0.3, 0.1, 0.01):
            trial = point + length * direction
            found = evaluate(trial)
            if np.linalg.norm(found[1]) < norm:
                break
        else:
            status, reason = "stalled", "no Newton step shortened the gradient"
            break
        point, (value, gradient) = trial, found
    return Descent(
        params=flat.params(point),
        value=value,
        gradient_norm=float(np.linalg.norm(gradient)),
        status=status,
        reason=reason,
        n_steps=done,
        seconds=time.perf_counter() - began,
        history=history,
    )
