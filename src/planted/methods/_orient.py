r"""The sign of each neuron, which the symmetric part leaves open, from the linear part and the constant."""

from __future__ import annotations

import numpy as np
import scipy.optimize

from planted.activations import Activation

_MEET = 40


def orientation(
    weights: np.ndarray,
    output: np.ndarray,
    bias: np.ndarray | None,
    linear: np.ndarray,
    intercept: float,
    activation: Activation,
    *,
    fit_intercept: bool = False,
) -> np.ndarray:
    r"""Signs s (k,) such that Σ_i c_i φ(s_i(w_i·x + b_i)) has the linear part and constant that were fitted.

    Even ψ: linear = tilt Σ_i s_i c_i w_i, and intercept = tilt Σ_i s_i c_i b_i where no intercept is free. Least
    squares over −1 ≤ s ≤ 1, rounded: for rows in general position the box has a single solution as long as k < 2d.
    Odd ψ about a constant: intercept = offset Σ_i s_i c_i with neuron (s_i w_i, s_i c_i); all sign patterns of up
    to forty neurons are searched by meeting in the middle, and beyond that outputs are made positive.

    Examples
    --------
    >>> from planted import activations
    >>> W, c = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([1.0, -2.0])
    >>> orientation(W, c, None, 0.5 * (-c * np.array([1, -1])) @ W, 0.0, activations.get("relu"))
    array([-1.,  1.])
    """
    if activation.centred_parity == "even" and activation.tilt:
        system, goal = (activation.tilt * output[:, None] * weights).T, np.asarray(linear)
        if bias is not None and not fit_intercept:
            system = np.vstack([system, activation.tilt * output * bias])
            goal = np.append(goal, intercept)
        found = scipy.optimize.lsq_linear(system, goal, bounds=(-1.0, 1.0), tol=1e-12)
        return np.where(found.x < 0, -1.0, 1.0)
    if activation.centred_parity == "odd" and activation.offset and not fit_intercept and len(output) <= _MEET:
        return _signed_sum(output, intercept / activation.offset)
    if activation.centred_parity == "odd":
        return np.where(output < 0, -1.0, 1.0)
    return np.ones(len(output))


def _signed_sum(numbers: np.ndarray, goal: float) -> np.ndarray:
    """Signs s with Σ s_i numbers_i nearest to `goal`: sorted sums of one half, looked up for each sum of the other."""
    half = len(numbers) // 2
    left, right = numbers[:half], numbers[half:]
    sums_left, sums_right = _all_sums(left), _all_sums(right)
    order = np.argsort(sums_left)
    place = np.searchsorted(sums_left[order], goal - sums_right)
    best = (np.inf, 0, 0)
    for shift in (-1, 0):
        index = np.clip(place + shift, 0, len(order) - 1)
        missed = np.abs(sums_left[order][index] + sums_right - goal)
        j = int(missed.argmin())
        best = min(best, (float(missed[j]), int(order[index[j]]), j))
    bits = np.concatenate([(best[1] >> np.arange(half)) & 1, (best[2] >> np.arange(len(right))) & 1])
    return 1.0 - 2.0 * bits


def _all_sums(numbers: np.ndarray) -> np.ndarray:
    """Σ s_i numbers_i for every pattern, bit i of the index being set where s_i = −1."""
    sums = np.zeros(1)
    for number in numbers:
        sums = np.concatenate([sums + number, sums - number])
    return sums
