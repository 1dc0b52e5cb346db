r"""How many neurons? Widen until held-out rows are no better explained, then merge while they stay so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planted.methods._facts import HELD_OUT_FLOOR
from planted.methods._problem import Problem
from planted.methods._search import Search
from planted.numerics import random
from planted.numerics.precision import float64

_TEST_FRACTION = 0.2
_STANDARD_ERRORS = 2.0
_STEPS = 300


@float64
def choose_width(problem: Problem, largest: int) -> tuple[int, dict[int, float]]:
    """The smallest number of neurons that explains held-out rows, and the held-out relative loss of each tried.

    Networks of 1, 2, 4, … neurons are fitted, with the linear part split off, until the held-out loss is zero to
    rounding or no longer falls. The last one is merged down step by step. A width explains the held-out rows if its
    squared residuals there exceed those of the best width by at most two standard errors of the mean difference.
    Below the width chosen, fresh starts one neuron narrower must fail.

    Parameters
    ----------
    problem : Problem
        Its own width plays no part.
    largest : int
        The widest network to try.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(400, 3, 2, random_state=0)
    >>> choose_width(Problem.of(data.X, data.y, 1), largest=4)[0]
    2
    """
    survey, key = problem.survey, problem.key
    n = len(survey.y)
    order = random.permutation(random.fold_in(key, 0), n)
    held = max(1, int(_TEST_FRACTION * n))
    test, train = order[:held], order[held:]
    weight = np.ones(n) if survey.weight is None else survey.weight
    guess = max(1, min(largest, len(train) // (10 * problem.n_features)))
    part = replace(survey, X=survey.X[train], y=survey.y[train], weight=weight[train])
    search = Search.of(replace(problem, survey=part, n_hidden=guess))
    trial = _Trial(search, search.whitening(survey.X[test]), survey.y[test] / search.scale, weight[test])

    def fresh(width: int, number: int) -> tuple[dict[str, Any], np.ndarray | None]:
        start = random.fold_in(random.fold_in(key, width), number)
        return trial.descend(*search.start(start, width))

    width = 1
    params, signs = fresh(width, 1)
    while width < largest and trial.losses[width] > HELD_OUT_FLOOR:
        wider = min(largest, 2 * width)
        other = fresh(wider, 1)
        if trial.losses[wider] > trial.losses[width] and wider > 2:
            break
        width, (params, signs) = wider, other
    while width > 1:
        narrower = width - max(1, width // 10)
        params, signs = trial.descend(*search.shrink(params, signs, narrower))
        width = narrower
        if not trial.explains(width) and width < trial.smallest() - 1:
            break
    width = trial.smallest()
    while width > 1:
        fewer = search.at(width - 1)
        attempt = fewer.run(fewer.plenty[0], random.fold_in(key, -width % 2**31))
        trial.record(width - 1, attempt.params)
        if not trial.explains(width - 1):
            break
        width -= 1
    return width, dict(sorted(trial.losses.items()))


class _Trial:
    """Held-out rows, and the squared residuals there of the best network of each width."""

    def __init__(self, search: Search, Z: np.ndarray, targets: np.ndarray, weight: np.ndarray) -> None:
        self.search = search
        self.Z, self.targets, self.weight = Z, targets, weight / np.sum(weight)
        self.squares: dict[int, np.ndarray] = {}
        self.losses: dict[int, float] = {}

    def descend(self, params: dict[str, Any], signs: np.ndarray | None) -> tuple[dict[str, Any], np.ndarray | None]:
        """Descend on the search's rows and record the held-out residuals."""
        run = self.search.descend(params, signs, _STEPS, final=False)
        output = run.params["output"] if signs is None else signs
        self.record(output.shape[-1], run.params | {"output": output})
        return run.params, signs

    def record(self, width: int, params: dict[str, Any]) -> None:
        """Keep the squared residuals of a network if it is the best of its width."""
        act = self.search.activation
        z = self.Z @ params["weights"].T + params.get("bias", 0.0)
        value = (act(z) - act.offset - act.tilt * z) @ params["output"].T + params["intercept"]
        if "linear" in params:
            value = value + self.Z @ params["linear"].T
        squares = np.mean((value - self.targets).reshape(len(self.Z), -1) ** 2, axis=1)
        loss = float(self.weight @ squares)
        if loss < self.losses.get(width, np.inf):
            self.losses[width], self.squares[width] = loss, squares

    def explains(self, width: int) -> bool:
        """Whether this width is as good as the best, up to the standard error of the difference."""
        best = min(self.losses, key=lambda w: self.losses[w])
        excess = self.squares[width] - self.squares[best]
        mean = float(self.weight @ excess)
        error = float(np.sqrt(np.sum(self.weight**2 * (excess - mean) ** 2)))
        return mean <= max(HELD_OUT_FLOOR, _STANDARD_ERRORS * error) if self.losses[width] > HELD_OUT_FLOOR else True

    def smallest(self) -> int:
        """The smallest width tried that explains the held-out rows."""
        return min(width for width in self.losses if self.explains(width))
