"""First-order solvers under the one loop: on fixed data or on fresh samples, alone or many side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import jax
import numpy as np

from planted.numerics import random
from planted.numerics.precision import to_numpy
from planted.numerics.progress import Progress, silent
from planted.objectives import Objective
from planted.solvers._first_order import AdaptiveStep, FirstOrder, Trace
from planted.solvers._iterate import Ending, Solver, iterate
from planted.solvers._mini_batches import MiniBatches
from planted.solvers._result import Descent

Problem = Objective | Callable[[jax.Array], Objective]
Rule = FirstOrder | AdaptiveStep | MiniBatches


def _advance(
    problem: Problem, state: Any, key: jax.Array, rule: Rule, side_by_side: bool, count: int
) -> tuple[Any, Trace]:
    """`count` steps; the new state, and the value and gradient norm at the last one."""

    def one(state: Any, key: jax.Array) -> tuple[Any, Trace]:
        draw_key, noise_key = jax.random.split(key)
        update: Callable[..., Any] = partial(
            rule.step, problem if isinstance(problem, Objective) else problem(draw_key)
        )
        if side_by_side:
            return jax.vmap(update)(state, jax.random.split(noise_key, _restarts(state.params)))
        return update(state, noise_key)

    state, trace = jax.lax.scan(one, state, jax.random.split(key, count))
    return state, jax.tree.map(lambda leaf: leaf[-1], trace)


# An objective is an argument of the compiled program; a sampler, which is code, is part of it. Compilations are
# kept for as long as the rule is the same, so recipes build theirs once.
_advance_fixed = jax.jit(_advance, static_argnums=(3, 4, 5))
_advance_fresh = jax.jit(_advance, static_argnums=(0, 3, 4, 5))


@dataclass(frozen=True)
class Monitor:
    """What is recorded of a first-order run, how often, and when that stops it.

    Parameters
    ----------
    every : int
        Steps between records; stopping rules are looked at then.
    tolerance : float
        Stop when the gradient norm (of every restart) is at most this.
    patience : int, optional
        Stop after so many records without a better value (of any restart).
    settled : callable, optional
        State of the run to whether to stop, also asked of the start.
    measure : callable, optional
        Parameters of one restart to what is recorded as `history.error`: a number, or several by name.

    Examples
    --------
    >>> Monitor(every=100, tolerance=1e-6).patience is None
    True
    """

    every: int = 50
    tolerance: float = 0.0
    patience: int | None = None
    settled: Callable[[Any], bool] | None = None
    measure: Callable[[Any], Any] | None = None


_PLAIN = Monitor()


def descend(
    problem: Problem,
    params: Any,
    solver: Rule,
    *,
    steps: int,
    key: jax.Array,
    side_by_side: bool = False,
    monitor: Monitor = _PLAIN,
    progress: Progress = silent,
) -> Descent:
    """Run `solver` on `problem` from `params`.

    Parameters
    ----------
    problem : Objective, or callable from a key to an Objective
        A callable draws a new objective at every step (fresh samples).
    params : array or dict of arrays
        The start. Its dtype is the precision of the run.
    solver : FirstOrder, AdaptiveStep or MiniBatches
        The second compares values, and takes an Objective; the last takes one over rows in memory.
    steps : int
        Largest number of steps.
    key : jax key
        Source of samples and perturbations.
    side_by_side : bool
        `params` has a leading axis of restarts, run under `vmap`; at each step all see the same samples.
    monitor : Monitor
        What is recorded, and stopping rules.
    progress : callable

    Examples
    --------
    >>> import jax, numpy as np, optax
    >>> from planted import Network, objectives
    >>> G = objectives.PopulationLandscape(Network(np.eye(3), np.ones(3)))
    >>> with jax.enable_x64(True):
    ...     start = jax.random.normal(jax.random.key(1), (3, 3))
    ...     adam, watch = FirstOrder(optax.adam(0.05)), Monitor(tolerance=1e-6)
    ...     run = descend(G, start, adam, steps=2000, key=jax.random.key(0), monitor=watch)
    >>> run.status
    'converged'
    """
    run = _Chunks(solver, key, side_by_side, monitor)
    measure = None if monitor.measure is None else run.measure
    return iterate(run, problem, params, steps=steps, measure=measure, progress=progress)


@dataclass
class _Run:
    """The rule's state with the last value and gradient norm, on the host."""

    problem: Problem
    state: Any
    value: np.ndarray
    gradient_norm: np.ndarray
    done: int = 0
    best: float = np.inf
    waited: int = 0


class _Chunks(Solver):
    """A step is `monitor.every` iterations of the rule, in one compiled program."""

    def __init__(self, rule: Rule, key: jax.Array, side_by_side: bool, monitor: Monitor) -> None:
        self.rule, self.key, self.side_by_side, self.monitor = rule, key, side_by_side, monitor
        self.stride, self.records_start = monitor.every, isinstance(rule, AdaptiveStep)

    def init(self, problem: Problem, params: Any) -> _Run:
        rule: Any = self.rule
        begin = partial(rule.init, problem)
        if not self.side_by_side:
            state = begin(params)
        elif self.records_start:
            # One after the other: where rows are few, no program has to be compiled for it.
            starts = jax.tree.map(np.asarray, params)
            each = [begin(jax.tree.map(itemgetter(i), starts)) for i in range(_restarts(starts))]
            state = jax.tree.map(lambda *leaves: jax.device_put(np.stack([np.asarray(x) for x in leaves])), *each)
        else:
            state = jax.vmap(begin)(params)
        value = np.asarray(state.value if self.records_start else np.nan)
        return _Run(problem, state, value, np.full_like(value, np.nan))

    def step(self, run: _Run, count: int) -> tuple[int, Any, Trace]:
        advance = _advance_fixed if isinstance(run.problem, Objective) else _advance_fresh
        key = random.jax_key(random.fold_in(self.key, run.done))
        return count, *advance(run.problem, run.state, key, self.rule, self.side_by_side, count)

    def accept(self, run: _Run, trial: tuple[int, Any, Trace]) -> None:
        count, run.state, last = trial
        run.done += count
        run.value, run.gradient_norm = (np.asarray(entry) for entry in last)

    def terminate(self, run: _Run) -> Ending | None:
        rules = self.monitor
        if rules.settled is not None and rules.settled(run.state):
            return Ending.SETTLED
        if run.done == 0:
            return None
        if not np.all(np.isfinite(run.value)):
            return Ending.INFINITE
        if np.max(run.gradient_norm) <= rules.tolerance:
            return Ending.GRADIENT
        run.waited = 0 if np.min(run.value) < run.best else run.waited + 1
        run.best = min(run.best, float(np.min(run.value)))
        return Ending.PATIENCE if rules.patience is not None and run.waited >= rules.patience else None

    def params(self, run: _Run) -> Any:
        return to_numpy(run.state.params)

    def measure(self, params: Any) -> Any:
        number: Any = self.monitor.measure
        if not self.side_by_side:
            return number(params)
        return np.array([number(jax.tree.map(itemgetter(i), params)) for i in range(_restarts(params))])


def _restarts(params: Any) -> int:
    return jax.tree.leaves(params)[0].shape[0]
