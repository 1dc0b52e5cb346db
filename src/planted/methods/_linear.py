"""Networks without neurons: a linear function, or a constant, by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.methods._screen_rows import Coordinates
from planted.networks import Network


def linear_start(problem: Problem) -> Start:
    """The minimum on the sample of a network without neurons: no search is needed.

    >>> import numpy as np
    >>> from dataclasses import replace
    >>> from planted.methods import Free, Problem
    >>> X = np.random.default_rng(0).standard_normal((20, 2))
    >>> problem = Problem.of(X, X @ [1.0, -2.0] + 3, 1, free=Free(intercept=True, skip=True))
    >>> linear_start(replace(problem, n_hidden=0)).network.skip.round(9)
    array([ 1., -2.])
    """
    survey, free = problem.survey, problem.free
    X, y = survey.X.reshape(len(survey.y), -1), survey.y.reshape(len(survey.y), -1)
    share = np.ones(len(y)) if survey.weight is None else survey.weight / np.mean(survey.weight)
    space = Coordinates.of(X, share, centred=free.intercept)
    Z = space.inputs(X, False)[:, : space.rank * free.skip]
    columns = np.column_stack([Z, np.ones(len(Z))]) if free.intercept else Z
    root = np.sqrt(share)[:, None]
    solution = np.linalg.lstsq(columns * root, y * root, rcond=1e-12)[0].T
    parts: dict[str, Any] = {"intercept": solution[:, -1] if free.intercept else np.zeros(y.shape[1])}
    if free.skip:
        parts["skip"] = solution[:, : space.rank] @ space.whitener.T
        parts["intercept"] = parts["intercept"] - parts["skip"] @ space.centre
    several = survey.y.ndim > 1
    if not several:
        parts = {name: value[0] for name, value in parts.items()}
    layer = np.zeros((y.shape[1], 0) if several else 0)
    network = Network(np.zeros((0, X.shape[1])), layer, problem.activation, **parts)
    squares = np.sum((network.predict(X).reshape(y.shape) - y) ** 2, axis=1)
    return Start(network, "linear", 0.5 * float(np.average(squares, weights=share)))
