r"""Newton steps over many rows with the curvature of few: every step costs one pass.

A step is s = −(A + ν D)⁻¹ g, with g the gradient over all rows, A the Gauss–Newton or Fisher matrix over a sample of m
rows and D its diagonal. Near a minimum the error shrinks by about √(p/m) a step, however many rows there are: a few
hundred rows a parameter make ten passes enough for rounding. Forming A over all rows would cost p/6 times as much as
their gradient for p parameters of one neuron.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from planted.numerics.precision import float64
from planted.numerics.progress import Progress, silent
from planted.numerics.threads import one_thread
from planted.objectives import Objective
from planted.solvers._damped import Damped
from planted.solvers._iterate import Point, Trial, iterate
from planted.solvers._result import Descent

# Values that differ by less than this fraction are equal up to the rounding of a sum.
_ROUNDING = 1e-13
_VANISHING = 1e-10
# Curvature below this is none: units of less would overflow.
_LEAST = 1e-280
# Curvature is computed again when the parameters have moved by this fraction since: within that it hardly differs, and
# what limits the pace is the sample that it comes from.
_MOVED = 1e-2


class _Curvature:
    """The eigenpairs of A at a point, in units of its diagonal; directions that A does not see are left alone."""

    def __init__(self, matrix: np.ndarray, at: np.ndarray) -> None:
        self.at = at
        diagonal = np.diagonal(matrix)
        self.unit = 1 / np.sqrt(np.maximum(diagonal, 1e-12 * max(np.max(diagonal), _LEAST)))
        values, vectors = np.linalg.eigh(matrix * np.outer(self.unit, self.unit))
        # In these units the largest eigenvalue is at least one, unless there is no curvature at all.
        positive = values > _VANISHING * max(values[-1], 1.0)
        self.values, self.vectors = values[positive], vectors[:, positive]

    def step(self, gradient: np.ndarray, damping: float) -> np.ndarray:
        inside = self.vectors.T @ (self.unit * gradient) / (self.values + damping)
        return -self.unit * (self.vectors @ inside)


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
    >>> run = sample_newton(whole, part.hessian, start)
    >>> run.status, run.gradient_norm < 1e-12
    ('converged', True)
    """
    solver = _SampleNewton(tolerance, floor, curvature)
    # Threads of BLAS go on waiting busily after a product, on cores that the next pass needs.
    with one_thread():
        return iterate(solver, objective, params, steps=steps, progress=progress)


class _SampleNewton(Damped):
    dampings = (0.0, 0.0, 1e6)

    def __init__(self, tolerance: float, floor: float, curvature: Callable[[Any], Any]) -> None:
        super().__init__(tolerance, floor)
        self.curvature = curvature

    def solve(self, state: Point) -> np.ndarray:
        if state.model is None:
            state.model = _Curvature(np.asarray(self.curvature(self.params(state))), state.vector)
        return state.model.step(state.gradient, state.damping)

    def better(self, state: Point, trial: Trial) -> bool:
        if _level(state, trial):
            return bool(np.linalg.norm(trial[2]) < state.gradient_norm)
        return trial[1] < state.value

    def accept(self, state: Point, trial: Trial) -> None:
        model, fresh = state.model, state.model.at is state.vector
        if self.better(state, trial):
            super().accept(state, trial)
            moved = np.linalg.norm(state.vector - model.at)
            state.model = None if moved > _MOVED * np.linalg.norm(state.vector) else model
            return
        state.damping, state.model = max(10 * state.damping, 1e-3), model if fresh else None
        if _level(state, trial):
            # Neither value nor gradient tells the two points apart: there is nothing left to gain.
            state.length = 0.0


def _level(state: Point, trial: Trial) -> bool:
    return abs(trial[1] - state.value) <= _ROUNDING * abs(state.value)
