"""SciPy's L-BFGS on any objective, in float64 or float32."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from threadpoolctl import ThreadpoolController

from planted.numerics.precision import float64
from planted.numerics.progress import Progress, silent
from planted.objectives import Objective, evaluate_with_gradient
from planted.solvers._result import Descent, History


class _Reached(Exception):
    """Raised inside SciPy to stop at the first value that is good enough."""


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


@float64
def lbfgs(
    objective: Objective,
    params: Any,
    *,
    steps: int = 500,
    tolerance: float = 1e-9,
    memory: int = 30,
    target: float = 0.0,
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
    memory : int
        Pairs kept.
    target : float
        Stop as soon as the value is at most this.
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
    began = time.perf_counter()
    leaves, structure = jax.tree.flatten(params)
    shapes = [np.shape(leaf) for leaf in leaves]
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    history = History()
    best: tuple[float, np.ndarray, float] = (np.inf, _flat(leaves), np.inf)

    def unflatten(vector: np.ndarray, kind: Any) -> Any:
        pieces = [part.reshape(shape) for part, shape in zip(np.split(vector, cuts), shapes, strict=True)]
        return jax.tree.unflatten(structure, [kind(piece) for piece in pieces])

    def function(vector: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal best
        value, gradient = evaluate_with_gradient(objective, unflatten(vector, lambda part: jnp.asarray(part, dtype)))
        number, slope = float(value), _flat(jax.tree.leaves(gradient))
        if number < best[0]:
            best = number, vector.copy(), float(np.linalg.norm(slope))
        if number <= target:
            raise _Reached
        return number, slope

    def record(intermediate_result: scipy.optimize.OptimizeResult) -> None:
        history.step.append(len(history.step) + 1)
        history.value.append(float(intermediate_result.fun))
        progress(len(history.step), steps, f"value {intermediate_result.fun:.4g}")

    status = "converged"
    try:
        # SciPy's recursion is made of tiny products, on which a threaded BLAS spends its time waiting.
        with _blas().limit(limits=1, user_api="blas"):
            found = scipy.optimize.minimize(
                function,
                best[1],
                jac=True,
                method="L-BFGS-B",
                callback=record,
                options={"maxiter": steps, "maxfun": 3 * steps, "gtol": tolerance, "ftol": decrease, "maxcor": memory},
            )
        status = {0: "converged", 1: "step limit"}.get(found.status, "stalled")
    except _Reached:
        pass
    value, vector, norm = best
    if not np.isfinite(value):
        status = "diverged"
    reason = {
        "converged": "the gradient fell below the tolerance, or the value reached its target",
        "step limit": "the iteration limit was reached; allow more steps",
        "stalled": f"no step along the search direction lowered the value in {np.dtype(dtype).name}",
        "diverged": "the value became infinite or NaN",
    }[status]
    return Descent(
        params=unflatten(vector, np.array),
        value=value,
        gradient_norm=norm,
        status=status,
        reason=reason,
        n_steps=len(history.step),
        seconds=time.perf_counter() - began,
        history=history,
    )


def _flat(leaves: list[Any]) -> np.ndarray:
    return np.concatenate([np.asarray(leaf, dtype=np.float64).ravel() for leaf in leaves])
