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


def choose_label_width(problem: LabelProblem, method: Method, largest: int) -> tuple[int, dict[int, float]]:
    """The largest width that still lowers the held-out cross-entropy, and that loss of each width tried.

    A neuron is added as long as it lowers the mean over held-out rows by more than two standard errors of the paired
    difference.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import LABELS
    >>> data = make_planted(4000, 2, 1, activation="sigmoid", weights=[[3.0, 0.0]], task="classification",
    ...                     random_state=0)
    >>> problem = LabelProblem.of(data.X, data.y, 1, "sigmoid")
    >>> choose_label_width(problem, LABELS["likelihood"], largest=3)[0]
    1
    """
    X, y, key = problem.survey.X, problem.survey.y, problem.key
    train, test = held_out(X, y, random.fold_in(key, 0))
    by_weight = None if problem.survey.weight is None else problem.survey.weight[test]
    part = problem.on(problem.survey.part(train))

    def tested(k: int) -> np.ndarray:
        begin = method.begin(replace(part, n_hidden=k, key=random.fold_in(key, k)))
        return cross_entropies(class_probabilities(begin.network, X[test], problem.link), y[test])

    best = tested(1)
    width, losses = 1, {1: float(np.average(best, weights=by_weight))}
    for k in range(2, largest + 1):
        if passed():
            break
        own = tested(k)
        losses[k] = float(np.average(own, weights=by_weight))
        gain = best - own
        if losses[width] - losses[k] <= _STANDARD_ERRORS * standard_error(gain, by_weight):
            break
        width, best = k, own
    return width, losses
