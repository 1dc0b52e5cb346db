"""A start from a network that comparisons of candidates have fitted to some rows."""

from __future__ import annotations

import numpy as np

from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.methods._refine import refine
from planted.methods._screen_rows import Coordinates

# A relative loss below which descending further moves weights by rounding errors only.
_ROUNDING = 1e-25


def from_guess(problem: Problem) -> Start:
    """Refine the guess on the problem's sample, in coordinates where inputs of any scale and mean count alike.

    >>> from dataclasses import replace
    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, random_state=0)
    >>> problem = replace(Problem.of(data.X, data.y, 2), guess=data.teacher)
    >>> start = from_guess(problem)
    >>> start.method, start.loss < 1e-25
    ('expand', True)
    """
    guess, survey, free = problem.guess, problem.survey, problem.free
    assert guess is not None
    squares = np.sum((guess.predict(survey.X) - survey.y).reshape(len(survey.y), -1) ** 2, axis=1)
    loss = 0.5 * float(np.average(squares, weights=survey.weight))
    if 2 * loss <= _ROUNDING * survey.variance:
        return Start(guess, "expand", loss)
    share = np.ones(len(survey.y)) if survey.weight is None else survey.weight / np.mean(survey.weight)
    space = Coordinates.of(survey.X, share, centred=free.bias and (free.intercept or not free.skip))
    changed = {"weights": guess.weights @ space.inverse.T}
    if guess.bias is not None:
        changed["bias"] = guess.bias + guess.weights @ space.centre
    if guess.skip is not None:
        changed |= {"skip": guess.skip @ space.inverse.T, "intercept": guess.intercept + guess.skip @ space.centre}
    done = refine(problem.with_inputs(space.inputs(survey.X, False)), guess.replace(**changed))
    weights = done.network.weights @ space.whitener.T
    back = {"weights": weights}
    if done.network.bias is not None:
        back["bias"] = done.network.bias - weights @ space.centre
    if done.network.skip is not None:
        skip = done.network.skip @ space.whitener.T
        back |= {"skip": skip, "intercept": done.network.intercept - skip @ space.centre}
    return Start(done.network.replace(**back), "expand", done.loss, done.descents)
