"""The method for those who do not want to choose: a race that ends as soon as a candidate verifies itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planted.methods._guess import from_guess
from planted.methods._method import Method, records
from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.methods._refine import explained
from planted.numerics import random
from planted.numerics.deadline import passed


def candidates() -> list[Method]:
    """The methods that take part in the race, first to last.

    >>> [method.name for method in candidates()]
    ['expand', 'squared', 'tensor', 'landscape']
    """
    ranked = [(method.rank, method) for method in records("regression").values() if method.rank is not None]
    return [method for _, method in sorted(ranked, key=lambda pair: pair[0])]


def start(problem: Problem) -> Start:
    """Expand and merge; if that does not verify itself, plain squared loss, tensor start and designed landscape too.

    A candidate verifies itself by explaining every row to rounding, or by two independent runs that end in the same
    minimum. Otherwise the candidate with the lowest loss is returned. `details["race"]` holds the relative loss of
    every candidate that ran, or the reason why it did not apply. Where activation, width or parts were compared before,
    the network of that comparison is the first candidate. The budget of each is a number of starts and steps,
    not of seconds, so that a seed gives the same network on every machine.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, random_state=0)
    >>> METHOD(Problem.of(data.X, data.y, 2)).status
    'recovered'
    """
    race: dict[str, Any] = {}
    best: Start | None = None
    sample = problem.on_sample()
    if sample.guess is not None:
        best = from_guess(sample)
        sample = replace(sample, guess=best.network, at_minimum=True)
        race[best.method] = 2 * (best.loss or 0.0) / sample.survey.variance
        if explained(sample, best) or passed():
            return best.adding({}, {"race": race})
    for index, candidate in enumerate(candidates()):
        reason = candidate.refusal(sample) or candidate.affordable(sample)
        if reason is None:
            try:
                start = candidate.begin(replace(sample, key=random.fold_in(problem.key, index)))
            except ValueError as error:
                # What a method assumes may show only on the data, as too few rows for its moments.
                reason = str(error)
        if reason is not None:
            race[candidate.name] = reason
            continue
        assert start.loss is not None
        race[candidate.name] = 2 * start.loss / sample.survey.variance
        if best is None or start.loss < (best.loss or 0.0):
            best = start
        if explained(sample, best) or start.details.get("agreeing_runs", 0) > 1 or passed():
            break
    assert best is not None
    return best.adding({}, {"race": race})


METHOD = Method(
    name="auto",
    start=start,
    summary="the methods that apply, one after the other, until one verifies itself",
    suits="real targets, nothing known",
    scales=True,
    several_outputs=True,
)
