r"""Neurons whose length no labels bound: the loss falls as their weights grow, so that it has no finite minimiser.

A saturating φ turns into a step as its weights grow. With too few rows some step may explain the labels better than
every slope. The inverse length is then estimated as zero. Let L be the shortest length that a likelihood ratio at 95 %
leaves possible: the log-likelihood of n rows is 1.92 lower there than without end. If L is the truth, every further row
raises it by D in expectation, the divergence of the two sets of probabilities, here

    D = ½ E Σ_c (p_c(L) − p_c(∞))²/p_c(L),   for the quadratic loss   D = ½ E (p(L) − p(∞))²/E(y − p)².

After n + (1.92 + 9/2)/D rows the finite length is ahead by 9/2: its inverse is three standard errors away from zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planted.methods._label_penalty import Fit, endless
from planted.methods._labels import LabelProblem
from planted.methods._row_facts import neuron_numbers
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
        Its place in the network.
    number : int
        What tables call it.
    shortest : float
        Length that its weights have at least, at 95 %.
    rows : float
        Rows, those there are included, that would keep its length finite, if it is the shortest one; infinite where
        they cannot be told.
    """

    neuron: int
    number: int
    shortest: float
    rows: float

    @property
    def reason(self) -> str:
        """What happens, in words."""
        return (
            f"no finite minimiser: neuron {self.number} runs off, the loss still falls as its weights grow beyond "
            f"length {self.shortest:.3g}"
        )

    def advice(self, otherwise: str) -> str:
        """What would settle it, in words, with what to do `otherwise`, if there is something."""
        if not np.isfinite(self.rows):
            return f"Give more rows, or {otherwise}." if otherwise else "Give more rows."
        return (
            f"About {self.rows:,.0f} rows in all would settle it if its length is {self.shortest:.3g}, the least that "
            f"these rows allow at 95 %{f'; or {otherwise}' if otherwise else ''}."
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


def without_penalty(
    given: LabelProblem, there: LabelProblem, back: Callable[[Network], Network], fit: Fit, params: Any
) -> dict[str, Any]:
    """Details of a start: whether weights of labels that were fitted with a penalty would have no end without it.

    `there` is the problem on inputs of one scale, `params` the fit of it, and `back` the way to the inputs `given`.
    """
    why, bare = endless(there, fit, params)
    off = None if why else runaway(replace(given, alpha=0.0), back(bare))
    if off is None:
        return {"unbounded": why}
    # Numbers are those of the network that is returned, whose neurons stand in the same order.
    off = replace(off, number=neuron_numbers(back(there.network(params)), given.survey.X)[off.neuron])
    return {"unbounded": off.reason, "runaway": off}


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
    finite, endless = (problem.probabilities(_scaled(network, i, by)) for by in (factor, _FAR))
    squares = (finite - endless) ** 2
    per_row = (
        squares[:, 1] / unit if problem.loss == "quadratic" else np.sum(squares / np.maximum(finite, _LEVEL), axis=1)
    )
    gain = 0.5 * float(np.average(per_row, weights=problem.survey.weight))
    rows = total + (_RATIO + _SETTLED**2 / 2) / gain if gain > 0 else np.inf
    return Runaway(i, neuron_numbers(network, problem.survey.X)[i], length * factor, rows)
