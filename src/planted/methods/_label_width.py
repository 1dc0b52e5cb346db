"""How many neurons labels can tell apart, and whether these have biases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from planted.methods._choice import Candidate, Choice
from planted.methods._label_split import held_out, standard_error
from planted.methods._labels import LabelProblem, class_probabilities, cross_entropies
from planted.methods._method import Method
from planted.methods._reason import reason_of
from planted.numerics import random
from planted.numerics.deadline import passed

_STANDARD_ERRORS = 2.0
# Widths beyond the best one that are tried before the search ends: two neurons may explain what one more does not.
_FURTHER = 2
DEAREST = 7.0
"""A row held out costs at most so much: a few that a network is sure of and wrong about decide nothing."""


@dataclass(frozen=True, eq=False)
class _Tried:
    """A network that was compared: what the rows fitted cost, with the price of its numbers, and losses (t,)."""

    asked: LabelProblem
    cost: float
    losses: np.ndarray


def choose_label_network(
    problem: LabelProblem, method: Method, widths: Iterable[int], biases: Iterable[bool]
) -> Choice | None:
    """The network that rows pay for, of these widths, narrowest first, with or without biases; None if one is asked.

    A third of the rows is held out, the same whatever the key. A network with more numbers takes the place of the best
    one if these rows prefer it by more than two standard errors of the paired difference; or if they do not speak
    against it by more than one, and the likelihood of the rows fitted pays log(n)/2 for every number more (Schwarz
    1978). For biases it has to pay in any case. The network also has to be better there than the classes' shares. The
    search ends after two widths that are not taken. Each network has half the random starts of a fit, and a row held
    out costs at most 7. Losses are cross-entropies.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import LABELS
    >>> data = make_planted(4000, 2, 1, activation="sigmoid", weights=[[3.0, 0.0]], task="classification",
    ...                     random_state=0)
    >>> problem = LabelProblem.of(data.X, data.y, 1, "sigmoid")
    >>> choose_label_network(problem, LABELS["likelihood"], [1, 2, 3], [False]).chosen.name
    '1 sigmoid neuron'
    """
    survey, widths = problem.survey, list(widths)
    train, test = held_out(survey.X, survey.y)
    part = problem.on(survey.part(train), restarts=problem.restarts // 2)
    least = replace(part, n_hidden=widths[0])
    options = [replace(part.free, bias=bias) for bias in biases]
    # Biases are no question for rows that are fewer than the numbers.
    options = [
        free for free in options if free == options[0] or replace(least, free=free).unknowns < part.survey.total_weight
    ]
    if len(widths) * len(options) == 1:
        return None
    by_weight = None if survey.weight is None else survey.weight[test]
    price, factor = _price(part), _factor(problem, survey.y[test])
    shares = np.broadcast_to(part.shares, (len(test), problem.n_classes))

    def mean(losses: np.ndarray) -> float:
        return float(np.average(losses, weights=by_weight))

    def tried(asked: LabelProblem) -> _Tried:
        asked = replace(asked, key=random.fold_in(problem.key, asked.n_hidden))
        network = method.begin(asked).network
        fitted, rest = (
            cross_entropies(class_probabilities(network, survey.X[some], problem.link), survey.y[some])
            for some in (train, test)
        )
        cost = float(np.average(fitted, weights=part.survey.weight)) + price * asked.unknowns
        return _Tried(asked, cost, np.minimum(rest, DEAREST))

    def pays(one: _Tried, best: _Tried) -> bool:
        """Whether a network with more numbers than the best one takes its place."""
        gain, error = mean(best.losses - one.losses), standard_error(best.losses - one.losses, by_weight, factor)
        taken = gain > _STANDARD_ERRORS * error or (gain > -error and one.cost < best.cost)
        return taken and mean(one.losses) < mean(cross_entropies(shares, survey.y[test]))

    every: list[_Tried] = []
    winners: list[_Tried] = []
    for free in options:
        if winners and passed():
            break
        best = tried(replace(least, free=free))
        every.append(best)
        for k in widths[1:]:
            if k > best.asked.n_hidden + _FURTHER or passed():
                break
            every.append(tried(replace(part, n_hidden=k, free=free)))
            best = every[-1] if pays(every[-1], best) else best
        winners.append(best)
    winners.sort(key=lambda one: one.asked.unknowns)
    # The likelihood has to pay for biases too: a plain fit that is sure of wrong labels is no evidence for them.
    more = len(winners) > 1 and winners[-1].cost < winners[0].cost and pays(winners[-1], winners[0])
    chosen = winners[-1] if more else winners[0]

    def ties(other: _Tried) -> bool:
        gap = other.losses - chosen.losses
        return mean(gap) <= standard_error(gap, by_weight, factor)

    def candidate(one: _Tried) -> Candidate:
        asked, loss = one.asked, mean(one.losses)
        why = "held-out rows are less likely"
        if ties(one):
            fewer = asked.unknowns < chosen.asked.unknowns
            why = "the rows fitted are less likely" if fewer else "not clearly better for its numbers"
        return Candidate(
            asked.activation, asked.n_hidden, asked.free, asked.unknowns, loss,
            standard_error(one.losses, by_weight, factor), one is chosen, "" if one is chosen else why,
        )  # fmt: skip

    made = {id(one): candidate(one) for one in every}
    alike = [made[id(one)] for one in every if one is not chosen and ties(one)]
    others = [made[id(one)] for one in every if one is not chosen]
    reason = reason_of(made[id(chosen)], others, lambda other: other in alike, exact=False)
    return Choice(tuple(made.values()), reason, out_of_time=passed())


def _price(part: LabelProblem) -> float:
    """log(n)/(2n), n the rows, of which those whose weights contain a factor of their class count as fewer."""
    survey = part.survey
    rows = survey.total_weight / float(np.average(_factor(part, survey.y), weights=survey.weight))
    return float(np.log(max(rows, 1.0)) / (2 * rows))


def _factor(problem: LabelProblem, y: np.ndarray) -> np.ndarray:
    """The factor (n,) of the class of each row."""
    return np.ones(len(y)) if problem.class_weight is None else np.asarray(problem.class_weight)[y.astype(int)]
