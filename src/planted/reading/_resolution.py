r"""How different two neurons must be to be told apart: what rounding hides cannot be read.

Two halves of one neuron, with weights that differ by δ|w|, have arguments that differ by δ|w|r at the distance r from
the centre. Where they are piecewise linear, they differ from the whole by |a||w|δr/4 on its hyperplane; where they are
smooth, by |a| max|φ''| (δ|w|r)²/8 beside it.
"""

from __future__ import annotations

import numpy as np

from planted.networks import Network
from planted.reading._check import Check
from planted.reading._polish import SLOPES

_GRID = np.linspace(-6.0, 6.0, 601)
_MARGIN = 5.0  # a difference is met where it is largest by chance only, as each hyperplane is asked at few places


def resolution(network: Network, check: Check) -> float:
    """Relative difference δ below which two halves of the weakest neuron are one neuron to the rounding of the model.

    >>> points = np.random.default_rng(0).standard_normal((50, 2))
    >>> network = Network([[1.0, 0.0]], [[1.0]], "relu", bias=[0.0], intercept=[0.0])
    >>> check = Check(1e-6, points, network.predict(points).reshape(-1, 1), (slice(0, 50),))
    >>> 1e-7 < resolution(network, check) < 1e-5
    True
    """
    spread = float(np.nanstd(check.answers[check.parts[0]], axis=0).max())
    hidden = _MARGIN * check.rounding * spread
    distance = np.sqrt(network.n_features)
    length = np.linalg.norm(network.weights, axis=1)
    strength = np.linalg.norm(np.atleast_2d(network.output), axis=0)
    slope = SLOPES.get(network.activation.name)
    if slope is None:
        shares = 4 * hidden / (strength * length * distance).clip(1e-300)
    else:
        curvature = float(np.abs(np.gradient(slope(_GRID), _GRID)).max())
        shares = np.sqrt(8 * hidden / (strength * curvature).clip(1e-300)) / (length * distance).clip(1e-300)
    return float(min(shares.max(initial=0.0), 1.0))
