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
from planted.names import unknown
from planted.numerics.validation import as_matrix, as_rows

ALGORITHMS = ("least_squares", "correlation", "general_correlation")
_VANISHING = 1e-12
_ENUMERATED = 16


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
    X: ArrayLike, y: ArrayLike, weights: ArrayLike, activation: Any = "relu", bias: ArrayLike | None = None
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
    if act.parity is None and act.centred_parity == "odd":
        return _oriented_by_mean(inputs, targets, rows, shift, act)
    if act.parity is None:
        both = np.concatenate([act(inputs @ (sign * rows).T + shift) for sign in (1.0, -1.0)], axis=1)
        forward, backward = np.split(_solve(both, targets), 2)
        rows = np.where(np.abs(backward) > np.abs(forward), -1.0, 1.0)[:, None] * rows
    status, reason = _orientable(act)
    return OutputLayer(rows, _solve(act(inputs @ rows.T + shift), targets), status, reason)


def _oriented_by_mean(
    inputs: np.ndarray, targets: np.ndarray, rows: np.ndarray, shift: np.ndarray, act: Activation
) -> OutputLayer:
    """Signs for an activation that is odd about a constant c: those with c Σ_i s_i ã_i nearest the fitted constant.

    ã are the coefficients of φ(b_i·x) − c. All sign patterns are compared for up to 16 neurons; beyond that only
    the one with positive outputs is.
    """
    centred = act(inputs @ rows.T + shift) - act.offset
    *outputs, constant = _solve(np.column_stack([centred, np.ones(len(inputs))]), targets)
    signed = np.array(outputs)
    k = len(signed)
    if k <= _ENUMERATED:
        patterns = 1.0 - 2.0 * ((np.arange(2**k)[:, None] >> np.arange(k)) & 1)
        sign = patterns[np.argmin(np.abs(act.offset * patterns @ signed - constant))]
    else:
        sign = np.where(signed < 0, -1.0, 1.0)
    missed = abs(act.offset * sign @ signed - constant)
    if missed > 0.05 * act.offset * np.sum(np.abs(signed)):
        reason = f"no orientation of the {k} neurons that was tried explains the mean of y"
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


def _solve(features: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Least squares through the normal equations: k is small, rows are many, and collinear features get no NaN."""
    gram = features.T @ features
    return np.linalg.lstsq(gram, features.T @ targets, rcond=1e-12)[0]
