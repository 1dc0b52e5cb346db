"""First-order steps: an optax update, a projection, and a perturbation that leaves saddles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree

Params = Any


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

    def init(self, params: Params) -> State:
        """The state before the first step."""
        zero = jnp.zeros((), jnp.int32)
        return State(params, self.optimizer.init(params), zero, zero - 10**6)

    def step(self, state: State, gradient: Params, key: jax.Array) -> State:
        """One update from the gradient at `state.params`."""
        updates, optimizer = self.optimizer.update(gradient, state.optimizer, state.params)
        params = optax.apply_updates(state.params, updates)
        perturbed = state.perturbed
        if self.perturbation is not None:
            rule = self.perturbation
            small = optax.tree.norm(gradient) <= rule.gradient_norm
            now = small & (state.step - state.perturbed > rule.wait)
            flat, unravel = ravel_pytree(params)
            direction = jax.random.normal(key, flat.shape, flat.dtype)
            params = unravel(flat + now * rule.radius * direction / jnp.linalg.norm(direction))
            perturbed = jnp.where(now, state.step, perturbed)
        if self.project is not None:
            params = self.project(params)
        return State(params, optimizer, state.step + 1, perturbed)
