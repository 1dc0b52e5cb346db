"""From directions that a method found to a network: signs and outputs by least squares."""

from __future__ import annotations

import numpy as np

from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.networks import Network
from planted.starts.output_layer import least_squares_outputs


def obstacle_of_width(problem: Problem) -> str | None:
    """Why a method of directions does not apply: more neurons than inputs.

    >>> obstacle_of_width(Problem.of(np.ones((9, 1)), np.arange(9.0), 2))
    "needs n_hidden ≤ inputs, but 2 > 1; use method='auto'"
    """
    k, d = problem.n_hidden, problem.n_features
    return None if k <= d else f"needs n_hidden ≤ inputs, but {k} > {d}; use method='auto'"


def start_from_directions(problem: Problem, directions: np.ndarray, method: str) -> Start:
    """A start from rows (k, d) that are right up to sign and length.

    Least squares on the sample decides signs and outputs on the caller's own inputs, whatever their mean. `details` has
    the directions, so that what a method contributed can be told from what the refinement did.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, random_state=0)
    >>> problem = Problem.of(data.X, data.y, 2)
    >>> start_from_directions(problem, -3 * data.teacher.weights, "tensor").network.output.round(6)
    array([1., 1.])
    """
    survey, act = problem.survey, problem.activation
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    layer = least_squares_outputs(survey.X, survey.y, unit, act, sample_weight=survey.weight)
    network = Network(layer.weights, layer.output, act)
    return Start(network, method, details={"signs": layer.status, "directions": unit})
