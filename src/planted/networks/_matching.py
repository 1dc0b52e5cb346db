"""How close is an estimated network to the teacher, once the symmetries that no data can resolve are undone?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from planted.networks._dense import Network
from planted.networks._shared_filter import ConvNetwork

# Errors below this are rounding: two networks with such a distance are the same function.
_EQUAL = 1e-6


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
        one, and the linear part, if there is one, counts as a row. Neurons without a partner count in full.
    output_error : float
        Relative error of the output weights and the intercept after matching (for homogeneous φ, of
        output_i ‖weights_i‖^p).
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


@dataclass(frozen=True)
class _Neurons:
    """Scale-free rows (k, …), scale-free outputs (k, m) and directions (k, d) of the neurons."""

    rows: np.ndarray
    outputs: np.ndarray
    directions: np.ndarray

    @classmethod
    def of(cls, network: Network) -> _Neurons:
        """The neurons of a network whose biases, if it has any, are part of its rows."""
        joint = network.weights if network.bias is None else np.column_stack([network.weights, network.bias])
        norms = np.linalg.norm(network.weights, axis=1)
        directions = network.weights / np.where(norms > 0, norms, 1.0)[:, None]
        degree, output = network.activation.homogeneity, np.atleast_2d(network.output).T
        if degree is None:
            return cls(joint, output, directions)
        outputs = output * norms[:, None] ** degree
        if degree == 1:
            pairs = output[:, :, None] * joint[:, None, :]
            return cls(pairs.reshape(len(joint), pairs.shape[1] * pairs.shape[2]), outputs, directions)
        size = np.linalg.norm(output, axis=1) ** (1 / degree)
        return cls(joint * size[:, None], outputs, directions)


def _dense(name: str, network: object) -> Network:
    if not isinstance(network, Network):
        raise TypeError(f"{name} must be a planted.Network, as the other one is, not {type(network).__name__}")
    return network


def match(estimate: Network | ConvNetwork, teacher: Network | ConvNetwork) -> Match:
    """Match the neurons of `estimate` to those of `teacher` at least total squared error.

    The assignment is optimal (Hungarian method). Rescaling (homogeneous φ), reordering and turning a neuron around
    cost nothing: its sign for even or odd φ, and for φ that is so up to a constant or a linear part, such as the
    sigmoid or ReLU, or about another point, as relu6 is, together with the bias, intercept and linear part that make up
    for it (:meth:`planted.Network.turned`).
    Patches of a shared filter have a place, so for two :class:`planted.ConvNetwork` nothing is reordered; their errors
    are those of the same networks written fully connected.

    Examples
    --------
    >>> teacher = Network([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])
    >>> estimate = Network([[0.0, 4.0], [0.5, 0.0]], [0.5, 2.0])
    >>> m = match(estimate, teacher)
    >>> m.permutation, m.weight_error, m.max_angle
    (array([1, 0]), 0.0, 0.0)
    >>> match(Network([[-1.0]], [-2.0], "sigmoid", intercept=2.0), Network([[1.0]], [2.0], "sigmoid")).output_error
    0.0
    >>> match(ConvNetwork([4.0, 0.0], [1.0, 2.0]), ConvNetwork([2.0, 0.0], [2.0, 4.0])).weight_error
    0.0
    """
    if isinstance(estimate, ConvNetwork) and isinstance(teacher, ConvNetwork):
        return _match_conv(estimate, teacher)
    estimate, teacher = _dense("estimate", estimate), _dense("teacher", teacher)
    if estimate.n_features != teacher.n_features:
        raise ValueError(f"estimate takes {estimate.n_features} inputs but teacher takes {teacher.n_features}")
    if estimate.n_outputs != teacher.n_outputs:
        raise ValueError(f"estimate has {estimate.n_outputs} outputs but teacher has {teacher.n_outputs}")
    if estimate.activation.name != teacher.activation.name:
        raise ValueError(f"estimate is a {estimate.activation.name} network, teacher a {teacher.activation.name} one")
    if (estimate.bias is None) != (teacher.bias is None) or teacher.activation.centre:
        # An absent bias is a bias of zero: give both one so that rows compare.
        estimate, teacher = (
            net if net.bias is not None else net.replace(bias=np.zeros(net.n_hidden)) for net in (estimate, teacher)
        )
    act = teacher.activation
    if act.parity is not None:
        return _match_neurons(estimate, teacher, turn=True)
    as_it_is = _match_neurons(estimate, teacher, turn=False)
    if act.centred_parity is None and not act.centre:
        return as_it_is
    turned = _match_neurons(estimate, teacher, turn=True)
    # Without a part that makes up for turns, some of them may still cancel: then the functions are equal.
    allowed = any(_makes_up(net) for net in (estimate, teacher)) or _total(turned) <= _EQUAL
    return min(as_it_is, turned, key=_total) if allowed else as_it_is


def _makes_up(network: Network) -> bool:
    """Whether a network has the part that makes up for turning a neuron around."""
    even = network.activation.centred_parity == "even"
    return network.skip is not None if even else bool(np.any(network.intercept))


def _total(matched: Match) -> float:
    return matched.weight_error + matched.output_error


def _match_neurons(estimate: Network, teacher: Network, turn: bool) -> Match:
    """The best assignment, neurons of the estimate being turned around where that helps, if they may be."""
    here, wanted = _Neurons.of(estimate), _Neurons.of(teacher)
    ways = [here]
    if turn:
        ways.append(_Neurons.of(estimate.turned(-np.ones(estimate.n_hidden))))

    def relative(rows: np.ndarray, other: np.ndarray) -> np.ndarray:
        scale = np.sum(other**2)
        return np.sum((rows[None] - other[:, None]) ** 2, axis=-1) / (scale if scale > 0 else 1.0)

    costs = np.stack([relative(way.rows, wanted.rows) + relative(way.outputs, wanted.outputs) for way in ways])
    choice = np.argmin(costs, axis=0)
    rows, columns = linear_sum_assignment(np.min(costs, axis=0))
    permutation = np.full(teacher.n_hidden, -1)
    permutation[rows] = columns
    if turn:
        signs = np.ones(estimate.n_hidden)
        signs[columns] = np.where(choice[rows, columns] == 1, -1.0, 1.0)
        estimate = estimate.turned(signs)
        here = _Neurons.of(estimate)

    def error(mine: np.ndarray, theirs: np.ndarray, one: Any, other: Any) -> float:
        squared = np.sum((mine[columns] - theirs[rows]) ** 2) + np.sum((np.asarray(one) - np.asarray(other)) ** 2)
        squared += np.sum(np.delete(mine, columns, axis=0) ** 2) + np.sum(np.delete(theirs, rows, axis=0) ** 2)
        scale = np.sum(theirs**2) + np.sum(np.asarray(other) ** 2)
        return float(np.sqrt(squared / scale)) if scale > 0 else float(np.sqrt(squared))

    linear = [0.0 if net.skip is None else net.skip for net in (estimate, teacher)]
    weight_error = error(here.rows, wanted.rows, *linear)
    output_error = error(here.outputs, wanted.outputs, estimate.intercept, teacher.intercept)
    if len(rows) < teacher.n_hidden:
        return Match(permutation, weight_error, output_error, 180.0)
    v, v_star = here.directions[columns], wanted.directions[rows]
    # atan2 of chord lengths keeps full precision for tiny angles, where arccos loses half the digits.
    half = np.arctan2(np.linalg.norm(v - v_star, axis=1), np.linalg.norm(v + v_star, axis=1))
    return Match(permutation, weight_error, output_error, float(np.degrees(2 * half.max(initial=0.0))))


def _match_conv(estimate: ConvNetwork, teacher: ConvNetwork) -> Match:
    """Compare two shared filters, free of the scale (c·filter, output/c) and, for even or odd φ, of the sign."""
    if (estimate.patch_size, estimate.n_patches) != (teacher.patch_size, teacher.n_patches):
        raise ValueError(f"{estimate!r} and {teacher!r} take patches of different size or number")
    if estimate.activation != teacher.activation:
        raise ValueError(f"estimate has activation {estimate.activation!r}, teacher has {teacher.activation!r}")

    def relative(estimated: np.ndarray, wanted: np.ndarray) -> float:
        return float(np.linalg.norm(estimated - wanted) / (np.linalg.norm(wanted) or 1.0))

    wanted, estimated = teacher.canonical(), estimate.canonical()
    if teacher.activation.parity is not None and estimated.filter @ wanted.filter < 0:
        # Near a zero first entry the canonical signs of two close filters can differ.
        sign = -1.0 if teacher.activation.parity == "odd" else 1.0
        estimated = ConvNetwork(-estimated.filter, sign * estimated.output, estimated.activation)
    one, other = (_Neurons.of(net.to_network()) for net in (estimated, wanted))
    u, u_star = one.directions[0], other.directions[0]
    angle = 2 * np.arctan2(np.linalg.norm(u - u_star), np.linalg.norm(u + u_star))
    return Match(
        permutation=np.arange(teacher.n_patches),
        weight_error=relative(one.rows, other.rows),
        output_error=relative(one.outputs, other.outputs),
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
