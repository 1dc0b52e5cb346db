r"""Why does a network not explain its rows? Other fits to a part of the rows, compared on the rest.

The candidates change one thing each: a new run of the search, an intercept, biases or a linear part, another
activation, more neurons; the last one has more neurons and all parts. The simplest one that predicts the rest clearly
better than the network does, and no worse than the best, is the cause. Where none does, the rows hardly come from such
a network. At most 800 rows and 300 unknowns are taken, one run of the search each and two with nothing changed, so that
a misfit costs about as much again as the fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planted import activations
from planted.methods._facts import EXPLAINED, WORTH, Cause
from planted.methods._observations import apart
from planted.methods._problem import Problem
from planted.methods._refine import refine
from planted.methods._rivals import HeldOut, Rival
from planted.methods._search import Search
from planted.methods._second_order import second_order_plan, second_order_run
from planted.networks import Network
from planted.numerics import random
from planted.numerics.precision import float64
from planted.rows import Survey

_ROWS, _UNKNOWNS, _RUNS = 800, 300, 2
_TEST_FRACTION = 0.3
_ROWS_PER_UNKNOWN = 2
_ACTIVATIONS = ("relu", "tanh", "sigmoid", "softplus", "abs", "quadratic")


@float64
def misfit_cause(problem: Problem, network: Network) -> tuple[Cause | None, Network | None]:
    """What keeps the network from explaining its rows, and the better network that a new search found.

    The cause is None where it would cost too much to find out, the network unless the cause is the search.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(400, 2, 1, random_state=0)
    >>> problem = Problem.of(data.X, data.y + 5, 1)
    >>> misfit_cause(problem, refine(problem, data.teacher).network)[0].kind
    'intercept'
    """
    survey = problem.survey
    counted = apart(survey.X, survey.y, survey.weight, _ROWS)
    survey = survey if counted is None else Survey.of(*counted)
    order = random.permutation(random.fold_in(problem.key, 11), len(survey.y))[:_ROWS]
    held = int(_TEST_FRACTION * len(order))
    test, train = order[:held], order[held:]
    if (
        problem.unknowns > _UNKNOWNS
        or len(train) * problem.n_outputs < _ROWS_PER_UNKNOWN * problem.unknowns
        or not held
    ):
        return None, None
    looked = survey.part(train)
    if looked.constant:
        return None, None
    part = problem.on(looked)
    share = None if survey.weight is None else survey.weight[test]
    unit = float(np.average(_deviation(survey, test, share), weights=share))
    if unit == 0:
        return None, None
    own = _squares(refine(part, network).network, survey, test)
    rivals = list(_candidates(part, network, survey, test))
    cause, rival = HeldOut(unit, WORTH, share, EXPLAINED).cause(own, rivals)
    return cause, rival.network if rival is not None and rival.kind == "search" else None


def _candidates(part: Problem, network: Network, survey: Survey, test: np.ndarray) -> Iterator[Rival]:
    """What may be changed, simplest first."""

    def candidate(kind: str, value: str, problem: Problem, *others: Network) -> Rival:
        searched = (_fit(problem, run) for run in range(_RUNS if kind == "search" else 1))
        fits = [Rival(kind, value, _squares(fit, survey, test), fit) for fit in (*searched, *others)]
        return min(fits, key=lambda one: float(np.mean(one.losses)))

    free, k = part.free, part.n_hidden
    yield candidate("search", "", part)
    for name in ("intercept", "bias", "skip"):
        if not getattr(free, name):
            freed = replace(part, free=replace(free, **{name: True}))
            yield candidate("intercept", name, freed, refine(freed, network).network)
    for name in _ACTIVATIONS:
        if name != part.activation.name:
            yield candidate("activation", name, replace(part, activation=activations.get(name)))
    most = len(part.survey.y) * part.n_outputs // (_ROWS_PER_UNKNOWN * max(part.unknowns // k, 1))
    for width in dict.fromkeys(min(wide, most) for wide in (k + 1, 2 * k)):
        if width > k:
            yield candidate("width", str(width), replace(part, n_hidden=width))
    every = replace(part, n_hidden=min(2 * k, most), free=replace(free, bias=True, intercept=True))
    if every.n_hidden > k and every.free != free:
        yield candidate("parts", str(every.n_hidden), every)


def _fit(problem: Problem, run: int) -> Network:
    """One run of the search, refined."""
    search = Search.of(problem)
    move = second_order_plan(search, 1)[0]
    key = random.fold_in(problem.key, 13 + run)
    attempt = search.run(search.plenty[0], key) if move is None else second_order_run(search, move, key)
    return search.whitening.network(refine(problem.with_inputs(search.Z), search.network(attempt.params)).network)


def _squares(network: Network, survey: Survey, places: np.ndarray) -> np.ndarray:
    """Squared errors (t,) of some rows, summed over outputs; infinite where the network is not finite there."""
    residual = (network.predict(survey.X[places]) - survey.y[places]).reshape(len(places), -1)
    squares = np.sum(residual**2, axis=1)
    return np.where(np.isfinite(squares), squares, 1e300)


def _deviation(survey: Survey, places: np.ndarray, share: np.ndarray | None) -> np.ndarray:
    y = survey.y[places].reshape(len(places), -1)
    return np.asarray(np.sum((y - np.average(y, axis=0, weights=share)) ** 2, axis=1))
