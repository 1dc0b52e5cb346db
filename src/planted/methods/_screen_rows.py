r"""Rows on which candidates are compared: some to fit, others held out, in coordinates where every input counts alike.

A candidate is a network with some parts free. Its linear layers are solved exactly for given hidden rows
(:class:`planted.solvers.SeparableRows`), in NumPy, so that candidates of any shape cost no compilation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from planted import activations
from planted.activations import Activation
from planted.methods._observations import apart, ordered_rows
from planted.methods._problem import Free, Problem
from planted.networks import Network
from planted.numerics import random
from planted.numerics.decompositions import least_squares
from planted.solvers import SeparableRows

# Directions of the inputs with a smaller share of their variance are taken for rounding.
_SINGULAR = 1e-10
MANY_INPUTS = 150
"""Inputs from which rows are scarce for candidates that have weights for each of them."""
# Rows in all, and the share held out: fewer of them where inputs are many.
_MOST_ROWS, _HELD_OUT, _HELD_OUT_OF_MANY = 6000, 0.4, 0.2
# Up to so many rows each is held out once.
_FEW_ROWS, _FOLDS = 1500, 3
_FAR = 1e3
_ONE = 1e-9


@dataclass(frozen=True, eq=False)
class Coordinates:
    """z = (x − centre)·whitener with unit second moments; directions in which the rows do not vary are left out.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((50, 2)) * [1e4, 1e-4] + 3
    >>> there = Coordinates.of(X, np.ones(50), centred=True)
    >>> Z = there.inputs(X, bias=False)
    >>> np.allclose(Z.T @ Z / 50, np.eye(2))
    True
    """

    centre: np.ndarray
    whitener: np.ndarray
    inverse: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, share: np.ndarray, *, centred: bool) -> Coordinates:
        """Those of rows X (n, d) with weights of mean one; the centre is zero unless they are centred."""
        centre = np.average(X, axis=0, weights=share) if centred else np.zeros(X.shape[1])
        away = X - centre
        scale = np.sqrt(np.average(away**2, axis=0, weights=share))
        # What is left of a constant column is rounding.
        flat = scale <= 1e-12 * np.abs(X).max(axis=0, initial=0.0)
        unit = np.where(flat, 0.0, away / np.where(flat, 1.0, scale))
        values, axes = np.linalg.eigh((unit * share[:, None]).T @ unit / len(X))
        real = values > _SINGULAR * max(float(values[-1]), 1e-300)
        values, axes, size = np.sqrt(values[real]), axes[:, real], np.where(flat, 1.0, scale)
        inside = np.where(flat, 0.0, 1.0)[:, None]
        return cls(centre, inside * axes / values / size[:, None], (axes * values).T * size)

    @property
    def rank(self) -> int:
        """How many directions there are."""
        return self.whitener.shape[1]

    def inputs(self, X: np.ndarray, bias: bool) -> np.ndarray:
        """Rows (n, rank), followed by a column of ones for biases."""
        Z = (X - self.centre) @ self.whitener
        return np.column_stack([Z, np.ones(len(Z))]) if bias else Z

    def layer(self, hidden: np.ndarray, bias: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """Weights (k, d) and biases (k,) on the caller's own inputs."""
        weights = hidden[:, : self.rank] @ self.whitener.T
        return weights, hidden[:, self.rank] - weights @ self.centre if bias else None

    def hidden(self, weights: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        """Hidden rows (k, rank) or, where there are biases, (k, rank + 1) of weights on the caller's own inputs."""
        rows = weights @ self.inverse.T
        return rows if bias is None else np.column_stack([rows, bias + weights @ self.centre])


@dataclass(frozen=True)
class Shape:
    """What is free in a candidate: the activation, biases, a constant and a linear part; `centred` neurons are ψ."""

    activation: Activation
    bias: bool
    constant: bool
    linear: bool
    centred: bool = False

    @classmethod
    def of(cls, activation: Activation, free: Free) -> Shape:
        """The shape of networks with these free parts."""
        return cls(activation, free.bias, free.intercept, free.skip)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A candidate at its minimum: hidden rows (k, q), outputs (m, k), linear coefficients (m, l), losses.

    `loss` is the mean squared residual of the rows it was fitted to, targets having variance one, and `squares` (t,)
    are those of the rows held out.
    """

    shape: Shape
    hidden: np.ndarray
    output: np.ndarray
    linear: np.ndarray
    loss: float
    squares: np.ndarray

    @property
    def width(self) -> int:
        """Number of neurons."""
        return len(self.hidden)


class Table:
    """The rows of a problem's sample that candidates are compared on, with one fold or several.

    Attributes
    ----------
    X, y : arrays (n, d), (n, m)
        Targets have mean square one about their mean.
    share : array (n,)
        Row weights, one on average.
    folds : list of pairs
        Places of the rows to fit and of those held out.
    """

    def __init__(self, problem: Problem, key: np.ndarray, most: int = _MOST_ROWS) -> None:
        survey, self.progress = problem.survey, problem.progress
        given = survey.X.reshape(len(survey.y), -1), survey.y.reshape(len(survey.y), -1), survey.weight
        counted = apart(*given, most)
        # No copy of an observation is fitted while another is held out; where rows are counted, each is an observation.
        X, y, weight = ordered_rows(*given) if counted is None else (*counted[:2], np.ones(len(counted[1])))
        order = random.permutation(key, len(y))[:most]
        self.X, targets, weight = X[order], y[order], weight[order]
        self.weighted = bool(np.ptp(weight) > 0)
        self.share = weight / np.mean(weight)
        centred = targets - np.average(targets, axis=0, weights=self.share)
        spread = np.sqrt(np.average(centred**2, axis=0, weights=self.share))
        self.scale = np.where((spread > 0) & (np.ptp(targets, axis=0) > 0), spread, 1.0)
        self.y = targets / self.scale
        self.several = survey.y.ndim > 1
        n, places = len(order), np.arange(len(order))
        if n > _FEW_ROWS:
            held = int((_HELD_OUT if self.X.shape[1] < MANY_INPUTS else _HELD_OUT_OF_MANY) * n)
            self.folds = [(places[held:], places[:held])]
        else:
            parts = np.array_split(places, min(_FOLDS, n))
            self.folds = [(np.setdiff1d(places, part), part) for part in parts]

    @property
    def n_outputs(self) -> int:
        """Number of outputs m."""
        return self.y.shape[1]

    @property
    def whole(self) -> tuple[np.ndarray, np.ndarray]:
        """All rows to fit, none held out."""
        return np.arange(len(self.y)), np.arange(0)

    @cached_property
    def _spaces(self) -> dict[bool, Coordinates]:
        return {bias: Coordinates.of(self.X, self.share, centred=bias) for bias in (False, True)}

    @cached_property
    def _inputs(self) -> dict[bool, np.ndarray]:
        return {bias: self.space(bias).inputs(self.X, bias) for bias in (False, True)}

    @cached_property
    def _many(self) -> dict[Any, SeparableRows]:
        return {}

    @cached_property
    def _lines(self) -> dict[Any, tuple[float, np.ndarray]]:
        return {}

    @cached_property
    def constant(self) -> np.ndarray | None:
        """Weights (d,) of the inputs that add up to one in every row, as a constant or one-hot columns have them."""
        size = np.max(np.abs(self.X), axis=0)
        size = np.where(size > 0, size, 1.0)
        weights = least_squares(self.X / size, np.ones((len(self.X), 1)), 1e-10)[:, 0] / size
        return weights if np.max(np.abs(self.X @ weights - 1)) <= _ONE else None

    def space(self, bias: bool) -> Coordinates:
        """The coordinates of neurons with biases, or without."""
        return self._spaces[bias]

    def separable(self, shape: Shape, rows: np.ndarray) -> SeparableRows:
        """The rows at these places, for networks of a shape; many inputs are laid out and factored once for all."""
        key = (shape.bias, shape.constant, shape.linear, rows.tobytes())
        known = self._many.get(key)
        if known is not None:
            return replace(known, activation=shape.activation, centred=shape.centred, origin=known)
        inputs = self._inputs[shape.bias][rows]
        ones = np.ones((len(rows), 1))
        parts = [self._slopes(shape)[rows]] * shape.linear + [ones] * shape.constant
        nuisance = np.column_stack(parts) if parts else np.zeros((len(rows), 0))
        root = np.sqrt(self.share[rows]) if self.weighted else None
        made = SeparableRows(inputs, nuisance, self.y[rows], shape.activation, root, shape.centred)
        if inputs.shape[1] >= MANY_INPUTS:
            self._many[key] = made
        return made

    def carried(self, fitted: Fitted, bias: bool) -> Fitted:
        """The directions of a candidate's neurons and its linear part as inputs of neurons with biases, or without."""
        shape = fitted.shape
        if shape.bias == bias:
            return fitted
        here, there = self.space(shape.bias), self.space(bias)
        hidden, linear = fitted.hidden[:, : here.rank], fitted.linear
        if shape.linear:
            own = self.space(shape.bias and shape.constant)
            linear = linear[:, : own.rank] @ own.whitener.T @ there.inverse.T
        return replace(
            fitted, shape=replace(shape, bias=bias), hidden=hidden @ here.whitener.T @ there.inverse.T, linear=linear
        )

    def _slopes(self, shape: Shape) -> np.ndarray:
        """The columns of a linear part, which without a constant must not be centred."""
        centred = shape.bias and shape.constant
        return self._inputs[centred][:, : self.space(centred).rank]

    def held_out(self, shape: Shape, params: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
        """Squared residuals (t,) of the rows at these places, averaged over outputs."""
        return np.mean(self.held_out_by_target(shape, params, rows), axis=1)

    def held_out_by_target(self, shape: Shape, params: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
        """Squared residuals (t, m) of the rows at these places."""
        there = self.separable(shape, rows)
        value = there.nuisance @ params["nuisance"].T + there.features(there.X @ params["rows"].T) @ params["output"].T
        # A network that overfits may be far off on a row that it was not fitted to.
        return np.minimum(np.abs(value - there.y), _FAR) ** 2

    def linear(self, free: Free, fold: tuple[np.ndarray, np.ndarray]) -> tuple[float, np.ndarray]:
        """Loss on the rows to fit, and squares of those held out, of a linear function, or of a constant."""
        key = (free.intercept, free.skip, fold[0].tobytes())
        if key not in self._lines:
            self._lines[key] = self._linear(free, fold)
        return self._lines[key]

    def _linear(self, free: Free, fold: tuple[np.ndarray, np.ndarray]) -> tuple[float, np.ndarray]:
        train, test = fold
        squares = np.mean(self.linear_by_target(free, train), axis=1)
        return float(np.average(squares[train], weights=self.share[train])), squares[test]

    def linear_by_target(self, free: Free, rows: np.ndarray) -> np.ndarray:
        """Squared residuals (n, m) of all rows, of a linear function, or a constant, fitted to those at some places."""
        columns = self._linear_columns(free)
        return np.asarray((self.y - columns @ self._linear_solution(columns, rows)) ** 2)

    def _linear_columns(self, free: Free) -> np.ndarray:
        Z = self._inputs[free.intercept][:, : self.space(free.intercept).rank * free.skip]
        return np.column_stack([Z, np.ones(len(Z))]) if free.intercept else Z

    def _linear_solution(self, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
        root = np.sqrt(self.share[rows])[:, None]
        return least_squares(columns[rows] * root, self.y[rows] * root, 1e-12)

    def linear_network(self, free: Free) -> Network:
        """The linear function, or the constant, that explains all rows best, as a network without neurons."""
        solution = self._linear_solution(self._linear_columns(free), self.whole[0]).T
        nothing = np.zeros((0, self.space(False).rank))
        shape = Shape(activations.get("relu"), False, free.intercept, free.skip)
        if free.intercept and free.skip:
            # Its linear part is centred.
            shape, nothing = replace(shape, bias=True), np.zeros((0, self.space(True).rank + 1))
        fitted = Fitted(shape, nothing, np.zeros((self.n_outputs, 0)), solution, 0.0, np.zeros(0))
        return self.network(fitted).replace(bias=None)

    def network(self, fitted: Fitted) -> Network:
        """The network of a candidate whose neurons are φ, on the caller's own inputs and targets."""
        shape = fitted.shape
        space = self.space(shape.bias)
        weights, bias = space.layer(fitted.hidden, shape.bias)
        parts: dict[str, np.ndarray] = {}
        intercept = fitted.linear[:, -1] if shape.constant else np.zeros(self.n_outputs)
        if shape.linear:
            there = self.space(shape.bias and shape.constant)
            skip = fitted.linear[:, : there.rank] @ there.whitener.T
            intercept = intercept - skip @ there.centre
            parts["skip"] = skip * self.scale[:, None]
        parts |= {"intercept": intercept * self.scale, "output": fitted.output * self.scale[:, None]}
        if not self.several:
            parts = {name: value[0] for name, value in parts.items()}
        return Network(weights, activation=shape.activation, bias=bias, **parts)
