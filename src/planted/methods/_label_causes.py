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
from planted.methods._label_contest import DEAREST, Contest
from planted.methods._label_kinds import label_activations
from planted.methods._label_quick import descended, quick_fit
from planted.methods._label_split import held_out, keyed_rows
from planted.methods._labels import LabelProblem, class_probabilities, cross_entropies
from planted.methods._problem import Free
from planted.methods._rivals import HeldOut, Rival, changed
from planted.networks import Network
from planted.numerics import random

_ROWS, _UNKNOWNS, _ROWS_PER_UNKNOWN = 4000, 200, 5
_RESTARTS = 1
_NEVER_COMPARED = {"logit": ("quadratic",), "mean": ()}
# A gain that is a smaller share of the cross-entropy than this explains nothing, however sure it is.
_WORTH = 0.01
# Neurons of log-odds at least, where these and more neurons are tried at once: one for each side of two inputs.
_SEVERAL = 4


def label_cause(problem: LabelProblem, network: Network) -> tuple[Cause | None, Network | None]:
    """What keeps the network from explaining its labels, and the better network that a new search found.

    The cause is None where it would cost too much to find out, the network unless the cause is the search.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((1500, 2))
    >>> y = (rng.random(1500) < 1 / (1 + np.exp(-4 * np.tanh(2 * X[:, 0] + 2)))).astype(float)
    >>> problem = LabelProblem.of(X, y, 1, "tanh", link="logit")
    >>> label_cause(problem, Network([[2.0, 0.0]], [2.0], "tanh"))[0].kind
    'intercept'
    """
    survey, keys = keyed_rows(problem.survey, problem.class_weight, _ROWS)
    some = np.argsort(keys, kind="stable")[:_ROWS]
    train, test = (some[places] for places in held_out(survey.y[some], keys[some]))
    few = len(train) < _ROWS_PER_UNKNOWN * problem.unknowns or len(np.unique(survey.y[train])) < problem.n_classes
    if problem.unknowns > _UNKNOWNS or few or problem.loss == "quadratic":
        return None, None
    by_weight = None if survey.weight is None else survey.weight[test]
    factor = 1.0 if problem.class_weight is None else problem.class_weight[survey.y[test].astype(int)]
    part = problem.on(survey.part(train), restarts=_RESTARTS)

    def losses(asked: LabelProblem, fitted: Network) -> np.ndarray:
        probability = class_probabilities(fitted, survey.X[test], asked.link)
        return np.minimum(cross_entropies(probability, survey.y[test]), DEAREST)

    own = losses(part, descended(part, network))
    rivals = []
    for kind, value, asked in _changes(part):
        fitted = quick_fit(asked)
        rivals.append(Rival(kind, value, losses(asked, fitted), fitted))
    shares = np.broadcast_to(part.shares, (len(test), problem.n_classes))
    plain = float(np.average(cross_entropies(shares, survey.y[test]), weights=by_weight))
    cause, rival = HeldOut(plain, _WORTH, by_weight, factor=factor).cause(own, rivals)
    return cause, rival.network if rival is not None and rival.kind == "search" else None


def squares_instead(problem: LabelProblem, network: Network) -> Cause | None:
    """That log-odds which are squares of the inputs explain labels as well with fewer numbers; None if they do not.

    Squares are no candidates where the activation is left open (:mod:`planted.methods._label_kinds`).

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((600, 1))
    >>> y = (rng.random(600) < 1 / (1 + np.exp(3 - 4 * X[:, 0] ** 2))).astype(float)
    >>> problem = LabelProblem.of(X, y, 2, "tanh", link="logit", free=Free(True, True))
    >>> squares_instead(problem, quick_fit(problem)).value
    'quadratic'
    """
    contest = Contest.of(problem)
    part, free = contest.part, Free(intercept=True)
    act = activations.get("quadratic")
    squares = replace(part, activation=act, n_hidden=part.n_features, free=free, restarts=_RESTARTS)
    if part.survey.total_weight < _ROWS_PER_UNKNOWN * squares.unknowns or squares.unknowns > _UNKNOWNS:
        return None
    own = contest.tried(part, descended(part, network))
    other = contest.tried(squares, quick_fit(squares))
    if not contest.likelier(other, own):
        return None
    unit = float(contest.mean(contest.losses_of_shares()))
    return Cause("activation", act.name, contest.mean(own.losses) / unit, contest.mean(other.losses) / unit)


def _changes(part: LabelProblem) -> Iterator[tuple[str, str, LabelProblem]]:
    """Problems that differ in one thing, simplest first, while there is time."""
    free, k = part.free, part.n_hidden
    options: list[tuple[str, str, Any]] = [("search", "", {"key": random.fold_in(part.key, 13)})]
    if not free.bias:
        options.append(("intercept", "bias", {"free": replace(free, bias=True)}))
    if part.link == "logit" and not free.intercept:
        options.append(("intercept", "intercept", {"free": replace(free, intercept=True)}))
    if part.link == "mean" and "link" not in part.compared:
        options.append(("link", "logit", {"link": "logit", "free": Free(free.bias, True)}))
    others = () if "activation" in part.compared else label_activations(part.link, free.intercept)
    for act in (*others, *(activations.get(name) for name in _NEVER_COMPARED[part.link])):
        if act != part.activation:
            options.append(("activation", act.name, {"activation": act}))
    options += [("width", str(width), {"n_hidden": width}) for width in dict.fromkeys((k + 1, k + 2, 2 * k))]
    if part.link == "mean":
        wide = max(2 * k, _SEVERAL)
        options.append(("links", str(wide), {"link": "logit", "free": Free(True, True), "n_hidden": wide}))
    every = Free(True, part.link == "logit")
    if free != every:
        options.append(("parts", str(2 * k), {"n_hidden": 2 * k, "free": every}))
    return changed(part, options, _ROWS_PER_UNKNOWN)
