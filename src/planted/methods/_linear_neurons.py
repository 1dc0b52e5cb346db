r"""Neurons that no row has on the other side of their kink: they are a linear function, which the search splits off.

With inputs that are counts, shares or 0/1, a ReLU neuron is often active in every row. A search beside a free linear
part then explains the rows with fewer neurons than there are, and no signs of those give the linear part that it found.
What signs s leave of it,

    g(x) = ℓ(x) − tilt Σ_i s_i c_i (w_i·x + b_i),

is a neuron that is linear at all rows, if g has one sign there; two spare neurons are any linear function.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from planted.methods._facts import EXACT
from planted.methods._orient import one_sided
from planted.methods._search import Attempt, Search
from planted.methods._second_order import affordable, descend_from
from planted.networks import Network


class _Parts(NamedTuple):
    """Neurons (w_i, b_i) in rows (j, q + 1), their outputs (j,), and a linear function (q + 1,), constants last."""

    rows: np.ndarray
    output: np.ndarray
    linear: np.ndarray


def with_linear_neurons(search: Search, attempt: Attempt) -> Network | None:
    """The network of a run that explains its rows, one or two of its neurons being linear at all of them.

    On whitened rows and the caller's targets. None where all neurons are needed for their kinks, or where linear ones
    make no such network; for one output and activations that are linear beside a kink at zero.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import Problem
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> X = np.abs(data.X)
    >>> y = np.maximum(X @ [1.0, -1.0, 0.5], 0) - X @ [1.0, 2.0, 3.0]
    >>> search = Search.of(Problem.of(X, y, 2))
    >>> network = with_linear_neurons(search, descend_from(search, np.eye(3)[:2]))
    >>> bool(np.allclose(network.predict(search.Z), y))
    True
    """
    act, free, k = search.activation, search.free, search.width
    piecewise = act.tilt and act.homogeneity == 1
    if not piecewise or free.skip or search.n_outputs is not None or not affordable(search):
        return None
    for spare in range(1, min(k - 1, 2) + 1):
        hidden = attempt.params["weights"]
        if free.bias:
            hidden = np.column_stack([hidden, attempt.params["bias"]])
        attempt = descend_from(search.at(k - spare), hidden)
        if attempt.loss > EXACT:
            return None
        parts = _parts(attempt)
        network = _single(search, parts) if spare == 1 else _pair(search, parts)
        if network is not None:
            return network
    return None


def _parts(attempt: Attempt) -> _Parts:
    params = attempt.params
    bias = params.get("bias", np.zeros(len(params["weights"])))
    linear = np.append(params["linear"], params["intercept"])
    return _Parts(np.column_stack([params["weights"], bias]), params["output"], linear)


def _single(search: Search, parts: _Parts) -> Network | None:
    """All neurons, and one that is the linear function that is left; None if it has both signs."""
    act, free = search.activation, search.free
    rows = np.column_stack([search.Z, np.ones(len(search.Z))])
    if not free.bias:
        # Without biases the neuron has no constant, which is zero or the intercept then.
        rows[:, -1] = 0.0
    terms, linear = act.tilt * (rows @ parts.rows.T) * parts.output, rows @ parts.linear
    # Any linear function has one sign at all rows beside a constant that is large enough.
    shifted = free.bias and free.intercept
    sign = np.ones(len(parts.rows)) if shifted else one_sided(terms, linear)
    if sign is None:
        return None
    left = parts.linear - act.tilt * (sign * parts.output) @ parts.rows
    side = 1.0 if np.sum(linear - terms @ sign) >= 0 else -1.0
    own = side * left
    if shifted:
        values = search.Z @ own[:-1]
        own[-1] = np.ptp(values) - values.min()
    constant = left[-1] - side * own[-1] if free.bias else left[-1]
    rows = np.vstack([sign[:, None] * parts.rows, own])
    return _network(search, rows, np.append(parts.output, side / float(act(1.0))), constant)


def _pair(search: Search, parts: _Parts) -> Network:
    """All neurons, and two with opposite rows that are the linear function that is left."""
    act, free = search.activation, search.free
    left = parts.linear - act.tilt * parts.output @ parts.rows
    rows = np.vstack([parts.rows, left, -left])
    constant = 0.0 if free.bias else left[-1]
    return _network(search, rows, np.append(parts.output, [0.5 / act.tilt, -0.5 / act.tilt]), constant)


def _network(search: Search, rows: np.ndarray, output: np.ndarray, constant: float) -> Network:
    """A network on whitened rows and the caller's targets; the constant counts where an intercept is free."""
    scale, free = search.scale, search.free
    bias = rows[:, -1] if free.bias else None
    parts = {"intercept": scale * constant} if free.intercept else {}
    return Network(rows[:, :-1], scale * output, search.activation, bias, **parts)
