"""Networks wider than a comparison of all candidates could afford."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from planted import activations
from planted.methods._choice import Candidate
from planted.methods._facts import HELD_OUT_FLOOR
from planted.methods._problem import Problem
from planted.methods._question import Question
from planted.methods._width import choose_width
from planted.numerics import random
from planted.numerics.deadline import passed

_COMMONEST = ("relu", "tanh")


def wider_network(problem: Problem, question: Question, loss: float) -> Candidate | None:
    """A candidate wider than a comparison of all could afford, if it leaves less than half of a held-out loss.

    The width search of :func:`planted.methods.choose_width`, which descends by first derivatives, looks for the
    number of neurons of the commonest activations, or of the one that was given, with the fewest parts allowed and
    with all of them. One that explains held-out rows to where its descents stop ends the search.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(400, 3, 2, random_state=0)
    >>> wider_network(Problem.of(data.X, data.y, 1), Question(), 0.3).name
    '2 relu neurons'
    """
    d, m = problem.n_features, problem.n_outputs
    kinds = [activations.get(name) for name in _COMMONEST] if question.activation is None else [question.activation]
    parts = question.parts(d)
    best: Candidate | None = None
    for place, (free, activation) in enumerate(product(dict.fromkeys((parts[0], parts[-1])), kinds)):
        if passed() or not question.admits(activation, 1, free):
            continue
        # The widest network that eight tenths of the rows can still determine.
        largest = max(1, min(4 * d, int(0.8 * len(problem.survey.y) * m) // (d + m + free.bias)))
        asked = replace(problem, activation=activation, free=free, key=random.fold_in(problem.key, 101 + place))
        width, losses = choose_width(asked, largest)
        numbers = free.unknowns(d, width, m) - (width if activation.homogeneity is not None else 0)
        if losses[width] < (loss / 2 if best is None else best.loss):
            best = Candidate(activation, width, free, numbers, losses[width], float("nan"), True, "by the width search")
        if losses[width] <= HELD_OUT_FLOOR:
            break
    return best
