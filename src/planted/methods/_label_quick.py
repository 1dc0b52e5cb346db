"""Quick fits of label networks, for comparisons: a few starts on few rows, then all rows, to where little is left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planted.methods._label_penalty import MIDDLE, separated, unbounded
from planted.methods._label_search import search_log_odds, searched_rows, standardised, standardised_params
from planted.methods._labels import LabelProblem
from planted.networks import Network
from planted.numerics.precision import float64
from planted.solvers import lbfgs, sample_newton
from planted.starts import random_rows

_STARTS = 3
_SEARCH_ROWS = {"mean": 5000, "logit": 1000}
_STEPS, _SCORING_STEPS = 100, 15
# A descent ends where a step lowers the loss by less than this share.
_DECREASE = 1e-4


@float64
def quick_fit(problem: LabelProblem) -> Network:
    """One search for the network of a problem.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 2, 1, activation="sigmoid", task="classification", random_state=0)
    >>> quick_fit(LabelProblem.of(data.X, data.y, 1, "sigmoid")).n_hidden
    1
    """
    quick = replace(problem, search_rows=_SEARCH_ROWS[problem.link])
    few = searched_rows(quick)
    there, back = standardised(quick.on(few, search_rows=len(few.y)))
    if problem.link == "logit":
        best = back(there.network(search_log_odds(there, _DECREASE)[0][0].params))
        whole, back = standardised(problem)
        loss, params = whole.objective(), standardised_params(problem, best)
        return back(whole.network(sample_newton(loss, loss.curvature, params, steps=_SCORING_STEPS).params))
    trial = there.objective()
    rows = np.asarray(random_rows(problem.key, problem.n_hidden, problem.n_features, _STARTS), dtype=np.float64)
    begins = [there.begin_at(start) for start in rows]
    runs = [lbfgs(trial, begin, steps=_STEPS, tolerance=1e-6, decrease=_DECREASE).params for begin in begins]
    loss = problem.objective()
    ends = [back(there.network(params)) for params in [*runs, *begins]]
    # A neuron that a few rows make a step may be sure of wrong labels among the others.
    return descended(problem, min(ends, key=lambda end: loss.value(problem.params(end))))


def bounded_fit(problem: LabelProblem) -> tuple[LabelProblem, Network, bool]:
    """A quick fit, the problem with the penalty that it had where rows do not keep weights finite without, and why.

    The last entry says whether it tells the rows apart without error, or would without the penalty.

    >>> X = np.linspace(-1, 1, 30)[:, None]
    >>> problem, _, certain = bounded_fit(LabelProblem.of(X, (X[:, 0] > 0).astype(float), 1, "tanh", link="logit"))
    >>> problem.alpha, certain
    (0.001, True)
    """
    network = quick_fit(problem)
    certain = separated(problem, network)
    free = not problem.alpha and problem.loss == "likelihood"
    if free and unbounded(problem, network):
        problem = replace(problem, alpha=MIDDLE)
        network = quick_fit(problem)
    return problem, network, certain


@float64
def descended(problem: LabelProblem, network: Network) -> Network:
    """The network fitted to the problem's rows, from where it is.

    >>> X = np.linspace(-2, 2, 200)[:, None]
    >>> problem = LabelProblem.of(X, (np.sin(40 * X[:, 0]) < X[:, 0]).astype(float), 1, "sigmoid")
    >>> descended(problem, Network([[9.0]], [1.0], "sigmoid")).weights.round(1)
    array([[2.5]])
    """
    there, back = standardised(problem)
    params = standardised_params(problem, network)
    return back(there.network(lbfgs(there.objective(), params, steps=_STEPS, tolerance=1e-8).params))
