r"""Inputs that all but follow from others: how badly rows know the weights between them, and what to say of it.

With inputs in units of their standard deviations let Σ_j e_j x_j be a combination of spread √λ, √λ = 1 where inputs are
not correlated. A neuron with weights u has an error s along e, at a scale that does not depend on e. Rows leave u open
along e where s exceeds the length of the rest of u, and u·e may be zero: it is below two errors. No weight that takes
part is known then, and the loss is no parabola within its error. It is the inputs' doing where √λ is small, and where
without their dependence, with an error of s√λ, the weight would be known to a third.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planted.certificates import Uncertainty, leaving_open
from planted.methods._collinear import equations, near_advice, solved_inputs
from planted.methods._facts import LOOSE, RIVAL_ERRORS, UNKNOWN
from planted.methods._problem import Problem
from planted.objectives import unflatten

# Inputs whose share of a combination is smaller take no part in it.
_PART = 1e-2


@dataclass(frozen=True, eq=False)
class NearDependence:
    """What inputs that all but follow from others do to the errors.

    Attributes
    ----------
    errors : Uncertainty
        With what is not known left open.
    words : str
        Which inputs all but follow from which others, and how nearly; empty if rows know all weights well.
    advice : str
        What to drop, one sentence, where something is left open.
    """

    errors: Uncertainty
    words: str = ""
    advice: str = ""


def near_dependence(problem: Problem, about: Uncertainty, model: Any) -> NearDependence:
    """Weights between inputs that all but follow from others, left open where their errors exceed the neuron's length.

    >>> from planted.certificates import uncertainty
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((300, 2))
    >>> X = np.column_stack([x, x[:, 1] + 1e-3 * rng.standard_normal(300)])
    >>> problem = Problem.of(X, np.maximum(x[:, 0], 0) + 0.1 * rng.standard_normal(300), 1)
    >>> about = uncertainty(problem.objective(), {"weights": np.eye(1, 3), "output": np.ones(1)})
    >>> near_dependence(problem, about, problem.objective().model).words
    'x2 = x1 up to 0.094 % of its spread'
    """
    weights = about.estimate.get("weights")
    if weights is None or not weights.size or not about.determined:
        return NearDependence(about)
    survey, bias = problem.survey, "bias" in about.estimate
    mean = survey.first if bias else np.zeros(weights.shape[1])
    second = survey.second - np.outer(mean, mean)
    spread = np.sqrt(np.maximum(np.diagonal(second), 0.0))
    if not np.all(spread > 0):
        return NearDependence(about)
    values, vectors = np.linalg.eigh(second / np.outer(spread, spread))
    widths = np.sqrt(np.maximum(values, 0.0))
    scaled = weights * spread
    places = unflatten(np.arange(len(about.covariance)), about.estimate)
    tried: list[np.ndarray] = []
    taken, named = np.zeros((len(about.covariance), 0)), 0
    for width, vector in zip(widths, vectors.T, strict=True):
        direction = np.where(np.abs(vector) > _PART * np.abs(vector).max(), vector, 0.0)
        moves = _moves(places, direction / spread, mean)
        slope = model.canonical_slope(about.estimate, np.column_stack([*tried, moves]))
        known = slope @ about.covariance_beside @ slope.T
        own = [known[np.ix_(place, place)] for place in places["weights"]]
        error = np.sqrt([max(float((direction * spread) @ block @ (direction * spread)), 0.0) for block in own])
        along, length = np.abs(scaled @ vector), np.linalg.norm(scaled, axis=1)
        beside = np.linalg.norm(scaled - np.outer(scaled @ vector, vector), axis=1)
        there = (error > LOOSE * length) & (error * width <= LOOSE * length)
        open_ = there & (error > UNKNOWN * beside) & (along < RIVAL_ERRORS * error)
        if width > LOOSE or not there.any():
            break
        tried, named = [*tried, moves], named + 1
        taken = np.column_stack([taken, moves[:, open_]])
    if not named:
        return NearDependence(about)
    null = np.where(np.abs(vectors) > _PART * np.abs(vectors).max(axis=0), vectors, 0.0)[:, :named] / spread[:, None]
    # A constant within the spread of the combination is none.
    constant = -mean @ null
    null = np.vstack([null, np.where(np.abs(constant) > widths[:named], constant, 0.0)])
    said = equations(survey, null, problem.names, digits=3) or "some inputs follow from others"
    left = 0.0
    for place, coefficients in solved_inputs(survey, null).items():
        rest = np.eye(len(spread))[place] - coefficients[:-1]
        left = max(left, float(np.sqrt(max(rest @ second @ rest, 0.0)) / spread[place]))
    words = f"{said} up to {100 * left:.2g} % of {'its' if named == 1 else 'their'} spread"
    if not taken.shape[1]:
        return NearDependence(about, f"{words}, so that rows hardly tell their weights apart")
    return NearDependence(leaving_open(about, model, taken), words, near_advice(survey, null, problem.names))


def _moves(places: dict[str, np.ndarray], change: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Directions (p, k) that change each neuron's weights by `change` (d,), and its bias so that rows hardly see it."""
    moves = np.zeros((sum(place.size for place in places.values()), len(places["weights"])))
    for i, own in enumerate(places["weights"]):
        moves[own, i] = change
        if "bias" in places:
            moves[places["bias"][i], i] = -float(change @ mean)
    return moves
