r"""Why does a network not explain its labels? Other fits to a part of the rows, compared by the likelihood of the rest.

The candidates change one thing each: a new run of the search, biases or an intercept, log-odds instead of means of
neurons, another activation, more neurons; the last one has more neurons and all parts. The simplest one that makes the
rest clearly likelier than the network does, and no less likely than the best, is the cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from planted import activations
from planted.methods._facts import Cause
from planted.methods._label_search import polish, search_log_odds, standardised
from planted.methods._label_split import content_keys, held_out
from planted.methods._label_width import DEAREST
from planted.methods._labels import LabelProblem, class_probabilities, cross_entropies
from planted.methods._problem import Free
from planted.methods._rivals import HeldOut, Rival, changed
from planted.networks import Network
from planted.numerics import random
from planted.solvers import lbfgs
from planted.starts import random_rows

_ROWS, _UNKNOWNS, _ROWS_PER_UNKNOWN = 4000, 200, 5
_RESTARTS, _STARTS, _STEPS = 1, 3, 100
_ACTIVATIONS = {"logit": ("tanh", "relu", "softplus", "quadratic"), "mean": ("sigmoid", "tanh_probability")}
# A gain that is a smaller share of the cross-entropy than this explains nothing, however sure it is.
_WORTH = 0.01
# Neurons of log-odds at least, where these and more neurons are tried at once: one for each side of two inputs.
_SEVERAL = 4


def label_cause(problem: LabelProblem, network: Network) -> Cause | None:
    """What keeps the network from explaining its labels; None where it would cost too much to find out.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1500, 2))
    >>> y = (rng.random(1500) < 1 / (1 + np.exp(-4 * np.tanh(2 * X[:, 0] + 2)))).astype(float)
    >>> problem = LabelProblem.of(X, y, 1, "tanh", link="logit")
    >>> label_cause(problem, Network([[2.0, 0.0]], [2.0], "tanh")).kind
    'intercept'
    """
    survey = problem.survey
    some = np.argsort(content_keys(survey.X, survey.y), kind="stable")[:_ROWS]
    train, test = (some[places] for places in held_out(survey.X[some], survey.y[some]))
    few = len(train) < _ROWS_PER_UNKNOWN * problem.unknowns or len(np.unique(survey.y[train])) < problem.n_classes
    if problem.unknowns > _UNKNOWNS or few or problem.loss == "quadratic":
        return None
    by_weight = None if survey.weight is None else survey.weight[test]
    factor = 1.0 if problem.class_weight is None else problem.class_weight[survey.y[test].astype(int)]
    part = problem.on(survey.part(train), restarts=_RESTARTS)

    def losses(asked: LabelProblem, fitted: Network) -> np.ndarray:
        probability = class_probabilities(fitted, survey.X[test], asked.link)
        return np.minimum(cross_entropies(probability, survey.y[test]), DEAREST)

    own = losses(part, _descended(part, network))
    rivals = [Rival(kind, value, losses(asked, _fit(asked))) for kind, value, asked in _changes(part)]
    shares = np.broadcast_to(part.shares, (len(test), problem.n_classes))
    plain = float(np.average(cross_entropies(shares, survey.y[test]), weights=by_weight))
    return HeldOut(plain, _WORTH, by_weight, factor=factor).cause(own, rivals)[0]


def _changes(part: LabelProblem) -> Iterator[tuple[str, str, LabelProblem]]:
    """Problems that differ in one thing, simplest first, while there is time."""
    free, k = part.free, part.n_hidden
    options: list[tuple[str, str, Any]] = [("search", "", {"key": random.fold_in(part.key, 13)})]
    if not free.bias:
        options.append(("intercept", "bias", {"free": replace(free, bias=True)}))
    if part.link == "logit" and not free.intercept:
        options.append(("intercept", "intercept", {"free": replace(free, intercept=True)}))
    if part.link == "mean":
        options.append(("link", "logit", {"link": "logit", "free": Free(free.bias, True)}))
    for name in _ACTIVATIONS[part.link]:
        if name != part.activation.name:
            options.append(("activation", name, {"activation": activations.get(name)}))
    options += [("width", str(width), {"n_hidden": width}) for width in dict.fromkeys((k + 1, k + 2, 2 * k))]
    if part.link == "mean":
        wide = max(2 * k, _SEVERAL)
        options.append(("links", str(wide), {"link": "logit", "free": Free(True, True), "n_hidden": wide}))
    every = Free(True, part.link == "logit")
    if free != every:
        options.append(("parts", str(2 * k), {"n_hidden": 2 * k, "free": every}))
    return changed(part, options, _ROWS_PER_UNKNOWN)


def _fit(problem: LabelProblem) -> Network:
    """One search, polished."""
    if problem.link == "logit":
        there, back = standardised(problem)
        best = search_log_odds(there)[0][0]
        return back(there.network(list(polish(there, best.params).values())[-1].params))
    loss = problem.objective()
    rows = np.asarray(random_rows(problem.key, problem.n_hidden, problem.n_features, _STARTS), dtype=np.float64)
    runs = [lbfgs(loss, problem.begin_at(start / problem.spread), steps=_STEPS, tolerance=1e-8) for start in rows]
    return problem.network(min(runs, key=lambda run: run.value).params)


def _descended(problem: LabelProblem, network: Network) -> Network:
    """The network fitted to the problem's rows, from where it is."""
    return problem.network(lbfgs(problem.objective(), problem.params(network), steps=_STEPS, tolerance=1e-8).params)
