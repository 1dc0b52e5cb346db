"""The neurons behind binary labels: tensor start, quadratic loss, likelihood (Fu et al. 2018)."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import optax

from planted.inputs import Gaussian
from planted.methods._labels import LabelProblem, recover_labels
from planted.methods._method import Method
from planted.methods._problem import in_memory
from planted.methods._recovery import Start
from planted.numerics import random
from planted.numerics.precision import to_jax
from planted.objectives import Squared, smallest_curvature
from planted.rows import ArrayRows
from planted.solvers import Descent, FirstOrder, Monitor, descend, lbfgs, sample_newton
from planted.starts import random_rows, tensor_start

_TRIAL_ROWS = 20_000
_TRIAL_STEPS = 60
_STEPS = 300
_SCORING_STEPS = 20


def _starts(problem: LabelProblem, key: np.ndarray) -> tuple[list[np.ndarray], str]:
    """Weights (k, d) to begin from, the tensor start first if there is one, and what came of it."""
    X, y, k, act = problem.survey.X, problem.survey.y, problem.n_hidden, problem.activation
    tensor_key, random_key = random.split(key)
    starts: list[np.ndarray] = []
    law: Gaussian | None = None
    try:
        law = Gaussian.fit(X)
        begin = tensor_start(law.whiten(X), y, k, act, key=tensor_key, output=np.full(k, 1 / k), split=problem.split)
        outcome = f"{begin.status}: {begin.reason}"
        weights = begin.weights
        if begin.status != "ok":
            # Directions are known up to sign and length: the sign that correlates with the labels, length one.
            weights = weights * np.where(law.whiten(X).T @ (y - y.mean()) @ weights.T < 0, -1.0, 1.0)[:, None]
        starts.append(law.unwhiten_weights(weights)[0])
    except (ValueError, ArithmeticError) as error:
        outcome = f"none: {error}"
    spread = np.sqrt(np.mean(X**2, axis=0))
    rows = np.asarray(
        random_rows(random_key, k, X.shape[1], max(problem.restarts, 0 if starts else 1)), dtype=np.float64
    )
    return starts + list(rows / np.where(spread > 0, spread, 1.0)), outcome


def _quadratic(problem: LabelProblem, loss: Squared, params: Any) -> Descent:
    """Descend the quadratic loss over the fixed sample, by L-BFGS or by the paper's gradient descent."""
    if problem.solver == "lbfgs":
        return lbfgs(loss, params, steps=_STEPS, tolerance=1e-7, progress=problem.progress)
    rate = 1 / smallest_curvature(loss, params).norm
    return descend(
        loss, to_jax(params), FirstOrder(optax.sgd(rate)), steps=20 * _STEPS, key=jax.random.key(0),
        monitor=Monitor(tolerance=1e-7), progress=problem.progress,
    )  # fmt: skip


def start(problem: Any) -> Start:
    """Weights of P(y = 1 | x) = (1/k) Σ_i φ(w_i·x + b_i) from labels y in {0, 1}.

    The tensor start and `restarts` random ones first run for a few steps on part of the rows; the best of them goes on
    over the sample, on the quadratic loss and then on the likelihood. With restarts = 0 the tensor start alone decides.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(20_000, 3, 2, activation="sigmoid", weights=[[4, 0, 0], [0, 4, 0]],
    ...                     task="classification", random_state=0)
    >>> METHOD(LabelProblem.of(data.X, data.y, 2, "sigmoid")).status
    'estimated'
    """
    survey, progress = problem.survey, problem.progress
    start_key, sample_key = random.split(problem.key)
    starts, outcome = _starts(problem, start_key)
    chosen, trials = 0, []
    if len(starts) > 1:
        some = random.permutation(sample_key, len(survey.y))[:_TRIAL_ROWS]
        weight = None if survey.weight is None else to_jax(survey.weight[some])
        trial = problem.quadratic(ArrayRows(to_jax(survey.X[some]), to_jax(survey.y[some]), weight))
        trials = [
            lbfgs(trial, problem.begin_at(begin), steps=_TRIAL_STEPS, tolerance=1e-6, progress=progress)
            for begin in starts
        ]
        chosen = int(np.argmin([run.value for run in trials]))
    by_tensor = chosen == 0 and not outcome.startswith("none")
    weights = trials[chosen].params["weights"] if trials and not by_tensor else starts[chosen]
    rows = in_memory(survey)
    quadratic = _quadratic(problem, problem.quadratic(rows), problem.begin_at(weights))
    likelihood = problem.objective(rows)
    near = lbfgs(likelihood, quadratic.params, steps=_STEPS, tolerance=1e-8, progress=progress)
    # Quasi-Newton steps stop at the rounding of the value; scoring steps go on to that of the gradient.
    scored = sample_newton(likelihood, problem.curvature(likelihood), near.params, steps=_SCORING_STEPS)
    return Start(
        problem.network(scored.params),
        "likelihood",
        float(scored.value),
        {"quadratic": quadratic, "likelihood": near, "scoring": scored},
        {"start": "tensor" if by_tensor else "random", "tensor_start": outcome},
    )


METHOD = Method(
    name="likelihood",
    start=start,
    summary="tensor start, quadratic loss, then likelihood; standard errors",
    suits="labels 0 and 1",
    scales=True,
    finish=recover_labels,
)
