r"""Why do shared filters not explain their rows? Other fits to a part of the rows, compared on the rest.

The candidates change one thing each: a new run of the search, another activation, one more filter. The simplest one
that predicts the rest clearly better than the network, which was fitted to these rows too, is the cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from planted import activations
from planted.methods._facts import WORTH, Cause
from planted.methods._method import records
from planted.methods._rivals import HeldOut, Rival, changed
from planted.numerics import random

_ROWS, _UNKNOWNS, _ROWS_PER_UNKNOWN = 2000, 200, 3
_TEST_FRACTION = 0.3
# Steps of a candidate's descent, whose polish goes on to the minimum from where they end, and draws of its start.
_ITERATIONS, _DRAWS = 200, 2
_ACTIVATIONS = ("relu", "tanh", "softplus", "quadratic")


def filter_cause(problem: Any, network: Any) -> Cause | None:
    """What keeps shared filters from explaining their rows; None where it would cost too much to find out.

    >>> from planted.datasets import make_planted_conv
    >>> from planted.methods import FilterProblem
    >>> data = make_planted_conv(20, 3, 2, random_state=0)
    >>> problem = FilterProblem.of(data.X, data.y + data.X[:, 0, 0], 1)
    >>> filter_cause(problem, data.teacher) is None  # 14 rows for five unknowns, and 6 held out
    True
    """
    survey = problem.survey
    order = random.permutation(random.fold_in(problem.key, 11), len(survey.y))[:_ROWS]
    held = int(_TEST_FRACTION * len(order))
    test, train = order[:held], order[held:]
    if problem.unknowns > _UNKNOWNS or len(train) < _ROWS_PER_UNKNOWN * problem.unknowns or not held:
        return None
    part = problem.on(survey.part(train))
    unit = float(np.var(survey.y[test]))
    if unit == 0 or part.survey.constant:
        return None

    def squares(fitted: Any) -> np.ndarray:
        rows = fitted.rows(survey.X[test])
        return np.asarray((fitted.predict(rows) - survey.y[test]) ** 2)

    rivals = [Rival(kind, value, squares(_fit(asked))) for kind, value, asked in _changes(part)]
    return HeldOut(unit, WORTH).cause(squares(network), rivals)[0]


def _changes(part: Any) -> Iterator[tuple[str, str, Any]]:
    """Problems that differ in one thing, simplest first, while there is time."""
    options: list[tuple[str, str, Any]] = [("search", "", {"key": random.fold_in(part.key, 13)})]
    for name in _ACTIVATIONS:
        if name != part.activation.name:
            options.append(("activation", name, {"activation": activations.get(name)}))
    options.append(("filters", str(part.n_hidden + 1), {"n_hidden": part.n_hidden + 1}))
    return changed(part, options, _ROWS_PER_UNKNOWN)


def _fit(problem: Any) -> Any:
    brief = replace(problem, max_iterations=min(_ITERATIONS, problem.max_iterations), draws=_DRAWS)
    return records("filters")["shared" if problem.n_hidden == 1 else "several"].begin(brief).network
