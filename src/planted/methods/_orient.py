r"""The sign of each neuron, which the symmetric part leaves open, from the linear part and the constant."""

from __future__ import annotations

import numpy as np
import scipy.optimize
from numpy.typing import ArrayLike

from planted.activations import Activation
from planted.starts.output_layer import nearest_signs


def orientation(
    weights: np.ndarray,
    output: np.ndarray,
    bias: np.ndarray | None,
    linear: np.ndarray,
    intercept: ArrayLike,
    activation: Activation,
    *,
    fit_intercept: bool = False,
) -> np.ndarray:
    r"""Signs s (k,) such that Σ_i c_i φ(s_i(w_i·x + b_i)) has the linear part and constant that were fitted.

    Even ψ: linear = tilt Σ_i s_i c_i w_i, and intercept = tilt Σ_i s_i c_i b_i where no intercept is free. Least
    squares over −1 ≤ s ≤ 1, rounded: for rows in general position the box has a single solution as long as k < 2dm.
    Odd ψ about a constant: intercept = offset Σ_i s_i c_i with neuron (s_i w_i, s_i c_i); see :func:`nearest_signs`.

    Parameters
    ----------
    weights : array (k, d)
    output : array (k,) or (m, k)
        c.
    bias : array (k,), optional
    linear : array (d,) or (m, d)
    intercept : array () or (m,)
        The constant.

    Examples
    --------
    >>> from planted import activations
    >>> W, c = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([1.0, -2.0])
    >>> orientation(W, c, None, 0.5 * (-c * np.array([1, -1])) @ W, 0.0, activations.get("relu"))
    array([-1.,  1.])
    """
    outputs = np.atleast_2d(output)
    if activation.centred_parity == "even" and activation.tilt:
        system = activation.tilt * np.einsum("oi,ij->oji", outputs, weights).reshape(-1, len(weights))
        goal = np.asarray(linear).reshape(-1)
        if bias is not None and not fit_intercept:
            system = np.vstack([system, activation.tilt * outputs * bias])
            goal = np.append(goal, intercept)
        solution = scipy.optimize.lsq_linear(system, goal, bounds=(-1.0, 1.0), tol=1e-12)
        return np.where(solution.x < 0, -1.0, 1.0)
    if activation.centred_parity == "odd" and activation.offset and not fit_intercept:
        return nearest_signs(output, np.asarray(intercept) / activation.offset)
    if activation.centred_parity == "odd":
        return np.where(outputs[0] < 0, -1.0, 1.0)
    return np.ones(len(weights))
