"""Do fewer neurons explain the rows as well? Neurons are taken away one at a time, and the rest descends again."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from planted.methods._baselines import LeftOut
from planted.methods._facts import EXACT, PRECISE, TESTED_UNKNOWNS, WEAK
from planted.methods._merge import merge
from planted.methods._problem import Problem
from planted.methods._refine import refine
from planted.networks import Network
from planted.numerics.deadline import passed


def fewer_neurons(problem: Problem, network: Network, left: LeftOut, errors: Any) -> Network | None:
    """The network of fewest neurons, at least one, that explains the rows as well: the given one if all are needed.

    Where a time budget is spent before, that of fewest neurons until then; None if there was none.

    An exact network is compared by whether the smaller one is exact too, another one by its errors in rows left out.
    Nothing is tried where the rows determine an exact network, or where no neuron can be spared: taking it away, the
    outputs fitted anew, more than doubles the loss, and the weights are known to a third of their size.

    Parameters
    ----------
    problem : Problem
        Its sample is looked at.
    errors : Uncertainty or None

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> from planted.methods._observations import observations
    >>> data = make_planted(300, 2, 1, random_state=0)
    >>> wide = Network(np.repeat(data.teacher.weights, 2, axis=0), [0.3, 0.7])
    >>> problem = Problem.of(data.X, data.y, 2)
    >>> fewer_neurons(problem, wide, LeftOut.of(observations(problem.survey), 300), None).n_hidden
    1
    """
    known = errors is not None and errors.determined
    sharp = known and errors.relative_error <= PRECISE
    loss = _relative(problem, network)
    if network.n_hidden < 2 or problem.unknowns > TESTED_UNKNOWNS or (sharp and loss <= EXACT):
        return network
    precise = known and errors.relative_error < 1 / 3
    sample, own = problem.on_sample(), _LeftOut(problem, network, left)
    now = network
    while now.n_hidden > 1:
        if passed():
            return None if now is network else now
        narrow = replace(sample, n_hidden=now.n_hidden - 1)
        starts = [_without(sample, now, i) for i in range(now.n_hidden)]
        start = min(starts, key=lambda rest: _relative(sample, rest))
        if precise and _relative(sample, start) > WEAK * max(loss, EXACT):
            return now
        smaller = refine(narrow, start).network
        if loss <= EXACT < _relative(sample, smaller):
            smaller = refine(narrow, _joined(sample, now)).network
        if _relative(sample, smaller) > EXACT if loss <= EXACT else own.better_than(smaller):
            # A descent that was cut short says nothing against fewer neurons.
            return None if now is network and passed() else now
        now = smaller
    return now


class _LeftOut:
    """The network beside smaller ones on rows left out, by more rows where few do not tell; its own errors once."""

    def __init__(self, problem: Problem, network: Network, left: LeftOut) -> None:
        self.problem, self.network, self.few = problem, network, left

    @cached_property
    def _own(self) -> np.ndarray:
        return self._squares(self.few, self.network)

    @cached_property
    def _more(self) -> tuple[LeftOut, np.ndarray] | None:
        more = self.few.more(self.problem.unknowns * self.problem.n_outputs)
        return None if more is None else (more, self._squares(more, self.network))

    def _squares(self, looked: LeftOut, network: Network) -> np.ndarray:
        return looked.squares(network, intercept=self.problem.free.intercept)

    def better_than(self, smaller: Network) -> bool:
        """Whether the network predicts better than a smaller one."""
        problem = self.problem
        each = problem.free.unknowns(problem.n_features, 1, problem.n_outputs)
        numbers = each * (self.network.n_hidden - smaller.n_hidden)
        if self.few.better(self._own, self._squares(self.few, smaller), numbers):
            return True
        if self._more is None:
            return False
        looked, own = self._more
        return looked.better(own, self._squares(looked, smaller), numbers)


def _relative(problem: Problem, network: Network) -> float:
    """Mean squared residual of the sample over the variance of the targets."""
    survey = problem.survey
    residual = (network.predict(survey.X) - survey.y).reshape(len(survey.y), -1)
    return float(np.average(np.sum(residual**2, axis=1), weights=survey.weight)) / survey.variance


def without_neuron(network: Network, i: int) -> Network:
    """The network without neuron i.

    >>> without_neuron(Network([[1.0], [2.0]], [3.0, 4.0]), 0).output
    array([4.])
    """
    rest = np.delete(np.arange(network.n_hidden), i)
    bias = None if network.bias is None else network.bias[rest]
    return network.replace(weights=network.weights[rest], bias=bias, output=network.output[..., rest])


def _without(problem: Problem, network: Network, i: int) -> Network:
    """The network without neuron i, its outputs fitted anew to the sample."""
    less, survey = without_neuron(network, i), problem.survey
    features = less.activation(less.preactivations(survey.X))
    n = len(survey.y)
    fixed = less.replace(output=0.0 * less.output)
    target = (survey.y - fixed.predict(survey.X)).reshape(n, -1)
    root = np.ones((n, 1)) if survey.weight is None else np.sqrt(survey.weight)[:, None]
    output = np.linalg.lstsq(features * root, target * root, rcond=1e-10)[0].T
    return fixed.replace(output=output if network.output.ndim == 2 else output[0])


def _joined(problem: Problem, network: Network) -> Network:
    """The network with the two neurons joined whose joining changes it least."""
    weights, output, bias = merge(
        network.weights, network.output, network.bias, network.n_hidden - 1, problem.survey.X, network.activation
    )
    return network.replace(weights=weights, output=output, bias=bias)
