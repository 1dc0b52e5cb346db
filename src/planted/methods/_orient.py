r"""The sign of each neuron, which the symmetric part leaves open, from the linear part and the constant."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.typing import ArrayLike

from planted.activations import Activation
from planted.starts.output_layer import nearest_signs

# Signs are right where what they miss is this small beside the sum; and how many patterns are compared otherwise.
_MATCHED = 1e-6
_ENUMERATED, _HALVED, _COMPARED = 14, 40, 4096
# Rows on which most patterns are refuted, patterns that all rows see at a time, and the share of the largest terms
# below which a value has no sign.
_FEW, _BLOCK, _NO_SIGN = 100, 64, 1e-9


def orientation(
    weights: np.ndarray,
    output: np.ndarray,
    bias: np.ndarray | None,
    linear: np.ndarray,
    intercept: ArrayLike,
    activation: Activation,
    *,
    fit_intercept: bool = False,
) -> np.ndarray:
    r"""Signs s (k,) such that Σ_i c_i φ(s_i(w_i·x + b_i)) has the linear part and constant that were fitted.

    Even ψ: linear = tilt Σ_i s_i c_i w_i, and intercept = tilt Σ_i s_i c_i b_i where no intercept is free. Least
    squares over −1 ≤ s ≤ 1, rounded: for rows in general position the box often has a single solution as long as
    k < 2dm. Where the rounded signs miss the linear part, whole patterns are compared (:func:`signs_of_sum`).
    Odd ψ about a constant: intercept = offset Σ_i s_i c_i with neuron (s_i w_i, s_i c_i); see :func:`nearest_signs`.

    Parameters
    ----------
    weights : array (k, d)
    output : array (k,) or (m, k)
        c.
    bias : array (k,), optional
    linear : array (d,) or (m, d)
    intercept : array () or (m,)
        The constant.

    Examples
    --------
    >>> from planted import activations
    >>> W, c = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([1.0, -2.0])
    >>> orientation(W, c, None, 0.5 * (-c * np.array([1, -1])) @ W, 0.0, activations.get("relu"))
    array([-1.,  1.])
    """
    outputs = np.atleast_2d(output)
    if activation.centred_parity == "even" and activation.tilt:
        system = activation.tilt * np.einsum("oi,ij->oji", outputs, weights).reshape(-1, len(weights))
        goal = np.asarray(linear).reshape(-1)
        if bias is not None and not fit_intercept:
            system = np.vstack([system, activation.tilt * outputs * bias])
            goal = np.append(goal, intercept)
        return signs_of_sum(system, goal)
    if activation.centred_parity == "odd" and activation.offset and not fit_intercept:
        return nearest_signs(output, np.asarray(intercept) / activation.offset)
    if activation.centred_parity == "odd":
        return np.where(outputs[0] < 0, -1.0, 1.0)
    return np.ones(len(weights))


def signs_of_sum(columns: np.ndarray, goal: np.ndarray) -> np.ndarray:
    r"""Signs s (k,) for which columns·s, columns (r, k), is nearest to a goal (r,).

    The box −1 ≤ s ≤ 1 is tried first. If its rounded solution misses the goal and at most 14 more columns than rows
    are there, every pattern of as many signs is completed by a linear solve. Up to forty columns are otherwise split in
    halves: sums of all patterns of one half are looked up for those of the other along one direction, and the nearest
    4,096 pairs are compared in full.

    Examples
    --------
    >>> columns = np.random.default_rng(0).standard_normal((3, 12))
    >>> truth = np.where(np.arange(12) % 3, 1.0, -1.0)
    >>> bool(np.all(signs_of_sum(columns, columns @ truth) == truth))
    True
    """
    k = columns.shape[1]
    solution = scipy.optimize.lsq_linear(columns, goal, bounds=(-1.0, 1.0), tol=1e-12)
    rounded = np.where(solution.x < 0, -1.0, 1.0)

    def missed(signs: np.ndarray) -> np.ndarray:
        return np.linalg.norm(signs @ columns.T - goal, axis=1)

    if missed(rounded[None])[0] <= _MATCHED * float(np.linalg.norm(columns)) or k > _HALVED:
        return rounded
    _, triangle, order = scipy.linalg.qr(columns, mode="economic", pivoting=True)
    diagonal = np.abs(np.diagonal(triangle))
    rank = int(np.sum(diagonal > 1e-10 * diagonal[0]))
    if k - rank <= _ENUMERATED:
        free = patterns(k - rank)
        inside, outside = order[:rank], order[rank:]
        solved = np.linalg.lstsq(columns[:, inside], goal[:, None] - columns[:, outside] @ free.T, rcond=None)[0].T
        tried = np.empty((len(free), k))
        tried[:, outside], tried[:, inside] = free, np.where(solved < 0, -1.0, 1.0)
    else:
        tried = _halved(columns, goal)
    tried = np.vstack([rounded, tried])
    return tried[int(missed(tried).argmin())]


def one_sided(terms: np.ndarray, linear: np.ndarray, *, turned: bool = False) -> np.ndarray | None:
    r"""Signs s (j,) for which linear − terms·s, terms (n, j), has one sign in all rows; None if none are found.

    Those with the fewest −1 are taken; at least one is −1 if some are to be `turned`. Every pattern of up to 14 is
    looked at; of more, those with at most two −1, and those that turns one by one lead to.

    Examples
    --------
    >>> one_sided(np.array([[1.0], [-2.0]]), np.array([1.0, 2.0]))
    array([1.])
    >>> one_sided(np.array([[1.0], [2.0]]), np.array([2.0, -3.0])) is None
    True
    """
    count = terms.shape[1]
    if count <= _ENUMERATED:
        signs = patterns(count)
    else:
        pairs = np.triu_indices(count + 1)
        signs = np.ones((len(pairs[0]), count + 1))
        for places in pairs:
            signs[np.arange(len(signs)), places] = -1.0
        signs = np.vstack([signs[:, :count], _descended(terms, linear), _descended(-terms, -linear)])
    order = np.argsort(np.sum(signs < 0, axis=1), kind="stable")
    signs = signs[order]
    if turned:
        signs = signs[np.any(signs < 0, axis=1)]
    floor = _NO_SIGN * float(np.max(np.abs(linear) + np.abs(terms).sum(axis=1), initial=0.0))

    def on_one_side(some: np.ndarray, rows: slice) -> np.ndarray:
        left = linear[rows, None] - terms[rows] @ some.T
        return np.all(left >= -floor, axis=0) | np.all(left <= floor, axis=0)

    signs = signs[on_one_side(signs, slice(_FEW))]
    for first in range(0, len(signs), _BLOCK):
        block = signs[first : first + _BLOCK]
        sided = block[on_one_side(block, slice(None))]
        if len(sided):
            return sided[0]
    return None


def _descended(terms: np.ndarray, linear: np.ndarray) -> np.ndarray:
    """Signs s (j,) from which turning any one leaves no less of linear − terms·s below zero."""
    sign = np.ones(terms.shape[1])
    left = linear - terms @ sign
    while True:
        below = np.sum(np.minimum(left[:, None] + 2 * terms * sign, 0.0) ** 2, axis=0)
        place = int(below.argmin())
        if below[place] >= np.sum(np.minimum(left, 0.0) ** 2):
            return sign
        left = left + 2 * terms[:, place] * sign[place]
        sign[place] = -sign[place]


def patterns(count: int) -> np.ndarray:
    """All patterns (2^count, count) of signs.

    >>> patterns(2)
    array([[ 1.,  1.],
           [-1.,  1.],
           [ 1., -1.],
           [-1., -1.]])
    """
    return 1.0 - 2.0 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)


def _halved(columns: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Patterns whose sum is nearest to the goal along one direction."""
    mix = np.sqrt(np.arange(2.0, len(goal) + 2)) % 1.0
    values, wanted, half = mix @ columns, float(mix @ goal), columns.shape[1] // 2
    left, right = patterns(half), patterns(columns.shape[1] - half)
    sums, others = left @ values[:half], wanted - right @ values[half:]
    order = np.argsort(sums)
    place = np.searchsorted(sums[order], others)
    pairs = []
    for shift in (-1, 0):
        index = order[np.clip(place + shift, 0, len(order) - 1)]
        gap = np.abs(sums[index] - others)
        nearest = np.argpartition(gap, min(_COMPARED, len(gap) - 1))[:_COMPARED]
        pairs.append(np.column_stack([left[index[nearest]], right[nearest]]))
    return np.vstack(pairs)
