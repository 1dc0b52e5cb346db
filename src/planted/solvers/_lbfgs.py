"""SciPy's L-BFGS on any objective, in float64 or float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

from planted.numerics.deadline import passed
from planted.numerics.precision import float64
from planted.numerics.progress import Progress, silent
from planted.numerics.threads import one_thread
from planted.objectives import Flat, Objective
from planted.solvers._iterate import Ending, Recorder
from planted.solvers._result import Descent

_PAIRS = 30


class _Reached(Exception):
    """Raised inside SciPy to stop at the first value that is good enough."""


class _OutOfTime(Exception):
    """Raised inside SciPy when the time budget has run out."""


@float64
def lbfgs(
    objective: Objective,
    params: Any,
    *,
    steps: int = 500,
    tolerance: float = 1e-9,
    target: float | None = None,
    decrease: float = 0.0,
    dtype: Any = np.float64,
    progress: Progress = silent,
) -> Descent:
    """Minimise `objective` from `params` by limited-memory BFGS.

    Parameters
    ----------
    objective : Objective
        Its arrays must be of `dtype`.
    params : array or dict of arrays
    steps : int
        Largest number of iterations.
    tolerance : float
        Stop when the largest entry of the gradient is at most this.
    target : float, optional
        Stop as soon as the value is at most this. By default zero for losses that are never negative, and no target for
        others, such as G, F and L, whose minima are below zero.
    decrease : float
        Stop when one iteration lowers the value by less than this fraction.
    dtype : numpy dtype
        Precision of values and gradients; the recursion itself runs in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from planted import Network, objectives
    >>> G = objectives.PopulationLandscape(Network(np.eye(2), np.ones(2)))
    >>> lbfgs(G, np.array([[1.0, 0.2], [0.1, 0.9]])).status
    'converged'
    """
    if target is None:
        target = 0.0 if objective.non_negative else -np.inf
    recorder, flat = Recorder(steps, progress), Flat(objective, params, dtype=dtype)
    best: tuple[float, np.ndarray, float] = (np.inf, flat.start, np.inf)
    norm = np.inf

    def function(vector: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best, norm
        value, gradient = flat.value_and_gradient(vector)
        norm = float(np.linalg.norm(gradient))
        if value < best[0]:
            best = value, vector.copy(), norm
        if value <= target:
            raise _Reached
        if passed():
            raise _OutOfTime
        return value, gradient

    def record(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        recorder.record(1, float(intermediate_result.fun), norm)

    try:
        # SciPy's recursion is made of tiny products, on which a threaded BLAS spends its time waiting.
        with one_thread():
            end = scipy.optimize.minimize(
                function,
                flat.start,
                jac=True,
                method="L-BFGS-B",
                callback=record,
                options={"maxiter": steps, "maxfun": 3 * steps, "gtol": tolerance, "ftol": decrease, "maxcor": _PAIRS},
            )
        converged = Ending.GRADIENT if np.max(np.abs(end.jac)) <= tolerance else Ending.STEP
        ending = {0: converged, 1: Ending.LIMIT}.get(end.status, Ending.NO_STEP)
    except _Reached:
        ending = Ending.FLOOR
    except _OutOfTime:
        ending = Ending.TIME
    value, vector, norm = best
    return recorder.descent(ending if np.isfinite(value) else Ending.INFINITE, flat.params(vector), value, norm)
