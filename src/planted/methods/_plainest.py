"""The kind of network with the fewest numbers, where the rows confirm it before candidates are compared.

Held-out rows say little where rows are few. But a network that explains all rows to rounding, so that each is confirmed
by the others, needs no comparison: a part that it lacks is not there.
"""

from __future__ import annotations

from dataclasses import replace

from planted.methods._choice import Candidate, Choice
from planted.methods._direct import BRIEF, direct_attempts, direct_confirmed, direct_network
from planted.methods._facts import ROUNDED
from planted.methods._problem import Problem
from planted.methods._question import Question
from planted.methods._search import Search


def plainest(problem: Problem, question: Question) -> Choice | None:
    """The choice of fewest parts, if activation and width are given, rows are few, and they confirm the network.

    >>> from planted import activations
    >>> from planted.datasets import make_planted
    >>> data = make_planted(15, 3, 2, random_state=0)
    >>> question = Question(activations.get("relu"), 2, skip=False)
    >>> plainest(Problem.of(data.X, data.y, 2), question).chosen.name
    '2 relu neurons'
    """
    activation, width, free = question.activation, question.n_hidden, question.parts(problem.n_features)[0]
    if activation is None or not width or not question.admits(activation, width, free):
        return None
    sample = problem.on_sample()
    asked = replace(sample, activation=activation, n_hidden=width, free=free)
    search = Search.of(asked)
    attempts = direct_attempts(search, asked, BRIEF)
    if not attempts or 2 * attempts[-1].loss > ROUNDED or not direct_confirmed(search, asked, attempts[-1]):
        return None
    network = search.whitening.network(direct_network(search, attempts[-1]))
    numbers = asked.unknowns - width * (activation.homogeneity is not None)
    reason = "it explains every row to rounding, each row is confirmed by the others, and nothing is simpler"
    chosen = Candidate(activation, width, free, numbers, 2 * attempts[-1].loss, float("nan"), chosen=True, why="chosen")
    return Choice((chosen,), reason, network)
