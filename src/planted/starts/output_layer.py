r"""The output layer, and the sign of each neuron, once hidden directions are known up to sign.

For x ~ N(0, I) and unit rows b*_i, E[y x] = σ̂₁ Σ_i a*_i b*_i (Claim B.1 of Ge et al. 2017, where σ̂₁ = ½ for
ReLU). Algorithms 1 and 2 read the outputs off this average; least squares uses every row and needs no Gaussian
inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.names import count_of, unknown
from planted.numerics.validation import as_matrix, as_rows

ALGORITHMS = ("least_squares", "correlation", "general_correlation")
_VANISHING = 1e-12
_MEET = 40


@dataclass(frozen=True)
class OutputLayer:
    """Outputs (k,) for oriented rows (k, d), with `status` "ok" or "signs unidentified" and the reason."""

    weights: np.ndarray
    output: np.ndarray
    status: str
    reason: str


def _orientable(activation: Activation) -> tuple[str, str]:
    if abs(activation.hermite(1)) > _VANISHING:
        return "ok", "the first Hermite coefficient is non-zero, so the sign of each neuron shows in E[y x]"
    if activation.parity == "even":
        return "ok", f"{activation.name} is even: the sign of a weight vector has no effect"
    return (
        "signs unidentified",
        f"the first Hermite coefficient of {activation.name} is zero, so E[y x] does not show the neurons' signs",
    )


def correlation_outputs(
    X: ArrayLike, y: ArrayLike, weights: ArrayLike, activation: Any = "relu", *, orthogonal: bool = True
) -> OutputLayer:
    """Algorithm 1 (orthogonal rows) or 2 (any full-rank rows): positive outputs and signs from E[y x].

    u_i = Ê[y ⟨x, b_i⟩] / σ̂₁, then a' = u or (BBᵀ)⁻¹u; a_i = |a'_i| and b_i takes the sign of a'_i. Right for
    standard Gaussian rows, unit weights and positive outputs.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
    weights : array (k, d)
        Unit rows, each right up to its sign.
    activation : str, Activation or callable
        With σ̂₁ ≠ 0; otherwise the status is "signs unidentified" and the outputs are NaN.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(100_000, 4, 2, output=[1.0, 2.0], random_state=0)
    >>> layer = correlation_outputs(data.X, data.y, -data.teacher.weights)
    >>> bool(np.allclose(layer.weights, data.teacher.weights)), layer.output.round(1)
    (True, array([1., 2.]))
    """
    inputs, targets = as_rows(X, y)
    rows, act = as_matrix("weights", weights), activations.get(activation)
    first = act.hermite(1)
    if abs(first) <= _VANISHING:
        _, reason = _orientable(act)
        return OutputLayer(rows, np.full(len(rows), np.nan), "signs unidentified", reason)
    u = rows @ (targets @ inputs / len(inputs)) / first
    signed = u if orthogonal else np.linalg.solve(rows @ rows.T, u)
    sign = np.where(signed < 0, -1.0, 1.0)
    return OutputLayer(rows * sign[:, None], np.abs(signed), *_orientable(act))


def least_squares_outputs(
    X: ArrayLike,
    y: ArrayLike,
    weights: ArrayLike,
    activation: Any = "relu",
    bias: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> OutputLayer:
    """Outputs of any sign and the neurons' signs by least squares on φ(b_i·x + c_i) and φ(−b_i·x + c_i).

    With the rows right up to sign, the best fit puts each neuron's whole output on the right orientation. The
    larger of the two coefficients decides; the outputs are then fitted anew for the chosen orientations. Even
    and odd activations need no decision. Where φ − c is odd (sigmoid), flipping neuron i adds 2c·a_i to the
    function, so the fitted constant decides among the sign patterns.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(1000, 4, 2, output=[1.0, -2.0], random_state=0)
    >>> layer = least_squares_outputs(data.X, data.y, -data.teacher.weights)
    >>> bool(np.allclose(layer.weights, data.teacher.weights)), layer.output.round(6)
    (True, array([ 1., -2.]))
    """
    inputs, targets = as_rows(X, y)
    rows, act = as_matrix("weights", weights), activations.get(activation)
    shift = np.zeros(len(rows)) if bias is None else as_matrix("bias", bias, 1)
    weight = None if sample_weight is None else as_matrix("sample_weight", sample_weight, 1)
    if act.parity is None and act.centred_parity == "odd":
        centred = act(inputs @ rows.T + shift) - act.offset
        return _oriented_by_mean(_solve(np.column_stack([centred, np.ones(len(inputs))]), targets, weight), rows, act)
    if act.parity is None:
        both = np.concatenate([act(inputs @ (sign * rows).T + shift) for sign in (1.0, -1.0)], axis=1)
        forward, backward = np.split(_solve(both, targets, weight), 2)
        rows = np.where(np.abs(backward) > np.abs(forward), -1.0, 1.0)[:, None] * rows
    status, reason = _orientable(act)
    return OutputLayer(rows, _solve(act(inputs @ rows.T + shift), targets, weight), status, reason)


def _oriented_by_mean(coefficients: np.ndarray, rows: np.ndarray, act: Activation) -> OutputLayer:
    """Signs for an activation that is odd about a constant c: those with c Σ_i s_i ã_i nearest the fitted constant.

    `coefficients` (k + 1,) are ã, those of φ(b_i·x) − c, and the constant; see :func:`nearest_signs`.
    """
    signed, constant = coefficients[:-1], coefficients[-1]
    k = len(signed)
    sign = nearest_signs(signed, constant / act.offset)
    missed = abs(act.offset * sign @ signed - constant)
    if missed > 0.05 * act.offset * np.sum(np.abs(signed)):
        reason = f"no orientation of the {count_of(k, 'neuron')} that was tried explains the mean of y"
        return OutputLayer(rows, signed, "signs unidentified", reason)
    return OutputLayer(rows * sign[:, None], signed * sign, "ok", "the mean of y shows the neurons' signs")


def recover_outputs(
    X: ArrayLike, y: ArrayLike, weights: ArrayLike, activation: Any = "relu", algorithm: str = "least_squares"
) -> OutputLayer:
    """The output layer by name: "least_squares", "correlation" (Algorithm 1) or "general_correlation" (2).

    >>> recover_outputs([[1.0]], [1.0], [[1.0]], algorithm="least_square")
    Traceback (most recent call last):
    ValueError: unknown algorithm 'least_square'; did you mean 'least_squares'? ...
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(unknown("algorithm", algorithm, ALGORITHMS))
    if algorithm == "least_squares":
        return least_squares_outputs(X, y, weights, activation)
    return correlation_outputs(X, y, weights, activation, orthogonal=algorithm == "correlation")


def _solve(features: np.ndarray, targets: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Least squares through the normal equations: k is small, rows are many, and collinear features get no NaN."""
    weighted = features if weight is None else features * weight[:, None]
    return np.linalg.lstsq(weighted.T @ features, weighted.T @ targets, rcond=1e-12)[0]


def nearest_signs(numbers: ArrayLike, goal: ArrayLike) -> np.ndarray:
    """Signs s (k,) with Σ s_i numbers_i nearest to `goal`, for numbers (k,) and a number, or (m, k) and (m,).

    Sorted sums of one half are looked up for each sum of the other, so all patterns of up to forty numbers are
    compared; beyond that only the one with positive sums is. Columns of numbers are compared along one direction.

    >>> nearest_signs([1.0, 2.0, 4.0], -5.0)
    array([ 1., -1., -1.])
    """
    table, aim = np.atleast_2d(np.asarray(numbers, dtype=np.float64)), np.atleast_1d(np.asarray(goal, dtype=np.float64))
    if table.shape[1] > _MEET:
        return np.where(table[0] < 0, -1.0, 1.0)
    mix = np.sqrt(np.arange(1.0, len(table) + 1))
    values, wanted = mix @ table, float(mix @ aim)
    half = len(values) // 2
    sums_left, sums_right = _all_sums(values[:half]), _all_sums(values[half:])
    order = np.argsort(sums_left)
    place = np.searchsorted(sums_left[order], wanted - sums_right)
    best = (np.inf, 0, 0)
    for shift in (-1, 0):
        index = np.clip(place + shift, 0, len(order) - 1)
        missed = np.abs(sums_left[order][index] + sums_right - wanted)
        j = int(missed.argmin())
        best = min(best, (float(missed[j]), int(order[index[j]]), j))
    bits = np.concatenate([(best[1] >> np.arange(half)) & 1, (best[2] >> np.arange(len(values) - half)) & 1])
    return 1.0 - 2.0 * bits


def _all_sums(numbers: np.ndarray) -> np.ndarray:
    """Σ s_i numbers_i for every pattern, bit i of the index being set where s_i = −1."""
    sums = np.zeros(1)
    for number in numbers:
        sums = np.concatenate([sums + number, sums - number])
    return sums
