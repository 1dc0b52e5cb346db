"""Inputs that repeat one another: of all networks that are the same on the rows, the one with the shortest weights."""

from __future__ import annotations

import numpy as np

from planted.methods._problem import Problem
from planted.networks import Network

_NULL = 1e-13
_UNCHANGED = 1e-9


def shortest_weights(problem: Problem, network: Network) -> Network:
    """The network whose weights have no part along combinations of inputs that are zero in every row.

    With copies of a column the weights are shared out equally. Moving along such a combination then leaves the length
    of a neuron alone to first order, so that the errors of other weights stay finite.

    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> X = np.column_stack([X, X[:, 0]])
    >>> problem = Problem.of(X, np.maximum(X[:, 0], 0.0), 1)
    >>> shortest_weights(problem, Network([[9.0, 0.0, -8.0]], [1.0])).weights.round(12)
    array([[0.5, 0. , 0.5]])
    """
    second = problem.survey.second
    d = len(second)
    if problem.free.bias:
        mean = problem.survey.first[:, None]
        second = np.block([[second, mean], [mean.T, np.ones((1, 1))]])
    scale = np.sqrt(np.maximum(np.diagonal(second), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(second / np.outer(scale, scale))
    null = vectors[:, values < _NULL * max(float(values[-1]), 1e-300)] / scale[:, None]
    if not null.shape[1]:
        return network
    inputs, constant = null[:d], null[d:]
    along = network.weights @ np.linalg.pinv(inputs).T
    parts = {"weights": network.weights - along @ inputs.T}
    if network.bias is not None and len(constant):
        parts["bias"] = network.bias - along @ constant[0]
    shorter = network.replace(**parts)
    X = problem.survey.X
    before = network.predict(X)
    size = float(np.max(np.abs(before), initial=0.0))
    same = np.max(np.abs(shorter.predict(X) - before), initial=0.0) <= _UNCHANGED * size
    return shorter if same else network
