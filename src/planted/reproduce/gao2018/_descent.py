"""Gradient descent on the losses of Gao et al. (2018), section 4, and what is measured along it."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from planted.numerics.precision import float64, to_jax
from planted.objectives import Objective
from planted.solvers import FirstOrder, traced_descent, unit_rows

RECOVERED = 0.05
LOST = 0.1
# A descent has come to rest where its gradient is this small a share of that at the start.
AT_REST = 1e-3
POINTS = 100

Rows = list[dict[str, Any]]


@partial(jax.jit, static_argnames=("steps", "every"))
def _descent(
    objective: Objective, start: jax.Array, inverse: jax.Array, rate: jax.Array, steps: int, every: int
) -> tuple[jax.Array, jax.Array]:
    """What :func:`learning_curve` reports (steps // every, 4), and the gradient at the end relative to the start."""

    def measure(weights: jax.Array) -> jax.Array:
        unit = unit_rows(weights)
        cosine = jnp.abs(unit @ inverse)
        nearest = jnp.max(cosine, axis=0)
        by_row, by_column = 1 - jnp.min(jnp.max(cosine, axis=1)), 1 - jnp.min(nearest)
        errors = [jnp.minimum(by_row, by_column), jnp.maximum(by_row, by_column)]
        to_axes = 1 - jnp.min(jnp.max(jnp.abs(unit), axis=1))
        return jnp.stack([*errors, to_axes, jnp.sum(nearest > 1 - RECOVERED)])

    solver = FirstOrder(optax.sgd(rate))
    end, records = traced_descent(objective, start, solver, steps=steps, record_every=every, measure=measure)

    def length_of_step(weights: jax.Array) -> jax.Array:
        return jnp.linalg.norm(traced_descent(objective, weights, solver, steps=1)[0] - weights)

    return records, length_of_step(end) / length_of_step(start)


@float64
def learning_curve(
    objective: Objective, start: np.ndarray, teacher: np.ndarray, rate: float, steps: int, every: int = 10
) -> Rows:
    """Full-batch gradient descent, a row every few steps: e(A) of eq. 22, and what it does not show.

    Eq. 22 takes the better of "every row is near some teacher row" and "every teacher row has a row near it", so
    that repeated rows cost nothing; `strict` asks for both. `to_axes` is how far rows are from coordinate axes,
    `matched` how many teacher rows have a row within 0.05. The last row has `gradient`, its norm in units of that at
    the start. All are None once the descent has diverged.

    >>> from planted import Network
    >>> from planted.objectives import PopulationLandscape
    >>> G = PopulationLandscape(Network(np.eye(2), np.ones(2)))
    >>> curve = learning_curve(G, np.array([[0.9, 0.3], [0.2, 1.0]]), np.eye(2), 0.1, 200)
    >>> curve[-1]["iteration"], curve[-1]["strict"] < 1e-3, curve[-1]["gradient"] < 0.01
    (200, True, True)
    """
    records, slope = _descent(objective, to_jax(start), to_jax(np.linalg.inv(teacher)), to_jax(rate), steps, every)
    names = ("error", "strict", "to_axes", "matched")
    rows: Rows = [
        {"iteration": every * (i + 1)}
        | {name: _finite(value) for name, value in zip(names, values, strict=True)}
        | {"gradient": None}
        for i, values in enumerate(np.asarray(records))
    ]
    rows[-1]["gradient"] = _finite(slope)
    return rows


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def random_start(k: int, d: int, seed: int) -> np.ndarray:
    """Random unit rows (k, d).

    >>> bool(np.isclose(np.linalg.norm(random_start(1, 3, 0)), 1.0))
    True
    """
    rows = np.random.default_rng(seed).normal(size=(k, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
