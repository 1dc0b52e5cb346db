r"""Levenberg–Marquardt for few rows as one JAX program, to be mapped over starts and data sets.

A step is s = −Jᵀ(JJᵀ + νI)⁻¹r, with the Jacobian J (n, p) of the predictions and the residuals r: for more parameters
than rows, n × n is the small side, and JJᵀ needs no J (:func:`planted.objectives.jacobian_gram`).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from planted.objectives import Params, Squared, jacobian_gram

_DAMPING = (1e-9, 1e8)


def traced_least_squares(
    objective: Squared, params: Params, *, steps: int, damping: float = 1.0
) -> tuple[Params, jax.Array]:
    """Take `steps` steps, accepted or rejected; the last parameters and their value, traceable.

    Holds (n, n): for rows in memory, and few of them.

    Parameters
    ----------
    objective : Squared
        Over :class:`planted.rows.ArrayRows`.
    params : array or dict of arrays
    steps : int
    damping : float
        ν at the start; a third after a step that lowers the loss, four times as much after one that does not.

    Examples
    --------
    >>> from planted import datasets, objectives
    >>> data = datasets.make_planted(20, 5, 3, activation="softplus", random_state=0)
    >>> loss = objectives.Squared(data.X, data.y, "softplus")
    >>> start = {"weights": data.teacher.weights + 0.1, "output": data.teacher.output}
    >>> with jax.enable_x64(True):
    ...     bool(traced_least_squares(loss, start, steps=60)[1] < 1e-16)
    True
    """
    blocks = objective.rows.blocks  # type: ignore[attr-defined]
    block = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), blocks)
    x, root = block["x"], jnp.sqrt(block["weight"])

    def residuals(point: Params) -> jax.Array:
        return root * (objective.predict(point, x) - block["y"])

    def step(state: tuple[Params, jax.Array, jax.Array], _: None) -> tuple[tuple[Params, jax.Array, jax.Array], None]:
        point, value, nu = state
        r, transpose = jax.vjp(residuals, point)
        gram = root[:, None] * jacobian_gram(objective, point, x) * root
        factor = jnp.linalg.cholesky(gram + nu * jnp.eye(len(r), dtype=r.dtype))
        (shift,) = transpose(jax.scipy.linalg.cho_solve((factor, True), r))
        trial = jax.tree.map(jnp.subtract, point, shift)
        reached = objective.traced_value(trial)
        better = reached < value
        nu = jnp.clip(jnp.where(better, nu / 3, nu * 4), *_DAMPING)
        point = jax.tree.map(lambda new, old: jnp.where(better, new, old), trial, point)
        return (point, jnp.where(better, reached, value), nu), None

    start = jax.tree.map(jnp.asarray, params)
    value = objective.traced_value(start)
    (end, value, _), _ = jax.lax.scan(step, (start, value, jnp.asarray(damping, value.dtype)), None, length=steps)
    return end, value
