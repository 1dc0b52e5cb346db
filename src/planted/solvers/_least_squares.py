r"""Levenberg–Marquardt polish of a squared loss, with normal equations added up over blocks of rows.

A step solves (JᵀJ + ν diag(JᵀJ)) s = −Jᵀr. JᵀJ (p, p) and Jᵀr (p,) are sums over rows, so memory is bounded by
p² and by (rows in a piece) × p for the Jacobian of one piece, whatever the number of rows. General least-squares
libraries take the whole Jacobian (rows, p) at once.
"""

from __future__ import annotations

import time
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.flatten_util import ravel_pytree

from planted.numerics.precision import float64, to_jax, to_numpy
from planted.numerics.progress import Progress, silent
from planted.objectives import Squared, curvature_matrix, energy, evaluate
from planted.solvers._result import Descent, History


@float64
def least_squares(
    objective: Squared,
    params: Any,
    *,
    steps: int = 50,
    tolerance: float = 1e-13,
    progress: Progress = silent,
) -> Descent:
    """Minimise a squared loss by Levenberg–Marquardt from a start that is already near.

    Parameters
    ----------
    objective : Squared
    params : array or dict of arrays
    steps : int
        Largest number of accepted or rejected steps.
    tolerance : float
        Stop when a step changes the parameters by less than this, relative to their norm, or when the loss
        is this fraction squared of ½ E[y²].

    Examples
    --------
    >>> from planted import datasets, objectives
    >>> data = datasets.make_planted(500, 3, 2, random_state=0)
    >>> loss = objectives.Squared(data.X, data.y)
    >>> start = {"weights": data.teacher.weights + 0.1, "output": data.teacher.output}
    >>> least_squares(loss, start).value < 1e-24
    True
    """
    began = time.perf_counter()
    flat, unravel = ravel_pytree(to_jax(params))
    floor = float(energy(objective)) * tolerance**2
    value = float(evaluate(objective, unravel(flat)))
    history, damping, status, done, norm = History(), 1e-3, "step limit", 0, np.inf
    equations = None
    while done < steps:
        if value <= floor:
            status = "converged"
            break
        if equations is None:
            A, g = (np.asarray(part) for part in curvature_matrix(objective, unravel(flat)))
            equations, norm = (A, g), float(np.linalg.norm(g))
        A, g = equations
        scale = np.maximum(np.diagonal(A), 1e-12 * np.max(np.diagonal(A)))
        done += 1
        try:
            factor = scipy.linalg.cho_factor(A + damping * np.diag(scale), check_finite=False)
            step = -scipy.linalg.cho_solve(factor, g, check_finite=False)
        except (scipy.linalg.LinAlgError, ValueError):
            damping *= 10
            continue
        trial = flat + jnp.asarray(step)
        trial_value = float(evaluate(objective, unravel(trial)))
        length = float(np.linalg.norm(step) / max(float(jnp.linalg.norm(flat)), 1e-300))
        if np.isfinite(trial_value) and trial_value <= value:
            flat, value, damping, equations = trial, trial_value, max(damping / 10, 1e-15), None
        else:
            damping *= 10
        history.step.append(done)
        history.value.append(value)
        history.gradient_norm.append(norm)
        progress(done, steps, f"loss {value:.4g}")
        if length <= tolerance:
            status = "converged"
            break
        if damping > 1e12:
            status = "stalled"
            break
    reason = {
        "converged": "a full step no longer changes the parameters, or the loss is zero to rounding",
        "step limit": "the step limit was reached",
        "stalled": "no damped step lowers the loss",
    }[status]
    return Descent(
        params=to_numpy(unravel(flat)),
        value=value,
        gradient_norm=norm,
        status=status,
        reason=reason,
        n_steps=done,
        seconds=time.perf_counter() - began,
        history=history,
    )
