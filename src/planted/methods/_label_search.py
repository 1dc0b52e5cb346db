r"""The search for a network of log-odds: wide random starts, merged to the width asked for, on part of the rows.

Too many neurons reach the neighbourhood of every teacher neuron; joining the pairs whose joining changes least
(:mod:`planted.methods._merge`) brings the width down. Inputs are first brought to one scale, and to mean zero where
biases take up the shift.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from planted.methods._label_split import content_keys
from planted.methods._labels import LabelProblem
from planted.methods._merge import merge
from planted.methods._observations import equal_rows, joined_rows
from planted.networks import Network
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.numerics.precision import to_jax
from planted.objectives import flatten, smallest_curvature
from planted.rows import Survey
from planted.solvers import Descent, FirstOrder, Monitor, descend, lbfgs, sample_newton

_ROWS_PER_PARAMETER = 60
# Widths relative to the one asked for, of one start after the other.
_RATIOS = (2.0, 3.0, 1.5, 2.0)
_WIDE_STEPS, _STEPS, _SCORING_STEPS, _LONG_SCORING = 60, 60, 15, 60
_LAST_STEPS = 300
# A step that moves parameters by a smaller share than this ends a fit of which only its predictions are compared.
_SHORT = 1e-3
_GRADIENT_STEPS = 20_000
# The minimum is as near as this, relatively: a tenth of what a certificate asks of a critical point.
_NEAR = 1e-7
_FINALISTS, _WORSE = 3, 0.01
# Two runs are in the same minimum if the likelihoods of all their rows differ by less than this many nats.
AGREE = 0.05


def standardised(problem: LabelProblem) -> tuple[LabelProblem, Callable[[Network], Network]]:
    """The problem on its sample with inputs of one scale, and the way back for its networks.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(100, 2, 1, activation="sigmoid", task="classification", random_state=0)
    >>> there, back = standardised(LabelProblem.of(10 * data.X, data.y, 1, "sigmoid"))
    >>> bool(np.allclose(there.survey.second.diagonal(), 1)), float(back(Network([[1.0, 0]], [1])).weights[0, 0]) < 0.2
    (True, True)
    """
    survey, (shift, scale) = problem.survey, _units(problem)
    there = problem.on(Survey.of((survey.X - shift) / scale, survey.y, survey.weight))

    def back(network: Network) -> Network:
        arrays = {"weights": network.weights / scale}
        if network.bias is not None:
            arrays["bias"] = network.bias - arrays["weights"] @ shift
        if network.skip is not None:
            arrays["skip"] = network.skip / scale
            arrays["intercept"] = network.intercept - arrays["skip"] @ shift
        return network.replace(**arrays)

    return there, back


def standardised_params(problem: LabelProblem, network: Network) -> dict[str, np.ndarray]:
    """Parameters of a network on the problem's own inputs, for the problem that :func:`standardised` gives.

    >>> from planted.methods import Free
    >>> X = np.array([[1.0], [3.0], [8.0]])
    >>> problem = LabelProblem.of(X, np.array([0.0, 1, 1]), 1, "sigmoid", free=Free(bias=True))
    >>> network = Network([[2.0]], [1.0], "sigmoid", bias=[1.0])
    >>> there, back = standardised(problem)
    >>> bool(np.allclose(back(there.network(standardised_params(problem, network))).predict(X), network.predict(X)))
    True
    """
    shift, scale = _units(problem)
    params = dict(problem.params(network))
    if "bias" in params:
        params["bias"] = params["bias"] + params["weights"] @ shift
    if "skip" in params:
        params["intercept"] = params["intercept"] + params["skip"] @ shift
        params["skip"] = params["skip"] * scale
    return params | {"weights": params["weights"] * scale}


def _units(problem: LabelProblem) -> tuple[np.ndarray, np.ndarray]:
    """What is taken off the inputs (d,), zero where nothing takes it up, and what they are divided by (d,)."""
    survey, free = problem.survey, problem.free
    taken_up = (free.bias or not problem.n_hidden) and (free.intercept or not free.skip)
    shift = survey.first if taken_up else np.zeros(problem.n_features)
    square = np.diagonal(survey.second) - 2 * shift * survey.first + shift**2
    return shift, np.sqrt(np.where(square > 1e-12 * np.diagonal(survey.second), square, 1.0))


def random_params(problem: LabelProblem, width: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Weights of length about 1.5, outputs of size one, in standardised inputs.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(100, 2, 1, activation="sigmoid", task="classification", random_state=0)
    >>> problem = LabelProblem.of(data.X, data.y, 1, "tanh", link="logit")
    >>> random_params(problem, 4, np.random.default_rng(0))["output"].shape
    (4,)
    """
    free, d = problem.free, problem.n_features
    lead = () if problem.n_classes == 2 else (problem.n_classes,)
    params = {"weights": 1.5 * rng.standard_normal((width, d)) / np.sqrt(d)}
    params["output"] = rng.standard_normal((*lead, width)) * (2 / max(width, 1)) ** 0.5
    if free.bias:
        params["bias"] = rng.normal(0, 0.5, width)
    if free.intercept:
        share = np.log(np.maximum(problem.shares, 1e-3))
        params["intercept"] = np.asarray(share[1] - share[0] if not lead else share - share.mean())
    if free.skip:
        params["skip"] = np.zeros((*lead, d))
    return params


def searched_rows(problem: LabelProblem) -> Survey:
    """The rows that starts look at: 60 a parameter, at least `search_rows`, equal ones together.

    >>> X, y = np.arange(400.0)[:, None], np.arange(400) % 2.0
    >>> len(searched_rows(LabelProblem.of(X, y, 1, "sigmoid", search_rows=200)).y) < 300
    True
    """
    survey = problem.survey
    few = max(problem.search_rows, _ROWS_PER_PARAMETER * problem.unknowns)
    if survey.total_weight <= few:
        return survey
    if len(equal_rows(np.column_stack([survey.X, survey.y]))[0]) <= few:
        # Of rows of few values a part would lack some.
        return Survey.of(*joined_rows(survey.X, survey.y, survey.weight))
    return survey.part(np.flatnonzero(content_keys(survey.X, survey.y, problem.key) <= few / survey.total_weight))


def search_log_odds(problem: LabelProblem, decrease: float = 0.0) -> tuple[list[Descent], list[float]]:
    """The distinct best ends of random starts on part of the rows, best first, and the loss that each start ended with.

    The problem has standardised inputs. Two starts that end in the same minimum, the best one, end the search. A
    descent ends where a step lowers the loss by less than a share `decrease`. The loss of a linear function is convex,
    so that one descent from zero over all rows is a search.
    """
    survey, k = problem.survey, problem.n_hidden
    if not k:
        loss = problem.objective()
        params = random_params(problem, 0, np.random.default_rng(0))
        run = lbfgs(loss, params, steps=_LAST_STEPS, tolerance=1e-6, decrease=decrease)
        return [run], [float(run.value)]
    rng = np.random.default_rng(random.bits(problem.key, (4,)))
    few, keys = searched_rows(problem), content_keys(survey.X, survey.y, problem.key)
    part = problem if few is survey else problem.on(few)
    # Each distinct row once, in random order: what merging looks at does not depend on how often a row was given.
    distinct = survey.X[np.unique(keys, return_index=True)[1]]
    loss, tries = part.objective(), 2 * (problem.restarts + 1)
    runs: list[Descent] = []
    for index in range(tries):
        width = max(k, int(np.ceil(_RATIOS[index % len(_RATIOS)] * k)))
        wide = lbfgs(loss, random_params(part, width, rng), steps=_WIDE_STEPS, tolerance=1e-6, decrease=decrease)
        params = wide.params
        if width > k:
            arrays = {name: np.asarray(value) for name, value in params.items()}
            weights, output, bias = merge(
                arrays["weights"], arrays["output"], arrays.get("bias"), k, distinct, problem.activation
            )
            params = arrays | {"weights": weights, "output": output} | ({} if bias is None else {"bias": bias})
        run = lbfgs(loss, params, steps=_STEPS, tolerance=1e-6, decrease=decrease)
        run = sample_newton(loss, loss.curvature, run.params, steps=_SCORING_STEPS)
        runs = sorted([*runs, run], key=lambda end: end.value)
        problem.progress(index + 1, tries, f"start {index + 1} of {tries}, cross-entropy {runs[0].value:.4g}")
        agreed = index > 0 and part.survey.total_weight * (runs[1].value - runs[0].value) <= AGREE
        if agreed or passed():
            break
    values = [float(run.value) for run in runs]
    total = part.survey.total_weight
    # Ends of one minimum are one finalist; those that are far worse are none.
    places = [i for i in range(len(runs)) if i == 0 or total * (values[i] - values[i - 1]) > AGREE]
    near = [runs[i] for i in places if values[i] <= (1 + _WORSE) * values[0]]
    return near[:_FINALISTS], values


def polish(problem: LabelProblem, params: Any) -> dict[str, Descent]:
    """Descend over the problem's sample from parameters that are near, to rounding."""
    loss = problem.objective(problem.sample)
    if problem.solver == "gradient":
        return {"gradient": gradient_descent(problem, loss, params)}
    scored = sample_newton(loss, loss.curvature, params, steps=_SCORING_STEPS, progress=problem.progress)
    if scored.status == "converged":
        return {"scoring": scored}
    near = lbfgs(loss, scored.params, steps=_LAST_STEPS, tolerance=1e-8, progress=problem.progress)
    # Quasi-Newton steps stop at the rounding of the value; scoring steps go on to that of the gradient.
    last = sample_newton(loss, loss.curvature, near.params, steps=_LONG_SCORING)
    return {"scoring": scored, "lbfgs": near, "last scoring": last}


def compared(problem: LabelProblem, params: Any) -> Any:
    """Parameters near the minimum that descents from `params` lead to: near enough to compare rows held out."""
    loss = problem.objective(problem.sample)
    run = sample_newton(loss, loss.curvature, params, steps=_SCORING_STEPS, tolerance=_SHORT)
    if run.status == "converged":
        return run.params
    return lbfgs(loss, run.params, steps=_STEPS, tolerance=1e-6).params


def gradient_descent(problem: LabelProblem, loss: Any, params: Any) -> Descent:
    """Plain gradient descent with the constant step 1/‖H‖ of the Hessian at its start: Algorithm 1 of Fu et al.

    It ends where ‖∇f‖ ≤ 1e-7 ‖H‖‖θ‖, or after 20,000 steps.
    """
    import optax

    norm = smallest_curvature(loss, params).norm
    size = float(np.linalg.norm(flatten(params)))
    return descend(
        loss, to_jax(params), FirstOrder(optax.sgd(1 / norm)), steps=_GRADIENT_STEPS, key=jax.random.key(0),
        monitor=Monitor(tolerance=_NEAR * norm * size), progress=problem.progress,
    )  # fmt: skip
