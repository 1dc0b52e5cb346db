r"""Which side of its hyperplane each neuron is active on, from the linear part of the function.

A kink shows a hyperplane and a jump a_i w_i, not the side: max(z, 0) = max(−z, 0) + z. With f = Σ_i ½ A_i |v_i·x +
c_i| + L·x + const, a network of max(z, 0) + slope·min(z, 0) has L = ½ ρ Σ_i s_i A_i v_i with signs s_i = ±1 and ρ =
(1 + slope)/(1 − slope): 1 for ReLU; for |z|, L = 0. The signs are the solution of a linear system where the products
A_i v_i are independent; beyond, of a linear program (a sign pattern is its only solution for up to about twice as
many neurons as equations; for leaky neurons ρ is its least value), or of a search that meets in the middle for up to
40 neurons.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from planted.networks import Network
from planted.reading._kinks import Pieces

_MIDDLE = 40
_CLOSE, COARSE = 1e-6, 1e-5
_LARGEST_PROGRAM = 2000


@dataclass(frozen=True)
class Oriented:
    """A network with its neurons turned to the right side, and whether that side is determined.

    Attributes
    ----------
    network : Network
        The same function as the pieces.
    determined : bool
        Whether the data say on which side neurons are active; if not, a linear part makes up for the choice.
    """

    network: Network
    determined: bool


def orient(pieces: Pieces, tolerance: float = _CLOSE) -> Oriented:
    """The network that these pieces are: relu, leaky_relu, abs or hard_tanh, with a linear part only if it needs one.

    Equations count as fulfilled to `tolerance`, relative to the strength of the neurons: 1e-6, more for a model that
    rounds to float32.

    Examples
    --------
    >>> one = np.ones((1, 1))
    >>> pieces = Pieces(one, np.zeros(1), 2 * one, -one, np.zeros(1), np.zeros(1))
    >>> orient(pieces).network.activation     # 2 max(x, 0) − x = |x|
    abs()
    """
    if not pieces.count:
        return Oriented(_network(pieces, "relu"), True)
    pairs = clipped(pieces, tolerance)
    if pairs is not None:
        return Oriented(pairs, True)
    linear = pieces.slope + 0.5 * pieces.jumps @ pieces.normals
    columns = 0.5 * (pieces.jumps.T[:, :, None] * pieces.normals[:, None, :]).reshape(pieces.count, -1).T
    target = linear.ravel()
    scale = float(np.linalg.norm(columns))
    if np.abs(target).max() <= tolerance * scale / np.sqrt(pieces.count):
        return Oriented(_as_abs(pieces), True)
    signs, ratio = _signs(columns, target, scale, tolerance)
    if signs is None:
        return Oriented(_network(pieces, "relu"), False)
    turned = _turn(pieces, signs)
    slope = (ratio - 1) / (ratio + 1)
    if abs(slope) < tolerance:
        return Oriented(_network(turned, "relu", skip=False), True)
    # f = Σ A relu(z) + slope·(…): leaky_relu = (1 − slope) relu + slope z.
    output = turned.jumps / (1 - slope)
    left = Pieces(
        turned.normals,
        turned.offsets,
        output,
        turned.slope - slope * output @ turned.normals,
        turned.constant - slope * output @ turned.offsets,
        turned.error,
    )
    return Oriented(_network(left, "leaky_relu", skip=False, slope=float(slope)), True)


def _signs(columns: np.ndarray, target: np.ndarray, scale: float, tolerance: float) -> tuple[np.ndarray | None, float]:
    """Signs s (k,) and ratio ρ with columns @ (ρ s) = target, or None where they cannot be had."""
    equations, k = columns.shape
    size = np.linalg.norm(columns, axis=0)
    unit = columns / size
    strengths = np.linalg.svd(unit, compute_uv=False)
    if k <= equations and strengths[-1] > 1e-7:
        solution = np.linalg.lstsq(unit, target, rcond=None)[0] / size
        if np.linalg.norm(columns @ solution - target) > tolerance * scale:
            return None, 1.0
        ratio = float(np.median(np.abs(solution)))
        weight = size / size.max()
        if abs(ratio - 1) < 100 * tolerance:
            ratio = 1.0
        if (
            np.any(np.abs(np.abs(solution) - ratio) * np.minimum(1.0, 1e3 * weight) > 1e3 * tolerance)
            or ratio < 1 - 1e-6
        ):
            return None, 1.0
        return np.sign(solution), ratio
    searches = (_program, _middle) if tolerance <= _CLOSE else (_nearest,)
    for search in searches:
        signs = search(columns, target)
        if signs is not None and np.linalg.norm(columns @ signs - target) <= tolerance * scale:
            return signs, 1.0
    signs, ratio = _smallest(columns, target)
    if signs is not None and ratio > 1 and np.linalg.norm(ratio * columns @ signs - target) <= tolerance * scale:
        return signs, ratio
    return None, 1.0


def _smallest(columns: np.ndarray, target: np.ndarray) -> tuple[np.ndarray | None, float]:
    """Signs and ratio of leaky neurons: the solution t of columns @ t = target whose largest |t_i| is smallest.

    A solution whose entries all are ±ρ is that one for up to about twice as many neurons as equations.
    """
    equations, k = columns.shape
    if k >= 2.0 * equations or k > _LARGEST_PROGRAM:
        return None, 1.0
    scale = np.abs(columns).max()
    bounds = np.column_stack([np.vstack([np.eye(k), -np.eye(k)]), -np.ones(2 * k)])
    result = linprog(
        np.concatenate([np.zeros(k), [1.0]]),
        A_ub=bounds,
        b_ub=np.zeros(2 * k),
        A_eq=np.column_stack([columns / scale, np.zeros(equations)]),
        b_eq=target / scale,
        bounds=[(None, None)] * k + [(0, None)],
    )
    if result.x is None:
        return None, 1.0
    return np.where(result.x[:k] < 0, -1.0, 1.0), float(np.median(np.abs(result.x[:k])))


def _program(columns: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """Signs by a linear program: any point of the box [−1, 1]^k with columns @ s = target."""
    equations, k = columns.shape
    if k >= 2.2 * equations or k > _LARGEST_PROGRAM:
        return None
    scale = np.abs(columns).max()
    result = linprog(
        np.zeros(k), A_eq=columns / scale, b_eq=target / scale, bounds=(-1, 1), options={"presolve": False}
    )
    return None if result.x is None else np.where(result.x < 0, -1.0, 1.0)


def _nearest(columns: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """Signs by the point of the box that comes closest to the equations, which rounding keeps from being exact."""
    equations, k = columns.shape
    if k >= 2.0 * equations or k > _LARGEST_PROGRAM:
        return None
    scale = np.abs(columns).max()
    miss = np.eye(equations)
    result = linprog(
        np.concatenate([np.zeros(k), np.ones(2 * equations)]),
        A_eq=np.hstack([columns / scale, miss, -miss]),
        b_eq=target / scale,
        bounds=[(-1, 1)] * k + [(0, None)] * (2 * equations),
    )
    return None if result.x is None else np.where(result.x[:k] < 0, -1.0, 1.0)


def _middle(columns: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """Signs by meeting in the middle: all sums of one half of the columns against all of the other half."""
    k = columns.shape[1]
    if k > _MIDDLE:
        return None
    rng = np.random.default_rng(0)
    mix = rng.standard_normal((2, len(target))) / np.linalg.norm(columns, axis=1).clip(1e-300)
    half = k // 2
    first, second = _sums(mix @ columns[:, :half]), _sums(mix @ columns[:, half:])
    wanted = (mix @ target)[:, None] - second
    order = np.argsort(first[0])
    span = 1e-7 * float(np.abs(first[0]).max() + np.abs(wanted[0]).max())
    low = np.searchsorted(first[0][order], wanted[0] - span)
    high = np.searchsorted(first[0][order], wanted[0] + span)
    best, signs = np.inf, None
    for j in np.flatnonzero(high > low):
        near = order[low[j] : high[j]]
        miss = np.abs(first[1][near] - wanted[1][j])
        i = int(np.argmin(miss))
        if miss[i] < best:
            best, signs = float(miss[i]), np.concatenate([_pattern(int(near[i]), half), _pattern(int(j), k - half)])
    return signs


def _sums(rows: np.ndarray) -> np.ndarray:
    """Σ_i ±rows[:, i] for every sign pattern, (2, 2^k); bit i of the index is set where the sign is +."""
    total = np.zeros((len(rows), 1))
    for column in rows.T:
        total = np.concatenate([total - column[:, None], total + column[:, None]], axis=1)
    return total


def _pattern(index: int, k: int) -> np.ndarray:
    return np.array([1.0 if index >> i & 1 else -1.0 for i in range(k)])


def _turn(pieces: Pieces, signs: np.ndarray) -> Pieces:
    """The same function with normals turned where the sign is −1: A max(z, 0) = A max(−z, 0) + A z."""
    away = signs < 0
    return Pieces(
        pieces.normals * signs[:, None],
        pieces.offsets * signs,
        pieces.jumps,
        pieces.slope + pieces.jumps[:, away] @ pieces.normals[away],
        pieces.constant + pieces.jumps[:, away] @ pieces.offsets[away],
        pieces.error,
    )


def relu_network(pieces: Pieces) -> Network:
    """The pieces as they are: a ReLU network with a linear part."""
    return _network(pieces, "relu")


def _network(pieces: Pieces, activation: str, skip: bool = True, **parameters: float) -> Network:
    from planted import activations

    linear = skip and bool(np.any(pieces.slope))
    return Network(
        pieces.normals,
        pieces.jumps,
        activations.get(activation, **parameters),
        bias=pieces.offsets,
        intercept=pieces.constant,
        skip=pieces.slope if linear else None,
    )


def _as_abs(pieces: Pieces) -> Network:
    """f = Σ ½ A |z| + const, where ½ Σ A v + slope = 0."""
    return Network(
        pieces.normals,
        0.5 * pieces.jumps,
        "abs",
        bias=pieces.offsets,
        intercept=pieces.constant + 0.5 * pieces.jumps @ pieces.offsets,
    )


def clipped(pieces: Pieces, tolerance: float = _CLOSE) -> Network | None:
    """Neurons that go up between two parallel hyperplanes, hard_tanh(z) = max(z + 1, 0) − max(z − 1, 0) − 1.

    None where the pieces do not come in such pairs.

    >>> pieces = Pieces(np.ones((2, 1)), np.array([1.0, -1.0]), np.array([[1.0, -1.0]]), np.zeros((1, 1)), -np.ones(1),
    ...                 np.zeros(2))
    >>> clipped(pieces).activation.name
    'hard_tanh'
    """
    k = pieces.count
    if not k or k % 2 or k > _LARGEST_PROGRAM:
        return None
    side = np.where(pieces.normals @ np.random.default_rng(0).standard_normal(pieces.normals.shape[1]) < 0, -1.0, 1.0)
    products = (pieces.jumps.T[:, :, None] * (side[:, None] * pieces.normals)[:, None, :]).reshape(k, -1)
    size = np.linalg.norm(products, axis=1)
    free, couples = list(np.argsort(-size)), []
    while free:
        i = free.pop(0)
        gap = np.linalg.norm(products[free] + products[i], axis=1)
        if not len(gap) or gap.min() > 10 * tolerance * size[i]:
            return None
        couples.append((i, free.pop(int(np.argmin(gap)))))
    weights, bias, output = [], [], []
    slope, constant = pieces.slope.copy(), pieces.constant.copy()
    for i, j in couples:
        v, c = pieces.normals[i], pieces.offsets[i]
        other = pieces.offsets[j]
        if v @ pieces.normals[j] < 0:  # B max(−z, 0) = B max(z, 0) − B z with z = v·x + c
            moved, other = pieces.jumps[:, j], -other
            slope = slope - np.outer(moved, v)
            constant = constant - moved * other
        jump, (high, low) = pieces.jumps[:, i], (max(c, other), min(c, other))
        rise = jump if c >= other else -jump
        half = 0.5 * (high - low)
        if half <= 0:
            return None
        weights.append(v / half)
        bias.append(0.5 * (high + low) / half)
        output.append(rise * half)
        constant = constant + rise * half
    linear = np.abs(slope).max() > tolerance * size.max()
    return Network(
        np.array(weights),
        np.array(output).T,
        "hard_tanh",
        bias=np.array(bias),
        intercept=constant,
        skip=slope if linear else None,
    )
