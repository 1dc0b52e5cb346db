r"""Fit every row, whatever the targets: networks with more parameters than rows (Soltanolkotabi et al. 2017, Figure 4).

Where a network has more numbers than there are rows it can be made to pass through any targets, random ones too, and
then the rows do not tell its weights. This method reaches zero loss and says just that: its status is never
"recovered".
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from planted.methods._facts import EXACT, ROUNDED, Facts
from planted.methods._finish import relative_loss, target_losses, target_squares, worst_row
from planted.methods._method import Method
from planted.methods._problem import Problem
from planted.methods._recovery import Recovery, Start
from planted.methods._verdict import judge
from planted.networks import Network, counting_rows
from planted.numerics import random
from planted.numerics.precision import float64
from planted.objectives import unflatten
from planted.solvers import lbfgs

_STARTS = 5
_STEPS = 3000
_NEWTON_STEPS = 30
_PARAMETERS_PER_ROW = 1.5
_NEWTON_ENTRIES = 20_000_000


def start(problem: Problem) -> Start:
    """Descend both layers from outputs ±1 in turn until every row is fitted; up to five random starts.

    L-BFGS does what gradient descent does in Figure 4 in fewer steps; steps of least norm to the zero of the linearised
    residuals then reach rounding.

    >>> rng = np.random.default_rng(0)
    >>> fit = METHOD(Problem.of(rng.standard_normal((20, 4)), rng.standard_normal(20), 8, "softplus"))
    >>> fit.status, fit.relative_loss < 1e-20
    ('ambiguous', True)
    """
    survey, loss = problem.survey, problem.objective(problem.sample)
    goal = 0.5 * ROUNDED * survey.variance
    best: tuple[float, Any] = (math.inf, None)
    runs = {}
    for number, key in enumerate(random.split(problem.key, _STARTS)):
        run = lbfgs(loss, _drawn(problem, key), steps=_STEPS, target=goal, progress=problem.progress)
        value, params = _to_zero(problem, loss, run.params, goal)
        runs[f"start {number}"] = run
        if value < best[0]:
            best = (value, params)
        if 2 * best[0] <= EXACT * survey.variance:
            break
    return Start(problem.network(best[1]), "interpolate", best[0], runs, {"starts": len(runs)})


def _drawn(problem: Problem, key: Any) -> dict[str, np.ndarray]:
    """Rows with pre-activations of order one, outputs of both signs in turn, everything else zero."""
    survey, k = problem.survey, problem.n_hidden
    spread = np.sqrt(np.diagonal(survey.second))
    rng = np.random.default_rng(np.asarray(key, dtype=np.uint32))
    weights = rng.standard_normal((k, problem.n_features)) / problem.n_features**0.5
    weights = weights / np.where(spread > 0, spread, 1.0)
    signs = np.where(np.arange(k) % 2 == 0, 1.0, -1.0)
    size = np.sqrt(np.mean(np.square(survey.y), axis=0))[..., None]
    layers = {"weights": weights, "output": size * np.broadcast_to(signs, (*survey.y.shape[1:], k))}
    return problem.params(problem.network(problem.params(Network(**layers, activation=problem.activation)) | layers))


def _to_zero(problem: Problem, loss: Any, params: Any, goal: float) -> tuple[float, Any]:
    """Steps of least norm, each halved until the loss falls, to the zero of the residuals linearised at a point."""
    value, survey = float(loss.value(params)), problem.survey
    root = np.ones(len(survey.y)) if survey.weight is None else np.sqrt(survey.weight)
    rows = len(survey.y) * problem.n_outputs
    if rows * problem.unknowns > _NEWTON_ENTRIES or rows > problem.unknowns:
        return value, params
    for _ in range(_NEWTON_STEPS):
        if value <= goal:
            break
        network = problem.network(params)
        slope = network.jacobian(survey.X, intercept=problem.free.intercept) * root[:, None, None]
        residual = (survey.y - network.predict(survey.X)).reshape(len(root), -1) * root[:, None]
        step = np.linalg.lstsq(slope.reshape(rows, -1), residual.ravel(), rcond=1e-12)[0]
        change = unflatten(step, params)
        for halvings in range(12):
            tried = {name: params[name] + change[name] / 2**halvings for name in params}
            reached = float(loss.value(tried))
            if reached < value:
                break
        else:
            break
        value, params = reached, tried
    return value, params


@float64
def finish(problem: Problem, start: Start, began: float) -> Recovery:
    """Judge the fit; the weights are left open whatever it is."""
    network, survey = start.network, problem.survey
    assert start.loss is not None
    squares = target_squares(problem, network)
    relative = relative_loss(start.loss, squares, survey)
    rows, numbers = len(survey.y) * problem.n_outputs, problem.unknowns
    exact, missed = relative <= EXACT, "zero loss was not reached"
    entries = (problem.n_features + problem.free.bias) * (problem.n_features + problem.free.bias + 1) // 2
    if problem.activation.name == "quadratic" and problem.n_outputs * entries < rows:
        missed = (
            f"{missed}, and cannot be in general: quadratic neurons, however many, are a matrix of {entries} numbers"
        )
    many = f"a network of {numbers} numbers passes through {rows} targets whatever they are"
    few = f"{numbers} numbers were fitted to {rows} targets without asking whether these determine them"
    facts = Facts(
        relative_loss=relative,
        largest_residual=worst_row(problem, network) if exact else np.inf,
        counting_rows=counting_rows(network, survey.X),
        n_parameters=numbers,
        undetermined=many if numbers >= rows else few,
        structure="" if exact else missed,
        targets=target_losses(squares, survey, None),
    )
    verdict = judge(facts)
    if verdict.status == "ambiguous":
        verdict = verdict.advising("For the network behind the rows, give more rows and another method.")
    else:
        verdict = verdict.advising("Ask for more neurons, another activation, or another random_state.")
    return Recovery(
        network=network,
        verdict=verdict,
        loss=start.loss,
        relative_loss=relative,
        method="interpolate",
        seconds=time.perf_counter() - began,
        descents=start.descents,
        details=start.details,
        squares=squares,
    )


def width(problem: Problem) -> int:
    """Neurons with one and a half times as many weights as there are targets, as section 3 asks for.

    >>> width(Problem.of(np.ones((20, 4)), np.arange(20.0), 1))
    8
    """
    targets = len(problem.survey.y) * problem.n_outputs
    return max(1, math.ceil(_PARAMETERS_PER_ROW * targets / problem.n_features))


METHOD = Method(
    name="interpolate",
    start=start,
    summary="both layers descended to zero loss; says nothing of the weights",
    suits="fewer rows than parameters, any targets",
    several_outputs=True,
    finish=finish,
    width=width,
)
