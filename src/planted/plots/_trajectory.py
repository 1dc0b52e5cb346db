"""A descent with the weights kept on the way, so that it can be watched."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
import optax

from planted.networks import Network, permutation_error
from planted.numerics.precision import float64, to_jax
from planted.numerics.progress import Progress
from planted.objectives import Objective
from planted.solvers import FirstOrder, Monitor, descend, silent

_SETTLED = 1e-7


@dataclass(frozen=True)
class Trajectory:
    """Where a descent on `objective` was, frame by frame.

    Attributes
    ----------
    objective : Objective
    teacher : Network
    step : array (T,)
        Steps taken before each frame, from 0.
    weights : array (T, k, d)
    value : array (T,)
        Of the objective.
    error : array (T,)
        Distance of |B B*⁻¹| from a permutation, rows normalised: the larger of eq. 6.1's two terms.
    """

    objective: Objective
    teacher: Network
    step: np.ndarray
    weights: np.ndarray
    value: np.ndarray
    error: np.ndarray

    @property
    def overlaps(self) -> np.ndarray:
        """|B B*⁻¹| (T, k, k) of every frame, rows normalised; the pseudo-inverse where B* is not square."""
        return overlaps(self.weights, self.teacher.weights)


def overlaps(weights: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """|B B*⁻¹| of weights (..., k, d), with unit rows of both.

    >>> overlaps(np.array([[0.0, -2.0]]), np.eye(2))
    array([[0., 1.]])
    """
    unit = weights / np.linalg.norm(weights, axis=-1, keepdims=True)
    target = teacher / np.linalg.norm(teacher, axis=1, keepdims=True)
    return np.abs(unit @ np.linalg.pinv(target))


def _error(weights: np.ndarray, teacher: np.ndarray) -> float:
    Q = overlaps(weights, teacher)
    return max(float(1 - Q.max(axis=1).min()), permutation_error(Q))


@float64
def follow(
    objective: Objective,
    start: np.ndarray,
    teacher: Network,
    *,
    steps: int = 2000,
    frames: int = 400,
    rate: float | None = None,
    progress: Progress = silent,
) -> Trajectory:
    """Gradient descent from `start` (k, d) until the gradient has all but vanished, with `frames` frames a `steps`.

    The step size is `rate`, or a tenth of what the Hessian's largest eigenvalue at start and teacher would allow: slow
    enough to watch.

    >>> from planted.objectives import PopulationLandscape
    >>> teacher = Network(np.eye(2), np.ones(2))
    >>> path = follow(PopulationLandscape(teacher), np.array([[0.9, 0.3], [0.2, 0.8]]), teacher)
    >>> bool(path.error[0] > 0.05 > 1e-6 > path.error[-1]), path.weights.shape[1:]
    (True, (2, 2))
    """
    if rate is None:
        ends = (np.asarray(start), teacher.weights)
        rate = 0.2 / max(float(np.abs(np.linalg.eigvalsh(objective.hessian(end))).max()) for end in ends)
    visited = [np.asarray(start, dtype=np.float64)]

    def keep(weights: np.ndarray) -> float:
        visited.append(np.asarray(weights))
        return 0.0

    run = descend(
        objective,
        to_jax(start),
        FirstOrder(optax.sgd(rate)),
        steps=steps,
        key=jax.random.key(0),
        monitor=Monitor(
            every=max(1, steps // frames),
            tolerance=_SETTLED * float(np.linalg.norm(objective.gradient(np.asarray(start)))),
            measure=keep,
        ),
        progress=progress,
    )
    weights = np.stack(visited)
    return Trajectory(
        objective,
        teacher,
        np.array([0, *run.history.step]),
        weights,
        np.array([float(objective.value(point)) for point in weights]),
        np.array([_error(point, teacher.weights) for point in weights]),
    )
