"""A first-order descent as one JAX program, to be mapped over starts, step sizes and objectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from planted.objectives import Objective
from planted.solvers._first_order import FirstOrder, Params, State


def traced_descent(
    objective: Objective,
    params: Params,
    solver: FirstOrder,
    *,
    steps: int,
    record_every: int = 1,
    measure: Callable[[Params], Any] | None = None,
    key: jax.Array | None = None,
) -> tuple[Params, Any]:
    """Take `steps` steps of `solver` and record something on the way, traceable.

    :func:`descend` looks at the run from outside, says how it goes and stops it; this one is a function for `jax.jit`,
    `jax.vmap` and `jax.lax.map`. The objective, the start and numbers inside the solver, such as its step size, may
    all be traced.

    Parameters
    ----------
    objective : Objective
        A traceable one.
    params : array or dict of arrays
        The start. Its dtype is the precision of the run.
    solver : FirstOrder
    steps : int
        Rounded down to a multiple of `record_every`.
    record_every : int
        Steps between records.
    measure : callable, optional
        Parameters to what is recorded, traceable; the value if omitted.
    key : jax key, optional
        Source of the solver's perturbations.

    Returns
    -------
    params
        After the last step.
    records
        What `measure` gave, stacked along a leading axis (steps // record_every, …).

    Examples
    --------
    >>> import numpy as np, optax
    >>> from planted import Network, objectives
    >>> G = objectives.PopulationLandscape(Network(np.eye(2), np.ones(2)))
    >>> run = lambda rate: traced_descent(G, np.ones((2, 2)), FirstOrder(optax.sgd(rate)), steps=60, record_every=20)
    >>> with jax.enable_x64(True):
    ...     end, values = jax.vmap(run)(np.array([0.01, 0.02]))
    >>> end.shape, values.shape
    ((2, 2, 2), (2, 3))
    """
    source = jax.random.key(0) if key is None else key
    record = objective.traced_value if measure is None else measure

    def step(state: State, _: None) -> tuple[State, None]:
        return solver.step(objective, state, jax.random.fold_in(source, state.step))[0], None

    def stretch(state: State, _: None) -> tuple[State, Any]:
        state = jax.lax.scan(step, state, None, length=record_every)[0]
        return state, record(state.params)

    state, records = jax.lax.scan(stretch, solver.init(objective, params), None, length=steps // record_every)
    return state.params, records
