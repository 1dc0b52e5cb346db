r"""Rows left out by refits, where numbers are so many for the rows that one Newton step a row says little.

A Newton step leaves a row out as if the network were linear in its numbers within their errors. With p numbers and n
rows a row's leverage is p/n on average; where that is not small, a network bends itself to its rows, and where its
neurons have become steps it has no leverages at all. So the network is fitted again without a tenth of the rows at a
time, and the linear function and the mean to the same rows.

Scores come from a search of its own on the rows that are not left out: a refit that began at the network's weights
would remember the others, to which its kinks were fitted. A search of few starts may end above where the network's did.
So a refit from the network's weights, with a decay that brings steps back to where rows move them and then without,
says how low the loss of the rows that are fitted can be, and starts go on until one is as low. Nothing else of it
enters a score.

What the weights do in these refits says how well they are known, whatever their standard errors say. Without g of the
rows least squares moves p numbers by a covariance of g/(n − g − p) times that of the numbers, so that the delete-group
jackknife (Shao and Wu, 1989) has for the weights W of a neuron, W_t without tenth t, the error

    e² = (n − g − p)/g · mean_t ‖W_t − W‖²,

for which no curvature is needed. Standard errors that hold agree with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planted.certificates import Uncertainty
from planted.methods._baselines import LeftOut, Predicting
from planted.methods._facts import RIVAL_ERRORS, UNKNOWN, crowded
from planted.methods._families import families
from planted.methods._observations import Observations
from planted.methods._problem import Free, Problem
from planted.methods._row_facts import neuron_numbers
from planted.methods._screen import Path
from planted.methods._screen_rows import Fitted, Shape, Table
from planted.networks import Network
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.solvers import Descent, variable_projection

# The same parts whatever the seed.
_KEY = np.zeros(2, np.uint32)
# Hidden numbers, and rows, up to which refits are affordable.
_AFFORDABLE, _MOST_ROWS = 2000, 20_000
# Parts that the rows are left out in, and rows left out that are enough.
_PARTS, _ENOUGH = 10, 1000
# Steps, patience and decay of a refit: first with, then without.
_STEPS, _DECAY, _WITH, _WITHOUT = 60, 0.1, (6, 0.99), (6, 0.9999)
# Starts of a search without a part, how much wider they begin, and the loss, over that of the refit, that is as low.
_STARTS, _WIDER, _AS_LOW = 4, 1.5, 1.01
# Few neurons of many inputs, so many a neuron, begin no wider, and end at the best minimum in few of these starts.
_INPUTS_PER_NEURON, _STARTS_OF_MANY = 10, 16
# Rows × (hidden numbers)², the cost of a step, up to which these are affordable, and beyond which there is one start,
# no wider, and as few parts as say something.
_CHEAP, _DEAR, _PARTS_OF_DEAR = 10_000_000, 100_000_000, 2


@dataclass(frozen=True, eq=False)
class Refits(LeftOut):
    """Rows of a table that are left out a part at a time.

    Attributes
    ----------
    table : Table
    parts : list of pairs
        Places of the rows to fit and of those left out.
    made, scores, paths : dict
        Refits, squares in the rows left out, and searches that there are already.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(100, 20, 1, activation="tanh", noise=0.1, random_state=0)
    >>> left = Refits.on(Table(Problem.of(data.X, data.y, 1), np.zeros(2, np.uint32)))
    >>> squares = left.squares(data.teacher, intercept=False)
    >>> squares.shape, left.loss(squares) < left.loss(left.mean())
    ((100,), True)
    """

    table: Table = field(kw_only=True)
    parts: list[tuple[np.ndarray, np.ndarray]] = field(kw_only=True)
    made: dict[Any, tuple[Network, Network, float]] = field(default_factory=dict, kw_only=True)
    scores: dict[Any, tuple[Network, np.ndarray]] = field(default_factory=dict, kw_only=True)
    paths: dict[Any, Path] = field(default_factory=dict, kw_only=True)

    @classmethod
    def on(cls, table: Table, *, dear: bool = False) -> Refits:
        """As many of the ten parts of a table's rows as are enough."""
        n = len(table.y)
        places, count = np.arange(n), _PARTS_OF_DEAR if dear else max(2, math.ceil(_PARTS * _ENOUGH / n))
        parts = [(np.setdiff1d(places, part), part) for part in np.array_split(places, _PARTS)[:count]]
        some = np.concatenate([part for _, part in parts])
        data = Observations(table.X, table.y, table.share if table.weighted else None)
        weight = table.share[some] / np.mean(table.share[some])
        return cls(data, some, weight, np.ones(table.n_outputs), float(n), table=table, parts=parts)

    def more(self, numbers: int) -> LeftOut | None:
        """None: what so many numbers have to bring shows in these."""
        return None

    def better(self, squares: np.ndarray, rival: np.ndarray, extra: int) -> bool:
        """Whether squared errors are lower than a rival's: refits have paid for every number."""
        return super().better(squares, rival, 0)

    def squares(self, network: Predicting, *, intercept: bool) -> np.ndarray:
        """Squared errors (s,), or (s, m) of m targets, of the network fitted to the rows that are not left out."""
        assert isinstance(network, Network)
        return self._joined([self._searched(place, network, intercept) for place in range(len(self.parts))])

    def linear(self) -> np.ndarray:
        """The same of the linear function with an intercept."""
        return self._without_neurons(Free(intercept=True, skip=True))

    def mean(self) -> np.ndarray:
        """The same of the mean."""
        return self._without_neurons(Free(intercept=True))

    def _without_neurons(self, free: Free) -> np.ndarray:
        return self._joined([self.table.linear_by_target(free, train)[test] for train, test in self.parts])

    def _joined(self, squares: list[np.ndarray]) -> np.ndarray:
        joined = np.concatenate(squares)
        return joined if self.table.several else joined[:, 0]

    def errors(self, network: Network, n_parameters: int, *, intercept: bool) -> np.ndarray:
        """Relative errors (k,) of the weights of each neuron, inputs in units of their spread, by the jackknife."""
        own, spread = _rows_of(network), self.table.X.std(axis=0)
        fits = [_rows_of(self._fit(place, network, intercept)[1]) for place in range(len(self.parts))]
        moved = np.sqrt(np.mean([np.sum(((fit - own) * spread) ** 2, axis=1) for fit in fits], axis=0))
        train, test = self.parts[0]
        spare = max(len(train) - n_parameters / self.table.n_outputs, 1.0) / len(test)
        return np.asarray(np.sqrt(spare) * moved / np.maximum(np.linalg.norm(own * spread, axis=1), 1e-300))

    def _fit(self, place: int, network: Network, intercept: bool) -> tuple[Network, Network, float]:
        """The network, itself fitted without a part from its own weights, and its loss in the rows that are fitted."""
        key = (id(network), place)
        if key not in self.made:
            shape = _shape_of(network, intercept)
            rows = self.table.separable(shape, self.parts[place][0])
            hidden = self.table.space(shape.bias).hidden(network.weights, network.bias)
            near = variable_projection(rows, hidden, steps=_STEPS, decay=_DECAY, patience=_WITH).params["rows"]
            run = variable_projection(rows, near, steps=_STEPS, patience=_WITHOUT)
            fitted = Fitted(shape, *_layers(run), float(run.value), np.zeros(0))
            self.made[key] = (network, self.table.network(fitted), float(run.value))
        return self.made[key]

    def _searched(self, place: int, network: Network, intercept: bool) -> np.ndarray:
        """Squares (t, m) in a part of the best network that a search without it finds."""
        key = (id(network), place)
        if key not in self.scores:
            shape, (train, test) = _shape_of(network, intercept), self.parts[place]
            rows, low = self.table.separable(shape, train), self._fit(place, network, intercept)[2]
            best: Descent | None = None
            starts, wider = self._effort(shape, network.n_hidden)
            for start in range(starts):
                hidden = self._start((shape, place, start), network.n_hidden, wider)
                run = variable_projection(rows, hidden, steps=_STEPS, patience=_WITHOUT)
                best = run if best is None or run.value < best.value else best
                if best.value <= _AS_LOW * low or passed():
                    break
            assert best is not None
            self.scores[key] = network, self.table.held_out_by_target(shape, best.params, test)
        return self.scores[key][1]

    def _effort(self, shape: Shape, width: int) -> tuple[int, int]:
        """How many starts a search of this width may have, and the width at which they begin."""
        inputs = self.table.space(shape.bias).rank + shape.bias
        cost = len(self.table.y) * (width * inputs) ** 2
        if cost > _DEAR:
            return 1, width
        if inputs >= _INPUTS_PER_NEURON * width and cost <= _CHEAP:
            return _STARTS_OF_MANY, width
        return _STARTS, math.ceil(_WIDER * width)

    def _start(self, which: tuple[Shape, int, int], width: int, wider: int) -> np.ndarray:
        """Hidden rows of this width from one start (shape, part, number), joined from those of a wider network."""
        shape, place, number = which
        family, free = families(shape.activation)[0], Free(shape.bias, shape.constant, shape.linear)
        if which not in self.paths:
            key = random.fold_in(random.fold_in(_KEY, place), number)
            path = self.paths[which] = Path(self.table, self.parts[place], family, free, key)
            path.at(max(width, min(wider, path.widest)))
        return self.paths[which].member(width, family.members[0], free).hidden


def _shape_of(network: Network, intercept: bool) -> Shape:
    return Shape(network.activation, network.bias is not None, intercept, network.skip is not None)


def _layers(run: Descent) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return run.params["rows"], run.params["output"], run.params["nuisance"]


def refits_of(problem: Problem, network: Network, n_parameters: int, n_rows: float) -> Refits | None:
    """Rows to leave out by refits; None where numbers are few for the rows, refits dear, or the time is over.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(100, 20, 1, noise=0.1, random_state=0)
    >>> len(refits_of(Problem.of(data.X, data.y, 1), data.teacher, 20, 100).parts)
    10
    >>> refits_of(Problem.of(data.X, data.y, 1), data.teacher, 5, 100) is None
    True
    """
    each = n_parameters / problem.n_outputs
    if not crowded(n_parameters, n_rows, problem.n_outputs) or not network.n_hidden or problem.in_chunks:
        return None
    dear = network.weights.size > _AFFORDABLE or n_rows > _MOST_ROWS or not network.activation.on_host
    if dear or passed() or (1 - 1 / _PARTS) * n_rows <= each + 1:
        return None
    hidden = network.weights.size + (0 if network.bias is None else network.n_hidden)
    return Refits.on(Table(problem, _KEY, most=_MOST_ROWS), dear=hidden**2 * n_rows > _DEAR)


def unsettled(left: LeftOut, network: Network, n_parameters: int, stated: Uncertainty | None, intercept: bool) -> str:
    """Which neuron's weights refits do not confirm, in words; empty if none, or where nothing was fitted again.

    That is one whose weights have an error larger than themselves, or more than twice the one stated.
    """
    if not isinstance(left, Refits):
        return ""
    errors = left.errors(network, n_parameters, intercept=intercept)
    own = _stated(network, stated, left.table.X.std(axis=0))
    open_ = (errors > UNKNOWN) | (own > UNKNOWN) | (errors > RIVAL_ERRORS * own)
    if not open_.any():
        return ""
    worst = int(np.argmax(np.where(open_, np.fmax(errors, own), 0.0)))
    where = "" if stated is None else f", where their standard errors say {own[worst]:.2g}"
    number = neuron_numbers(network, left.table.X)[worst]
    error = f"the relative error of the weights of neuron {number} at {errors[worst]:.2g}{where}"
    return f"refits without a tenth of them put {error}"


def _stated(network: Network, stated: Uncertainty | None, spread: np.ndarray) -> np.ndarray:
    """Relative errors (k,) of the weights of each neuron as stated; NaN where none are."""
    own = _rows_of(network)
    if stated is None or not stated.determined:
        return np.full(len(own), np.nan)
    # Errors belong to the canonical network, whose neurons have another order, and perhaps other signs.
    rows, errors = stated.estimate["weights"] * spread, stated.errors["weights"] * spread
    place = np.argmin(np.linalg.norm(np.abs(rows)[None] - np.abs(own * spread)[:, None], axis=2), axis=1)
    size = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    return np.asarray((np.linalg.norm(errors, axis=1) / size)[place])


def _rows_of(network: Network) -> np.ndarray:
    """The weights (k, d), of unit length where a neuron's length says nothing that its output does not."""
    if network.activation.homogeneity is None:
        return network.weights
    return network.weights / np.maximum(np.linalg.norm(network.weights, axis=1, keepdims=True), 1e-300)
