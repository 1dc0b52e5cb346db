"""What rows leave open of a network, in words."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from planted.methods._facts import LEVERAGE, LEVERAGE_ENTRIES, PRECISE, SILENT, SINGULAR, SPARE
from planted.methods._observations import equal_rows
from planted.methods._orient import one_sided
from planted.names import count_of
from planted.networks import AT_KINK, INACTIVE, ConvNetwork, Network, distinct_rows, off_kinks
from planted.numerics.decompositions import svd

_SPANNING = 10
"""Rows an input that are looked at first where all of them may span every direction."""
_MORE_THAN_ONCE = 2


def neuron_numbers(network: Network | ConvNetwork, X: np.ndarray) -> list[int]:
    """What tables call each neuron: 1 for the strongest, by |output| times the standard deviation of φ in X (n, d).

    >>> neuron_numbers(Network([[1.0], [2.0], [3.0]], [1.0, 5.0, 1.0]), np.array([[1.0], [2.0]]))
    [3, 1, 2]
    """
    spread = np.std(network.activation(network.preactivations(X)), axis=0)
    strength = np.abs(np.atleast_2d(network.output)).max(axis=0) * spread
    ranks = np.argsort(np.argsort(-strength, kind="stable"), kind="stable")
    return [int(rank) + 1 for rank in ranks]


def thin_neuron(network: Network, X: np.ndarray) -> str:
    """Which neuron is active in hardly more distinct rows than it has numbers of its own, in words.

    >>> thin_neuron(Network([[1.0]], [1.0]), np.array([[1.0], [2.0], [-1.0]]))
    'neuron 1 is active in 2 distinct rows, hardly more than its 1 number'
    """
    active = np.abs(network.activation.derivative(network.preactivations(X))) > INACTIVE
    smooth = off_kinks(network, X)[:, None]
    counts = np.sum(active & smooth, axis=0)
    outputs = np.atleast_2d(network.output).shape[0]
    numbers = network.n_features + (network.bias is not None) + outputs - (network.activation.homogeneity is not None)
    for i in np.flatnonzero(counts < 4 * (numbers + SPARE)):
        count = len(distinct_rows(X[(active & smooth)[:, i]]))
        if count * outputs < numbers + SPARE:
            number, own = neuron_numbers(network, X)[i], count_of(numbers, "number")
            return f"neuron {number} is active in {count} distinct rows, hardly more than its {own}"
    return ""


class Exchange(NamedTuple):
    """Which neurons could be others, in words, their places, and what to do about it, one sentence; empty if none."""

    words: str = ""
    neurons: tuple[int, ...] = ()
    advice: str = ""


def exchangeable(network: Network, X: np.ndarray) -> Exchange:
    r"""Which neurons could be exchanged for others without a change at any row of X (n, d).

    Piecewise linear neurons have φ(z) = φ(−z) + 2 tilt z: one turned around leaves a linear function over. Two opposite
    neurons whose kinks cancel are such a function, which others of the same sign at every row make as well. A neuron
    that no row has on its other side takes one up, if what it then computes has one sign at all rows.

    >>> exchangeable(Network([[1.0, 1.0], [-2.0, -2.0]], [2.0, -1.0]), np.eye(2)).words
    'neurons 1 and 2 cancel to a linear function, which other neurons could be as well'
    >>> exchangeable(Network([[3.0, 1.0], [1.0, -1.0]], [1.0, 1.0]), np.eye(2)).words
    'neuron 1 is linear at all rows, and could be another one with neuron 2 turned around'
    """
    phi = network.activation
    if not (phi.tilt and phi.kinks == (0.0,)) or network.skip is not None or network.output.ndim > 1:
        return Exchange()
    rows, numbers = np.column_stack([network.weights, network.shift]), neuron_numbers(network, X)
    size = np.linalg.norm(rows, axis=1)
    unit, kink = rows / np.maximum(size, 1e-300)[:, None], network.output * size
    for i, j in combinations(range(network.n_hidden), 2):
        opposite = np.abs(unit[i] + unit[j]).max() < PRECISE
        if opposite and abs(kink[i] + kink[j]) < PRECISE * abs(kink[i]):
            first, second = sorted(numbers[k] for k in (i, j))
            words = f"neurons {first} and {second} cancel to a linear function, which other neurons could be as well"
            return Exchange(words, (i, j), f"Ask for n_hidden={network.n_hidden - 2} and fit_skip=True.")
    z, near = network.preactivations(X), AT_KINK * network.reach(X)
    # A row at the kink, as that of zeros without biases, is on both sides.
    for one in np.flatnonzero(np.all(z >= -near, axis=0) | np.all(z <= near, axis=0)):
        others = [j for j in range(network.n_hidden) if j != one]
        terms = phi.tilt * z[:, others] * network.output[others]
        signs = one_sided(terms, network.output[one] * phi(z[:, one]) + terms.sum(axis=1), turned=True)
        if signs is not None:
            turned = [j for j, sign in zip(others, signs, strict=True) if sign < 0]
            called = ", ".join(str(number) for number in sorted(numbers[j] for j in turned))
            words = f"could be another one with neuron{'s' * (len(turned) > 1)} {called} turned around"
            other = f"Give rows on the other side of neuron {numbers[one]}."
            return Exchange(f"neuron {numbers[one]} is linear at all rows, and {words}", (int(one), *turned), other)
    return Exchange()


def repeated_inputs(X: np.ndarray, weight: np.ndarray | None = None) -> int:
    """How many distinct inputs rows X (n, …) have, if each of them came more than once; zero if one did not.

    The share of rows whose inputs came once is what a further row has a chance of to be new (Good and Turing). A row
    of weight w counts like w equal rows.

    >>> repeated_inputs(np.array([[0.0], [1.0], [1.0], [0.0]])), repeated_inputs(np.array([[0.0], [1.0], [1.0]]))
    (2, 0)
    """
    places, group = equal_rows(X)
    return len(places) if np.all(np.bincount(group, weights=weight) >= _MORE_THAN_ONCE) else 0


def confirmed(network: Network, X: np.ndarray, n_parameters: int, intercept: bool = False) -> bool:
    """Whether rows in general position leave one another out: no prediction hangs on its own row alone.

    The leverage of a row is the diagonal of J(JᵀJ)⁺Jᵀ, J the derivatives at the rows that count. One at leverage 1
    determines something that no other row speaks of, so that a wrong network may explain it as well as the right one.
    Where no leverage is near one, and the values of an input all differ, another network that explains every row to
    rounding would be a coincidence of reals. A lone neuron with a silent side is told by its sign too: rows that just
    suffice determine it, and silent rows confirm it.

    >>> X = np.random.default_rng(0).standard_normal((12, 2))
    >>> confirmed(Network([[1.0, 2.0]], [1.0], "tanh"), X, 3), confirmed(Network([[1.0, 2.0]], [1.0], "tanh"), X[:3], 3)
    (True, False)
    """
    inputs = X.reshape(len(X), -1)
    active = network.speaking(inputs) & off_kinks(network, X)
    rows = inputs[active]
    if not len(rows) or len(rows) * n_parameters > LEVERAGE_ENTRIES:
        return False
    if any(len(np.unique(column)) < len(column) for column in rows.T):
        return False
    J = network.jacobian(rows, intercept=intercept).reshape(len(rows) * np.atleast_2d(network.output).shape[0], -1)
    scale = np.linalg.norm(J, axis=0)
    left, values, _ = svd(J / np.where(scale > 0, scale, 1.0))
    basis = left[:, values > 1e-7 * values[0]]
    if basis.shape[1] < n_parameters:
        return False
    if network.n_hidden == 1 and len(inputs) - len(rows) >= SILENT:
        return True
    return bool(np.max(np.sum(basis**2, axis=1)) < LEVERAGE)


def open_neurons(network: Network, X: np.ndarray, names: tuple[str, ...] = ()) -> str:
    """What the rows in which a neuron is active leave open of its weights, in words; for networks too large for a rank.

    >>> X = np.random.default_rng(0).standard_normal((50, 2))
    >>> open_neurons(Network([[1.0, 0.0]], [1.0]), np.column_stack([X, X[:, 0]])[:, [0, 2]])
    'the rows in which neuron 1 is active span 1 of 2 directions'
    """
    inputs = network.rows(X)
    slope = np.abs(network.activation.derivative(network.preactivations(X)))
    scale = np.sqrt(np.mean(inputs**2, axis=0))
    unit = inputs / np.where(scale > 0, scale, 1.0)
    d = inputs.shape[1]
    # No eigenvalue of all rows is larger than the trace, and the least is no smaller than that of some rows.
    trace = np.sum(unit**2, axis=1) @ slope**2
    for i in range(network.n_hidden):
        some = np.flatnonzero(slope[:, i] > INACTIVE)[: _SPANNING * d]
        weighted = unit[some] * slope[some, i, None]
        if np.linalg.eigvalsh(weighted.T @ weighted)[0] > SINGULAR * trace[i]:
            continue
        weighted = unit * slope[:, i, None]
        values, vectors = np.linalg.eigh(weighted.T @ weighted)
        rank = int(np.sum(values > SINGULAR * max(values[-1], 1e-300)))
        if rank < d:
            places = np.flatnonzero(np.abs(vectors[:, : d - rank]).max(axis=1) > 0.1)
            called = names if len(names) == d else range(d)
            which = ", ".join(str(called[place])[:40] for place in places[:8])
            where = f", input{'s' * (len(places) > 1)} {which}" if len(places) <= d / 2 else ""
            number = neuron_numbers(network, X)[i]
            return f"the rows in which neuron {number} is active span {rank} of {d} directions{where}"
    return ""
