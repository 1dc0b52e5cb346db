r"""Networks of squared ReLU or quadratic neurons, through their derivatives.

The derivative of Σ_i a_i max(z_i, 0)² along u is Σ_i 2 a_i (w_i·u) max(z_i, 0): a ReLU network with the same
hyperplanes. A difference over a short stretch is that derivative exactly where no kink is within it, since f is
quadratic there; the stretch is so short that what is off beside a kink is no more than rounding, and the derivative is
read as a model that rounds coarsely. Sides follow from max(±z, 0)² = ½ (z² ± z|z|): the coefficients of z_i² and of
z_i|z_i| have the same sign or opposite ones. A network of quadratic neurons has a linear derivative: then f is a
quadratic function, and its eigenvectors are one of the many networks that it is, or the only one where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planted.networks import Network
from planted.reading._check import Check, fidelity
from planted.reading._kinks import Pieces, unit
from planted.reading._piecewise import State as PiecewiseState
from planted.reading._polish import polish
from planted.reading._query import Frame
from planted.reading._single import read_single
from planted.reading._survey import Survey
from planted.reading._values import CountedNetwork

_SHORT = 3e-8
_REACH = 30.0
_POINTS = 6
_STRAIGHT = 1e-4
_BENT = 20.0
_CLOSE = 0.03
_NOTHING = 1e-7


@dataclass
class State:
    """What is known so far; kept by the caller, so that it outlives a budget that is spent."""

    network: Network | None = None
    check: Check | None = None
    determined: bool = True


@dataclass(frozen=True)
class Derivative(Frame):
    """A model's derivative along `direction` (d,), by a difference, as outputs (n, m)."""

    direction: np.ndarray
    step: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Derivatives (n, m) at x (n, d)."""
        move = self.step * self.direction
        answers = super().__call__(np.concatenate([x + move, x - move]))
        return (answers[: len(x)] - answers[len(x) :]) / (2 * self.step)


def is_piecewise_quadratic(frame: Frame, survey: Survey, rng: np.random.Generator) -> bool:
    """Whether third differences vanish at most points where second ones do not."""
    d = frame.n_inputs
    points, step = rng.standard_normal((_POINTS, d)), rng.standard_normal((_POINTS, d))
    step *= 1e-3 * survey.radius / np.linalg.norm(step, axis=1, keepdims=True)
    asked = points + np.array([-1.5, -0.5, 0.5, 1.5])[:, None, None] * step
    values = frame(asked.reshape(-1, d)).reshape(4, _POINTS, -1)
    second = np.abs(np.diff(values, n=2, axis=0)).max(axis=(0, 2))
    third = np.abs(np.diff(values, n=3, axis=0)).max(axis=(0, 2))
    # Where it is linear, it says nothing: a function that bends at few places has that nearly everywhere.
    bent = second > _BENT * survey.noise
    return bool(np.mean(bent) > 0.3 and np.mean(third[bent] <= _STRAIGHT * second[bent] + 20 * survey.noise) > 0.6)


def read_squares(frame: Frame, survey: Survey, rng: np.random.Generator, state: State) -> None:
    """Read the derivative as a ReLU network into `state`, then the last digits from the model itself."""
    network = _quadratic(frame, survey, rng)
    check = fidelity(frame, CountedNetwork(network), survey, rng)
    # One square is its own eigenvector; a linear part beside it would leave its bias open.
    state.network, state.check, state.determined = network, check, network.n_hidden == 1 and network.skip is None
    if check.largest <= check.rounding:
        return
    step = _SHORT * survey.radius
    derivative = Derivative(frame.query, frame.centre, frame.scale, unit(rng, frame.n_inputs), step)
    rough = replace(survey, noise=2 * survey.noise / step, deviation=survey.noise / step, epsilon=_SHORT)
    known = PiecewiseState(Pieces.none(frame.n_inputs, survey.outputs))
    read_single(derivative, rough, rng, known, _REACH)
    if not known.pieces.count:
        return
    network = _squared(frame, known.pieces, rng)
    check = check.again(CountedNetwork(network))
    if 1e-3 * check.rounding < check.largest < _CLOSE:
        network = polish(frame, network, rng)
        check = check.again(CountedNetwork(network))
    if check.largest < state.check.largest:
        sides = network.n_hidden == known.pieces.count
        state.network, state.check, state.determined = network, check, sides


def _squared(frame: Frame, pieces: Pieces, rng: np.random.Generator) -> Network:
    """The network of squared ReLU neurons with these hyperplanes: outputs and sides by least squares."""
    k, d = pieces.normals.shape
    count = 3 * (2 * k + d + 1) + 10
    points = rng.standard_normal((count, d)) * rng.choice([1.0, 3.0], (count, 1))
    answers = frame(points)
    z = points @ pieces.normals.T + pieces.offsets
    linear = np.column_stack([points, np.ones(count)])
    if 2 * k <= d * (d + 1):
        solution = np.linalg.lstsq(np.column_stack([z * np.abs(z), z**2, linear]), answers, rcond=1e-12)[0]
        sides = np.where(np.sum(solution[:k] * solution[k : 2 * k], axis=1) < 0, -1.0, 1.0)
        weights, bias = pieces.normals * sides[:, None], pieces.offsets * sides
    else:
        # More squares than quadratic functions: which side is active is open, so every neuron is taken on both.
        weights, bias = (
            np.concatenate([pieces.normals, -pieces.normals]),
            np.concatenate([pieces.offsets, -pieces.offsets]),
        )
        k *= 2
    hidden = np.square(np.maximum(points @ weights.T + bias, 0))
    solution = np.linalg.lstsq(np.column_stack([hidden, linear]), answers, rcond=1e-12)[0]
    skip = solution[k:-1].T
    return Network(
        weights,
        solution[:k].T,
        "squared_relu",
        bias=bias,
        intercept=solution[-1],
        skip=skip if np.abs(skip).max() > 1e-5 * np.abs(solution[:k]).max() else None,
    )


def _quadratic(frame: Frame, survey: Survey, rng: np.random.Generator) -> Network:
    """x·Hx + g·x + c as quadratic neurons: the eigenvectors of the Hessians, with a linear part where it is needed."""
    d, m = frame.n_inputs, survey.outputs
    i, j = np.triu_indices(d)
    unknowns = len(i) + d + 1
    points = rng.standard_normal((unknowns + 10, d))
    columns = np.column_stack([points[:, i] * points[:, j], points, np.ones(len(points))])
    solution = np.linalg.lstsq(columns, frame(points), rcond=None)[0]
    weights, output, skip = [], [], solution[len(i) : -1].T.copy()
    for one in range(m):
        half = np.zeros((d, d))
        half[i, j] = solution[: len(i), one]
        values, vectors = np.linalg.eigh(0.5 * (half + half.T))
        for value, vector in zip(values, vectors.T, strict=True):
            if abs(value) > _NOTHING * np.abs(values).max():
                weights.append(vector)
                output.append(value * np.eye(m)[one])
    stacked, outputs = np.array(weights).reshape(-1, d), np.array(output).reshape(-1, m).T
    bias, intercept = np.zeros(len(stacked)), solution[-1].copy()
    if m == 1:  # complete the squares: λ (v·x + β)² with 2 λ β = g·v
        bias = (skip[0] @ stacked.T) / (2 * outputs[0])
        skip = skip - (2 * outputs[0] * bias) @ stacked
        intercept = intercept - np.sum(outputs[0] * bias**2)
    linear = np.abs(skip).max(initial=0.0) > _NOTHING * np.abs(solution).max()
    return Network(
        stacked, outputs, "quadratic", bias=bias, intercept=intercept, skip=np.atleast_2d(skip) if linear else None
    )
