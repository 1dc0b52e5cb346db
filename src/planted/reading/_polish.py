"""Gauss–Newton steps for a smooth network that is already close."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import special
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from planted.activations.elementwise import logistic, logistic_slope
from planted.networks import Network
from planted.reading._check import MOST_SINGLE, Check
from planted.reading._places import beside_hyperplanes
from planted.reading._query import Frame
from planted.reading._survey import Survey
from planted.reading._values import function_of, values

_LARGEST, _LARGE_COARSE, _LARGEST_COARSE = 1200, 2500, 5000
_STEPS, _STEPS_COARSE = 12, 30
_ROWS, _ROWS_COARSE, _ROWS_LARGE = 1.3, 4.0, 2.0
_RIDGES = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
_SETTLED, _SETTLED_COARSE = 0.5, 0.98
# Rounded coarsely, answers near by do not say how high each neuron goes; answers far out do.
_SCALES, _SCALES_COARSE = (0.5, 1.0, 3.0), (0.5, 1.0, 3.0, 30.0)
_SHARES = (1.0, 0.3, 0.1, 0.03)

SLOPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "squared_relu": lambda z: 2 * np.maximum(z, 0),
    "softplus": logistic,
    "gelu": lambda z: special.ndtr(z) + z * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi),
    "silu": lambda z: logistic(z) * (1 + z * logistic(-z)),
    "tanh": lambda z: 4 * logistic_slope(2 * z),
    "sigmoid": logistic_slope,
    "tanh_probability": lambda z: 2 * logistic_slope(2 * z),
    "erf": lambda z: 2 / np.sqrt(np.pi) * np.exp(-0.5 * z**2),
    "standard_erf": lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2)),
    "erf_probability": lambda z: np.exp(-(z**2)) / np.sqrt(np.pi),
}


def polish(frame: Frame, network: Network, rng: np.random.Generator) -> Network:
    """Gauss–Newton steps on fresh questions near the centre, where rounding is small; for up to 1,200 parameters.

    There are a few more answers than parameters.
    """
    unknowns = sum(array.size for array in network.arrays().values())
    if unknowns > _LARGEST:
        return network
    count = int(_ROWS * unknowns) // network.n_outputs + 20
    points = _where_neurons_bend(network, count, rng, _SCALES)
    answers = frame(points)
    least = float(np.abs(answers - values(network, points)).max())
    for _ in range(_STEPS):
        matrix = _derivatives(network, points)
        scale = np.linalg.norm(matrix, axis=0).clip(1e-300)
        residual = (answers - values(network, points)).ravel()
        step = lstsq(matrix / scale, residual, cond=1e-13, lapack_driver="gelsy")[0] / scale
        for share in _SHARES:
            candidate = _moved(network, share * step)
            size = float(np.abs(answers - values(candidate, points)).max())
            if size < least:
                break
        if not size < least:
            break
        network, settled, least = candidate, share == 1 and size > _SETTLED * least, size
        if settled:
            break
    return network


def polish_coarse(frame: Frame, network: Network, rng: np.random.Generator) -> Network:
    """Levenberg–Marquardt steps on answers that are rounded to float32; for up to 5,000 parameters.

    There are several answers a parameter, whose errors average out, some of them far out: near by they do not say how
    high each neuron goes. Rows are weighted by the size of the answer, as its rounding is in proportion. No digits are
    to be lost here, so the steps come from the normal equations.
    """
    unknowns = sum(array.size for array in network.arrays().values())
    if unknowns > _LARGEST_COARSE:
        return network
    count = int((_ROWS_LARGE if unknowns > _LARGE_COARSE else _ROWS_COARSE) * unknowns) // network.n_outputs + 20
    points = _where_neurons_bend(network, count, rng, _SCALES_COARSE)
    answers = frame(points)
    level = np.abs(answers).max(axis=1)
    weight = (1 / (level + max(float(np.median(level)), 1e-300)))[:, None]
    weight /= weight.max()
    residual = weight * (answers - values(network, points))
    least, ridge = float(np.mean(residual**2)), _RIDGES[0]
    for _ in range(_STEPS_COARSE):
        matrix = _derivatives(network, points, weight)
        gram = matrix.T @ matrix
        scale = np.sqrt(np.diag(gram)).clip(1e-300)
        gram /= np.outer(scale, scale)
        target = matrix.T @ residual.ravel() / scale
        for ridge in (size for size in _RIDGES if size >= 0.01 * ridge):
            step = _solved(gram, target, ridge)
            if step is None:
                continue
            candidate = _moved(network, step / scale)
            fresh = weight * (answers - values(candidate, points))
            size = float(np.mean(fresh**2))
            if size < least:
                break
        else:
            break
        settled = size > _SETTLED_COARSE * least
        network, residual, least = candidate, fresh, size
        if settled:
            break
    return network


def _derivatives(network: Network, points: np.ndarray, weight: np.ndarray | float = 1.0) -> np.ndarray:
    """Derivatives (n·m, p) of the outputs in every parameter, in the order of :func:`_moved`, times weight (n, 1)."""
    m, count, name = network.n_outputs, len(points), network.activation.name
    inputs = np.column_stack([points, np.ones(count)])
    z = points @ network.weights.T + network.bias
    bend, hidden = weight * SLOPES[name](z), weight * function_of(name)(z)
    inner = np.einsum("nk,nd,mk->nmkd", bend, inputs, network.output).reshape(count * m, -1)
    linear = weight * (inputs if network.skip is not None else np.ones((count, 1)))
    outer = np.concatenate([hidden, linear], axis=1)
    outer = np.einsum("nj,ml->nmlj", outer, np.eye(m)).reshape(count * m, -1)
    return np.hstack([inner, outer])


def _solved(gram: np.ndarray, target: np.ndarray, ridge: float) -> np.ndarray | None:
    """Solution of normal equations with a ridge on their diagonal of ones; None where they are singular."""
    matrix = gram.copy()
    matrix[np.diag_indices_from(matrix)] += ridge
    try:
        solution: np.ndarray = cho_solve(cho_factor(matrix, overwrite_a=True), target)
    except LinAlgError:
        return None
    return solution


def _moved(network: Network, step: np.ndarray) -> Network:
    """The network with a step added: weights and bias of each neuron, then outputs, linear part, intercept of each."""
    (k, d), m = network.weights.shape, network.n_outputs
    rows, tail = step[: k * (d + 1)].reshape(k, d + 1), step[k * (d + 1) :].reshape(m, -1)
    changed = {
        "weights": network.weights + rows[:, :-1],
        "bias": network.bias + rows[:, -1],
        "output": network.output + tail[:, :k],
        "intercept": network.intercept + tail[:, -1],
    }
    if network.skip is not None:
        changed["skip"] = network.skip + tail[:, k:-1]
    return network.replace(**changed)


def _where_neurons_bend(
    network: Network, count: int, rng: np.random.Generator, scales: tuple[float, ...]
) -> np.ndarray:
    """Points (count, d): half of them around the centre, half where one neuron's argument is of the size of one.

    Without the second half, neurons with small weights or large biases would be asked for only where they are linear.
    """
    points = rng.standard_normal((count, network.n_features)) * rng.choice(scales, (count, 1))
    half, bias = count // 2, network.shift
    points[:half] = beside_hyperplanes(points[:half], network.weights, bias, 2.0, rng)
    return points


def with_rounding(check: Check, network: Network, survey: Survey) -> Check:
    r"""The check with the rounding that the network itself has in the model's precision, where that is more.

    With n = |w|·|x| + |b| (sums of absolute values), the sum Σ a φ(w·x + b) + c is off by at most about
    ε (Σ |a| (|φ| + |φ'| n) + |c|), in standard deviations of the answers; at most 1e-4 is allowed. Slopes of clipped
    neurons are at most one.

    >>> points, answers = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]])
    >>> check = Check(1e-6, points, answers, (slice(0, 2), slice(0, 2)))
    >>> network = Network([[0.5]], [[100.0]], "tanh", bias=[0.0], intercept=[0.0])
    >>> with_rounding(check, network, Survey(1e-7, 1e-6, 1.0, True, 1.0, 1)).rounding > 8e-6
    True
    """
    bias = network.shift
    weights, output = np.abs(network.weights), np.abs(network.output)
    z = check.points @ network.weights.T + bias
    size = np.abs(function_of(network.activation.name)(z))
    slope = SLOPES.get(network.activation.name, np.ones_like)
    moved = np.abs(slope(z)) * (np.abs(check.points) @ weights.T + np.abs(bias))
    error = survey.epsilon * ((size + moved) @ output.T + np.abs(network.intercept))
    most = 0.0
    for part in check.parts[:2]:
        spread = float(np.std(check.answers[part], axis=0).max())
        most = max(most, float(error[part].max()) / (spread if spread > 0 else float(np.abs(check.answers).max())))
    return replace(check, rounding=max(check.rounding, min(most, MOST_SINGLE)))
