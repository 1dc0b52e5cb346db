"""The strength of an ℓ2 penalty by held-out rows, and labels that need one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from planted.methods._facts import DIVERGED
from planted.methods._label_split import folds, standard_error
from planted.methods._labels import LabelProblem, class_probabilities, cross_entropies
from planted.methods._row_facts import neuron_numbers
from planted.names import count_of
from planted.networks import Network
from planted.numerics.deadline import passed

STRENGTHS: tuple[float, ...] = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
"""Strengths that alpha="auto" chooses from."""
WEAKER: tuple[float, ...] = (1e-10, 1e-8)
"""Those that one linear function is asked at as well: see :func:`strengths`."""
ENDLESS = f"without a penalty weights grow beyond {DIVERGED:,.0f} times the inverse spread of their inputs"
"""Why labels were fitted with a penalty where no neuron runs off for ever."""
MIDDLE = 1e-3
"""The strength at which fits begin, and that of comparisons where rows do not keep weights finite."""
# Parts of the rows that are held out in turn.
_PARTS = 3

Fit = Callable[[LabelProblem, Any], Any]
"""From a problem and parameters to begin at, or None, to fitted parameters."""


def strengths(problem: LabelProblem) -> tuple[float, ...]:
    """Strengths that held-out rows choose from, none first.

    Slopes of log-odds s = output · weight share a penalty that grows like |s|. That of one linear function, or of one
    neuron that is a probability, grows like s²: where labels bound no slopes it needs weaker ones to be as steep.

    >>> problem = LabelProblem.of(np.array([[-1.0], [1.0]]), np.array([0.0, 1.0]), 2, "tanh", link="logit")
    >>> [len(strengths(replace(problem, n_hidden=k))) for k in (0, 1)]
    [9, 7]
    """
    nearly_linear = 1 if problem.link == "mean" else 0
    if problem.n_hidden == nearly_linear:
        return (0.0, *WEAKER, *STRENGTHS[1:])
    return STRENGTHS


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
    return bool(np.max(np.abs(network.weights) * problem.spread, initial=0.0) > DIVERGED)


def in_doubt(problem: LabelProblem, network: Network) -> np.ndarray:
    """How much each row of the sample (n,) is in doubt by the network: one where probabilities are equal, times weight.

    A row of probabilities p over m classes counts as (1 − Σ_c p_c²) m/(m − 1). Factors f_c of classes do not count:
    they repeat no rows, and those that there are have probabilities in proportion to p_c/f_c. Of few rows of one class
    few are in doubt then, however much these weigh.

    >>> problem = LabelProblem.of(np.array([[0.0], [99.0]]), np.array([0.0, 1.0]), 1, "sigmoid", link="logit")
    >>> in_doubt(problem, Network([[1.0]], [9.0], "tanh")).round(4)
    array([1.e+00, 5.e-04])
    """
    survey, m = problem.survey, problem.n_classes
    weight = np.ones(len(survey.y)) if survey.weight is None else survey.weight
    probability = problem.probabilities(network)
    if problem.class_weight is not None:
        factors = np.asarray(problem.class_weight)
        weight = weight / factors[survey.y.astype(int)]
        probability = probability / factors
        probability = probability / probability.sum(axis=1, keepdims=True)
    return np.asarray(weight * (1 - np.sum(probability**2, axis=1)) * m / (m - 1))


def unbounded(problem: LabelProblem, network: Network) -> str:
    """Why the rows do not keep the weights of a network fitted without a penalty finite, in words; empty if they do.

    Beside labels that are told apart, these are labels of which fewer rows are in doubt than there are numbers: these
    rows alone bound the weights, and cannot bound all of them. Nor can they where a neuron with a kink speaks in fewer
    such rows than it has numbers: its slope grows while the kink follows them.

    >>> X = np.arange(-6.0, 6.0)[:, None]
    >>> problem = LabelProblem.of(X, np.array([0.0] * 5 + [1.0, 0.0] + [1.0] * 5), 1, "tanh", link="logit")
    >>> unbounded(problem, Network([[1.0]], [9.0], "tanh"))
    'hardly any label is in doubt: all doubts together amount to 1.0 rows, less than the 2 numbers of the network'
    """
    if separated(problem, network):
        return "the labels can be told apart without error, so no finite weights are likeliest"
    doubt = in_doubt(problem, network)
    total = float(np.sum(doubt))
    if total < problem.unknowns:
        less = f"{total:.1f} rows, less than the {count_of(problem.unknowns, 'number')} of the network"
        return f"hardly any label is in doubt: all doubts together amount to {less}"
    if not network.activation.kinks:
        return ""
    numbers = neuron_numbers(network, problem.survey.X)
    own = problem.n_features + problem.free.bias + (0 if problem.link == "mean" else problem.n_classes - 1)
    # The length of its weights and its outputs are one number where a factor moves between them.
    own -= network.activation.homogeneity is not None
    speaks = np.abs(network.activation.derivative(network.preactivations(problem.survey.X))) > 0
    sums = doubt @ speaks
    for i in sorted(range(network.n_hidden), key=lambda place: numbers[place]):
        if np.any(speaks[:, i]) and sums[i] < own:
            less = f"{sums[i]:.1f} rows, less than the {count_of(own, 'number')} of the neuron"
            return f"hardly any label is in doubt where neuron {numbers[i]} is active: doubts there amount to {less}"
    return ""


def endless(problem: LabelProblem, fit: Fit, params: Any) -> tuple[str, Network]:
    """The same of a network that was fitted with a penalty: why rows would not keep weights finite without it.

    `params` are its parameters, from which a descent without the penalty starts; the network that this ends with is
    returned too.

    >>> from planted.methods._label_search import compared
    >>> X = np.linspace(-1, 1, 30)[:, None]
    >>> problem = LabelProblem.of(X, (X[:, 0] > 0).astype(float), 1, "tanh", link="logit", alpha=0.1)
    >>> endless(problem, compared, problem.params(Network([[1.0]], [1.0], "tanh")))[0]
    'the labels can be told apart without error, so no finite weights are likeliest'
    """
    bare = replace(problem, alpha=0.0)
    network = bare.network(fit(bare, params))
    return unbounded(bare, network), network


def thirds(problem: LabelProblem) -> np.ndarray:
    """The third (n,) in which each row of the sample is held out, told by the caller's own inputs: see :func:`folds`.

    >>> int(thirds(LabelProblem.of(np.arange(9.0)[:, None], np.arange(9) % 2, 1, "sigmoid")).max())
    2
    """
    survey, factors = problem.survey, problem.class_weight
    once = np.ones(problem.n_classes) if factors is None else np.asarray(factors)
    each = survey.weight is None or np.array_equal(survey.weight, once[survey.y.astype(int)])
    return folds(survey.X, survey.y, _PARTS, each=each)


def choose_alpha(
    problem: LabelProblem, fit: Fit, part: np.ndarray, positive: bool = False
) -> tuple[float, dict[float, float]]:
    """The strength, `positive` or any, that held-out rows ask for, and the held-out cross-entropy of each strength.

    `part` are the :func:`thirds` of the rows before their inputs were brought to one scale, whose rounding depends on
    how often a row is given. Each is held out once, with the same search in every fit of these rows. The search is made
    at a strength in the middle, where it has few minima; weaker and stronger fits start from their neighbour.
    No penalty is preferred if it is worse than the best by less than one standard error of the difference; otherwise
    the strongest penalty of which that holds. A fit without penalty that tells all its rows apart has no finite
    weights, and counts as infinitely bad.
    """
    survey = problem.survey
    asked = list(strengths(problem)[positive:])
    losses = {alpha: np.full(len(survey.y), np.nan) for alpha in asked}
    for number in range(_PARTS) if np.any(part >= 0) else ():
        if number and passed():
            break
        test = np.flatnonzero(part == number)
        rows = problem.on(survey.part(np.flatnonzero(part != number)), alpha=0.0, key=np.zeros_like(problem.key))
        for alpha, network in _path(rows, fit, asked):
            probability = class_probabilities(network, survey.X[test], problem.link)
            losses[alpha][test] = cross_entropies(probability, survey.y[test])
            if not alpha and separated(rows, network):
                losses[alpha][test] = np.inf
    scored = np.isfinite(losses[MIDDLE])
    if not scored.any():
        return MIDDLE, {}
    weight = np.ones(len(scored)) if survey.weight is None else survey.weight
    factor = 1.0 if problem.class_weight is None else np.asarray(problem.class_weight)[survey.y[scored].astype(int)]
    tried = {alpha: loss[scored] for alpha, loss in losses.items() if not np.any(np.isnan(loss[scored]))}
    means = {alpha: float(np.average(loss, weights=weight[scored])) for alpha, loss in tried.items()}
    best = min(means, key=lambda alpha: means[alpha])

    def as_good(alpha: float) -> bool:
        if not np.isfinite(means[alpha]):
            return False
        return means[alpha] - means[best] <= standard_error(tried[alpha] - tried[best], weight[scored], factor)

    alike = [alpha for alpha in means if as_good(alpha)]
    return (0.0 if 0.0 in alike else max(alike)), means


def _path(rows: LabelProblem, fit: Fit, asked: list[float]) -> Iterator[tuple[float, Network]]:
    """Networks by strength: one search in the middle, then each from its neighbour, while there is time."""
    middle: Any = None
    stronger = [alpha for alpha in asked if alpha >= MIDDLE]
    weaker = [alpha for alpha in reversed(asked) if alpha < MIDDLE]
    for way in (stronger, weaker):
        params = middle
        for alpha in way:
            if params is not None and passed():
                return
            now = replace(rows, alpha=alpha)
            params = fit(now, params)
            middle = params if middle is None else middle
            yield alpha, now.network(params)
