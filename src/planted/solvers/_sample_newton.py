r"""Newton steps over many rows with the curvature of few: every step costs one pass.

A step is s = −(A + ν D)⁻¹ g, with g the gradient over all rows, A the Gauss–Newton or Fisher matrix over a sample of m
rows and D its diagonal. Near a minimum the error shrinks by about √(p/m) a step, however many rows there are: a few
hundred rows a parameter make ten passes enough for rounding. Forming A over all rows would cost p/6 times as much as
their gradient for p parameters of one neuron.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from jax.flatten_util import ravel_pytree

from planted.numerics.precision import float64, to_jax, to_numpy
from planted.numerics.progress import Progress, silent
from planted.objectives import Objective, evaluate_with_gradient
from planted.solvers._result import Descent, History

# Values that differ by less than this fraction are equal up to the rounding of a sum.
_ROUNDING = 1e-13
_VANISHING = 1e-10
# Curvature is computed again when the parameters have moved by this fraction since: within that it hardly differs, and
# what limits the pace is the sample that it comes from.
_MOVED = 1e-2


class _Curvature:
    """The eigenpairs of A in units of its diagonal; directions that A does not see are left alone."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.unit = 1 / np.sqrt(np.maximum(np.diagonal(matrix), 1e-12 * max(np.max(np.diagonal(matrix)), 1e-300)))
        values, vectors = np.linalg.eigh(matrix * np.outer(self.unit, self.unit))
        kept = values > _VANISHING * max(values[-1], 1e-300)
        self.values, self.vectors = values[kept], vectors[:, kept]

    def step(self, gradient: np.ndarray, damping: float) -> np.ndarray:
        # Without BLAS, whose threads go on waiting busily after a product, on cores that the next pass needs.
        inside = np.einsum("ij,i->j", self.vectors, self.unit * gradient)
        inside /= self.values + damping
        return -self.unit * np.einsum("ij,j->i", self.vectors, inside)


@float64
def sample_newton(
    objective: Objective,
    curvature: Callable[[Any], Any],
    params: Any,
    *,
    steps: int = 60,
    tolerance: float = 1e-13,
    floor: float = 0.0,
    progress: Progress = silent,
) -> Descent:
    """Minimise `objective` over all rows from a start that is already near.

    Parameters
    ----------
    objective : Objective
        Over all rows.
    curvature : callable
        Parameters to a positive semi-definite matrix (p, p), an estimate of the Hessian of `objective`.
    params : array or dict of arrays
    steps : int
        Largest number of passes after the first.
    tolerance : float
        Stop when a step changes the parameters by less than this, relative to their norm.
    floor : float
        Stop when the value is at most this.

    Examples
    --------
    >>> from planted import datasets, objectives
    >>> data = datasets.make_planted(2000, 3, 2, activation="tanh", noise=0.1, random_state=0)
    >>> whole = objectives.Squared(data.X, data.y, "tanh")
    >>> part = objectives.Squared(data.X[:500], data.y[:500], "tanh")
    >>> start = {"weights": data.teacher.weights, "output": data.teacher.output}
    >>> run = sample_newton(whole, lambda params: part.hessian(to_numpy(params)), start)
    >>> run.status, run.gradient_norm < 1e-12
    ('converged', True)
    """
    began = time.perf_counter()
    start, unravel = ravel_pytree(to_jax(params))
    back: Any = unravel
    flat = np.asarray(start)

    def evaluate(vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = evaluate_with_gradient(objective, back(vector))
        return float(value), np.asarray(ravel_pytree(gradient)[0])

    value, g = evaluate(flat)
    history, damping, status, done = History(), 0.0, "step limit", 0
    shape: _Curvature | None = None
    age, at = 0, flat
    while done < steps:
        if value <= floor:
            status = "converged"
            break
        if shape is None:
            shape, age, at = _Curvature(np.asarray(curvature(back(flat)))), 0, flat
        step = shape.step(g, damping)
        done += 1
        found, slope = evaluate(flat + step)
        length = float(np.linalg.norm(step) / max(float(np.linalg.norm(flat)), 1e-300))
        level = abs(found - value) <= _ROUNDING * abs(value)
        better = bool(np.linalg.norm(slope) < np.linalg.norm(g)) if level else found < value
        if better and np.isfinite(found):
            flat, value, g, age, damping = flat + step, found, slope, age + 1, damping / 10
            shape = None if np.linalg.norm(flat - at) > _MOVED * np.linalg.norm(flat) else shape
        else:
            damping, shape = max(10 * damping, 1e-3), shape if age == 0 else None
        history.step.append(done)
        history.value.append(value)
        history.gradient_norm.append(float(np.linalg.norm(g)))
        progress(done, steps, f"loss {value:.6g}")
        if length <= tolerance or (level and not better):
            status = "converged"
            break
        if damping > 1e6:
            status = "stalled"
            break
    reason = {
        "converged": "a step no longer changes the parameters or the loss, or the loss is zero to rounding",
        "step limit": "the step limit was reached",
        "stalled": "no damped step lowers the loss",
    }[status]
    return Descent(
        params=to_numpy(back(flat)),
        value=value,
        gradient_norm=float(np.linalg.norm(g)),
        status=status,
        reason=reason,
        n_steps=done,
        seconds=time.perf_counter() - began,
        history=history,
    )
