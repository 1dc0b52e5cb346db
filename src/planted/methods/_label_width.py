"""Which network labels can tell: activation and link, how many neurons, and whether these have biases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial, reduce

import numpy as np

from planted.activations import Activation
from planted.methods._choice import Candidate, Choice
from planted.methods._label_contest import STANDARD_ERRORS, Contest, Tried
from planted.methods._label_kinds import relatives
from planted.methods._label_penalty import MIDDLE, STRENGTHS, strengths
from planted.methods._label_quick import bounded_fit, descended
from planted.methods._label_screen import leader, screened
from planted.methods._labels import LabelProblem
from planted.methods._method import Method, records
from planted.methods._reason import UNCLEAR, reason_of
from planted.numerics import random
from planted.numerics.deadline import passed

# Widths beyond the best one that are tried before the search ends: two neurons may explain what one more does not.
_FURTHER = 2
# Kinds of networks whose width and biases are searched for; rows a number that the width of a first look takes.
_SEARCHED, _ROWS_PER_UNKNOWN = 2, 5
# Length of a neuron's weights, in units of the inputs' spread, at which it is no step.
_LENGTH = 1.5


def choose_label_network(
    kinds: Sequence[LabelProblem], widths: Iterable[int], biases: Iterable[bool], linear: LabelProblem | None = None
) -> Choice | None:
    """The network that rows pay for, of these widths, narrowest first, with or without biases; None if one is asked.

    `kinds` are problems that differ in link and activation, commonest first. Those that are clearly behind at one width
    are left out (:func:`screened`); for the two of the others that are likeliest for their numbers width and biases are
    searched for, and :func:`relatives` of the better one are fitted from where it is.

    `linear` is the problem of log-odds without neurons, where that is a candidate too (:func:`label_linear`).

    A third of the rows is held out, the same whatever the key. A network with more numbers takes the place of the best
    one if that pays (:meth:`Contest.pays`). For biases and relatives the likelihood has to pay in any case, and a
    relative costs one number more. The search ends after two widths that are not taken; networks without biases are at
    most one neuron narrower or wider than the best one with biases. All are a :func:`quick_fit` with half the random
    starts of a fit. A row held out costs at most 7. Losses are cross-entropies.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(4000, 2, 1, activation="sigmoid", weights=[[3.0, 0.0]], task="classification",
    ...                     random_state=0)
    >>> problem = LabelProblem.of(data.X, data.y, 1, "sigmoid")
    >>> choose_label_network([problem], [1, 2, 3], [False]).chosen.name
    '1 sigmoid neuron'
    """
    widths = list(widths)
    contest = Contest.of(replace(kinds[-1], n_hidden=widths[-1]))
    rows = contest.part.survey.total_weight
    plain = [] if linear is None else [_fitted(contest, linear.on(contest.part.survey))]
    least = [_with(kinds[-1], bias, widths[0]) for bias in biases]
    # Biases are no question for rows that are fewer than the numbers.
    options = [asked.free.bias for asked in least if asked is least[0] or asked.unknowns < rows]
    if len(widths) * len(options) * len(kinds) + len(plain) == 1:
        return None
    fit = lru_cache(partial(_fit, contest))
    near = [other for kind in kinds for other in relatives(kinds, kind)]
    shapes = [kind for kind in kinds if kind not in near]
    # Nor are shapes: of rows that are fewer than the numbers rounding would decide.
    shapes = shapes if least[0].unknowns < rows else shapes[:1]
    rough, front = [], shapes
    if len(shapes) > 1:
        affordable = [k for k in widths if _ROWS_PER_UNKNOWN * _with(kinds[-1], options[-1], k).unknowns <= rows]
        rough = screened(contest, shapes, affordable or widths[:1], lambda kind, k: fit(kind, options[-1], k))
        lead = leader(contest, rough)
        places = [place for place, one in enumerate(rough) if not contest.behind(one, lead)]
        front = [shapes[place] for place in sorted(places, key=lambda place: rough[place].cost)[:_SEARCHED]]
    every: list[Tried] = []
    winners: list[Tried] = []
    for kind in front:
        if winners and passed():
            break
        winner, tried = _searched(contest, partial(fit, kind), widths, options)
        winners.append(winner)
        every += tried
    # Neurons are asked for where they pay beside one linear function, whatever pays beside other neurons.
    chosen = _best(contest, [one for one in winners if all(contest.pays(one, line) for line in plain)] or plain)
    near = relatives(kinds, chosen.asked) if chosen.asked.n_hidden else []
    alike = [_relative(contest, kind, chosen) for kind in near]
    # Shapes that are nearly the same differ by next to nothing, of which chance may make a clear gain.
    chosen = _best(contest, [chosen, *(one for one in alike if one.cost < chosen.cost)])
    return _choice(contest, chosen, [*plain, *every, *alike], rough)


def _with(kind: LabelProblem, bias: bool, width: int) -> LabelProblem:
    """A kind of network of some width, with or without biases."""
    return replace(kind, n_hidden=width, free=replace(kind.free, bias=bias))


def _fit(contest: Contest, kind: LabelProblem, bias: bool, width: int) -> Tried:
    """A kind of network fitted to the rows that are not held out."""
    asked = _with(kind, bias, width).on(contest.part.survey, restarts=kind.restarts // 2)
    return _fitted(contest, replace(asked, key=random.fold_in(kind.key, width)))


def _fitted(contest: Contest, asked: LabelProblem) -> Tried:
    """A quick fit to the rows that are not held out.

    Where these do not keep its weights finite, it has one of a few penalties: that which the others prefer.
    """
    bounded, network, certain = bounded_fit(asked)
    tried = [contest.tried(bounded, network, certain)]
    if bounded.alpha != asked.alpha:
        for strength in reversed([alpha for alpha in strengths(asked) if 0 < alpha <= STRENGTHS[1]]):
            weaker = replace(bounded, alpha=strength)
            network = descended(weaker, network)
            tried.append(contest.tried(weaker, network, certain))
    return leader(contest, tried)


def _searched(
    contest: Contest, fit: Callable[[bool, int], Tried], widths: list[int], options: list[bool]
) -> tuple[Tried, list[Tried]]:
    """The best network of a kind over widths and biases, and all that were tried."""
    best = fit(options[-1], widths[0])
    every = [best]
    for k in widths[1:]:
        if k > best.asked.n_hidden + _FURTHER or passed():
            break
        every.append(fit(options[-1], k))
        best = every[-1] if contest.pays(every[-1], best) else best
    if len(options) == 1 or passed():
        return best, every
    # Without biases a network is one with biases of zero: widths far from the best one with biases lose too.
    middle = best.asked.n_hidden
    plain = [_plain(contest, one) for one in every if abs(one.asked.n_hidden - middle) <= 1]
    winners = [_best(contest, plain), best]
    winners.sort(key=lambda one: one.asked.unknowns)
    return winners[_paid(contest, *winners)], [*plain, *every]


def _paid(contest: Contest, fewer: Tried, more: Tried) -> bool:
    """Whether rows pay for the numbers that one of two networks, with and without biases, has more.

    The likelihood has to pay in any case: a plain fit that is sure of wrong labels is no evidence for biases.
    It decides where neither is better than the classes' shares.
    """
    if contest.lost(fewer) and contest.lost(more):
        return contest.likelier(more, fewer)
    return more.cost < fewer.cost and contest.pays(more, fewer)


def _plain(contest: Contest, one: Tried) -> Tried:
    """A network without biases, fitted from where one with biases is, and from where its neurons are no steps."""
    asked = _with(one.asked, False, one.asked.n_hidden)
    network = one.network.replace(bias=None)
    length = np.linalg.norm(network.weights * asked.spread, axis=1, keepdims=True)
    short = network.replace(weights=network.weights * np.minimum(1.0, _LENGTH / np.maximum(length, 1e-300)))
    ends = [contest.tried(asked, descended(asked, begin)) for begin in (network, short)]
    return min(ends, key=lambda end: end.cost)


def _relative(contest: Contest, kind: LabelProblem, chosen: Tried) -> Tried:
    """A network of the chosen one's size, fitted from where that is; to be a less common one costs a number."""
    asked = replace(chosen.asked, activation=kind.activation)
    one = contest.tried(asked, descended(asked, chosen.network.replace(activation=kind.activation)))
    return replace(one, fitted=one.fitted + contest.price, cost=one.cost + contest.price)


def _best(contest: Contest, winners: Sequence[Tried]) -> Tried:
    """The one that rows pay for, from the fewest numbers on."""
    ordered = sorted(winners, key=lambda one: one.asked.unknowns)
    return reduce(lambda best, one: one if contest.pays(one, best) else best, ordered)


def _choice(contest: Contest, chosen: Tried, every: Sequence[Tried], rough: Sequence[Tried]) -> Choice:
    """The table: networks that were searched for, and quick fits of other kinds."""

    def kind(one: Tried) -> tuple[str, Activation | None]:
        return one.asked.link, one.asked.activation if one.asked.n_hidden else None

    searched = {kind(one) for one in every}
    others = [one for one in rough if kind(one) not in searched]
    # Quick fits are compared with the quick fit of the kind that was chosen.
    own = next((one for one in rough if kind(one) == kind(chosen)), chosen)
    links = len({one.asked.link for one in [*every, *others]}) > 1

    def apart(one: Tried) -> float:
        return contest.apart(one, own if one in others else chosen)

    def ties(one: Tried) -> bool:
        # What does not clearly favour an activation does not tell it from another one.
        return apart(one) <= (1.0 if kind(one) == kind(chosen) else STANDARD_ERRORS)

    def candidate(one: Tried) -> Candidate:
        asked = one.asked
        why = UNCLEAR if ties(one) else "held-out rows are less likely"
        if apart(one) <= 1.0:
            fewer = asked.unknowns <= chosen.asked.unknowns
            why = "the rows fitted are less likely" if fewer else "not clearly better for its numbers"
        return Candidate(
            kind(one)[1], asked.n_hidden, asked.free, asked.unknowns, contest.mean(one.losses),
            contest.error(one.losses), one is chosen, "chosen" if one is chosen else why, asked.link if links else "",
        )  # fmt: skip

    made = {id(one): candidate(one) for one in [*every, *others]}
    alike = [made[id(one)] for one in [*every, *others] if one is not chosen and ties(one)]
    rest = [made[id(one)] for one in [*every, *others] if one is not chosen]
    reason = reason_of(made[id(chosen)], rest, lambda other: other in alike, exact=False)
    if any(one.asked.alpha != contest.problem.alpha for one in [*every, *others]):
        reason += f"; where weights have no end, compared with an ℓ2 penalty of at most {MIDDLE:g}"
    return Choice(tuple(made.values()), reason, out_of_time=passed())


def label_method(link: str) -> Method:
    """The method that answers problems of a link.

    >>> label_method("mean").name, label_method("logit").name
    ('likelihood', 'logit')
    """
    return records("labels")["likelihood" if link == "mean" else "logit"]
