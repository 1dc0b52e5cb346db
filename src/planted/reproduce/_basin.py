"""Many descents of the quadratic loss of labels side by side, for the figures of Fu et al. (2018).

Gradient descent of Algorithm 1 takes about κ_H log(1/ε) steps, κ_H the condition number of the Hessian. L-BFGS in the
metric of the Gauss–Newton matrix at the middle of the starts takes a few dozen and ends in the same minimiser of a
strongly convex region (a test compares them). One matrix product serves all starts on a data set. Float32: distances
are judged at 1e-2.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from planted.activations import Activation

_BLOCK = 4096
_METRIC_ROWS = 50
_MEMORY = 12
_LONGEST = 0.1
_FAR = 3.0
_SHORTEST = 1e-4
_ROUNDING = 1e-6


class Ends(NamedTuple):
    """Where the starts of one data set ended: weights (L, k, d), lengths of their last steps (L,), evaluations."""

    weights: jax.Array
    last_step: jax.Array
    evaluations: jax.Array


def planted_labels(key: jax.Array, n: int, teacher: jax.Array, activation: Activation) -> tuple[jax.Array, jax.Array]:
    """X (n, d) standard normal and labels (n,) of the teacher (k, d), in float32.

    >>> from planted import activations
    >>> X, y = planted_labels(jax.random.key(0), 8, jnp.eye(2, 3), activations.get("sigmoid"))
    >>> X.shape, y.shape
    ((8, 3), (8,))
    """
    input_key, label_key = jax.random.split(key)
    X = jax.random.normal(input_key, (n, teacher.shape[1]), jnp.float32)
    p = jnp.mean(activation(X @ teacher.T.astype(jnp.float32)), axis=1)
    return X, (jax.random.uniform(label_key, (n,)) < p).astype(jnp.float32)


def orthogonal_teacher(key: jax.Array, k: int, d: int, length: float) -> jax.Array:
    """Orthogonal rows (k, d) of this length.

    >>> bool(jnp.allclose(jnp.sum(orthogonal_teacher(jax.random.key(0), 2, 5, 3.0) ** 2, axis=1), 9.0, rtol=1e-5))
    True
    """
    return length * jnp.linalg.qr(jax.random.normal(key, (d, k), jnp.float32))[0].T


def near(key: jax.Array, teacher: jax.Array, count: int, radius: float) -> jax.Array:
    """`count` starts (count, k, d) at distance radius·‖W*‖_F from the teacher, directions uniform.

    >>> starts = near(jax.random.key(0), jnp.eye(2), 3, 0.1)
    >>> bool(jnp.allclose(jnp.sum((starts - jnp.eye(2)) ** 2, axis=(1, 2)), 0.02, rtol=1e-4))
    True
    """
    noise = jax.random.normal(key, (count, *teacher.shape), teacher.dtype)
    size = jnp.sqrt(jnp.sum(noise**2, axis=(1, 2), keepdims=True))
    return teacher + radius * jnp.linalg.norm(teacher) * noise / size


def _blocks(X: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    n, d = X.shape
    size = next(size for size in range(min(_BLOCK, n), 0, -1) if n % size == 0)
    return X.reshape(n // size, size, d), y.reshape(n // size, size)


def _losses(X: jax.Array, y: jax.Array, weights: jax.Array, activation: Activation) -> tuple[jax.Array, jax.Array]:
    """½ mean (y − (1/k) Σ φ(w·x))² (L,) and its gradients (L, k, d) at L points, in blocks of rows."""
    L, k, d = weights.shape
    flat = weights.reshape(L * k, d)

    def add(total: tuple[jax.Array, jax.Array], block: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
        x, label = block
        z = x @ flat.T
        values, slopes = jax.jvp(activation.function, (z,), (jnp.ones_like(z),))
        residual = jnp.mean(values.reshape(-1, L, k), axis=2) - label[:, None]
        pull = (slopes.reshape(-1, L, k) * residual[:, :, None]).reshape(-1, L * k)
        return (total[0] + jnp.sum(residual**2, axis=0), total[1] + pull.T @ x), None

    nothing = jnp.zeros(L, X.dtype), jnp.zeros((L * k, d), X.dtype)
    values, gradients = jax.lax.scan(add, nothing, _blocks(X, y))[0]
    n = X.shape[0]
    return values / (2 * n), gradients.reshape(L, k, d) / (n * k)


def _metric(X: jax.Array, y: jax.Array, weights: jax.Array, activation: Activation, noise: bool = False) -> jax.Array:
    """Gauss–Newton matrix mean c ∇p∇pᵀ (kd, kd) at one point (k, d), c = 1 or, with `noise`, the label's variance.

    Holds (rows in a block, kd).
    """
    k, d = weights.shape

    def add(total: jax.Array, block: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        x, _ = block
        z = x @ weights.T
        values, slopes = jax.jvp(activation.function, (z,), (jnp.ones_like(z),))
        p = jnp.mean(values, axis=1, keepdims=True)
        scaled = slopes * jnp.sqrt(p * (1 - p)) if noise else slopes
        J = (scaled[:, :, None] * x[:, None, :]).reshape(-1, k * d)
        return total + J.T @ J, None

    total = jax.lax.scan(add, jnp.zeros((k * d, k * d), X.dtype), _blocks(X, y))[0]
    return total / (X.shape[0] * k**2)


@partial(jax.jit, static_argnames="activation")
def asymptotic_error(X: jax.Array, y: jax.Array, teacher: jax.Array, *, activation: Activation) -> jax.Array:
    """√(n E‖Ŵ − W*‖²) as n grows: √tr(H⁻¹SH⁻¹), where at the teacher H = E∇p∇pᵀ and S = E p(1 − p)∇p∇pᵀ.

    >>> from planted import activations
    >>> sigmoid = activations.get("sigmoid")
    >>> teacher = 2 * jnp.eye(1, 3)
    >>> X, y = planted_labels(jax.random.key(0), 4000, teacher, sigmoid)
    >>> bool(3.0 < asymptotic_error(X, y, teacher, activation=sigmoid) < 30.0)
    True
    """
    bread = jnp.linalg.inv(_metric(X, y, teacher, activation))
    return jnp.sqrt(jnp.trace(bread @ _metric(X, y, teacher, activation, noise=True) @ bread))


class _State(NamedTuple):
    """L-BFGS at one point: the last pairs of steps and changes of the gradient, and the step that is tried next."""

    point: jax.Array
    value: jax.Array
    gradient: jax.Array
    steps: jax.Array
    changes: jax.Array
    direction: jax.Array
    share: jax.Array
    length: jax.Array


def _direction(state: _State, inverse: jax.Array) -> jax.Array:
    """Two-loop recursion for −H⁻¹g with the metric for H₀; pairs not yet filled are zero and do nothing."""
    curvature = jnp.sum(state.steps * state.changes, axis=1)
    weight = jnp.where(curvature > 0, 1 / jnp.where(curvature > 0, curvature, 1.0), 0.0)
    pairs = (state.steps, state.changes, weight)

    def back(q: jax.Array, pair: Any) -> tuple[jax.Array, jax.Array]:
        step, change, weight = pair
        kept = weight * (step @ q)
        return q - kept * change, kept

    def forth(r: jax.Array, pair: Any) -> tuple[jax.Array, None]:
        step, change, weight, kept = pair
        return r + step * (kept - weight * (change @ r)), None

    q, kept = jax.lax.scan(back, state.gradient, pairs)
    r = inverse @ q
    return -jax.lax.scan(forth, r, (*pairs, kept), reverse=True)[0]


def _first_share(direction: jax.Array, longest: jax.Array) -> jax.Array:
    """All of a step, unless it would leave the neighbourhood: a saturated φ rewards jumps across to other basins."""
    return jnp.minimum(1.0, longest / jnp.linalg.norm(direction))


def _advance(state: _State, value: jax.Array, gradient: jax.Array, inverse: jax.Array, longest: jax.Array) -> _State:
    """Take the step that was tried or halve it."""
    step = state.share * state.direction
    before, after = state.gradient @ state.direction, gradient @ state.direction
    lower = value <= state.value + 1e-4 * state.share * before
    # Where float32 no longer resolves the values, slopes decide (Hager and Zhang's approximate Wolfe condition).
    level = (value <= state.value * (1 + _ROUNDING)) & (after <= -0.8 * before)
    take = lower | level
    change = gradient - state.gradient
    useful = take & (step @ change > 0)

    def push(kept: jax.Array, new: jax.Array) -> jax.Array:
        return jnp.where(useful, jnp.concatenate([new[None], kept[:-1]]), kept)

    new = state._replace(
        point=jnp.where(take, state.point + step, state.point),
        value=jnp.where(take, value, state.value),
        gradient=jnp.where(take, gradient, state.gradient),
        steps=push(state.steps, step),
        changes=push(state.changes, change),
    )
    direction = _direction(new, inverse)
    return new._replace(
        direction=jnp.where(take, direction, state.direction),
        share=jnp.where(take, _first_share(direction, longest), state.share / 2),
        length=jnp.where(take, jnp.linalg.norm(direction), state.length),
    )


@partial(jax.jit, static_argnames=("activation", "max_evaluations"))
def minimisers(
    X: jax.Array,
    y: jax.Array,
    starts: jax.Array,
    *,
    activation: Activation,
    max_evaluations: int = 200,
    tolerance: float = 5e-4,
) -> Ends:
    """Descend from `starts` (L, k, d), all at once, until every next step is shorter than `tolerance` or far off.

    >>> from planted import activations
    >>> sigmoid = activations.get("sigmoid")
    >>> teacher = 2 * jnp.eye(2, 3)
    >>> X, y = planted_labels(jax.random.key(0), 4000, teacher, sigmoid)
    >>> ends = minimisers(X, y, near(jax.random.key(1), teacher, 3, 0.1), activation=sigmoid)
    >>> bool(jnp.max(jnp.std(ends.weights, axis=0)) < 1e-2), bool(ends.evaluations < 40)
    (True, True)
    """
    L, k, d = starts.shape
    points = starts.reshape(L, k * d)
    # The metric only steers: some rows of it do.
    few = min(X.shape[0], _METRIC_ROWS * k * d)
    metric = _metric(X[:few], y[:few], jnp.mean(starts, axis=0), activation)
    inverse = jnp.linalg.inv(metric + 1e-4 * jnp.trace(metric) / (k * d) * jnp.eye(k * d, dtype=X.dtype))

    def losses(points: jax.Array) -> tuple[jax.Array, jax.Array]:
        values, gradients = _losses(X, y, points.reshape(L, k, d), activation)
        return values, gradients.reshape(L, k * d)

    centre = jnp.mean(points, axis=0)
    longest = _LONGEST * jnp.linalg.norm(centre)

    def moving(state: _State) -> jax.Array:
        # With too few rows a neuron's best length is infinite: beyond _FAR ‖centre‖ nothing is left to reach.
        near_enough = jnp.linalg.norm(state.point - centre, axis=1) < _FAR * jnp.linalg.norm(centre)
        return (state.length > tolerance) & (state.share > _SHORTEST) & near_enough

    def go_on(carry: tuple[_State, jax.Array]) -> jax.Array:
        return (carry[1] < max_evaluations) & jnp.any(moving(carry[0]))

    def step(carry: tuple[_State, jax.Array]) -> tuple[_State, jax.Array]:
        state, count = carry
        values, gradients = losses(state.point + state.share[:, None] * state.direction)
        new = jax.vmap(_advance, in_axes=(0, 0, 0, None, None))(state, values, gradients, inverse, longest)
        still = moving(state)
        keep = jax.tree.map(lambda a, b: jnp.where(still.reshape(-1, *[1] * (a.ndim - 1)), a, b), new, state)
        return keep, count + 1

    values, gradients = losses(points)
    empty = jnp.zeros((L, _MEMORY, k * d), X.dtype)
    state = _State(points, values, gradients, empty, empty, points, jnp.ones(L, X.dtype), values)
    direction = jax.vmap(_direction, in_axes=(0, None))(state, inverse)
    share = jax.vmap(_first_share, in_axes=(0, None))(direction, longest)
    state = state._replace(direction=direction, share=share, length=jnp.linalg.norm(direction, axis=1))
    state, count = jax.lax.while_loop(go_on, step, (state, jnp.ones((), jnp.int32)))
    return Ends(state.point.reshape(L, k, d), state.length, count)
