"""Adam on a few rows at a time: a rule for :func:`planted.solvers.descend` on losses over rows in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from planted.objectives import Params, block_value_and_gradient
from planted.solvers._first_order import Trace


class BatchState(NamedTuple):
    """Parameters, Adam's moments, steps taken; first step size, steps after which it is zero, steps of a pass."""

    params: Params
    moments: Any
    step: jax.Array
    rate: jax.Array
    steps: jax.Array
    batches: jax.Array


@dataclass(frozen=True)
class MiniBatches:
    """Steps of Adam on `batch` rows after `batch` rows; step sizes fall from `rate` to zero along a cosine.

    Rows are taken in the order in which they lie, again and again, so that sorted ones are to be shuffled before. A
    pass over all rows is many steps. Where a loss is flat because few rows tell directions apart, as it is between
    the fit of second moments and that of single neurons, this takes fewer passes than a descent on all rows.

    Parameters
    ----------
    batch : int
        Rows a step.
    rate : float
        The first step size. It is part of the state, as is `steps`: runs that differ in them share one compilation.
    steps : int
        Steps after which the step size is zero.

    Examples
    --------
    >>> from planted import datasets, objectives
    >>> from planted.solvers import descend
    >>> data = datasets.make_planted(500, 3, 2, random_state=0)
    >>> loss = objectives.Squared(data.X, data.y)
    >>> start = {"weights": data.teacher.weights + 0.1, "output": data.teacher.output}
    >>> rule = MiniBatches(batch=20, rate=0.02, steps=500)
    >>> with jax.enable_x64(True):
    ...     run = descend(loss, start, rule, steps=500, key=jax.random.key(0))
    >>> loss.value(run.params) < 1e-3 * loss.value(start)
    True
    """

    batch: int
    rate: float = field(compare=False)
    steps: int = field(compare=False)

    def init(self, problem: Any, params: Params) -> BatchState:
        """The state before the first step."""
        import optax

        params = jax.tree.map(jnp.asarray, params)
        dtype = jax.tree.leaves(params)[0].dtype
        # Rows of weight zero at the end fill up blocks: a batch of them would look like a minimum.
        weight = np.asarray(problem.rows.blocks["weight"]).ravel()
        batches = max(int(np.flatnonzero(weight)[-1] + 1) // self.batch, 1)
        numbers = jnp.asarray(self.rate, dtype), jnp.asarray(self.steps, dtype), jnp.asarray(batches, jnp.int32)
        return BatchState(params, optax.scale_by_adam().init(params), jnp.zeros((), jnp.int32), *numbers)

    def step(self, objective: Any, state: BatchState, key: jax.Array) -> tuple[BatchState, Trace]:
        """One update; the value and gradient norm are those of its rows, before it."""
        import optax

        rows = objective.rows
        first = (state.step % state.batches) * self.batch
        flat = {name: leaf.reshape(-1, *leaf.shape[2:]) for name, leaf in rows.blocks.items()}
        block = {name: jax.lax.dynamic_slice_in_dim(leaf, first, self.batch) for name, leaf in flat.items()}
        total = jnp.maximum(jnp.sum(block["weight"]), jnp.finfo(state.rate.dtype).tiny)
        value, gradient = jax.tree.map(
            lambda leaf: leaf / total, block_value_and_gradient(block, objective, state.params)
        )
        direction, moments = optax.scale_by_adam().update(gradient, state.moments, state.params)
        share = jnp.minimum(state.step / state.steps, 1.0).astype(state.rate.dtype)
        size = 0.5 * state.rate * (1 + jnp.cos(jnp.pi * share))
        params = jax.tree.map(lambda at, along: at - size * along, state.params, direction)
        return BatchState(params, moments, state.step + 1, *state[3:]), (value, optax.tree.norm(gradient))
