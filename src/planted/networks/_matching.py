"""How close is an estimated network to the teacher, once the symmetries that no data can resolve are undone?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from planted.networks._dense import Network
from planted.networks._shared_filter import ConvNetwork


@dataclass(frozen=True)
class Match:
    """An estimate laid over its teacher.

    Attributes
    ----------
    permutation : array (k*,)
        `permutation[i]` is the estimate's neuron matched to teacher neuron i, or -1 if there is none.
    weight_error : float
        ‖Ŵ − W*‖_F / ‖W*‖_F after matching, where a row of W is output_i·weights_i for 1-homogeneous φ,
        |output_i|^{1/p}·weights_i for p-homogeneous φ and weights_i otherwise, with its bias if it has
        one. Neurons without a partner count in full.
    output_error : float
        Relative error of the output weights after matching (for homogeneous φ, of output_i ‖weights_i‖^p).
    max_angle : float
        Largest angle in degrees between matched weight vectors; 180 if a teacher neuron has no partner.
    """

    permutation: np.ndarray
    weight_error: float
    output_error: float
    max_angle: float

    def __str__(self) -> str:
        return (
            f"weight error {self.weight_error:.3g}, output error {self.output_error:.3g}, "
            f"largest angle {self.max_angle:.3g}°"
        )


def _features(network: Network) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scale-free weights (k, d or d + 1), scale-free outputs (k,), directions (k, d) of the neurons."""
    bias = network.bias
    weights = network.weights if bias is None else np.column_stack([network.weights, bias])
    norms = np.linalg.norm(network.weights, axis=1)
    directions = network.weights / np.where(norms > 0, norms, 1.0)[:, None]
    degree = network.activation.homogeneity
    if degree is None:
        return weights, network.output, directions
    outputs = network.output * norms**degree
    if degree == 1:
        return weights * network.output[:, None], outputs, directions
    return weights * np.abs(network.output)[:, None] ** (1 / degree), outputs, directions


def _dense(name: str, network: object) -> Network:
    if not isinstance(network, Network):
        raise TypeError(f"{name} must be a planted.Network, as the other one is, not {type(network).__name__}")
    return network


def match(estimate: Network | ConvNetwork, teacher: Network | ConvNetwork) -> Match:
    """Match the neurons of `estimate` to those of `teacher` at least total squared error.

    The assignment is optimal (Hungarian method). Rescaling (homogeneous φ), flipping a neuron's sign
    (even or odd φ) and reordering cost nothing. Patches of a shared filter have a place, so for two
    :class:`planted.ConvNetwork` nothing is reordered; their errors are those of the same networks written
    fully connected.

    Examples
    --------
    >>> teacher = Network([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])
    >>> estimate = Network([[0.0, 4.0], [0.5, 0.0]], [0.5, 2.0])
    >>> m = match(estimate, teacher)
    >>> m.permutation, m.weight_error, m.max_angle
    (array([1, 0]), 0.0, 0.0)
    >>> match(ConvNetwork([4.0, 0.0], [1.0, 2.0]), ConvNetwork([2.0, 0.0], [2.0, 4.0])).weight_error
    0.0
    """
    if isinstance(estimate, ConvNetwork) and isinstance(teacher, ConvNetwork):
        return _match_conv(estimate, teacher)
    estimate, teacher = _dense("estimate", estimate), _dense("teacher", teacher)
    if estimate.n_features != teacher.n_features:
        raise ValueError(f"estimate takes {estimate.n_features} inputs but teacher takes {teacher.n_features}")
    if estimate.activation.name != teacher.activation.name:
        raise ValueError(f"estimate is a {estimate.activation.name} network, teacher a {teacher.activation.name} one")
    if (estimate.bias is None) != (teacher.bias is None):
        # An absent bias is a bias of zero: give both one so that rows compare.
        fill = lambda net: Network(  # noqa: E731
            net.weights, net.output, net.activation, np.zeros(net.n_hidden) if net.bias is None else net.bias
        )
        estimate, teacher = fill(estimate), fill(teacher)
    w, a, u = _features(estimate)
    w_star, a_star, u_star = _features(teacher)
    parity = teacher.activation.parity
    # Under a flip of the weights' sign, by which factor do the feature row and the output change?
    product = teacher.activation.homogeneity == 1
    flips = {"even": [(1, 1, 1), (-1, 1, -1)], "odd": [(1, 1, 1), (1 if product else -1, -1, -1)]}
    choices = flips.get(parity or "", [(1, 1, 1)])

    def relative(rows: np.ndarray, other: np.ndarray) -> np.ndarray:
        scale = np.sum(other**2)
        return np.sum((rows[None] - other[:, None]) ** 2, axis=-1) / (scale if scale > 0 else 1.0)

    costs = np.stack([relative(s * w, w_star) + relative((r * a)[:, None], a_star[:, None]) for s, r, _ in choices])
    choice = np.argmin(costs, axis=0)
    rows, columns = linear_sum_assignment(np.min(costs, axis=0))
    permutation = np.full(teacher.n_hidden, -1)
    permutation[rows] = columns
    signs = np.array([choices[c] for c in choice[rows, columns]]).reshape(-1, 3)

    def error(found: np.ndarray, wanted: np.ndarray, sign: np.ndarray) -> float:
        shape = (-1,) + (1,) * (found.ndim - 1)
        squared = np.sum((found[columns] * sign.reshape(shape) - wanted[rows]) ** 2)
        squared += np.sum(np.delete(found, columns, axis=0) ** 2) + np.sum(np.delete(wanted, rows, axis=0) ** 2)
        scale = np.sum(wanted**2)
        return float(np.sqrt(squared / scale)) if scale > 0 else float(np.sqrt(squared))

    if len(rows) < teacher.n_hidden:
        angle = 180.0
    else:
        v, v_star = u[columns] * signs[:, 2:], u_star[rows]
        # atan2 of chord lengths keeps full precision for tiny angles, where arccos loses half the digits.
        half = np.arctan2(np.linalg.norm(v - v_star, axis=1), np.linalg.norm(v + v_star, axis=1))
        angle = float(np.degrees(2 * half.max(initial=0.0)))
    return Match(permutation, error(w, w_star, signs[:, 0]), error(a, a_star, signs[:, 1]), angle)


def _match_conv(estimate: ConvNetwork, teacher: ConvNetwork) -> Match:
    """Compare two shared filters, free of the scale (c·filter, output/c) and, for even or odd φ, of the sign."""
    if (estimate.patch_size, estimate.n_patches) != (teacher.patch_size, teacher.n_patches):
        raise ValueError(f"{estimate!r} and {teacher!r} take patches of different size or number")
    if estimate.activation != teacher.activation:
        raise ValueError(f"estimate has activation {estimate.activation!r}, teacher has {teacher.activation!r}")

    def relative(found: np.ndarray, wanted: np.ndarray) -> float:
        return float(np.linalg.norm(found - wanted) / (np.linalg.norm(wanted) or 1.0))

    wanted, found = teacher.canonical(), estimate.canonical()
    if teacher.activation.parity is not None and found.filter @ wanted.filter < 0:
        # Near a zero first entry the canonical signs of two close filters can differ.
        sign = -1.0 if teacher.activation.parity == "odd" else 1.0
        found = ConvNetwork(-found.filter, sign * found.output, found.activation)
    (rows, outputs, u), (rows_star, outputs_star, u_star) = (_features(net.to_network()) for net in (found, wanted))
    angle = 2 * np.arctan2(np.linalg.norm(u[0] - u_star[0]), np.linalg.norm(u[0] + u_star[0]))
    return Match(
        permutation=np.arange(teacher.n_patches),
        weight_error=relative(rows, rows_star),
        output_error=relative(outputs, outputs_star),
        max_angle=float(np.degrees(angle)),
    )


def permutation_error(Q: ArrayLike) -> float:
    """Distance of a matrix with unit rows from a signed permutation, eq. 6.1 of Ge et al. (2017).

        e(Q) = min{1 − min_i max_j |Q_ij|, 1 − min_j max_i |Q_ij|}

    Examples
    --------
    >>> permutation_error([[0.0, -1.0], [1.0, 0.0]])
    0.0
    """
    matrix = np.abs(np.asarray(Q, dtype=np.float64))
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError("Q must be a matrix with at least one entry")
    if not np.all(np.isfinite(matrix)):
        raise ValueError("Q holds NaN or infinite values")
    return float(min(1 - matrix.max(axis=1).min(), 1 - matrix.max(axis=0).min()))
