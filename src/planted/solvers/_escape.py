"""Leaving saddles: perturbed gradient descent, and trust-region descent with steps along negative curvature.

A strict saddle has a direction v with vᵀHv < 0. :func:`leave_saddles` finds it (dense or by Lanczos), steps along ±v as
far as the loss falls, and descends again with SciPy's trust-region Newton method, until the gradient vanishes and no
such direction is left. :func:`perturbed_descent` needs gradients only: where they become small it adds a random
perturbation, which grows exponentially along v (Jin et al. 2017, Algorithm 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from scipy.optimize import minimize

from planted.objectives import Objective, Params, smallest_curvature
from planted.objectives._base import _hvp, _value_and_gradient
from planted.precision import float64, to_numpy
from planted.seeding import key_from

_STEP_LENGTHS = tuple(2.0**-i for i in range(30))


@dataclass(frozen=True, eq=False)
class Escape:
    """Where a descent that leaves saddles ended.

    Attributes
    ----------
    params : Params
    value, gradient_norm : float
    min_eigenvalue, residual : float
        Smallest Hessian eigenvalue there and the residual of its eigenpair; NaN if it was not computed.
    converged : bool
    reason : str
    escapes : int
        Steps along negative curvature, or perturbations, that were taken.
    evaluations : int
        Gradients and Hessian-vector products, or steps.
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


class _Flat:
    """An objective in flat coordinates for SciPy, counting what it is asked."""

    @float64
    def __init__(self, objective: Objective, params: Params) -> None:
        checked = objective.check(params)
        flat, self._unravel = ravel_pytree(checked)
        self.start, self.objective, self.count = np.asarray(flat), objective, 0

    @float64
    def value_and_gradient(self, point: np.ndarray) -> tuple[float, np.ndarray]:
        self.count += 1
        value, gradient = _value_and_gradient(self.objective, self._unravel(jnp.asarray(point)))
        return float(value), np.asarray(ravel_pytree(gradient)[0])

    @float64
    def product(self, point: np.ndarray, vector: np.ndarray) -> np.ndarray:
        self.count += 1
        product = _hvp(self.objective, self._unravel(jnp.asarray(point)), self._unravel(jnp.asarray(vector)))
        return np.asarray(ravel_pytree(product)[0])

    @float64
    def params(self, point: np.ndarray) -> Params:
        return to_numpy(self._unravel(jnp.asarray(point)))


def _down_the_curve(flat: _Flat, point: np.ndarray, vector: np.ndarray) -> np.ndarray | None:
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
    method: str = "trust-krylov",
    progress: Callable[[int, float], Any] | None = None,
) -> Escape:
    """Descend to a point with ‖∇f‖ ≤ gradient_tolerance and H ⪰ −curvature_tolerance·‖H‖.

    Parameters
    ----------
    objective, params
        Where to start, possibly exactly on a saddle.
    method : "trust-krylov", "trust-ncg" or another of SciPy's that takes Hessian-vector products
    progress : callable, optional
        Called as progress(escapes, value) after each descent.

    Examples
    --------
    >>> from planted.networks import Network
    >>> from planted.objectives import PopulationLandscape
    >>> end = leave_saddles(PopulationLandscape(Network(np.eye(2), np.ones(2))), np.zeros((2, 2)))
    >>> end.converged, np.abs(end.params).max(axis=1).round(2)
    (True, array([1., 1.]))
    """
    flat = _Flat(objective, params)
    point = flat.start
    for escapes in range(max_escapes + 1):
        if np.linalg.norm(flat.value_and_gradient(point)[1]) > gradient_tolerance:
            point = minimize(
                flat.value_and_gradient,
                point,
                jac=True,
                hessp=flat.product,
                method=method,
                options={"gtol": gradient_tolerance, "maxiter": max_iterations},
            ).x
        value, gradient = flat.value_and_gradient(point)
        slope = float(np.linalg.norm(gradient))
        if progress is not None:
            progress(escapes, value)
        curvature = smallest_curvature(objective, flat.params(point))
        flat.count += curvature.products

        def end(
            converged: bool, reason: str, point: np.ndarray = point, value: float = value, slope: float = slope,
            curvature: Any = curvature, escapes: int = escapes,
        ) -> Escape:  # fmt: skip
            return Escape(
                flat.params(point), value, slope, curvature.eigenvalue, curvature.residual, converged, reason,
                escapes, flat.count,
            )  # fmt: skip

        if curvature.eigenvalue >= -curvature_tolerance * curvature.norm:
            if slope <= gradient_tolerance:
                return end(True, "the gradient vanishes and no direction curves down")
            return end(False, f"the gradient norm stayed at {slope:.2g}: rounding, or too few iterations")
        lower = _down_the_curve(flat, point, curvature.vector)
        if lower is None:
            return end(False, "negative curvature was found, but no step along it lowered the loss")
        point = lower
    return end(False, f"still at a saddle after {max_escapes} escapes")


class _State(NamedTuple):
    point: Any
    value: jax.Array
    slope: jax.Array
    step: jax.Array
    since: jax.Array
    before: jax.Array
    anchor: Any
    perturbations: jax.Array
    done: jax.Array
    key: jax.Array


def _size(tree: Any) -> jax.Array:
    return jnp.sqrt(sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(tree)))


def _in_ball(key: jax.Array, like: Any, radius: jax.Array) -> Any:
    flat, unravel = ravel_pytree(like)
    direction_key, radius_key = jax.random.split(key)
    normal = jax.random.normal(direction_key, flat.shape, flat.dtype)
    length = radius * jax.random.uniform(radius_key, (), flat.dtype) ** (1 / flat.size)
    return unravel(length * normal / jnp.linalg.norm(normal))


@jax.jit
def perturbed_loop(
    objective: Objective, params: Params, key: jax.Array, rate: Any, radius: Any, small: Any, patience: Any, steps: Any
) -> _State:
    """The loop of :func:`perturbed_descent`, traceable."""

    def perturb(state: _State) -> _State:
        key, noise = jax.random.split(state.key)
        moved = jax.tree.map(jnp.add, state.point, _in_ball(noise, state.point, radius))
        value, gradient = objective.traced_value_and_gradient(moved)
        return state._replace(
            point=moved, value=value, slope=_size(gradient), since=jnp.zeros_like(state.since), before=state.value,
            anchor=state.point, perturbations=state.perturbations + 1, key=key,
        )  # fmt: skip

    def advance(state: _State) -> _State:
        gradient = objective.traced_value_and_gradient(state.point)[1]
        moved = jax.tree.map(lambda leaf, slope: leaf - rate * slope, state.point, gradient)
        value, gradient = objective.traced_value_and_gradient(moved)
        return state._replace(point=moved, value=value, slope=_size(gradient))

    def body(state: _State) -> _State:
        # A perturbation that led nowhere within `patience` steps: the point before it was a minimum.
        stuck = (state.since == patience) & (state.perturbations > 0) & (state.value > state.before - small * radius)
        back = jax.tree.map(lambda old, new: jnp.where(stuck, old, new), state.anchor, state.point)
        state = state._replace(point=back, done=stuck, step=state.step + 1, since=state.since + 1)
        quiet = (state.slope <= small) & ((state.since > patience) | (state.perturbations == 0)) & ~stuck
        return lax.cond(quiet, perturb, lambda s: lax.cond(stuck, lambda r: r, advance, s), state)

    value, gradient = objective.traced_value_and_gradient(params)
    zero = jnp.zeros((), jnp.int32)
    start = _State(params, value, _size(gradient), zero, zero, value, params, zero, jnp.asarray(False), key)
    return lax.while_loop(lambda state: ~state.done & (state.step < steps), body, start)


@float64
def perturbed_descent(
    objective: Objective,
    params: Params,
    *,
    learning_rate: float | None = None,
    radius: float = 1e-3,
    gradient_tolerance: float = 1e-6,
    patience: int = 500,
    max_steps: int = 100_000,
    random_state: Any = 0,
) -> Escape:
    """Gradient descent that perturbs the point, uniformly in a ball, wherever the gradient becomes small.

    Parameters
    ----------
    learning_rate : float, optional
        Half the inverse of the largest Hessian eigenvalue at the start, at the least curvature of one, if omitted.
    radius : float
        Of the perturbation.
    gradient_tolerance : float
        Below it the point is perturbed.
    patience : int
        Steps after a perturbation within which the loss must fall by radius·gradient_tolerance; else the point
        before the perturbation is returned.

    Examples
    --------
    >>> from planted.networks import Network
    >>> from planted.objectives import PopulationLandscape
    >>> end = perturbed_descent(PopulationLandscape(Network(np.eye(2), np.ones(2))), np.zeros((2, 2)))
    >>> end.converged, end.escapes >= 1
    (True, True)
    """
    checked = objective.check(params)
    if learning_rate is None:
        learning_rate = 0.5 / max(smallest_curvature(objective, params).norm, 1.0)
    state = perturbed_loop(
        objective, checked, key_from(random_state), learning_rate, radius, gradient_tolerance, patience, max_steps
    )
    value, gradient = objective.value_and_gradient(to_numpy(state.point))
    slope = float(np.linalg.norm(ravel_pytree(gradient)[0]))
    converged = bool(state.done)
    reason = "a perturbation led nowhere" if converged else f"{max_steps} steps were taken"
    nan = float("nan")
    return Escape(
        to_numpy(state.point), value, slope, nan, nan, converged, reason, int(state.perturbations), int(state.step)
    )
