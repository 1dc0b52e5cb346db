r"""Levenberg–Marquardt polish of a squared loss, with normal equations added up over blocks of rows.

A step solves (JᵀJ + ν diag(JᵀJ)) s = −Jᵀr. JᵀJ (p, p) and Jᵀr (p,) are sums over rows, so memory is bounded by
p² and by (rows in a piece) × p for the Jacobian of one piece, whatever the number of rows. General least-squares
libraries take the whole Jacobian (rows, p) at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from planted.numerics.precision import float64
from planted.numerics.progress import Progress, silent
from planted.numerics.threads import one_thread
from planted.objectives import Flat, Squared, curvature_matrix, energy, evaluate
from planted.solvers._damped import Damped
from planted.solvers._iterate import Point, Trial, iterate
from planted.solvers._result import Descent


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
    floor = float(energy(objective)) * tolerance**2
    return iterate(_LevenbergMarquardt(tolerance, floor), objective, params, steps=steps, progress=progress)


class _LevenbergMarquardt(Damped):
    dampings = (1e-3, 1e-15, 1e12)

    def at(self, flat: Flat, vector: np.ndarray) -> Trial:
        return vector, float(evaluate(flat.objective, flat.params(vector))), None

    def accept(self, state: Point, trial: Trial) -> None:
        # The gradient comes with the normal equations, which the next step forms if there is one.
        super().accept(state, (*trial[:2], state.gradient))

    def solve(self, state: Point) -> np.ndarray | None:
        if state.model is None:
            equations = curvature_matrix(state.flat.objective, self.params(state))
            state.model, state.gradient = (np.asarray(part) for part in equations)
        diagonal = np.diagonal(state.model)
        scale = np.maximum(diagonal, 1e-12 * np.max(diagonal))
        try:
            with one_thread():
                factor = scipy.linalg.cho_factor(state.model + state.damping * np.diag(scale), check_finite=False)
                return -scipy.linalg.cho_solve(factor, state.gradient, check_finite=False)
        except (scipy.linalg.LinAlgError, ValueError):
            return None
