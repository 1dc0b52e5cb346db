r"""Neurons whose length no labels bound: the loss falls as their weights grow, so that it has no finite minimiser.

A saturating φ turns into a step as its weights grow. With too few rows some step may explain the labels better than
every slope. The inverse length is then estimated as zero. With L the shortest length that a likelihood ratio at 95 %
leaves possible and ε its relative standard error there with n rows, n (3ε)² rows put the inverse length three standard
errors away from zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planted.certificates import uncertainty
from planted.methods._labels import LabelProblem
from planted.networks import Network
from planted.numerics.precision import float64

_FAR = 1e3
_SETTLED = 3.0
# Half the 95 % point of χ² with one degree of freedom.
_RATIO = 1.92
_STEPS = 24
_LEVEL = 1e-9


@dataclass(frozen=True)
class Runaway:
    """A neuron whose weights run off, and the rows that would settle its length.

    Attributes
    ----------
    neuron : int
    shortest : float
        Length that its weights have at least, at 95 %.
    rows : float
        Rows that would keep its length finite, if it is the shortest one; infinite where they cannot be told.
    """

    neuron: int
    shortest: float
    rows: float

    @property
    def reason(self) -> str:
        """What happens, in words."""
        return (
            f"no finite minimiser: neuron {self.neuron} runs off, the loss still falls as its weights grow beyond "
            f"length {self.shortest:.3g}"
        )

    @property
    def advice(self) -> str:
        """What would settle it, in words."""
        if not np.isfinite(self.rows):
            return "Give more rows, or ask for fewer neurons."
        return (
            f"About {self.rows:,.0f} rows would settle it if its length is {self.shortest:.3g}, the least that these "
            "rows allow at 95 %; or ask for fewer neurons."
        )


@float64
def runaway(problem: LabelProblem, network: Network) -> Runaway | None:
    """The first neuron whose growth lowers the loss without end, or None.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(4000, 2, 1, activation="sigmoid", weights=[[2.0, 0.0]], task="classification",
    ...                     random_state=0)
    >>> runaway(LabelProblem.of(data.X, data.y, 1, "sigmoid"), data.teacher) is None
    True
    """
    low, high = network.activation.range
    if not np.isfinite(high - low):
        return None
    loss = problem.objective(problem.sample)
    here = float(loss.value(problem.params(network)))
    for i in np.flatnonzero(np.any(network.weights, axis=1)).tolist():
        far = float(loss.value(problem.params(_scaled(network, i, _FAR))))
        if far <= here + _LEVEL * abs(here):
            return _settled(problem, network, i, loss, far)
    return None


def _scaled(network: Network, i: int, factor: float) -> Network:
    """The network with the weights and the bias of neuron i multiplied."""
    factors = np.ones(network.n_hidden)
    factors[i] = factor
    arrays = {"weights": network.weights * factors[:, None]}
    if network.bias is not None:
        arrays["bias"] = network.bias * factors
    return network.replace(**arrays)


def _settled(problem: LabelProblem, network: Network, i: int, loss: Any, far: float) -> Runaway:
    length = float(np.linalg.norm(network.weights[i]))
    total = problem.survey.total_weight
    # A quadratic loss is a likelihood in units of its noise, the variance of a label.
    unit = 2 * far if problem.loss == "quadratic" else 1.0
    factor = 1.0
    for _ in range(_STEPS):
        smaller = factor / 2**0.5
        value = float(loss.value(problem.params(_scaled(network, i, smaller))))
        if total * (value - far) / max(unit, 1e-300) > _RATIO:
            break
        factor = smaller
    shortest = _scaled(network, i, factor)
    robust = problem.loss == "quadratic"
    errors = uncertainty(loss, problem.params(shortest), robust=robust)
    # The canonical order may differ: the neuron is the one nearest to its own row.
    rows = errors.estimate["weights"]
    own = int(np.argmin(np.linalg.norm(np.abs(rows) - np.abs(shortest.weights[i]), axis=1)))
    start = sum(array.size for name, array in errors.estimate.items() if name < "weights") + own * rows.shape[1]
    block = errors.covariance[start : start + rows.shape[1], start : start + rows.shape[1]]
    square = float(np.sum(rows[own] ** 2))
    relative = np.inf
    if np.all(np.isfinite(block)):
        relative = float(np.sqrt(max(rows[own] @ block @ rows[own], 0.0))) / square
    return Runaway(i, length * factor, errors.n_rows * (_SETTLED * relative) ** 2)
