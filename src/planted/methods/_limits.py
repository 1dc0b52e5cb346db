r"""Neurons that a fit has driven to an end of their parameters, where φ is a simpler function in the rows.

Where rows ask for such a function, the loss has no finite minimiser, and no input is to blame:

    a φ(w·x/s)           is linear for s → ∞, with outputs a ∝ s,
    a φ(w·x − s)         is exponential where the tail of φ is, with outputs that grow like its inverse,
    a φ(s w·x)           is a step, or with a ∝ 1/s a kink,
    a φ(w·x) − a φ(v·x)  is a derivative of φ for v → w, a → ∞,
    a φ(w·x)             with a → ∞ is sure of the labels of all rows where φ is not zero.

What is called so is near to it within a percent. Steps of labels, and how many rows would settle their slopes, are
those of :mod:`planted.methods._label_runaway`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from planted.certificates import Uncertainty
from planted.methods._facts import DIVERGED
from planted.methods._row_facts import neuron_numbers
from planted.networks import Network

_NEAR = 0.01
_COSINE = 0.999
_FAR = 1e3
PENALTY = "keep weights finite with a penalty such as alpha=0.001"
"""Advice for labels; this penalty is weak beside some hundred of them."""


@dataclass(frozen=True)
class Limit:
    """What a network has run to, in words, and what to do about it, in one sentence; both empty if to nothing.

    Of an `endless` one the predictions have no end, not the weights alone.
    """

    reason: str = ""
    advice: str = ""
    endless: bool = False


def limit_of(X: np.ndarray, errors: Uncertainty | None, *, labels: bool, fewer: bool = True) -> Limit:
    """The end to which neurons that rows X (n, d) leave open have run; `fewer` tells whether fewer are an advice.

    >>> from planted.certificates import uncertainty
    >>> from planted.objectives import Squared
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> network = Network([[1e-4, 2e-4]], [1e4], "tanh")
    >>> loss = Squared(X, X @ [1.0, 2.0] + 0.1, activation="tanh")
    >>> limit = limit_of(X, uncertainty(loss, loss.model.params(network)), labels=False)
    >>> limit.reason, limit.advice
    ('neuron 1 is linear in these rows', 'Use linear regression.')
    """
    if errors is None or not isinstance(errors.network, Network):
        return Limit()
    network = errors.network
    numbers = neuron_numbers(network, X)
    open_ = open_neurons_of(errors)
    several = network.n_hidden > 1
    # Whether fewer neurons explain real targets as well is measured, and said instead of this where they do.
    narrower = [f"ask for n_hidden={network.n_hidden - 1}"] if labels and several and fewer else []
    remedies = ["give more rows", *narrower, *([PENALTY] if labels else [])]
    z = network.preactivations(X)
    value = network.activation(z)
    if labels and np.abs(network.predict(X)).max() > DIVERGED:
        who = "the linear function"
        if network.n_hidden:
            largest = int(np.argmax(np.abs(np.atleast_2d(network.output)).max(axis=0) * np.ptp(value, axis=0)))
            who = f"neuron {numbers[largest]}"
        words = "tells some labels apart without error, so that the likeliest weights have no end"
        return Limit(f"{who} {words}", _sentence(remedies), endless=True)
    # Beside the spread and the place of the rows, whatever the units and the origin of the inputs.
    rows = np.column_stack([network.weights * X.std(axis=0), z.mean(axis=0)])
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1), 1e-300)[:, None]
    for i, j in combinations(open_, 2):
        if abs(float(unit[i] @ unit[j])) > _COSINE:
            first, second = sorted(numbers[k] for k in (i, j))
            words = ", and their outputs cancel" if _opposed(network, value, i, j) else ""
            return Limit(f"neurons {first} and {second} all but coincide{words}", _sentence(remedies))
    for i in open_:
        if _straight(z[:, i], value[:, i]):
            instead = remedies if several else [f"use {'logistic' if labels else 'linear'} regression"]
            return Limit(f"neuron {numbers[i]} is linear in these rows", _sentence(instead))
    for i in open_:
        if _exponential(network, z[:, i], value[:, i]):
            tail = f"the tail of neuron {numbers[i]}, which is an exponential function with any output"
            return Limit(f"these rows have only {tail}", _sentence(remedies))
        if _steep(network, z[:, i], value[:, i]):
            limit = _steep_limit(network, numbers[i])
            return replace(limit, advice=_sentence(remedies)) if labels else limit
    return Limit()


def steep_neurons(network: Network, X: np.ndarray) -> tuple[list[int], Limit]:
    """Neurons that are a step, or a kink, in rows X (n, d), and what is said of the first.

    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> steep_neurons(Network([[1e4], [1.0]], [1.0, 1.0], "tanh"), X)[1].reason
    'neuron 1 is a step in these rows, whatever the length of its weights'
    """
    z = network.preactivations(X)
    value = network.activation(z)
    steep = [i for i in range(network.n_hidden) if _steep(network, z[:, i], value[:, i])]
    return steep, _steep_limit(network, neuron_numbers(network, X)[steep[0]]) if steep else Limit()


def _steep(network: Network, z: np.ndarray, value: np.ndarray) -> bool:
    """Whether a neuron with φ(z) = value (n,) would be the same in these rows with far longer weights."""
    return network.activation.homogeneity is None and _straight(network.activation(_FAR * z), value)


def _steep_limit(network: Network, number: int) -> Limit:
    shape, sign = ("step", "slope") if np.all(np.isfinite(network.activation.range)) else ("kink", "bend")
    return Limit(
        f"neuron {number} is a {shape} in these rows, whatever the length of its weights",
        f"Take it as a {shape}, or give rows next to it, where a {sign} would show.",
    )


def open_neurons_of(errors: Uncertainty) -> list[int]:
    """Neurons of which the rows leave a weight, a bias or an output open.

    >>> from planted.certificates import uncertainty
    >>> from planted.objectives import Squared
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 1.0], [-1.0, 2.0], [-2.0, 1.0]])
    >>> loss, network = Squared(X, np.zeros(5)), Network([[1.0, 0.0], [-1.0, 0.5]], [1.0, 1.0])
    >>> open_neurons_of(uncertainty(loss, loss.model.params(network)))
    [1]
    """
    reached = np.any(np.isinf(errors.errors["weights"]), axis=1)
    for name in ("bias", "output"):
        if name in errors.errors:
            reached = reached | np.any(np.isinf(np.atleast_2d(errors.errors[name])), axis=0)
    return [int(place) for place in np.flatnonzero(reached)]


def _sentence(remedies: list[str]) -> str:
    words = remedies[0] if len(remedies) == 1 else f"{', '.join(remedies[:-1])}, or {remedies[-1]}"
    return f"{words[:1].upper()}{words[1:]}."


def _opposed(network: Network, value: np.ndarray, i: int, j: int) -> bool:
    """Whether what neurons i and j add to the predictions, φ being value (n, k), goes up and down oppositely."""
    output = np.atleast_2d(network.output)
    together = np.cov(value[:, i], value[:, j])[0, 1]
    return bool(float(output[:, i] @ output[:, j]) * together < 0)


def _straight(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether y (n,) is a linear function of x (n,), up to a small share of its spread."""
    if not (np.std(x) > 0 and np.std(y) > 0):
        return False
    return bool(1 - np.corrcoef(x, y)[0, 1] ** 2 < _NEAR**2)


def _exponential(network: Network, z: np.ndarray, value: np.ndarray) -> bool:
    """Whether φ(z) (n,) is an exponential function beside a constant, with the rate φ″/φ′ where φ′ is large."""
    first, second = (network.activation.derivative(z, order) for order in (1, 2))
    if not np.any(first * second):
        return False
    rate = float(np.sum(first * second) / np.sum(first**2))
    growth = np.exp(np.clip(rate * z - np.max(rate * z), -700.0, 0.0))
    return _straight(growth, value)
