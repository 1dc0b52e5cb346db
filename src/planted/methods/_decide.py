"""Everything that a caller left open about a network of real targets, decided before a method is called."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planted.activations import Activation
from planted.inputs import Density, Gaussian, gaussianity
from planted.methods._choice import Choice
from planted.methods._choose import choose
from planted.methods._method import Method
from planted.methods._problem import Free, Problem
from planted.methods._question import Question
from planted.numerics import random
from planted.starts import MomentRank, moment_rank, rank_is_testable

# Rows that the rank of E[y S₂] is tested on; inputs up to which that costs little where it was not asked for, rows ×
# inputs⁴ in all; and a singular value of the rows that counts as none.
_RANK_ROWS, _RANK_INPUTS = 20_000, 10
_DEPENDENT = 1e-6


@dataclass(frozen=True, eq=False)
class Decision:
    """A problem with nothing left open, and what it was decided by.

    Attributes
    ----------
    problem : Problem
    choice : Choice or None
        The candidates that were compared, where there were any.
    rank : MomentRank or None
        The number of neurons by the rank of E[y S₂], where that can be tested.
    """

    problem: Problem
    choice: Choice | None = None
    rank: MomentRank | None = None


def decide(problem: Problem, method: Method, question: Question) -> Decision:
    """Decide what `question` leaves open, by what the method says of itself or by held-out rows.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import METHODS
    >>> data = make_planted(400, 3, 2, random_state=0)
    >>> asked = Question(activation=data.teacher.activation, bias=False, intercept=False, skip=False)
    >>> decide(Problem.of(data.X, data.y, 1), METHODS["auto"], asked).problem.n_hidden
    2
    """

    def admits(activation: Activation, width: int, free: Free) -> bool:
        return method.refusal(replace(problem, activation=activation, n_hidden=width, free=free)) is None

    question = replace(question, admits=admits)
    method.check_source(problem.in_chunks)
    if question.activation is not None or not question.open or not question.families(problem.n_features):
        method.check(problem)
    if not question.open:
        return Decision(problem)
    if method.width is not None:
        width = method.width(problem) if question.n_hidden is None else problem.n_hidden
        return Decision(replace(problem, n_hidden=width))
    rank = neurons_by_rank(problem)
    key, choice_key = random.split(problem.key)
    asked = replace(problem, key=choice_key)
    stored = problem.once("choice", lambda: choose(asked, question).to_arrays())
    choice = Choice.from_arrays(stored, question.activation)
    chosen = choice.chosen
    made = replace(
        problem,
        key=key,
        n_hidden=chosen.n_hidden,
        activation=chosen.activation or problem.activation,
        free=chosen.free,
        guess=choice.network if chosen.n_hidden else None,
        compared=tuple(name for name in ("activation", "n_hidden", "bias") if getattr(question, name) is None),
    )
    return Decision(made, choice, rank)


def neurons_by_rank(problem: Problem) -> MomentRank | None:
    """The number of neurons by the rank of E[y S₂], where the law of the inputs is known or passes for Gaussian.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(20_000, 3, 2, random_state=0)
    >>> neurons_by_rank(Problem.of(data.X, data.y, 1)).rank
    2
    """
    survey = problem.survey
    if survey.y.ndim > 1 or survey.weight is not None:
        return None
    step = -(-len(survey.y) // _RANK_ROWS)
    X, y = survey.X[::step], survey.y[::step]
    law, spread = problem.inputs.law, X.std(axis=0)
    if not rank_is_testable(*X.shape) or np.any(spread == 0):
        return None
    if law is None:
        if X.shape[1] > _RANK_INPUTS:
            return None
        # The rank is the same in units of the columns' own.
        X = (X - X.mean(axis=0)) / spread
        if np.linalg.matrix_rank(X, rtol=_DEPENDENT) < X.shape[1] or not gaussianity(X).gaussian:
            return None
        law = Gaussian.fit(X)
    return moment_rank(X, y, law) if isinstance(law, Density) else None
