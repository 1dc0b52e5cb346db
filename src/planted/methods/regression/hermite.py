"""Recovery by the loss f' of Ge et al. (2017), section 2.1: second and fourth Hermite parts, unit rows."""

from __future__ import annotations

import numpy as np

from planted.methods._directions import obstacle_of_width, start_from_directions
from planted.methods._method import Method
from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.numerics import random
from planted.numerics.precision import to_jax
from planted.objectives import Hermite24
from planted.rows import ArrayRows
from planted.solvers import Monitor, decaying_adam, descend, unit_rows
from planted.starts import random_rows

_ROWS = 32_768
_RESTARTS = 4
_STEPS = 1500


def start(problem: Problem) -> Start:
    """Projected gradient descent on f' from four random starts side by side.

    Outputs are learned with the weights. The best start is given its signs by least squares.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(5000, 4, 4, random_state=0)
    >>> METHOD(Problem.of(data.X, data.y, 4)).status
    'recovered'
    """
    survey, act, k = problem.survey, problem.activation, problem.n_hidden
    Z = problem.gaussian.whiten(survey.X[:_ROWS])
    weight = None if survey.weight is None else survey.weight[: len(Z)]
    y = survey.y[: len(Z)]
    targets = y - np.average(y, weights=weight)
    loss = Hermite24.on(ArrayRows(to_jax(Z), to_jax(targets), None if weight is None else to_jax(weight)), act)
    start_key, run_key = random.split(problem.key)
    weights = random_rows(start_key, k, problem.n_features, _RESTARTS)
    scale = float(np.std(survey.y)) / (k**0.5 * max(abs(act.hermite(2)), abs(act.hermite(4))))
    run = descend(
        loss,
        to_jax({"weights": weights, "output": np.full((_RESTARTS, k), 0.5 * scale)}),
        decaying_adam(0.05, _STEPS, unit_rows),
        steps=_STEPS,
        key=run_key,
        side_by_side=True,
        monitor=Monitor(every=100),
        progress=problem.progress,
    )
    best = int(np.argmin(run.value))
    begin = start_from_directions(problem, problem.gaussian.unwhiten_weights(run.params["weights"][best])[0], "hermite")
    return begin.adding({"hermite": run}, {"hermite_value": float(run.value[best])})


METHOD = Method(
    name="hermite",
    start=start,
    summary="second and fourth Hermite parts only, projected descent from four starts",
    suits="Gaussian inputs, orthonormal weights, little memory",
    obstacle=obstacle_of_width,
    inputs="gaussian",
)
