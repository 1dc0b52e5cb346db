"""Leaving saddles: perturbed gradient descent, and trust-region descent with steps along negative curvature.

A strict saddle has a direction v with vᵀHv < 0. :func:`leave_saddles` finds it (dense or by Lanczos), steps along ±v as
far as the loss falls, and descends again with SciPy's trust-region Newton method, until the gradient vanishes and no
such direction is left. :func:`perturbed_descent` needs gradients only: where they become small it adds a random
perturbation, which grows exponentially along v (Jin et al. 2017, Algorithm 2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from scipy.optimize import minimize

from planted.numerics.precision import float64, to_jax
from planted.numerics.progress import Progress, silent
from planted.numerics.seeding import key_from
from planted.objectives import Curvature, Flat, Objective, Params, smallest_curvature
from planted.solvers._driver import Monitor, descend
from planted.solvers._first_order import FirstOrder, Perturbation
from planted.solvers._iterate import Ending, Point, Trial, VectorSolver, iterate
from planted.solvers._result import Descent

_WAIT = 500
_STEP_LENGTHS = tuple(2.0**-i for i in range(30))


@dataclass(frozen=True, eq=False)
class Escape:
    """Where a descent that leaves saddles ended.

    Attributes
    ----------
    params : Params
    value, gradient_norm : float
    min_eigenvalue, residual : float
        Smallest Hessian eigenvalue there and the residual of its eigenpair.
    converged : bool
    reason : str
    escapes : int
        Steps along negative curvature that were taken.
    evaluations : int
        Gradients and Hessian-vector products.
    """

    params: Params
    value: float
    gradient_norm: float
    min_eigenvalue: float
    residual: float
    converged: bool
    reason: str
    escapes: int
    evaluations: int

    def __str__(self) -> str:
        state = "converged" if self.converged else "stopped"
        return f"{state} at {self.value:.6g} after {self.escapes} escapes: {self.reason}"


def _down_the_curve(flat: Flat, point: np.ndarray, vector: np.ndarray) -> np.ndarray | None:
    """The best of point ± t·vector over t from the size of the parameters downwards, or None if none is lower."""
    here = flat.value_and_gradient(point)[0]
    size = max(float(np.linalg.norm(point)), 1.0)
    for t in _STEP_LENGTHS:
        trials = [point + sign * t * size * vector for sign in (1.0, -1.0)]
        values = [flat.value_and_gradient(trial)[0] for trial in trials]
        if min(values) < here - 1e-14 * abs(here):
            return trials[int(np.argmin(values))]
    return None


def leave_saddles(
    objective: Objective,
    params: Params,
    *,
    gradient_tolerance: float = 1e-9,
    curvature_tolerance: float = 1e-6,
    max_escapes: int = 50,
    max_iterations: int = 2000,
    method: str = "trust-ncg",
    progress: Progress = silent,
) -> Escape:
    """Descend to a point with ‖∇f‖ ≤ gradient_tolerance and H ⪰ −curvature_tolerance·‖H‖.

    Parameters
    ----------
    objective, params
        Where to start, possibly exactly on a saddle.
    method : "trust-ncg", "trust-krylov" or another of SciPy's that takes Hessian-vector products

    Examples
    --------
    >>> from planted.networks import Network
    >>> from planted.objectives import PopulationLandscape
    >>> end = leave_saddles(PopulationLandscape(Network(np.eye(2), np.ones(2))), np.zeros((2, 2)))
    >>> end.converged, np.abs(end.params).max(axis=1).round(2)
    (True, array([1., 1.]))
    """
    solver = _SaddleFree(gradient_tolerance, curvature_tolerance, method, max_iterations)
    run = iterate(solver, objective, objective.check(params), steps=max_escapes, progress=progress)
    curvature = solver.curvature
    return Escape(
        run.params, run.value, run.gradient_norm, curvature.eigenvalue, curvature.residual, run.status == "converged",
        run.reason, run.n_steps, solver.flat.evaluations,
    )  # fmt: skip


class _SaddleFree(VectorSolver):
    """A step leaves a saddle along its negative curvature and descends from there by trust regions."""

    records_start = True
    flat: Flat
    curvature: Curvature

    def __init__(self, gradient_tolerance: float, curvature_tolerance: float, method: str, iterations: int) -> None:
        self.gradient_tolerance, self.curvature_tolerance = gradient_tolerance, curvature_tolerance
        self.method, self.iterations = method, iterations

    def at(self, flat: Flat, vector: np.ndarray) -> Trial:
        evaluate, self.flat = flat.value_and_gradient, flat
        if np.linalg.norm(evaluate(vector)[1]) > self.gradient_tolerance:
            options = {"gtol": self.gradient_tolerance, "maxiter": self.iterations}
            vector = minimize(evaluate, vector, jac=True, hessp=flat.product, method=self.method, options=options).x
        self.curvature = smallest_curvature(flat.objective, flat.params(vector))
        flat.evaluations += self.curvature.products
        return vector, *evaluate(vector)

    def step(self, state: Point, count: int) -> Trial | None:
        lower = _down_the_curve(state.flat, state.vector, self.curvature.vector)
        return None if lower is None else self.at(state.flat, lower)

    def terminate(self, state: Point) -> Ending | None:
        if self.curvature.eigenvalue < -self.curvature_tolerance * self.curvature.norm:
            return None
        return Ending.MINIMUM if state.gradient_norm <= self.gradient_tolerance else Ending.ROUNDING


@float64
def perturbed_descent(
    objective: Objective,
    params: Params,
    *,
    learning_rate: float | None = None,
    radius: float = 1e-3,
    gradient_tolerance: float = 1e-6,
    max_steps: int = 100_000,
    random_state: Any = 0,
    progress: Progress = silent,
) -> Descent:
    """Gradient descent that perturbs the point wherever the gradient becomes small, until that leads nowhere.

    Perturbed steps (:class:`planted.solvers.Perturbation`) run until three perturbations in a row, 500 steps apart,
    have not lowered the loss; plain steps then bring the gradient below its tolerance.

    Parameters
    ----------
    learning_rate : float, optional
        Half the inverse of the largest Hessian eigenvalue at the start, or one half if that is less than one.
    radius : float
        Of the perturbation.
    gradient_tolerance : float
        Below it the point is perturbed, and at the end accepted.

    Examples
    --------
    >>> from planted.networks import Network
    >>> from planted.objectives import PopulationLandscape
    >>> end = perturbed_descent(PopulationLandscape(Network(np.eye(2), np.ones(2))), np.zeros((2, 2)))
    >>> end.status, np.abs(end.params).max(axis=1).round(2)
    ('converged', array([1., 1.]))
    """
    import optax

    start = objective.check(params)
    rate = 0.5 / max(smallest_curvature(objective, params).norm, 1.0) if learning_rate is None else learning_rate
    noisy_key, plain_key = jax.random.split(key_from(random_state))
    noisy = FirstOrder(optax.sgd(rate), perturbation=Perturbation(radius, gradient_tolerance, _WAIT))
    watch = Monitor(every=_WAIT, patience=3)
    left = descend(objective, start, noisy, steps=max_steps, key=noisy_key, monitor=watch, progress=progress)
    if left.status == "diverged":
        return left
    plain, watch = FirstOrder(optax.sgd(rate)), Monitor(every=_WAIT, tolerance=gradient_tolerance)
    return descend(
        objective, to_jax(left.params), plain, steps=max_steps, key=plain_key, monitor=watch, progress=progress
    )
