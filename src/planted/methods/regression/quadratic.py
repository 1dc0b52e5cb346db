"""Recovery of networks with φ(z) = z² through their matrix (Soltanolkotabi et al. 2017, Theorems 2.1 and 2.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planted.methods._method import Method, records
from planted.methods._problem import Problem
from planted.methods._quadratic_matrix import factorise, fit_quadratic
from planted.methods._recovery import Start
from planted.methods._verdict import EXACT
from planted.networks import Network


def start(problem: Problem) -> Start:
    """Fit M, factorise it into `n_hidden` neurons.

    With biases the inputs get a constant column: (w·x + b)² is the square of a linear function of (x, 1). Where the
    rows do not determine every symmetric matrix, d(d+1)/2 of them, a network of `n_hidden` neurons may still be the
    only one that explains them: it is then searched for by "expand".

    >>> from planted.datasets import make_planted
    >>> data = make_planted(100, 4, 3, activation="quadratic", output="mixed", random_state=0)
    >>> METHOD(Problem.of(data.X, data.y, 3, "quadratic")).status
    'recovered'
    """
    survey, bias, d = problem.survey, problem.free.bias, problem.n_features
    inputs = np.column_stack([survey.X, np.ones(len(survey.X))]) if bias else survey.X
    fit = fit_quadratic(inputs, survey.y, sample_weight=survey.weight)
    problem.progress(1, 2, f"relative loss {fit.relative_loss:.3g}")
    rank = fit.network.n_hidden
    details = {"rank": rank, "unique": fit.unique, "matrix": fit.matrix, "verdict": fit.optimality.kind}
    if not fit.unique:
        searched = records("regression")["expand"].start(problem)
        remark = (
            f"{len(inputs)} rows do not determine all {inputs.shape[1] * (inputs.shape[1] + 1) // 2} entries of the "
            "network's matrix, so it was searched for among networks of this width"
        )
        return replace(searched.adding({}, details), method="quadratic", remark=remark)
    joint = factorise(fit.matrix, problem.n_hidden)
    network = Network(joint.weights[:, :d], joint.output, problem.activation, joint.weights[:, d] if bias else None)
    residual = network.predict(survey.X) - survey.y
    loss = float(np.average(residual**2, weights=survey.weight) / 2)
    # Where the best matrix needs more neurons than allowed (noise has full rank), the narrower network is refined.
    done = problem.n_hidden >= rank and (2 * loss <= EXACT * survey.variance or not problem.free.intercept)
    return Start(network, "quadratic", loss if done else None, details=details)


def _obstacle(problem: Problem) -> str | None:
    name = problem.activation.name
    return None if name == "quadratic" else f"needs activation='quadratic', not {name}"


METHOD = Method(
    name="quadratic",
    start=start,
    summary="convex in the network's matrix; an exact verdict",
    suits="quadratic activation",
    obstacle=_obstacle,
)
