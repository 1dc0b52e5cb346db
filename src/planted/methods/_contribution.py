"""What a method's directions contributed, apart from the refinement that every method shares.

A refinement of both layers often recovers a network from any directions, so that "recovered" alone does not tell
whether the designed loss did anything. Two measurements do: by how much the refinement turned the directions, and what
it makes of random ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from planted.methods._directions import start_from_directions
from planted.methods._facts import EXACT
from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.methods._refine import refine
from planted.numerics import random
from planted.numerics.precision import float64
from planted.starts import random_rows

_STREAM = 0x7A11
# Losses within this factor are as low as one another.
_AS_LOW = 1.01


def turned(directions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Degrees (k,) between directions (k, d), whose signs and order are open, and the rows of weights (k, d).

    >>> turned(np.eye(2), np.array([[0.0, -3.0], [1.0, 1.0]])).round(6)
    array([45.,  0.])
    """
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (directions, weights)]
    cosine = np.abs(unit[0] @ unit[1].T)
    places = linear_sum_assignment(-cosine)
    return np.degrees(np.arccos(np.minimum(cosine[places], 1.0)))


def random_directions(problem: Problem) -> np.ndarray:
    """Directions (k, d) uniform on the sphere of the whitened inputs, on the caller's own.

    >>> random_directions(Problem.of(np.eye(9)[:, :3], np.arange(9.0), 2)).shape
    (2, 3)
    """
    key = random.fold_in(problem.key, _STREAM)
    return problem.gaussian.unwhiten_weights(random_rows(key, problem.n_hidden, problem.n_features))[0]


@float64
def contribution(problem: Problem, start: Start) -> dict[str, Any]:
    """Numbers to report of a refined start that has `details["directions"]`.

    `turned`: degrees by which refinement turned each direction. `random_directions`: `relative_loss` that the same
    refinement reaches from random directions, the `turned` of these, and whether that is `as_low`: then the rows were
    explained by the refinement, with or without the method.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import METHODS
    >>> data = make_planted(2000, 3, 2, random_state=0)
    >>> problem = Problem.of(data.X, data.y, 2)
    >>> numbers = contribution(problem, METHODS["hermite"].begin(problem))
    >>> bool(numbers["turned"].max() < 30), sorted(numbers["random_directions"])
    (True, ['as_low', 'relative_loss', 'turned'])
    """
    assert start.loss is not None
    directions = random_directions(problem)
    other = refine(problem, start_from_directions(problem, directions, start.method).network)
    variance = problem.survey.variance
    enough = max(_AS_LOW * start.loss, EXACT * variance / 2)
    return {
        "turned": turned(start.details["directions"], start.network.weights),
        "random_directions": {
            "relative_loss": 2 * other.loss / variance,
            "turned": turned(directions, other.network.weights),
            "as_low": bool(other.loss <= enough),
        },
    }
