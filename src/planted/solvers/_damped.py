r"""Damped Newton steps: what Levenberg–Marquardt, Gauss–Newton and Newton's method on a sample share.

A step solves (A + νD) s = −g, with A a positive semi-definite estimate of the Hessian and D its diagonal, or a cheaper
metric. The damping ν is divided by ten after a step that lowers the value and multiplied by ten after any other.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from planted.solvers._iterate import Ending, Point, Trial, VectorSolver


class Damped(VectorSolver):
    """Damped steps until one is shorter than `tolerance`, relative to the point, or the value is at most `floor`.

    `dampings` are the first, the least, and the one above which the run has stalled.
    """

    dampings: tuple[float, float, float]

    def __init__(self, tolerance: float, floor: float) -> None:
        self.tolerance, self.floor = tolerance, floor

    @abstractmethod
    def solve(self, state: Point) -> np.ndarray | None:
        """The step s, or None if the damping is too small to compute one."""

    def better(self, state: Point, trial: Trial) -> bool:
        """Whether to move."""
        return trial[1] <= state.value

    def init(self, problem: Any, params: Any) -> Point:
        """The state at the start."""
        state = super().init(problem, params)
        state.damping = self.dampings[0]
        return state

    def step(self, state: Point, count: int) -> Trial | None:
        """One damped step; None if it is not finite."""
        step = self.solve(state)
        if step is None:
            return state.vector, np.inf, None
        state.length = float(np.linalg.norm(step)) / max(float(np.linalg.norm(state.vector)), 1e-300)
        return self.at(state.flat, state.vector + step) if np.isfinite(state.length) else None

    def accept(self, state: Point, trial: Trial) -> None:
        """Move and damp less, or stay and damp more."""
        if self.better(state, trial):
            super().accept(state, trial)
            state.damping, state.model = max(state.damping / 10, self.dampings[1]), None
        else:
            state.damping *= 10

    def terminate(self, state: Point) -> Ending | None:
        """A short step, a damping without effect, a value at the floor."""
        if not np.isfinite(state.value):
            return Ending.INFINITE
        if state.length <= self.tolerance:
            return Ending.STEP
        if state.damping > self.dampings[2]:
            return Ending.NO_STEP
        return Ending.FLOOR if state.value <= self.floor or state.gradient_norm == 0 else None
