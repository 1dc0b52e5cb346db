"""An over-parameterised start for the squared loss with its linear part split off."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planted.activations import Activation
from planted.numerics import random
from planted.starts._random import random_rows


def expanded_start(
    key: Any,
    width: int,
    activation: Activation,
    linear: np.ndarray,
    spread: float,
    *,
    bias: bool,
    positive: float = 0.5,
) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
    """Parameters of a :class:`planted.objectives.SymmetricPart` and, for homogeneous φ, its fixed outputs (m,).

    Rows are uniform on the sphere; a fraction `positive` of the outputs, evenly spread, is positive.
    Together the neurons have half of `spread`, the standard deviation of what the linear part leaves. For homogeneous
    φ of degree p the outputs stay ±1 and lengths are in the weights; otherwise the outputs are parameters.

    Parameters
    ----------
    linear : array (d + 1,), or (d + 1, outputs)
        Least-squares coefficients of the inputs, which must have unit covariance, and the constant. With several
        outputs the outputs of every neuron are parameters, in random directions.

    Examples
    --------
    >>> from planted import activations
    >>> start, output = expanded_start(np.array([0, 0]), 3, activations.get("relu"), np.zeros(5), 1.0, bias=False)
    >>> start["weights"].shape, output
    ((3, 4), array([ 1., -1.,  1.]))
    """
    row_key, bias_key = random.split(key)
    rows = random_rows(row_key, width, len(linear) - 1)
    steps = np.ceil(positive * np.arange(width + 1))
    signs = np.where(np.diff(steps) > 0, 1.0, -1.0)
    variance = activation.second_moment() - activation.hermite(0) ** 2 - activation.tilt**2
    amplitude = 0.5 * spread / math.sqrt(width * max(variance, 1e-12))
    start = {"weights": rows, "intercept": np.asarray(linear[-1] if activation.tilt else 0.0 * linear[-1])}
    if activation.tilt:
        start["linear"] = np.array(linear[:-1].T)
    if bias:
        start["bias"] = 0.25 * random.normal(bias_key, (width,))
    if linear.ndim > 1:
        directions = random_rows(random.fold_in(row_key, 1), width, linear.shape[1])
        return start | {"output": amplitude * math.sqrt(linear.shape[1]) * directions.T}, None
    if activation.homogeneity is None:
        return start | {"output": amplitude * signs}, None
    scale = amplitude ** (1 / activation.homogeneity)
    for name in ("weights", "bias"):
        if name in start:
            start[name] = scale * start[name]
    return start, signs
