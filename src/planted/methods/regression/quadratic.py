"""Recovery of networks with φ(z) = z² through their matrix (Soltanolkotabi et al. 2017, Theorems 2.1 and 2.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planted.certificates import matrix_uniqueness
from planted.methods._facts import EXACT, MARGIN, SPARE
from planted.methods._method import Method, records
from planted.methods._problem import Problem
from planted.methods._quadratic_matrix import factorise, fit_quadratic
from planted.methods._recovery import Start
from planted.methods._refine import explained, refined
from planted.networks import Network


def start(problem: Problem) -> Start:
    """Fit M, factorise it into `n_hidden` neurons.

    With biases the inputs get a constant column: (w·x + b)² is the square of a linear function of (x, 1). Where the
    rows do not determine every symmetric matrix, d(d+1)/2 of them, a network of `n_hidden` neurons may still be the
    only one that explains them: it is then searched for by "expand", for targets of one sign also among semidefinite
    matrices, and a certificate says whether another explains the rows as well
    (:func:`planted.certificates.matrix_uniqueness`).

    >>> from planted.datasets import make_planted
    >>> data = make_planted(100, 4, 3, activation="quadratic", output="mixed", random_state=0)
    >>> METHOD(Problem.of(data.X, data.y, 3, "quadratic")).status
    'recovered'
    """
    survey = problem.survey
    inputs = np.column_stack([survey.X, np.ones(len(survey.X))]) if problem.free.bias else survey.X
    fit = fit_quadratic(inputs, survey.y, sample_weight=survey.weight)
    problem.progress(1, 2, f"relative loss {fit.relative_loss:.3g}")
    rank = fit.network.n_hidden
    details = {"rank": rank, "unique": fit.unique, "matrix": fit.matrix, "verdict": fit.optimality.kind}
    if not fit.unique:
        return _fewer_rows(problem, inputs, details)
    network = _network(problem, fit.matrix)
    residual = network.predict(survey.X) - survey.y
    loss = float(np.average(residual**2, weights=survey.weight) / 2)
    # Where the best matrix needs more neurons than allowed (noise has full rank), the narrower network is refined.
    done = problem.n_hidden >= rank and (2 * loss <= EXACT * survey.variance or not problem.free.intercept)
    return Start(network, "quadratic", loss if done else None, details=details)


def _network(problem: Problem, matrix: np.ndarray) -> Network:
    """The network of `n_hidden` neurons of a matrix, its last row and column being those of the biases if there are."""
    joint, d = factorise(matrix, problem.n_hidden), problem.n_features
    bias = joint.weights[:, d] if problem.free.bias else None
    return Network(joint.weights[:, :d], joint.output, problem.activation, bias)


def _fewer_rows(problem: Problem, inputs: np.ndarray, details: dict[str, Any]) -> Start:
    """Search for a network of this width where the rows do not determine every matrix; is it the only one?

    A network of k neurons is one of kd − k(k−1)/2 numbers. The dual certificate is about outputs of one sign, so that
    it decides alone only where the rows exceed that number too.
    """
    survey, d = problem.survey, inputs.shape[1]
    searched = refined(problem, records("regression")["expand"].start(problem))
    if not explained(problem, searched) and (np.all(survey.y >= 0) or np.all(survey.y <= 0)):
        signs = "positive" if np.all(survey.y >= 0) else "negative"
        fit = fit_quadratic(inputs, survey.y, signs=signs, sample_weight=survey.weight)
        other = refined(problem, Start(_network(problem, fit.matrix), "quadratic"))
        searched = other if (other.loss or 0.0) < (searched.loss or 0.0) else searched
    few = f"{len(inputs)} rows are fewer than the {d * (d + 1) // 2} entries of the network's matrix"
    if not explained(problem, searched):
        return replace(searched.adding({}, details), method="quadratic", remark=few)
    weights = searched.network.weights
    if problem.free.bias:
        weights = np.column_stack([weights, searched.network.bias])
    matrix = (weights.T * searched.network.output) @ weights
    proved = matrix_uniqueness(inputs, matrix)
    width = min(problem.n_hidden, d)
    numbers = width * d - width * (width - 1) // 2
    unique = proved.one_sign and len(inputs) >= max(MARGIN * numbers, numbers + SPARE)
    more = {"unique": unique, "uniqueness": proved.kind, "matrix": matrix, "rank": proved.rank}
    return replace(searched.adding({}, details | more), method="quadratic", remark=f"{few}; {proved.reason}")


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
