"""Gauss–Newton steps for a smooth network that is already close."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import special
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from planted.networks import Network
from planted.reading._check import MOST_SINGLE, Check
from planted.reading._places import beside_hyperplanes
from planted.reading._query import Frame
from planted.reading._survey import Survey
from planted.reading._values import function_of, values

_LARGEST, _LARGE_COARSE, _LARGEST_COARSE = 1200, 2500, 5000
_STEPS = 12
_ROWS, _ROWS_COARSE, _ROWS_LARGE = 1.3, 4.0, 2.0
_RIDGE = 1e-13
_SETTLED = 0.5
# Rounded coarsely, answers near by do not say how high each neuron goes; answers far out do.
_SCALES, _SCALES_COARSE = (0.5, 1.0, 3.0), (0.5, 1.0, 3.0, 30.0)
_SHARES = (1.0, 0.3, 0.1, 0.03)

SLOPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "squared_relu": lambda z: 2 * np.maximum(z, 0),
    "softplus": special.expit,
    "gelu": lambda z: special.ndtr(z) + z * np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi),
    "silu": lambda z: special.expit(z) * (1 + z * special.expit(-z)),
    "tanh": lambda z: 4 * special.expit(2 * z) * special.expit(-2 * z),
    "sigmoid": lambda z: special.expit(z) * special.expit(-z),
    "tanh_probability": lambda z: 2 * special.expit(2 * z) * special.expit(-2 * z),
    "erf": lambda z: 2 / np.sqrt(np.pi) * np.exp(-0.5 * z**2),
    "standard_erf": lambda z: 2 / np.sqrt(np.pi) * np.exp(-(z**2)),
    "erf_probability": lambda z: np.exp(-(z**2)) / np.sqrt(np.pi),
}


def polish(frame: Frame, network: Network, rng: np.random.Generator, coarse: bool = False) -> Network:
    """Gauss–Newton steps on fresh questions near the centre, where rounding is small; for a few thousand parameters.

    There are a few more answers than parameters. With `coarse` answers, those of float32, there are several a
    parameter, whose errors average out; and as no digits are to be lost there, large systems are solved by their
    normal equations.
    """
    arrays = dict(network.arrays())
    unknowns = sum(array.size for array in arrays.values())
    large = unknowns > _LARGEST
    if unknowns > (_LARGEST_COARSE if coarse else _LARGEST):
        return network
    ratio = (_ROWS_LARGE if unknowns > _LARGE_COARSE else _ROWS_COARSE) if coarse else _ROWS
    m, slope = network.n_outputs, SLOPES[network.activation.name]
    count = int(ratio * unknowns) // m + 20
    points = _where_neurons_bend(network, count, rng, _SCALES_COARSE if coarse else _SCALES)
    answers = frame(points)
    size_of = _root_mean_square if coarse else _largest
    least = size_of(answers - values(network, points))
    inputs = np.column_stack([points, np.ones(count)])
    for _ in range(_STEPS):
        z = points @ network.weights.T + network.bias
        bend = slope(z)
        hidden = function_of(network.activation.name)(z)
        inner = np.einsum("nk,nd,mk->nmkd", bend, inputs, network.output).reshape(count * m, -1)
        linear = inputs if network.skip is not None else np.ones((count, 1))
        outer = np.concatenate([hidden, linear], axis=1)
        outer = np.einsum("nj,ml->nmlj", outer, np.eye(m)).reshape(count * m, -1)
        residual = (answers - values(network, points)).ravel()
        matrix = np.hstack([inner, outer])
        if large:
            step = _by_normal_equations(matrix, residual)
            if step is None:
                break
        else:
            scale = np.linalg.norm(matrix, axis=0).clip(1e-300)
            step = lstsq(matrix / scale, residual, cond=1e-13, lapack_driver="gelsy")[0] / scale
        for share in _SHARES:
            candidate = _moved(network, share * step)
            size = size_of(answers - values(candidate, points))
            if size < least:
                break
        if not size < least:
            break
        network, settled, least = candidate, share == 1 and size > _SETTLED * least, size
        if settled:
            break
    return network


def _largest(residual: np.ndarray) -> float:
    return float(np.abs(residual).max())


def _root_mean_square(residual: np.ndarray) -> float:
    """The size that Gauss–Newton steps reduce; the largest entry is rounding, where answers are rounded coarsely."""
    return float(np.sqrt(np.mean(residual**2)))


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
    half, bias = count // 2, np.zeros(network.n_hidden) if network.bias is None else network.bias
    points[:half] = beside_hyperplanes(points[:half], network.weights, bias, 2.0, rng)
    return points


def _by_normal_equations(matrix: np.ndarray, residual: np.ndarray) -> np.ndarray | None:
    """Least squares in half the time of a decomposition of the matrix and half the digits; None if it is singular."""
    gram = matrix.T @ matrix
    scale = np.sqrt(np.diag(gram)).clip(1e-300)
    gram /= np.outer(scale, scale)
    gram[np.diag_indices_from(gram)] += _RIDGE
    try:
        solution: np.ndarray = cho_solve(cho_factor(gram), matrix.T @ residual / scale) / scale
    except LinAlgError:
        return None
    return solution


def with_rounding(check: Check, network: Network, survey: Survey) -> Check:
    r"""The check with the rounding that the network itself has in the model's precision, where that is more.

    With n = |w|·|x| + |b| (sums of absolute values), the sum Σ a φ(w·x + b) + c is off by at most about
    ε (Σ |a| (|φ| + |φ'| n) + |c|), in standard deviations of the answers; at most 1e-4 is allowed.

    >>> points, answers = np.array([[1.0], [-1.0]]), np.array([[1.0], [-1.0]])
    >>> check = Check(1e-6, points, answers, (slice(0, 2), slice(0, 2)))
    >>> network = Network([[0.5]], [[100.0]], "tanh", bias=[0.0], intercept=[0.0])
    >>> with_rounding(check, network, Survey(1e-7, 1e-6, 1.0, True, 1.0, 1)).rounding > 8e-6
    True
    """
    bias = np.zeros(network.n_hidden) if network.bias is None else network.bias
    weights, output = np.abs(network.weights), np.abs(network.output)
    z = check.points @ network.weights.T + bias
    size = np.abs(function_of(network.activation.name)(z))
    moved = np.abs(SLOPES[network.activation.name](z)) * (np.abs(check.points) @ weights.T + np.abs(bias))
    error = survey.epsilon * ((size + moved) @ output.T + np.abs(network.intercept))
    most = 0.0
    for part in check.parts[:2]:
        spread = float(np.std(check.answers[part], axis=0).max())
        most = max(most, float(error[part].max()) / (spread if spread > 0 else float(np.abs(check.answers).max())))
    return replace(check, rounding=max(check.rounding, min(most, MOST_SINGLE)))
