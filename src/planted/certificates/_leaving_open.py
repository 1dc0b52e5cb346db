"""Standard errors where directions that rows hardly determine count as left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.linalg

from planted.certificates._uncertainty import Uncertainty
from planted.objectives import Model, unflatten

# A share of the terms that cancel which rounding explains.
_REACHED = 1e-6


def leaving_open(about: Uncertainty, model: Model, directions: np.ndarray) -> Uncertainty:
    """The same with `directions` (p, q) of the canonical parameters left open, at scales that do not depend on them.

    Parameters that they move have infinite errors. What they do not move keeps what rows know of it, the part that it
    shares with them included. `about` must be determined.

    >>> from planted.certificates import uncertainty
    >>> from planted.datasets import make_planted
    >>> from planted.objectives import Squared
    >>> data = make_planted(500, 2, 1, activation="tanh", noise=0.1, random_state=0)
    >>> loss = Squared(data.X, data.y, "tanh")
    >>> about = uncertainty(loss, loss.model.params(data.teacher))
    >>> errors = leaving_open(about, loss.model, np.array([[0.0], [1.0], [0.0]])).errors
    >>> np.isinf(errors["output"]).tolist(), np.isinf(errors["weights"]).tolist()
    ([False], [[True, False]])
    """
    slope = model.canonical_slope(about.estimate, directions)
    # The canonical parameters' covariance has no part along what their form takes out, and a second slope is the last.
    beside = slope @ about.covariance_beside @ slope.T
    moved = slope @ directions
    reached = (np.abs(moved) > _REACHED * (np.abs(slope) @ np.abs(directions))).any(axis=1)
    covariance = beside.copy()
    covariance[reached], covariance[:, reached] = np.nan, np.nan
    variance = np.where(reached, np.inf, np.maximum(np.diagonal(beside), 0.0))
    np.fill_diagonal(covariance, variance)
    return replace(
        about,
        errors=unflatten(np.sqrt(variance), about.estimate),
        covariance=covariance,
        covariance_beside=beside,
        moved=moved,
        rank=about.rank - directions.shape[1],
        flat_directions=np.linalg.qr(directions)[0],
        ratios=None,
    )


def leaving_neurons_open(about: Uncertainty, neurons: Sequence[int]) -> Uncertainty:
    """The same with all numbers of some neurons left open: weights, biases and outputs. Others keep their errors.

    >>> from planted.certificates import uncertainty
    >>> from planted.datasets import make_planted
    >>> from planted.objectives import Squared
    >>> data = make_planted(500, 2, 2, noise=0.1, random_state=0)
    >>> loss = Squared(data.X, data.y)
    >>> errors = leaving_neurons_open(uncertainty(loss, loss.model.params(data.teacher)), [1]).errors
    >>> np.isinf(errors["output"]).tolist(), np.isinf(errors["weights"]).all(axis=1).tolist()
    ([False, True], [False, True])
    """
    places = unflatten(np.arange(len(about.covariance)), about.estimate)
    own = [places[name][..., neurons] if name == "output" else places[name][neurons]
           for name in ("weights", "bias", "output") if name in places]  # fmt: skip
    reached = np.concatenate([part.ravel() for part in own])
    covariance, moves = about.covariance.copy(), np.eye(len(about.covariance))[:, reached]
    covariance[reached], covariance[:, reached] = np.nan, np.nan
    covariance[reached, reached] = np.inf
    directions = np.column_stack([about.flat_directions, moves])
    # The scale between the layers of an open neuron lies among its numbers, and is no free parameter.
    scales = len(neurons) * (about.network.activation.homogeneity is not None and "output" in places)
    return replace(
        about,
        errors=unflatten(np.sqrt(np.diagonal(covariance)), about.estimate),
        covariance=covariance,
        moved=np.column_stack([about.moved, moves]),
        rank=about.n_parameters - int(np.linalg.matrix_rank(directions)) + scales,
        flat_directions=scipy.linalg.orth(directions),
    )
