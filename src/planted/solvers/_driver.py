"""The one loop that runs first-order solvers, on fixed data or on fresh samples, alone or many side by side."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import optax

from planted.numerics.precision import to_numpy
from planted.numerics.progress import Progress, silent
from planted.objectives import Objective
from planted.solvers._first_order import FirstOrder, State
from planted.solvers._result import Descent, History

Problem = Objective | Callable[[jax.Array], Objective]

_REASONS = {
    "converged": "the gradient norm fell below the tolerance",
    "step limit": "the step limit was reached before the tolerance; allow more steps or a larger step size",
    "stalled": "the value stopped improving",
    "diverged": "the value became infinite or NaN; use a smaller step size",
}


def _advance(
    problem: Problem, state: State, key: jax.Array, solver: FirstOrder, side_by_side: bool, count: int
) -> tuple[State, tuple[jax.Array, jax.Array]]:
    """`count` steps; the new state, and the value and gradient norm at the last one."""

    def one(state: State, key: jax.Array) -> tuple[State, tuple[jax.Array, jax.Array]]:
        draw_key, noise_key = jax.random.split(key)
        objective = problem if isinstance(problem, Objective) else problem(draw_key)

        def update(state: State, noise_key: jax.Array) -> tuple[State, tuple[jax.Array, jax.Array]]:
            value, gradient = objective.traced_value_and_gradient(state.params)
            return solver.step(state, gradient, noise_key), (value, optax.tree.norm(gradient))

        if side_by_side:
            return jax.vmap(update)(state, jax.random.split(noise_key, _restarts(state.params)))
        return update(state, noise_key)

    state, trace = jax.lax.scan(one, state, jax.random.split(key, count))
    return state, jax.tree.map(lambda leaf: leaf[-1], trace)


# An objective is an argument of the compiled program; a sampler, which is code, is part of it. Compilations are
# kept for as long as the solver object is the same, so recipes build their solvers once.
_advance_fixed = jax.jit(_advance, static_argnums=(3, 4, 5))
_advance_fresh = jax.jit(_advance, static_argnums=(0, 3, 4, 5))


def descend(
    problem: Problem,
    params: Any,
    solver: FirstOrder,
    *,
    steps: int,
    key: jax.Array,
    side_by_side: bool = False,
    record_every: int = 50,
    tolerance: float = 0.0,
    patience: int | None = None,
    measure: Callable[[Any], float] | None = None,
    progress: Progress = silent,
) -> Descent:
    """Run `solver` on `problem` from `params`.

    Parameters
    ----------
    problem : Objective, or callable from a key to an Objective
        A callable draws a new objective at every step (fresh samples).
    params : array or dict of arrays
        The start. Its dtype is the precision of the run.
    solver : FirstOrder
    steps : int
        Largest number of steps.
    key : jax key
        Source of samples and perturbations.
    side_by_side : bool
        `params` has a leading axis of restarts, run under `vmap`; at each step all see the same samples.
    record_every : int
        Steps between records; stopping rules are looked at then.
    tolerance : float
        Stop when the gradient norm (of every restart) is at most this.
    patience : int, optional
        Stop after so many records without a better value (of any restart).
    measure : callable, optional
        Parameters of one run to a number, recorded as `history.error`.
    progress : callable

    Examples
    --------
    >>> import jax, numpy as np, optax
    >>> from planted import Network, objectives
    >>> G = objectives.PopulationLandscape(Network(np.eye(3), np.ones(3)))
    >>> with jax.enable_x64(True):
    ...     start = jax.random.normal(jax.random.key(1), (3, 3))
    ...     run = descend(G, start, FirstOrder(optax.adam(0.05)), steps=2000, key=jax.random.key(0), tolerance=1e-6)
    >>> run.status
    'converged'
    """
    began = time.perf_counter()
    advance = _advance_fixed if isinstance(problem, Objective) else _advance_fresh
    state = jax.vmap(solver.init)(params) if side_by_side else solver.init(params)

    history, done, status = History(), 0, "step limit"
    best, waited = np.inf, 0
    value = norm = np.asarray(np.nan)
    while done < steps:
        count = min(record_every, steps - done)
        state, last = advance(problem, state, jax.random.fold_in(key, done), solver, side_by_side, count)
        done += count
        value, norm = (np.asarray(entry) for entry in last)
        history.step.append(done)
        history.value.append(value)
        history.gradient_norm.append(norm)
        if measure is not None:
            history.error.append(_measured(measure, state.params, side_by_side))
        progress(done, steps, f"value {np.min(value):.4g}")
        if not np.all(np.isfinite(value)):
            status = "diverged"
            break
        if np.max(norm) <= tolerance:
            status = "converged"
            break
        if np.min(value) < best:
            best, waited = float(np.min(value)), 0
        else:
            waited += 1
            if patience is not None and waited >= patience:
                status = "stalled"
                break
    return Descent(
        params=to_numpy(state.params),
        value=value,
        gradient_norm=norm,
        status=status,
        reason=_REASONS[status],
        n_steps=done,
        seconds=time.perf_counter() - began,
        history=history,
    )


def _restarts(params: Any) -> int:
    return jax.tree.leaves(params)[0].shape[0]


def _measured(measure: Callable[[Any], float], params: Any, side_by_side: bool) -> Any:
    host = to_numpy(params)
    if not side_by_side:
        return measure(host)
    return np.array([measure(_restart(host, i)) for i in range(_restarts(params))])


def _restart(params: Any, i: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], params)
