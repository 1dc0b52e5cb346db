"""How many neurons labels can tell apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planted.methods._label_split import held_out, standard_error
from planted.methods._labels import LabelProblem, class_probabilities, cross_entropies
from planted.methods._method import Method
from planted.numerics import random
from planted.numerics.deadline import passed

_STANDARD_ERRORS = 2.0
# Widths beyond the best one that are tried before the search ends: two neurons may explain what one more does not.
_FURTHER = 2
DEAREST = 7.0
"""A row held out costs at most so much: a few that a network is sure of and wrong about decide nothing."""


def choose_label_width(problem: LabelProblem, method: Method, largest: int) -> tuple[int, dict[int, float]]:
    """The largest width that rows pay for, and the held-out cross-entropy of each width tried.

    A third of the rows is held out, the same whatever the key. A wider network takes the place of the best one if these
    rows prefer it by more than two standard errors of the paired difference; or if they do not speak against it by more
    than one, and the likelihood of the rows fitted pays log(n)/2 for every number more (Schwarz 1978). It also has to
    be better there than the classes' shares. The search ends after two widths that are not taken. Each has half the
    random starts of a fit, and a row held out costs at most 7.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import LABELS
    >>> data = make_planted(4000, 2, 1, activation="sigmoid", weights=[[3.0, 0.0]], task="classification",
    ...                     random_state=0)
    >>> problem = LabelProblem.of(data.X, data.y, 1, "sigmoid")
    >>> choose_label_width(problem, LABELS["likelihood"], largest=3)[0]
    1
    """
    survey, key = problem.survey, problem.key
    train, test = held_out(survey.X, survey.y)
    by_weight = None if survey.weight is None else survey.weight[test]
    part = problem.on(survey.part(train), restarts=problem.restarts // 2)
    price = _price(part)
    factor = _factor(problem, survey.y[test])
    shares = np.broadcast_to(part.shares, (len(test), problem.n_classes))
    plain = float(np.average(cross_entropies(shares, survey.y[test]), weights=by_weight))

    def tried(k: int) -> tuple[float, np.ndarray]:
        """What the rows fitted cost, with the price of the numbers, and the losses (t,) of those held out."""
        asked = replace(part, n_hidden=k, key=random.fold_in(key, k))
        network = method.begin(asked).network
        fitted, rest = (
            cross_entropies(class_probabilities(network, survey.X[some], problem.link), survey.y[some])
            for some in (train, test)
        )
        return float(np.average(fitted, weights=part.survey.weight)) + price * asked.unknowns, np.minimum(rest, DEAREST)

    width, (cost, best) = 1, tried(1)
    losses = {1: float(np.average(best, weights=by_weight))}
    for k in range(2, largest + 1):
        if k > width + _FURTHER or passed():
            break
        own_cost, own = tried(k)
        losses[k] = float(np.average(own, weights=by_weight))
        gain, error = losses[width] - losses[k], standard_error(best - own, by_weight, factor)
        taken = gain > _STANDARD_ERRORS * error or (gain > -error and own_cost < cost)
        if taken and losses[k] < plain:
            width, cost, best = k, own_cost, own
    return width, losses


def _price(part: LabelProblem) -> float:
    """log(n)/(2n), n the rows, of which those whose weights contain a factor of their class count as fewer."""
    survey = part.survey
    rows = survey.total_weight / float(np.average(_factor(part, survey.y), weights=survey.weight))
    return float(np.log(max(rows, 1.0)) / (2 * rows))


def _factor(problem: LabelProblem, y: np.ndarray) -> np.ndarray:
    """The factor (n,) of the class of each row."""
    return np.ones(len(y)) if problem.class_weight is None else np.asarray(problem.class_weight)[y.astype(int)]
