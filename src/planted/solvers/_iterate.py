"""One loop under every solver.

A solver says how to begin (`init`), which step to try (`step`), what to make of it (`accept`) and when to stop
(`terminate`). The loop counts steps, records, reports, keeps the time, and says in one sentence why a run ended.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from planted.numerics import deadline
from planted.numerics.progress import Progress, silent
from planted.objectives import Flat
from planted.solvers._result import Descent, History


class Ending(Enum):
    """Why a run ended: its status, and one sentence with what to try where it helps."""

    GRADIENT = "converged", "the gradient fell below the tolerance"
    FLOOR = "converged", "the value is zero to rounding, or as low as was asked for"
    STEP = "converged", "a step no longer changes the parameters or the value"
    MINIMUM = "converged", "the gradient vanishes and no direction curves down"
    SETTLED = "converged", "the restarts that were waited for have settled"
    LIMIT = "step limit", "the step limit was reached before the tolerance; allow more steps or larger ones"
    PATIENCE = "stalled", "the value stopped improving"
    NO_STEP = "stalled", "no step along the search direction improves the point, to rounding"
    ROUNDING = "stalled", "the gradient stayed above the tolerance: rounding, or too few iterations"
    TIME = "out of time", "the time budget ran out; allow more time"
    INFINITE = "diverged", "the value became infinite or NaN; use a smaller step size, or another start"


class Solver(ABC):
    """What the loop asks of a solver.

    A state is the solver's own, changed in place; the loop reads its `value` and `gradient_norm`.

    Attributes
    ----------
    stride : int
        Iterations that one step takes.
    records_start : bool
        Whether the start is the first record.
    """

    stride: int = 1
    records_start: bool = False

    @abstractmethod
    def init(self, problem: Any, params: Any) -> Any:
        """The state at the start."""

    @abstractmethod
    def step(self, state: Any, count: int) -> Any:
        """A trial, `count` ≤ `stride` iterations on; None where there is none, and the run has stalled."""

    @abstractmethod
    def accept(self, state: Any, trial: Any) -> None:
        """Move the state to the trial, or learn from its failure."""

    @abstractmethod
    def terminate(self, state: Any) -> Ending | None:
        """Why to stop here, if so; asked before the first step and after every one."""

    @abstractmethod
    def params(self, state: Any) -> Any:
        """The parameters, as NumPy arrays."""


@dataclass
class Point:
    """A point of an objective's flat vector with value and gradient, and what a damped solver knows there.

    `model` is the curvature, `length` that of the last step tried, relative to the point.
    """

    flat: Flat
    vector: np.ndarray
    value: float
    gradient: Any
    damping: float = 0.0
    model: Any = None
    length: float = np.inf

    @property
    def gradient_norm(self) -> float:
        """Infinite where the gradient is not known yet."""
        return np.inf if self.gradient is None else float(np.linalg.norm(self.gradient))


Trial = tuple[np.ndarray, float, Any]
"""A vector, its value, and its gradient or None."""


class VectorSolver(Solver):
    """A solver that moves a flat vector: its state is a :class:`Point`, which a trial becomes if accepted.

    `dtype` is the precision of values and gradients.
    """

    dtype: Any = np.float64

    def at(self, flat: Flat, vector: np.ndarray) -> Trial:
        """The trial at a vector."""
        return vector, *flat.value_and_gradient(vector)

    def init(self, problem: Any, params: Any) -> Point:
        """The state at the start."""
        flat = Flat(problem, params, dtype=self.dtype)
        return Point(flat, *self.at(flat, flat.start))

    def accept(self, state: Point, trial: Trial) -> None:
        """Move to the trial."""
        state.vector, state.value, state.gradient = trial

    def params(self, state: Point) -> Any:
        """The parameters, as NumPy arrays."""
        return state.flat.params(state.vector)


class Recorder:
    """The history, progress and time of a run of at most `steps` steps, and the :class:`Descent` made of them."""

    def __init__(self, steps: int, progress: Progress) -> None:
        self.steps, self.progress, self.history, self.done = steps, progress, History(), 0
        self._began = time.perf_counter()

    def record(self, count: int, value: Any, gradient_norm: Any) -> None:
        """Note where the run is, `count` steps on."""
        self.done += count
        self.history.step.append(self.done)
        self.history.value.append(value)
        self.history.gradient_norm.append(gradient_norm)
        if self.progress is not silent:
            self.progress(self.done, self.steps, f"value {np.min(value):.6g}")

    def descent(self, ending: Ending, params: Any, value: Any, gradient_norm: Any) -> Descent:
        """The result of the run."""
        status, reason = ending.value
        seconds = time.perf_counter() - self._began
        return Descent(params, value, gradient_norm, status, reason, self.done, seconds, self.history)


def iterate(
    solver: Solver,
    problem: Any,
    params: Any,
    *,
    steps: int,
    measure: Callable[[Any], Any] | None = None,
    progress: Progress = silent,
) -> Descent:
    """Run `solver` on `problem` from `params` for at most `steps` iterations; `measure` gives `history.error`.

    No step begins for which a time budget has less left than the longest one before took.
    """
    recorder = Recorder(steps, progress)
    state = solver.init(problem, params)

    def record(count: int) -> None:
        if measure is not None:
            recorder.history.error.append(measure(solver.params(state)))
        recorder.record(count, state.value, state.gradient_norm)

    if solver.records_start:
        record(0)
    longest = 0.0

    def ended() -> Ending | None:
        return solver.terminate(state) or (Ending.TIME if deadline.passed(ahead=longest) else None)

    ending = ended()
    while ending is None and recorder.done < steps:
        began = deadline.now()
        count = min(solver.stride, steps - recorder.done)
        trial = solver.step(state, count)
        if trial is None:
            ending = Ending.NO_STEP
        else:
            solver.accept(state, trial)
            record(count)
            longest = max(longest, deadline.now() - began)
            ending = ended()
    return recorder.descent(ending or Ending.LIMIT, solver.params(state), state.value, state.gradient_norm)
