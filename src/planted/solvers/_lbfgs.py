"""SciPy's L-BFGS on any objective, in float64."""

from __future__ import annotations

import time
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jax.flatten_util import ravel_pytree

from planted.objectives import Objective
from planted.objectives._base import _value_and_gradient
from planted.precision import float64, to_jax, to_numpy
from planted.solvers._result import Descent, History, Progress, silent


@float64
def lbfgs(
    objective: Objective,
    params: Any,
    *,
    steps: int = 500,
    tolerance: float = 1e-9,
    memory: int = 30,
    progress: Progress = silent,
) -> Descent:
    """Minimise `objective` from `params` by limited-memory BFGS.

    Parameters
    ----------
    objective : Objective
    params : array or dict of arrays
    steps : int
        Largest number of iterations.
    tolerance : float
        Stop when the largest entry of the gradient is at most this.
    memory : int
        Pairs kept.

    Examples
    --------
    >>> import numpy as np
    >>> from planted import Network, objectives
    >>> G = objectives.PopulationLandscape(Network(np.eye(2), np.ones(2)))
    >>> lbfgs(G, np.array([[1.0, 0.2], [0.1, 0.9]])).status
    'converged'
    """
    began = time.perf_counter()
    flat, unravel = ravel_pytree(to_jax(params))
    history = History()

    def function(vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _value_and_gradient(objective, unravel(jnp.asarray(vector)))
        return float(value), np.asarray(ravel_pytree(gradient)[0])

    def record(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        history.step.append(len(history.step) + 1)
        history.value.append(float(intermediate_result.fun))
        progress(len(history.step), steps, f"value {intermediate_result.fun:.4g}")

    found = scipy.optimize.minimize(
        function,
        np.asarray(flat),
        jac=True,
        method="L-BFGS-B",
        callback=record,
        options={"maxiter": steps, "maxfun": 3 * steps, "gtol": tolerance, "ftol": 0.0, "maxcor": memory},
    )
    norm = float(np.linalg.norm(found.jac))
    status = {0: "converged", 1: "step limit"}.get(found.status, "stalled")
    if not np.isfinite(found.fun):
        status = "diverged"
    reason = {
        "converged": "the gradient fell below the tolerance",
        "step limit": "the iteration limit was reached; allow more steps",
        "stalled": "no step along the search direction lowered the value in float64",
        "diverged": "the value became infinite or NaN",
    }[status]
    return Descent(
        params=to_numpy(unravel(jnp.asarray(found.x))),
        value=float(found.fun),
        gradient_norm=norm,
        status=status,
        reason=reason,
        n_steps=int(found.nit),
        seconds=time.perf_counter() - began,
        history=history,
    )
