"""Many descents of the quadratic loss of labels side by side, for the figures of Fu et al. (2018).

Gradient descent of Algorithm 1 takes about κ_H log(1/ε) steps, κ_H the condition number of the Hessian; with Nesterov's
momentum and restarts it takes √κ_H log(1/ε) and ends in the same minimiser of a strongly convex region. One matrix
product serves all starts on a data set. Float32: distances are judged at 1e-2.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from planted.activations import Activation

_BLOCK = 4096


class Ends(NamedTuple):
    """Where the starts of one data set ended: weights (L, k, d), last gradient norms (L,), steps taken."""

    weights: jax.Array
    gradient_norm: jax.Array
    steps: jax.Array


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


def _gradients(X: jax.Array, y: jax.Array, weights: jax.Array, activation: Activation) -> jax.Array:
    """Gradients (L, k, d) of ½ mean (y − (1/k) Σ φ(w·x))² at L points, in blocks of rows."""
    L, k, d = weights.shape
    flat = weights.reshape(L * k, d)

    def add(total: jax.Array, block: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
        x, label = block
        z = x @ flat.T
        values, slopes = jax.jvp(activation.function, (z,), (jnp.ones_like(z),))
        residual = jnp.mean(values.reshape(-1, L, k), axis=2) - label[:, None]
        pull = slopes * jnp.repeat(residual, k, axis=1)
        return total + pull.T @ x, None

    n = X.shape[0]
    size = next(size for size in range(min(_BLOCK, n), 0, -1) if n % size == 0)
    blocks = X.reshape(n // size, size, d), y.reshape(n // size, size)
    total = jax.lax.scan(add, jnp.zeros((L * k, d), X.dtype), blocks)[0]
    return total.reshape(L, k, d) / (n * k)


@partial(jax.jit, static_argnames=("activation", "max_steps"))
def accelerated(
    X: jax.Array,
    y: jax.Array,
    starts: jax.Array,
    step_size: Any,
    *,
    activation: Activation,
    max_steps: int = 1000,
    tolerance: float = 1e-5,
) -> Ends:
    """Nesterov's method with gradient restarts from `starts` (L, k, d), until every gradient norm is below tolerance.

    >>> from planted import activations
    >>> sigmoid = activations.get("sigmoid")
    >>> teacher = 2 * jnp.eye(2, 3)
    >>> X, y = planted_labels(jax.random.key(0), 4000, teacher, sigmoid)
    >>> ends = accelerated(X, y, near(jax.random.key(1), teacher, 3, 0.1), 8.0, activation=sigmoid)
    >>> bool(jnp.max(jnp.std(ends.weights, axis=0)) < 1e-2)
    True
    """
    L = starts.shape[0]

    def norms(array: jax.Array) -> jax.Array:
        return jnp.sqrt(jnp.sum(array**2, axis=(1, 2)))

    def go_on(state: Any) -> jax.Array:
        return (state[4] < max_steps) & (jnp.max(state[3]) > tolerance)

    def step(state: Any) -> Any:
        point, ahead, age, _, done = state
        gradient = _gradients(X, y, ahead, activation)
        new = ahead - step_size * gradient
        # Momentum that points uphill is dropped (O'Donoghue and Candès).
        uphill = jnp.sum(gradient * (new - point), axis=(1, 2)) > 0
        age = jnp.where(uphill, 0.0, age + 1)
        momentum = (age / (age + 3))[:, None, None]
        return new, new + momentum * (new - point), age, norms(gradient), done + 1

    first = (starts, starts, jnp.zeros(L, starts.dtype), jnp.full(L, jnp.inf, starts.dtype), jnp.zeros((), jnp.int32))
    point, _, _, norm, done = jax.lax.while_loop(go_on, step, first)
    return Ends(point, norm, done)
