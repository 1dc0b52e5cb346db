r"""Curvature of a network of several outputs on the host, without its Jacobian.

Prediction o changes with the row and bias of neuron i by u_oi x̃, where u_oi = A_oi ψ'(z_i) and x̃ = (x, 1), and with
the numbers of its own, which other outputs do not share, by v = (ψ(z), 1, x). With C the curvature of the loss of a
row, the blocks of Σ w JᵀCJ are products of x̃ and v, rows weighted:

    (i, j): Σ w (UᵀCU)_ij x̃x̃ᵀ,    (o, j): Σ w (CU)_oj v x̃ᵀ,    (o, p): Σ w C_op v vᵀ.

That is about m times less work than a product of Jacobians, m the number of outputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.objectives._host_losses import curved


def curvature_of_outputs(objective: Any, params: dict[str, Any], point: Any) -> np.ndarray:
    """Σ w JᵀCJ (p, p) at a point of :mod:`planted.objectives._host`, parameters by sorted name.

    >>> from planted.objectives import Squared
    >>> from planted.objectives._host import at
    >>> loss, params = Squared([[2.0]], [[1.0, 0.0]]), {"weights": np.ones((1, 1)), "output": np.ones((2, 1))}
    >>> curvature_of_outputs(loss, params, at(loss, params))
    array([[4., 0., 4.],
           [0., 4., 4.],
           [4., 4., 8.]])
    """
    model, x, weight = objective.model, point.x, point.weight
    n, m = point.prediction.shape
    k, ones = point.output.shape[1], np.ones((n, 1))
    U = point.slope[:, None, :] * point.output
    each = np.broadcast_to(np.eye(m), (n, m, m))
    CU = curved(objective.loss, point.prediction, U, point.complement) * weight[:, None, None]
    C = curved(objective.loss, point.prediction, each, point.complement) * weight[:, None, None]
    UCU = np.einsum("noi,noj->nij", U, CU)
    hidden = np.column_stack([x, ones]) if model.bias else x
    places = _places(params)
    linear = [("output", point.feature), ("intercept", ones), (model.linear_part, x)]
    columns = [(places[name].reshape(m, -1), column) for name, column in linear if name in params]
    v = np.column_stack([column for _, column in columns] or [ones[:, :0]])
    rows = [places["weights"].reshape(k, x.shape[1])] + ([places["bias"].reshape(k, 1)] if model.bias else [])
    own = np.column_stack(rows)
    others = np.column_stack([place for place, _ in columns] or [np.zeros((m, 0), int)])
    size = sum(np.size(leaf) for leaf in params.values())
    matrix = np.zeros((size, size))

    def put(first: np.ndarray, second: np.ndarray, block: np.ndarray) -> None:
        matrix[np.ix_(first, second)] = block
        matrix[np.ix_(second, first)] = block.T

    for i in range(k):
        for j in range(i, k):
            put(own[i], own[j], hidden.T @ (UCU[:, i, j, None] * hidden))
        for o in range(m):
            put(others[o], own[i], (v * CU[:, o, i, None]).T @ hidden)
    for o in range(m):
        for p in range(o, m):
            put(others[o], others[p], v.T @ (C[:, o, p, None] * v))
    return matrix


def _places(params: dict[str, Any]) -> dict[str, np.ndarray]:
    """Where the numbers of each array stand among all, arrays by sorted name."""
    names = sorted(params)
    cuts = np.cumsum([np.size(params[name]) for name in names])
    return dict(zip(names, np.split(np.arange(cuts[-1]), cuts[:-1]), strict=True))
