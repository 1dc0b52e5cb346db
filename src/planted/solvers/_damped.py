r"""Damped Newton steps: what Levenberg–Marquardt, Gauss–Newton and Newton's method on a sample share.

A step solves (A + νD) s = −g, with A a positive semi-definite estimate of the Hessian and D its diagonal, or a cheaper
metric. The damping ν is divided by ten after a step that lowers the value and multiplied by ten after any other.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from planted.objectives import Flat, Objective
from planted.solvers._iterate import Ending, Solver


@dataclass
class State:
    """A point with its value, gradient norm and gradient, the damping, and what `Damped.solve` knows of A there.

    `length` is that of the last step tried, relative to the point.
    """

    flat: Flat
    point: np.ndarray
    value: float
    gradient_norm: float
    damping: float
    gradient: Any = None
    model: Any = None
    length: float = np.inf


class Trial(NamedTuple):
    """Where a step leads: the value there is infinite if no step could be computed."""

    point: np.ndarray
    value: float
    gradient: Any
    length: float


class Damped(Solver):
    """Damped steps until one is shorter than `tolerance`, relative to the point, or the value is at most `floor`.

    `dampings` are the first, the least, and the one above which the run has stalled.
    """

    dampings: tuple[float, float, float]
    dtype: Any = np.float64

    def __init__(self, tolerance: float, floor: float) -> None:
        self.tolerance, self.floor = tolerance, floor

    @abstractmethod
    def solve(self, state: State) -> np.ndarray | None:
        """The step s, or None if the damping is too small to compute one."""

    def evaluate(self, flat: Flat, point: np.ndarray) -> tuple[float, np.ndarray | None]:
        """Value and, where a step of the solver needs it, gradient."""
        return flat.value_and_gradient(point)

    def better(self, state: State, trial: Trial) -> bool:
        """Whether to move."""
        return trial.value <= state.value

    def init(self, problem: Objective, params: Any) -> State:
        """The state at the start."""
        flat = Flat(problem, params, dtype=self.dtype)
        value, gradient = self.evaluate(flat, flat.start)
        return State(flat, flat.start, value, _norm(gradient), self.dampings[0], gradient)

    def step(self, state: State, count: int) -> Trial | None:
        """One damped step; None if it is not finite."""
        step = self.solve(state)
        if step is None:
            return Trial(state.point, np.inf, None, np.inf)
        length = _norm(step) / max(_norm(state.point), 1e-300)
        if not np.isfinite(length):
            return None
        return Trial(state.point + step, *self.evaluate(state.flat, state.point + step), length)

    def accept(self, state: State, trial: Trial) -> None:
        """Move and damp less, or stay and damp more."""
        state.length = trial.length
        if self.better(state, trial):
            state.point, state.value, state.gradient = trial.point, trial.value, trial.gradient
            state.gradient_norm = state.gradient_norm if trial.gradient is None else _norm(trial.gradient)
            state.damping = max(state.damping / 10, self.dampings[1])
            state.model = None
        else:
            state.damping *= 10

    def terminate(self, state: State) -> Ending | None:
        """A short step, a damping without effect, a value at the floor."""
        if not np.isfinite(state.value):
            return Ending.INFINITE
        if state.length <= self.tolerance:
            return Ending.STEP
        if state.damping > self.dampings[2]:
            return Ending.NO_STEP
        if state.value <= self.floor or state.gradient_norm == 0:
            return Ending.FLOOR
        return None

    def params(self, state: State) -> Any:
        """The parameters, as NumPy arrays."""
        return state.flat.params(state.point)


def _norm(vector: np.ndarray | None) -> float:
    return np.inf if vector is None else float(np.linalg.norm(vector))
