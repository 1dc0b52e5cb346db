"""The strength of an ℓ2 penalty by held-out rows, and labels that need one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from planted.methods._facts import DIVERGED
from planted.methods._label_split import held_out, standard_error
from planted.methods._labels import LabelProblem, class_probabilities, cross_entropies
from planted.networks import Network
from planted.numerics import random
from planted.numerics.deadline import passed

STRENGTHS: tuple[float, ...] = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""Strengths that alpha="auto" chooses from."""

Fit = Callable[[LabelProblem, Any], Any]
"""From a problem and parameters to begin at, or None, to fitted parameters."""


def separated(problem: LabelProblem, network: Network) -> bool:
    """Whether the network tells every row of the sample apart, so that growing weights raise the likelihood for ever.

    >>> X = np.array([[-1.0], [1.0]])
    >>> problem = LabelProblem.of(X, np.array([0.0, 1.0]), 1, "sigmoid", link="logit")
    >>> separated(problem, Network([[5.0]], [1.0], "sigmoid", intercept=-0.5))
    True
    """
    survey = problem.survey
    codes = survey.y.astype(int)
    if problem.link == "mean":
        # Every neuron has to be on the side of every label.
        z = network.preactivations(survey.X)
        sides = np.where(codes[:, None] == 1, z, -z)
        return bool(np.all(sides > 0))
    value = network.predict(survey.X)
    scores = np.column_stack([np.zeros(len(value)), value]) if value.ndim == 1 else value
    own = scores[np.arange(len(codes)), codes]
    others = np.where(np.arange(scores.shape[1]) == codes[:, None], -np.inf, scores)
    return bool(np.all(own > others.max(axis=1)))


def diverged(problem: LabelProblem, network: Network) -> bool:
    """Whether weights, in units of the inputs' spread, are as large as no finite minimiser has them.

    >>> problem = LabelProblem.of(np.array([[-1.0], [1.0]]), np.array([0.0, 1.0]), 1, "sigmoid")
    >>> diverged(problem, Network([[1e4]], [1.0], "sigmoid"))
    True
    """
    return bool(np.max(np.abs(network.weights) * problem.spread) > DIVERGED)


def choose_alpha(problem: LabelProblem, fit: Fit, least: float = 0.0) -> tuple[float, dict[float, float]]:
    """The strength of at least `least` with the lowest held-out cross-entropy, and that loss of each strength.

    A third of the rows is held out. The fit without a penalty begins the path; each stronger one starts from the last.
    No penalty is preferred if it is worse by less than one standard error of the difference.
    """
    survey, key = problem.survey, problem.key
    train, test = held_out(survey.X, survey.y, random.fold_in(key, 7))
    part = problem.on(survey.part(train), alpha=0.0)
    by_weight = None if survey.weight is None else survey.weight[test]
    params: Any = None
    losses: dict[float, np.ndarray] = {}
    for alpha in (strength for strength in STRENGTHS if strength >= least):
        if losses and passed():
            break
        now = replace(part, alpha=alpha)
        params = fit(now, params)
        probability = class_probabilities(now.network(params), survey.X[test], problem.link)
        losses[alpha] = cross_entropies(probability, survey.y[test])
    means = {alpha: float(np.average(loss, weights=by_weight)) for alpha, loss in losses.items()}
    best = min(means, key=lambda alpha: means[alpha])
    if 0.0 in means and best:
        gap = losses[0.0] - losses[best]
        best = 0.0 if means[0.0] - means[best] <= standard_error(gap, by_weight) else best
    return best, means
