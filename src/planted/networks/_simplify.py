"""The smallest network equal to a given one: without dead neurons, with duplicates and opposites merged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

if TYPE_CHECKING:
    from planted.networks._dense import Network

_CHECKED = 64


def simplify(network: Network, tolerance: float = 1e-9) -> Network:
    r"""The same function with as few neurons as merging and dropping can leave.

    A neuron whose weights are zero is a constant, one whose output is zero is nothing; two with the same weights and
    bias (for a positively homogeneous φ: the same up to scale) are one with the sum of their outputs. So are two that
    are the same after a turn (:meth:`planted.Network.turned`); what makes up for it goes into the intercept or the
    linear part: a max(z, 0) + b max(−z, 0) = (a + b) max(z, 0) − b z, which is linear for a = −b.

    Parameters
    ----------
    network : Network
        Any network.
    tolerance : float
        Rows, relative to their length, and outputs, relative to the largest, that differ by less are the same.

    Returns
    -------
    Network
        Equal to `network` to `tolerance`, which is checked at points near and far.
    """
    small = _without_constants(network, tolerance)
    small = _merged(small, tolerance)
    strength = np.linalg.norm(np.atleast_2d(small.output), axis=0) * np.maximum(_length(small), 1e-300)
    small = _only(small, strength > tolerance * strength.max(initial=0.0))
    if small.skip is not None and np.abs(small.skip).max(initial=0.0) <= tolerance * strength.max(initial=1.0):
        arrays = small.arrays()
        arrays.pop("skip")
        small = type(network)(**arrays, activation=small.activation)
    return small if _equal(network, small, tolerance) else network


def _length(network: Network) -> np.ndarray:
    return np.linalg.norm(network.weights, axis=1)


def _only(network: Network, held: np.ndarray) -> Network:
    arrays = network.arrays() | {"weights": network.weights[held], "output": network.output[..., held]}
    if network.bias is not None:
        arrays["bias"] = network.bias[held]
    return type(network)(**arrays, activation=network.activation)


def _without_constants(network: Network, tolerance: float) -> Network:
    length = _length(network)
    constant = length <= tolerance * length.max(initial=0.0)
    level = network.output[..., constant] @ np.atleast_1d(network.activation(network.shift[constant]))
    return _only(network.replace(intercept=network.intercept + level), ~constant)


def _merged(network: Network, tolerance: float) -> Network:
    act = network.activation
    if not network.n_hidden:
        return network
    rows = np.column_stack([network.weights, network.shift - act.centre])
    size = _length(network) if act.homogeneity is not None else np.ones(network.n_hidden)
    rows = rows / size[:, None]
    if act.homogeneity is not None:
        network = network.replace(weights=rows[:, :-1], output=network.output * size**act.homogeneity)
        if network.bias is not None:
            network = network.replace(bias=rows[:, -1])
    turns = act.centred_parity is not None or act.centre != 0
    leading = rows[np.arange(len(rows)), np.argmax(np.abs(rows[:, :-1]), axis=1)]
    side = np.where(leading < 0, -1.0, 1.0) if turns else np.ones(len(rows))
    scale = np.linalg.norm(rows, axis=1)
    places = rows * side[:, None]
    group = np.arange(len(rows))
    for i, j in sorted(cKDTree(places).query_pairs(tolerance * float(scale.max()))):
        group[group == group[j]] = group[i]
    # Neurons on their own stay as they are; in a group all are turned to the side of its first.
    first = {label: int(np.flatnonzero(group == label)[0]) for label in np.unique(group)}
    signs = np.array([side[i] * side[first[group[i]]] for i in range(len(rows))])
    network = network.turned(signs) if np.any(signs < 0) else network
    output = np.stack([network.output[..., group == label].sum(axis=-1) for label in first], axis=-1)
    return _only(network, np.array([first[group[i]] == i for i in range(len(rows))])).replace(
        output=output[..., np.argsort([first[label] for label in first])]
    )


def _equal(one: Network, other: Network, tolerance: float) -> bool:
    """Whether two networks agree at random points, near and far."""
    points = np.random.default_rng(0).standard_normal((_CHECKED, one.n_features))
    points[_CHECKED // 2 :] *= 30.0
    a, b = one.predict(points), other.predict(points)
    parts = np.abs(np.atleast_2d(one.output)) @ (_length(one) + np.abs(one.shift))
    return bool(np.abs(a - b).max() <= 1e3 * tolerance * (float(np.abs(a).max()) + float(parts.max(initial=0.0))))
