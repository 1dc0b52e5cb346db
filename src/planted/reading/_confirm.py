"""What stands between a network that agrees with the model at a few points and the word "recovered": many more points.

A network with two hidden layers may be equal to one with one layer but for a part of space, where a neuron of its
second layer is on its other side. Such a part is not seen where no question meets it. `RANDOM` points near by and as
many far out miss a share p of space with probability (1 − p)ⁿ. They are joined by points in the cells that the
network's hyperplanes cut out, rare cells as often as common ones, since such a part is a cell or a piece of one; and by
points on both sides of each hyperplane, closer and closer, since the second layer bends there: the jump of the slope,
which is one number all along the hyperplane of a network with one layer, changes. Both are asked near by and a thousand
times as far: there only directions count, and a cone that begins somewhere else has all of its share. Where neurons
are clipped, hyperplanes that far out are not known to the width of a neuron, and points are 30 times as far.

A smooth model that differs from a network somewhere does so nearly everywhere, and is asked less.
"""

from __future__ import annotations

import numpy as np

from planted.reading._check import FAR, NEARBY, Check
from planted.reading._naming import FAMILIES
from planted.reading._places import beside_hyperplanes
from planted.reading._polish import with_rounding
from planted.reading._query import Frame
from planted.reading._survey import Survey
from planted.reading._values import CountedNetwork

RANDOM, RANDOM_SMOOTH = 100, 20
_VERY_FAR = 1e3
_NEAR_CELLS, _FAR_CELLS, _CANDIDATES, _PRODUCTS = 25, 50, 4000, 2e8
_DECADES = 3.0


def confirm(
    frame: Frame,
    network: CountedNetwork,
    check: Check,
    survey: Survey,
    rng: np.random.Generator,
    units: np.ndarray | None = None,
) -> Check:
    """The check with further questions near and far, and with random ones in other `units` (d,) if there are any.

    >>> from planted import Network
    >>> from planted.reading._check import fidelity
    >>> from planted.reading._query import Query, Source
    >>> from planted.reading._survey import survey
    >>> rng, network = np.random.default_rng(0), CountedNetwork(Network([[1.0, 0.0]], [[2.0]], bias=[1.0]))
    >>> frame = Frame(Query(Source(lambda X: 2 * np.maximum(X[:, 0] + 1, 0), 2)), np.zeros(2), np.ones(2))
    >>> about = survey(frame, rng)
    >>> few = fidelity(frame, network, about, rng)
    >>> many = confirm(frame, network, few, about, rng)
    >>> len(many.points) - len(few.points) == 2 * RANDOM + 150, many.largest
    (True, 0.0)
    """
    d = frame.n_inputs
    clipped = network.network.activation.name in FAMILIES["hard_tanh"]
    count = RANDOM_SMOOTH if survey.smooth else RANDOM
    groups = [scale * rng.standard_normal((count, d)) for scale in (1.0, FAR)]
    if not survey.smooth:
        groups[0] = np.concatenate([groups[0], _where_neurons_turn(network, 1.0, _NEAR_CELLS, rng)])
        groups.append(_where_neurons_turn(network, FAR if clipped else _VERY_FAR, _FAR_CELLS, rng))
    if units is not None:
        groups += [scale * units * rng.standard_normal((count, d)) for scale in (1.0, FAR)]
    many = check.joined(frame, groups).again(network)
    return with_rounding(many, network.network, survey) if clipped and survey.single else many


def _where_neurons_turn(network: CountedNetwork, scale: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points (n, d) in `count` cells, and as many on both sides of hyperplanes, at least one of each hyperplane."""
    weights, bias = network.hyperplanes
    size = np.linalg.norm(weights, axis=1).clip(1e-300)
    met = np.abs(bias) / size / np.sqrt(weights.shape[1]) < NEARBY * scale
    if not met.any():
        return scale * rng.standard_normal((2 * count, weights.shape[1]))
    unit, offset = weights[met] / size[met, None], bias[met] / size[met]
    n = max(count, len(unit))
    apart = scale * 10.0 ** -rng.uniform(0, _DECADES, n)
    beside = beside_hyperplanes(scale * rng.standard_normal((n, len(unit[0]))), unit, offset, apart, rng)
    return np.concatenate([_in_cells(unit, offset, scale, count, rng), beside])


def _in_cells(weights: np.ndarray, bias: np.ndarray, scale: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points (count, d) of which each cell between hyperplanes has as many as any other, as far as candidates go.

    >>> x = _in_cells(np.array([[1.0]]), np.array([2.5]), 1.0, 50, np.random.default_rng(0))
    >>> bool(np.mean(x < -2.5) > 0.4)  # where 0.6 % of Gaussian points are
    True
    """
    candidates = int(np.clip(_PRODUCTS / weights.size, count, _CANDIDATES))
    points = scale * rng.standard_normal((candidates, weights.shape[1]))
    patterns = np.packbits(points @ weights.T + bias > 0, axis=1)
    cell = np.unique(patterns, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(cell, kind="stable")
    turn = np.empty(candidates, int)  # the how-manieth point of its cell each one is
    turn[order] = np.arange(candidates) - np.searchsorted(cell[order], cell[order])
    chosen: np.ndarray = points[np.argsort(turn, kind="stable")[:count]]
    return chosen
