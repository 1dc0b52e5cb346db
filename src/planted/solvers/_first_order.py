"""First-order steps: an optax update with projection and perturbation, or gradient steps whose size adapts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from planted.objectives import Objective, Params, evaluate_with_gradient, unflatten

# Loaded by what takes its steps: few fits do.
if TYPE_CHECKING:
    import optax


def unit_rows(params: Params) -> Params:
    """`params` with every row of its weights (k, d) scaled to norm one: projection to the product of spheres.

    >>> unit_rows(jnp.array([[3.0, 4.0]]))
    Array([[0.6, 0.8]], dtype=float32)
    """
    if isinstance(params, dict):
        return params | {"weights": unit_rows(params["weights"])}
    return params / jnp.linalg.norm(params, axis=-1, keepdims=True)


def step_size_cuts(rate: float, first: int, every: int, factor: float = 4.0) -> optax.Schedule:
    """A step size that is `rate` up to step `first`, then divided by `factor` there and every `every` steps on.

    Section 6 of Ge et al. (2017) uses first = 10,000, every = 5,000, factor = 4.

    >>> schedule = step_size_cuts(1.0, first=10, every=5)
    >>> [float(schedule(step)) for step in (0, 9, 10, 15)]
    [1.0, 1.0, 0.25, 0.0625]
    """

    def schedule(step: Any) -> jax.Array:
        cuts = jnp.maximum(0, (step - first) // every + 1)
        return jnp.asarray(rate) * factor ** (-cuts.astype(jnp.float32))

    return schedule


@dataclass(frozen=True)
class Perturbation:
    """Noise from a ball added where the gradient is small, at most once in `wait` steps (Jin et al. 2017).

    Gradient descent that meets a strict saddle then leaves it along a direction of negative curvature.
    """

    radius: float
    gradient_norm: float
    wait: int = 50


Trace = tuple[jax.Array, jax.Array]
"""A value and a gradient norm."""


class State(NamedTuple):
    """Parameters, the optimiser's state, and the step of the last perturbation."""

    params: Params
    optimizer: Any
    step: jax.Array
    perturbed: jax.Array


@dataclass(frozen=True)
class FirstOrder:
    """An optax optimiser with an optional projection and perturbation.

    Parameters
    ----------
    optimizer : optax.GradientTransformation
        For example `optax.sgd(step_size_cuts(...))` or `optax.adam(1e-2)`.
    project : callable, optional
        Applied to the parameters after each step, for example :func:`unit_rows`.
    perturbation : Perturbation, optional

    Examples
    --------
    >>> import optax
    >>> solver = FirstOrder(optax.sgd(0.1), project=unit_rows)
    """

    optimizer: optax.GradientTransformation
    project: Callable[[Params], Params] | None = None
    perturbation: Perturbation | None = None

    def init(self, problem: Any, params: Params) -> State:
        """The state before the first step."""
        zero = jnp.zeros((), jnp.int32)
        return State(params, self.optimizer.init(params), zero, zero - 10**6)

    def step(self, objective: Objective, state: State, key: jax.Array) -> tuple[State, Trace]:
        """One update; the value and gradient norm are those before it."""
        import optax

        value, gradient = objective.traced_value_and_gradient(state.params)
        norm = optax.tree.norm(gradient)
        updates, optimizer = self.optimizer.update(gradient, state.optimizer, state.params)
        params = optax.apply_updates(state.params, updates)
        perturbed = state.perturbed
        if self.perturbation is not None:
            rule = self.perturbation
            now = (norm <= rule.gradient_norm) & (state.step - state.perturbed > rule.wait)
            leaves = jax.tree.leaves(params)
            direction = jax.random.normal(key, (sum(leaf.size for leaf in leaves),), leaves[0].dtype)
            noise = now * rule.radius * direction / jnp.linalg.norm(direction)
            params = jax.tree.map(jnp.add, params, unflatten(noise, params))
            perturbed = jnp.where(now, state.step, perturbed)
        if self.project is not None:
            params = self.project(params)
        return State(params, optimizer, state.step + 1, perturbed), (value, norm)


@cache
def decaying_adam(rate: float, steps: int, project: Callable[[Params], Params] | None = None) -> FirstOrder:
    """Adam whose step size falls from `rate` to zero over `steps` along a cosine; equal ones share their programs.

    >>> decaying_adam(0.1, 10) is decaying_adam(0.1, 10)
    True
    """
    import optax

    return FirstOrder(optax.adam(optax.cosine_decay_schedule(rate, steps)), project)


class AdaptiveState(NamedTuple):
    """A point with its value and gradient, and the size of the next step."""

    params: Params
    value: jax.Array
    gradient: Params
    size: jax.Array


@dataclass(frozen=True)
class AdaptiveStep:
    """Gradient steps x ← x − η ∇f(x): η grows by `growth`, and a step that raises f is undone and η cut by `cut`.

    Parameters
    ----------
    size : float
        The first η. It is part of the state, so that steps of all sizes share one compilation.
    growth, cut : float

    Examples
    --------
    >>> import numpy as np
    >>> from planted import Network, objectives
    >>> from planted.solvers import Monitor, descend
    >>> G = objectives.PopulationLandscape(Network(np.eye(2), np.ones(2)))
    >>> with jax.enable_x64(True):
    ...     start = jnp.array([[1.0, 0.2], [0.1, 0.9]])
    ...     watch = Monitor(tolerance=1e-6)
    ...     run = descend(G, start, AdaptiveStep(1e3), steps=500, key=jax.random.key(0), monitor=watch)
    >>> run.status
    'converged'
    """

    size: float = field(compare=False)
    growth: float = 1.1
    cut: float = 0.5

    def init(self, problem: Objective, params: Params) -> AdaptiveState:
        """The state before the first step, with value and gradient."""
        value, gradient = jax.tree.map(jnp.asarray, evaluate_with_gradient(problem, params))
        return AdaptiveState(params, value, gradient, jnp.asarray(self.size, value.dtype))

    def step(self, objective: Objective, state: AdaptiveState, key: jax.Array) -> tuple[AdaptiveState, Trace]:
        """One step, taken or undone; the value and gradient norm are those after it."""
        trial = jax.tree.map(lambda x, g: x - state.size * g, state.params, state.gradient)
        value, gradient = objective.traced_value_and_gradient(trial)
        better = value <= state.value
        params, value, gradient = jax.tree.map(
            lambda new, old: jnp.where(better, new, old), (trial, value, gradient), state[:3]
        )
        size = state.size * jnp.where(better, self.growth, self.cut)
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(gradient)))
        return AdaptiveState(params, value, gradient, size), (value, norm)
