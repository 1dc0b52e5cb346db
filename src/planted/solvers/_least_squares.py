r"""Levenberg–Marquardt polish of a squared loss, with normal equations added up over blocks of rows.

A step solves (JᵀJ + ν diag(JᵀJ)) s = −Jᵀr. JᵀJ (p, p) and Jᵀr (p,) are sums over rows, so memory is bounded by
p² and by (rows in a piece) × p for the Jacobian of one piece, whatever the number of rows. General least-squares
libraries take the whole Jacobian (rows, p) at once.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax.flatten_util import ravel_pytree

from planted.numerics.precision import float64
from planted.numerics.progress import Progress, silent
from planted.objectives import Flat, Squared, evaluate
from planted.rows import Block, over_rows
from planted.solvers._damped import Damped
from planted.solvers._iterate import Point, Trial, iterate
from planted.solvers._result import Descent

_JACOBIAN_ENTRIES = 4_000_000


def block_normal_equations(block: Block, objective: Squared, params: Any) -> tuple[jax.Array, jax.Array]:
    """JᵀJ (p, p) and Jᵀr (p,) over a block, a piece of it at a time."""
    size = sum(leaf.size for leaf in jax.tree.leaves(params))
    n = block["y"].shape[0]
    piece = max(1, min(n, _JACOBIAN_ENTRIES // size))
    pieces = -(-n // piece)
    pad = pieces * piece - n

    def row_gradient(x: jax.Array) -> jax.Array:
        return ravel_pytree(jax.grad(lambda p: objective.predict(p, x[None])[0])(params))[0]

    def cut(array: jax.Array) -> jax.Array:
        padded = jnp.concatenate([array, jnp.zeros((pad, *array.shape[1:]), array.dtype)])
        return padded.reshape(pieces, piece, *array.shape[1:])

    def one(total: tuple[jax.Array, jax.Array], part: Block) -> tuple[tuple[jax.Array, jax.Array], None]:
        J = jax.vmap(row_gradient)(part["x"])
        residual = objective.predict(params, part["x"]) - part["y"]
        weighted = J * part["weight"][:, None]
        return (total[0] + weighted.T @ J, total[1] + residual @ weighted), None

    zero = (jnp.zeros((size, size)), jnp.zeros(size))
    return jax.lax.scan(one, zero, jax.tree.map(cut, block))[0]


def block_energy(block: Block) -> jax.Array:
    """½ Σ weight y² over a block."""
    return 0.5 * jnp.sum(block["weight"] * block["y"] ** 2)


@over_rows
def normal_equations(objective: Squared, params: Any) -> tuple[jax.Array, jax.Array]:
    """JᵀJ (p, p) and Jᵀr (p,), means over rows."""
    return objective.rows.mean(block_normal_equations, objective.bare, params)


@over_rows
def _energy(objective: Squared) -> jax.Array:
    """½ mean y²."""
    return objective.rows.mean(block_energy)


@float64
def least_squares(
    objective: Squared,
    params: Any,
    *,
    steps: int = 50,
    tolerance: float = 1e-13,
    progress: Progress = silent,
) -> Descent:
    """Minimise a squared loss by Levenberg–Marquardt from a start that is already near.

    Parameters
    ----------
    objective : Squared
    params : array or dict of arrays
    steps : int
        Largest number of accepted or rejected steps.
    tolerance : float
        Stop when a step changes the parameters by less than this, relative to their norm, or when the loss
        is this fraction squared of ½ E[y²].

    Examples
    --------
    >>> from planted import datasets, objectives
    >>> data = datasets.make_planted(500, 3, 2, random_state=0)
    >>> loss = objectives.Squared(data.X, data.y)
    >>> start = {"weights": data.teacher.weights + 0.1, "output": data.teacher.output}
    >>> least_squares(loss, start).value < 1e-24
    True
    """
    floor = float(_energy(objective)) * tolerance**2
    return iterate(_LevenbergMarquardt(tolerance, floor), objective, params, steps=steps, progress=progress)


class _LevenbergMarquardt(Damped):
    dampings = (1e-3, 1e-15, 1e12)

    def at(self, flat: Flat, vector: np.ndarray) -> Trial:
        return vector, float(evaluate(flat.objective, flat.params(vector))), None

    def accept(self, state: Point, trial: Trial) -> None:
        # The gradient comes with the normal equations, which the next step forms if there is one.
        super().accept(state, (*trial[:2], state.gradient))

    def solve(self, state: Point) -> np.ndarray | None:
        if state.model is None:
            equations = normal_equations(state.flat.objective, self.params(state))
            state.model, state.gradient = (np.asarray(part) for part in equations)
        diagonal = np.diagonal(state.model)
        scale = np.maximum(diagonal, 1e-12 * np.max(diagonal))
        try:
            factor = scipy.linalg.cho_factor(state.model + state.damping * np.diag(scale), check_finite=False)
            return -scipy.linalg.cho_solve(factor, state.gradient, check_finite=False)
        except (scipy.linalg.LinAlgError, ValueError):
            return None
