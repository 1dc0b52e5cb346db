"""Of the networks that are the same on all rows, one whose weights are short along what the rows leave open.

A column that few rows have, such as that of a rare category, may leave a combination of weights open: a neuron's weight
and a coefficient of the linear part that cancel wherever both count. Where a search began then decides how large they
are, and a new row, at which they do not cancel, shows it. Shortest are the weights θ + Mt that minimise

    Σ_i Σ_j (‖output_i‖ s_j weights_ij)² + Σ_j (s_j skip_j)²,   s_j the spread of input j,

over t, M (p, q) the moves that the rows leave open. They are exact between kinks: the way there is gone as far as no
row's prediction changes.
"""

from __future__ import annotations

import numpy as np

from planted.certificates import Uncertainty
from planted.methods._problem import Problem
from planted.networks import Network
from planted.objectives import flatten, unflatten

_UNCHANGED = 1e-9
# The way is gone to a 64th of it.
_HALVINGS = 6
# Shares of the largest below which a move changes lengths by rounding.
_ROUNDED = 1e-6


def shortest_along_open(problem: Problem, network: Network, errors: Uncertainty | None) -> Network:
    """The network with weights as short as its rows in memory allow, or itself where these leave nothing open.

    >>> from planted.certificates import uncertainty
    >>> from planted.methods._problem import Free
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [-2.0, 0.0], [1.0, 1.0], [3.0, 0.0]])
    >>> long = Network([[1.0, 5.0]], [1.0], skip=[0.0, -5.0])
    >>> problem = Problem.of(X, long.predict(X), 1, free=Free(skip=True))
    >>> loss = problem.objective()
    >>> short = shortest_along_open(problem, long, uncertainty(loss, loss.model.params(long)))
    >>> (short.output[:, None] * short.weights).round(9) + 0.0, short.skip.round(9) + 0.0
    (array([[1., 0.]]), array([0., 0.]))
    """
    if problem.in_chunks or errors is None or not errors.moved.shape[1]:
        return network
    survey = problem.survey
    spread = survey.input_spread
    size = {name: np.zeros(value.shape) for name, value in errors.estimate.items()}
    size["weights"] += np.outer(np.linalg.norm(np.atleast_2d(errors.network.output), axis=0), spread)
    if "skip" in size:
        size["skip"] += spread
    at, scale = flatten(errors.estimate), flatten(size)
    steps = np.linalg.lstsq(errors.moved * scale[:, None], -at * scale, rcond=_ROUNDED)[0]
    way, model = errors.moved @ steps, problem.objective().model
    before = network.predict(survey.X)
    allowed = _UNCHANGED * float(np.max(np.abs(before), initial=0.0))

    def moved(share: float) -> Network:
        return model.network(unflatten(at + share * way, errors.estimate))

    def unchanged(share: float) -> bool:
        return float(np.max(np.abs(moved(share).predict(survey.X) - before), initial=0.0)) <= allowed

    if unchanged(1.0):
        return moved(1.0)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if unchanged(middle) else (low, middle)
    return moved(low) if low else network
