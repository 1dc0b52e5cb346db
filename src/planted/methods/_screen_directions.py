r"""Where neurons of many inputs begin: fitted in a few directions, where a descent takes a hundredth of a second.

The first families have those of :mod:`planted.methods._subspace`, in which the targets are not linear, for the even
part of neurons or for odd ones. Where a family explains held-out rows, the others begin in the span of its neurons; one
that is far behind there is not fitted in all inputs, and neither are fewer neurons of the same family.
"""

from __future__ import annotations

import math

import numpy as np

from planted.activations import Activation
from planted.methods._merge import merge
from planted.methods._screen_rows import Fitted
from planted.methods._subspace import hidden_directions
from planted.numerics import random
from planted.numerics.decompositions import least_squares
from planted.solvers import SeparableRows, variable_projection
from planted.starts import random_rows

# Starts, rows that they descend on, and rows for the best of them.
_STARTS, _START_ROWS, _ROWS, _WIDER = 6, 1000, 3000, 1.5
_STEPS, _DECAY, _PATIENCE = 60, 0.03, (12, 0.9)
_BIAS = 0.5
# The share of a loss by which starts differ that end in one minimum.
_AGREE = 1e-3


def directed_rows(rows: SeparableRows, width: int, bias: bool, key: np.ndarray) -> np.ndarray:
    """Hidden rows (k, q) of the best of several small fits in the leading directions.

    Parameters
    ----------
    rows : SeparableRows
        Its inputs have unit second moments, the last being one where there are biases.
    width : int
        Number of neurons k.
    bias : bool
    key : array (2,)

    Examples
    --------
    >>> from planted import activations
    >>> from planted.datasets import make_planted
    >>> data = make_planted(2000, 20, 1, random_state=0)
    >>> rows = SeparableRows(data.X, data.X, data.y[:, None], activations.get("relu"))
    >>> hidden = directed_rows(rows, 1, False, np.array([0, 0]))[0]
    >>> bool(abs(hidden @ data.teacher.weights[0]) > 0.9 * np.linalg.norm(hidden))
    True
    """
    inputs = rows.X[:, : rows.X.shape[1] - bias]
    ones = np.ones((len(inputs), 1))
    weight = ones[:, 0] if rows.weight is None else rows.weight
    columns = np.column_stack([inputs, ones])
    slope = least_squares(columns * weight[:, None], rows.y * weight[:, None], 1e-10)
    residual = rows.y - columns @ slope
    basis = hidden_directions(inputs, residual, slope[:-1], weight**2, width + 1, rows.activation)
    small = _within(rows, basis, residual, rows.activation, bias)
    return _lifted(_best_of_several(small, width, bias, key)["rows"], basis, bias)


def glimpse(
    rows: SeparableRows, held: SeparableRows, leader: Fitted, width: int, key: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Hidden rows (k, q) fitted in the span of a leader's neurons, and their squared residuals (t,) in rows held out.

    Parameters
    ----------
    rows, held : SeparableRows
        Rows to fit and held out, with the activation to look at; neurons have biases where the leader's have.
    leader : Fitted
        In the same coordinates. Its linear part outside of the span stays as it is.
    width : int
    key : array (2,)
    """
    bias, linear = leader.shape.bias, leader.shape.linear
    q = rows.X.shape[1] - bias
    slopes = leader.linear[:, :q] if linear else np.zeros((rows.y.shape[1], q))
    directions = np.concatenate([leader.hidden[:, :q], slopes / max(float(np.linalg.norm(slopes)), 1e-300)])
    left, sizes, _ = np.linalg.svd(directions.T, full_matrices=False)
    basis = left[:, sizes > 1e-6 * sizes[0]]
    outside = slopes - slopes @ basis @ basis.T
    small, there = (
        _within(part, basis, part.y - part.X[:, :q] @ outside.T, rows.activation, bias, len(part.y))
        for part in (rows, held)
    )
    params = _best_of_several(small, width, bias, key)
    value = there.nuisance @ params["nuisance"].T + there.features(there.X @ params["rows"].T) @ params["output"].T
    return _lifted(params["rows"], basis, bias), np.mean((value - there.y) ** 2, axis=1)


def _within(
    rows: SeparableRows, basis: np.ndarray, y: np.ndarray, activation: Activation, bias: bool, count: int = _ROWS
) -> SeparableRows:
    """The first rows in a few directions, with a linear part and a constant beside the neurons."""
    Z = rows.X[:count, : len(basis)] @ basis
    columns = np.column_stack([Z, np.ones(len(Z))])
    weight = None if rows.weight is None else rows.weight[:count]
    return SeparableRows(columns if bias else Z, columns, y[:count], activation, weight)


def _best_of_several(small: SeparableRows, width: int, bias: bool, key: np.ndarray) -> dict[str, np.ndarray]:
    """The best of several starts, too wide and joined down: they descend on some rows, the best one on all.

    Where a second one ends as low as the best, others would too.
    """
    rank = small.X.shape[1] - bias
    some = small.first(_START_ROWS)
    best = None
    for number in range(_STARTS):
        one = random.fold_in(key, number)
        start = random_rows(one, math.ceil(_WIDER * width), rank)
        if bias:
            start = np.column_stack([start, _BIAS * random.normal(random.fold_in(one, 1), (len(start),))])
        run = variable_projection(some, start, steps=_STEPS, decay=_DECAY, patience=_PATIENCE)
        start = joined(some, run.params["rows"], run.params["output"], width, bias)
        run = variable_projection(some, start, steps=_STEPS, decay=_DECAY, patience=_PATIENCE)
        agree = best is not None and abs(run.value - best.value) <= _AGREE * best.value
        best = run if best is None or run.value < best.value else best
        if agree:
            break
    assert best is not None
    # A decay would hide that nothing is left.
    return dict(variable_projection(small, best.params["rows"], steps=_STEPS, patience=_PATIENCE).params)


def joined(rows: SeparableRows, hidden: np.ndarray, output: np.ndarray, width: int, bias: bool) -> np.ndarray:
    """Hidden rows (k, q), joined from those of a wider network with these outputs; biases come last."""
    d = rows.X.shape[1] - bias
    shift = hidden[:, d] if bias else None
    weights, _, shift = merge(hidden[:, :d], output, shift, width, rows.X[:, :d], rows.activation)
    return weights if shift is None else np.column_stack([weights, shift])


def _lifted(hidden: np.ndarray, basis: np.ndarray, bias: bool) -> np.ndarray:
    """Hidden rows in all inputs."""
    rows = hidden[:, : basis.shape[1]] @ basis.T
    return np.column_stack([rows, hidden[:, -1]]) if bias else rows
