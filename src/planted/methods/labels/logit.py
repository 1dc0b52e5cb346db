"""Networks of log-odds, and of several classes: wide random starts, merged, then likelihood by scoring steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planted.methods._label_finish import recover_labels
from planted.methods._label_penalty import choose_alpha, thirds, unbounded
from planted.methods._label_runaway import without_penalty
from planted.methods._label_search import compared, polish, search_log_odds, standardised
from planted.methods._labels import LabelProblem
from planted.methods._method import Method
from planted.methods._recovery import Start
from planted.numerics.deadline import passed
from planted.solvers import Descent


def fitted(problem: LabelProblem) -> tuple[dict[str, Descent], list[float]]:
    """The solvers' runs to a minimum, the last being the best, and the losses of the starts.

    The problem has standardised inputs.
    """
    finalists, losses = search_log_odds(problem)
    phases = [polish(problem, finalist.params) for finalist in (finalists[:1] if passed() else finalists)]
    best = min(phases, key=lambda runs: list(runs.values())[-1].value)
    return best, losses


def fitted_params(problem: LabelProblem, params: Any) -> Any:
    """Parameters near the minimum that descents from `params` reach, or the search where there are none."""
    return compared(problem, search_log_odds(problem)[0][0].params if params is None else params)


def start(problem: Any) -> Start:
    """A network whose outputs are the log-odds of the labels.

    Labels that it tells apart with hardly an error do not bound its weights: they are fitted with an ℓ2 penalty, chosen
    by held-out rows where none was given.

    >>> import numpy as np
    >>> from planted import Network
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((3000, 2))
    >>> y = (rng.random(3000) < 1 / (1 + np.exp(-3 * np.tanh(2 * X[:, 0])))).astype(float)
    >>> METHOD(LabelProblem.of(X, y, 1, "tanh", link="logit")).status
    'estimated'
    """
    there, back = standardised(problem)
    runs, losses = fitted(there)
    details: dict[str, Any] = {"run_losses": losses}
    network = there.network(list(runs.values())[-1].params)
    if problem.alpha:
        if not passed():
            details |= without_penalty(problem, there, back, fitted_params, list(runs.values())[-1].params)
    elif why := unbounded(there, network):
        alpha, held_out = choose_alpha(there, fitted_params, thirds(problem), positive=True)
        runs, _ = fitted(replace(there, alpha=alpha))
        network = there.network(list(runs.values())[-1].params)
        details |= {"unbounded": why, "alpha": alpha, "alpha_losses": held_out}
    last = list(runs.values())[-1]
    # A linear function takes no search.
    return Start(back(network), "logit", float(last.value), runs if problem.n_hidden else {}, details)


METHOD = Method(
    name="logit",
    start=start,
    linear=start,
    summary="wide random starts, merged; likelihood of log-odds by scoring steps; standard errors",
    suits="labels of two or more classes, as networks are trained on",
    scales=True,
    several_outputs=True,
    finish=recover_labels,
)
