r"""L-BFGS as one JAX program, to be mapped over starts and data sets.

A step is s = −t H g, where H comes from the two-loop recursion over the last pairs of steps and changes of the gradient
and from a first matrix H₀ that is given or a multiple of one; t is halved until the value falls. Values that rounding
can no longer tell apart are compared by their slopes (the approximate Wolfe condition of Hager and Zhang 2005), so
that it ends at the rounding of the gradient in float32 as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from planted.objectives import Objective, Params

_SHORTEST = 1e-4
_ULPS = 8


class TracedEnd(NamedTuple):
    """Where a traced descent ended: parameters, value, length of the next step, and how often it evaluated."""

    params: Params
    value: jax.Array
    next_step: jax.Array
    evaluations: jax.Array


class _State(NamedTuple):
    """A point (p,), the last pairs (m, p), newest first, the direction and the share of it that is tried next."""

    point: jax.Array
    value: jax.Array
    gradient: jax.Array
    steps: jax.Array
    changes: jax.Array
    direction: jax.Array
    share: jax.Array


def _direction(state: _State, first: jax.Array | None) -> jax.Array:
    """−H g by the two-loop recursion; pairs not yet filled are zero and do nothing."""
    curvature = jnp.sum(state.steps * state.changes, axis=1)
    weight = jnp.where(curvature > 0, 1 / jnp.where(curvature > 0, curvature, 1.0), 0.0)
    pairs = (state.steps, state.changes, weight)

    def back(q: jax.Array, pair: Any) -> tuple[jax.Array, jax.Array]:
        step, change, weight = pair
        along = weight * (step @ q)
        return q - along * change, along

    def forth(r: jax.Array, pair: Any) -> tuple[jax.Array, None]:
        step, change, weight, along = pair
        return r + step * (along - weight * (change @ r)), None

    q, along = jax.lax.scan(back, state.gradient, pairs)
    if first is None:
        square = jnp.sum(state.changes[0] ** 2)
        r = jnp.where(square > 0, curvature[0] / jnp.where(square > 0, square, 1.0), 1.0) * q
    else:
        r = first @ q
    return -jax.lax.scan(forth, r, (*pairs, along), reverse=True)[0]


def _advance(state: _State, value: jax.Array, gradient: jax.Array, first: Any, longest: Any) -> _State:
    """Take the step that was tried, or halve it."""
    step, change = state.share * state.direction, gradient - state.gradient
    before, after = state.gradient @ state.direction, gradient @ state.direction
    rounding = _ULPS * jnp.finfo(value.dtype).eps * jnp.abs(state.value)
    lower = value <= state.value + 1e-4 * state.share * before
    level = (value <= state.value + rounding) & (after <= -0.8 * before)
    take = lower | level
    useful = take & (step @ change > 0)

    def push(pairs: jax.Array, newest: jax.Array) -> jax.Array:
        return jnp.where(useful, jnp.concatenate([newest[None], pairs[:-1]]), pairs)

    moved = state._replace(
        point=jnp.where(take, state.point + step, state.point),
        value=jnp.where(take, value, state.value),
        gradient=jnp.where(take, gradient, state.gradient),
        steps=push(state.steps, step),
        changes=push(state.changes, change),
    )
    direction = _direction(moved, first)
    return moved._replace(
        direction=jnp.where(take, direction, state.direction),
        share=jnp.where(take, _first_share(direction, longest), state.share / 2),
    )


def _first_share(direction: jax.Array, longest: Any) -> jax.Array:
    return jnp.minimum(1.0, longest / jnp.linalg.norm(direction)).astype(direction.dtype)


def traced_lbfgs(
    objective: Objective,
    params: Params,
    *,
    first: jax.Array | None = None,
    evaluations: int = 200,
    tolerance: float = 1e-6,
    longest: Any = jnp.inf,
    farthest: Any = jnp.inf,
    memory: int = 12,
) -> TracedEnd:
    """Minimise `objective` from `params` by limited-memory BFGS, traceable.

    :func:`lbfgs` runs one descent by SciPy; this one is for `jax.vmap`: mapped over starts on one data set, their
    evaluations share one matrix product, and all go on until the last has ended.

    Parameters
    ----------
    objective : Objective
        A traceable one, of the dtype of `params`.
    params : array or dict of arrays
    first : array (p, p), optional
        H₀, such as the inverse of a Gauss–Newton matrix; else a multiple of one from the last pair.
    evaluations : int
        Largest number of values and gradients.
    tolerance : float
        End when the next step is at most this long.
    longest : float
        Of a step. A saturated activation rewards jumps into other basins.
    farthest : float
        End when the point is this far from its start.
    memory : int
        Pairs of the recursion.

    Examples
    --------
    >>> import numpy as np
    >>> from planted import Network, objectives
    >>> G = objectives.PopulationLandscape(Network(np.eye(2), np.ones(2)))
    >>> with jax.enable_x64(True):
    ...     end = jax.vmap(lambda start: traced_lbfgs(G, start))(np.array([[[1.0, 0.2], [0.1, 0.9]], np.eye(2) + 0.1]))
    >>> bool(np.abs(np.asarray(end.params) - np.eye(2)).max() < 0.1), end.evaluations.shape
    (True, (2,))
    """
    start, unravel = ravel_pytree(params)

    def evaluate(point: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, gradient = objective.traced_value_and_gradient(unravel(point))
        return value, ravel_pytree(gradient)[0]

    def moving(carry: tuple[_State, jax.Array]) -> jax.Array:
        state, count = carry
        long = jnp.linalg.norm(state.direction) > tolerance
        close = jnp.linalg.norm(state.point - start) < farthest
        falling = state.share > _SHORTEST * _first_share(state.direction, longest)
        return long & close & falling & (count < evaluations)

    def step(carry: tuple[_State, jax.Array]) -> tuple[_State, jax.Array]:
        state, count = carry
        value, gradient = evaluate(state.point + state.share * state.direction)
        return _advance(state, value, gradient, first, longest), count + 1

    none = jnp.zeros((memory, start.size), start.dtype)
    state = _State(start, *evaluate(start), none, none, start, jnp.ones((), start.dtype))
    direction = _direction(state, first)
    state = state._replace(direction=direction, share=_first_share(direction, longest))
    state, count = jax.lax.while_loop(moving, step, (state, jnp.ones((), jnp.int32)))
    return TracedEnd(unravel(state.point), state.value, jnp.linalg.norm(state.direction), count)
