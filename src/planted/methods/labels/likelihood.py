"""The neurons behind binary labels: tensor start, quadratic loss, likelihood (Fu et al. 2018)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from planted.inputs import Gaussian
from planted.methods._label_finish import recover_labels
from planted.methods._label_penalty import ENDLESS, choose_alpha, diverged, thirds, unbounded
from planted.methods._label_runaway import runaway, without_penalty
from planted.methods._label_search import gradient_descent, standardised
from planted.methods._labels import LabelProblem
from planted.methods._method import Method
from planted.methods._recovery import Start
from planted.networks import Network
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.rows import in_memory
from planted.solvers import Descent, lbfgs, sample_newton
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


def _minimised(problem: LabelProblem, loss: Any, params: Any) -> dict[str, Descent]:
    """Descend a loss over the sample from parameters that are near: to rounding, or by the paper's gradient descent."""
    if problem.solver == "gradient":
        return {"gradient": gradient_descent(problem, loss, params)}
    near = lbfgs(loss, params, steps=_STEPS, tolerance=1e-8, progress=problem.progress)
    # Quasi-Newton steps stop at the rounding of the value; scoring steps go on to that of the gradient.
    return {"near": near, "scoring": sample_newton(loss, loss.curvature, near.params, steps=_SCORING_STEPS)}


def fitted_params(problem: LabelProblem, params: Any) -> Any:
    """Parameters at the minimum that a descent from `params` reaches, or the first start where there are none."""
    begin = problem.begin_at(_starts(problem, problem.key)[0][0]) if params is None else params
    runs = _minimised(problem, problem.objective(problem.sample), begin)
    return list(runs.values())[-1].params


def start(problem: Any) -> Start:
    """Weights of P(y = 1 | x) = (1/k) Σ_i φ(w_i·x + b_i) from labels y in {0, 1}.

    The tensor start and `restarts` random ones first run for a few steps on part of the rows; the best of them goes on
    over the sample, on the quadratic loss and then on the likelihood. With restarts = 0 the tensor start alone decides.
    With `loss="quadratic"` the quadratic loss has the last word, and with `solver="gradient"` gradient descent brings
    it to its minimum: Algorithm 1 of Fu et al. (2018), from the start of Algorithm 2 with restarts = 0. That takes
    inputs as they are; otherwise they are brought to one scale, and to mean zero where there are biases.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(20_000, 3, 2, activation="sigmoid", weights=[[4, 0, 0], [0, 4, 0]],
    ...                     task="classification", random_state=0)
    >>> METHOD(LabelProblem.of(data.X, data.y, 2, "sigmoid")).status
    'estimated'
    """
    if problem.solver == "gradient":
        return _begun(problem, problem, lambda network: network)
    return _begun(problem, *standardised(problem))


def _begun(given: LabelProblem, problem: LabelProblem, back: Callable[[Network], Network]) -> Start:
    """The start from a problem on inputs of one scale, and the way `back` to networks on those that are `given`."""
    survey, progress = problem.survey, problem.progress
    start_key, sample_key = random.split(problem.key)
    starts, outcome = _starts(problem, start_key)
    chosen, trials = 0, []
    if len(starts) > 1 and not passed():
        some = random.permutation(sample_key, len(survey.y))[:_TRIAL_ROWS]
        trial = problem.quadratic(in_memory(survey, some))
        trials = [
            lbfgs(trial, problem.begin_at(begin), steps=_TRIAL_STEPS, tolerance=1e-6, progress=progress)
            for begin in starts
        ]
        chosen = int(np.argmin([run.value for run in trials]))
    by_tensor = chosen == 0 and not outcome.startswith("none")
    weights = trials[chosen].params["weights"] if trials and not by_tensor else starts[chosen]
    loss = problem.quadratic(in_memory(survey))
    descents: dict[str, Descent]
    if problem.solver == "gradient":
        descents = {"quadratic": gradient_descent(problem, loss, problem.begin_at(weights))}
    else:
        descents = {
            "quadratic": lbfgs(loss, problem.begin_at(weights), steps=_STEPS, tolerance=1e-7, progress=progress)
        }
    last = descents["quadratic"]
    if problem.loss == "likelihood" or problem.solver == "newton":
        runs = _minimised(problem, problem.objective(in_memory(survey)), last.params)
        last = list(runs.values())[-1]
        descents |= runs
    details: dict[str, Any] = {"start": "tensor" if by_tensor else "random", "tensor_start": outcome}
    network = problem.network(last.params)
    if problem.loss == "likelihood" and not problem.alpha:
        details["unbounded"] = unbounded(problem, network)
        if not details["unbounded"] and diverged(problem, network):
            off = details["runaway"] = runaway(given, back(network))
            details["unbounded"] = ENDLESS if off is None else off.reason
    elif problem.alpha and not passed():
        details |= without_penalty(given, problem, back, fitted_params, last.params)
    if details.get("unbounded") and not problem.alpha:
        alpha, held_out = choose_alpha(problem, fitted_params, thirds(given), positive=True)
        penalised = replace(problem, alpha=alpha)
        bounded = penalised.objective(in_memory(survey))
        near = lbfgs(bounded, problem.begin_at(weights), steps=_STEPS, tolerance=1e-9)
        last = sample_newton(bounded, bounded.curvature, near.params, steps=_SCORING_STEPS)
        descents["penalised"] = last
        details |= {"alpha": alpha, "alpha_losses": held_out}
    return Start(back(problem.network(last.params)), "likelihood", float(last.value), descents, details)


METHOD = Method(
    name="likelihood",
    start=start,
    summary="tensor start, quadratic loss, then likelihood; standard errors",
    suits="labels of two classes whose probabilities are means of neurons",
    scales=True,
    several_outputs=True,
    finish=recover_labels,
)
