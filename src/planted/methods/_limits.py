r"""Neurons that a fit has driven to an end of their parameters, where φ is a simpler function in the rows.

Where rows ask for such a function, the loss has no finite minimiser, and no input is to blame:

    a φ(w·x/s)           is linear for s → ∞, with outputs a ∝ s,
    a φ(w·x/s) + v·x     is quadratic or cubic, with a ∝ s² or s³ and v what cancels the linear part,
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
from scipy.stats import chi2

from planted.certificates import Uncertainty
from planted.methods._facts import DIVERGED, EXACT, LEVEL
from planted.methods._row_facts import neuron_numbers
from planted.networks import Network
from planted.rows import Survey

_NEAR = 0.01
_COSINE = 0.999
_FAR = 1e3
_POWERS = {2: "quadratic", 3: "cubic"}
PENALTY = "keep weights finite with a penalty such as alpha=0.001"
"""Advice for labels; this penalty is weak beside some hundred of them."""


@dataclass(frozen=True)
class Limit:
    """What a network has run to, in words, and what to do about it, in one sentence; empty if to nothing.

    Of an `endless` one the predictions have no end, not the weights alone.
    """

    reason: str = ""
    advice: str = ""
    endless: bool = False


def limit_of(
    X: np.ndarray, errors: Uncertainty | None, *, labels: bool, survey: Survey | None = None, fewer: bool = True
) -> Limit:
    """The end to which neurons that rows X (n, d) leave open have run; of real targets with the rows' survey.

    A neuron is called linear only where a linear function in its place leaves as little of the targets. `fewer` tells
    whether fewer neurons are an advice for labels.

    >>> from planted.certificates import uncertainty
    >>> from planted.objectives import Squared
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> network = Network([[1e-4, 2e-4]], [1e4], "tanh")
    >>> y = X @ [1.0, 2.0]
    >>> loss = Squared(X, y, activation="tanh")
    >>> errors = uncertainty(loss, loss.model.params(network))
    >>> limit = limit_of(X, errors, labels=False, survey=Survey.of(X, y))
    >>> limit.reason, limit.advice
    ('neuron 1 is linear in these rows', 'Use linear regression.')
    """
    if errors is None or not isinstance(errors.network, Network):
        return Limit()
    network = errors.network
    numbers = neuron_numbers(network, X)
    open_ = open_neurons_of(errors)
    several = network.n_hidden > 1
    # Of labels; whether fewer neurons explain real targets as well is measured, and said instead where they do.
    narrower = [f"ask for n_hidden={network.n_hidden - 1}"] if several and fewer else []
    remedies = ["give more rows", *narrower, PENALTY]
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
        cosine = float(unit[i] @ unit[j])
        if abs(cosine) > _COSINE:
            first, second = sorted(numbers[k] for k in (i, j))
            alike = "all but coincide" if cosine > 0 else "are all but opposite"
            words = ", and their outputs cancel" if _opposed(network, value, i, j) else ""
            advice = _sentence(remedies) if labels else ""
            return Limit(f"neurons {first} and {second} {alike}{words}", advice)
    for i in open_:
        if not _straight(z[:, i], value[:, i]):
            continue
        if survey is None or not _bent(network, value, i, survey):
            linear = remedies if labels else [_without_linear(network)]
            instead = linear if several else [f"use {'logistic' if labels else 'linear'} regression"]
            return Limit(f"neuron {numbers[i]} is linear in these rows", _sentence(instead))
        power = _power(z[:, i], value[:, i])
        if power:
            words = f"neuron {numbers[i]} is a {power} function in these rows, with any weights that are small"
            return Limit(words, f"Take it as a {power} function, or give rows farther out, where it would not be one.")
    for i in open_:
        if _exponential(network, z[:, i], value[:, i]):
            tail = f"the tail of neuron {numbers[i]}, which is an exponential function with any output"
            other = "Take it as an exponential function, or give rows where it would not be one."
            return Limit(f"these rows have only {tail}", _sentence(remedies) if labels else other)
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


def _without_linear(network: Network) -> str:
    """What to ask for where one of several neurons is linear."""
    fewer = f"ask for n_hidden={network.n_hidden - 1}"
    return fewer if network.skip is not None else f"{fewer} and fit_skip=True"


def _bent(network: Network, value: np.ndarray, i: int, survey: Survey) -> bool:
    """Whether the rows show that neuron i, φ being value (n, k), is no linear function: without its bend more is left.

    A likelihood-ratio test of the outputs of the other neurons beside any linear function.
    """
    n = len(survey.y)
    weight = np.ones(n) if survey.weight is None else survey.weight / np.mean(survey.weight)
    residual = survey.y.reshape(n, -1) - network.predict(survey.X).reshape(n, -1)
    without = residual + value[:, i, None] * np.atleast_2d(network.output)[:, i]
    columns = np.column_stack([survey.X, np.delete(value, i, axis=1)])
    columns = columns - columns.mean(axis=0)
    size = np.linalg.norm(columns, axis=0)
    root = np.sqrt(weight)[:, None]
    design = np.column_stack([np.ones(n), columns / np.where(size > 0, size, 1.0) * np.sqrt(n)]) * root
    left = without * root - design @ np.linalg.lstsq(design, without * root, rcond=1e-12)[0]
    least = EXACT * np.average((survey.y.reshape(n, -1) - np.mean(survey.y, axis=0)) ** 2, axis=0, weights=weight)
    before, after = (np.mean(part**2, axis=0) + least + 1e-300 for part in (residual * root, left))
    return bool(n * np.sum(np.log(after / before)) > chi2.isf(LEVEL, len(before)))


def _power(z: np.ndarray, value: np.ndarray) -> str:
    """What φ(z) = value (n,) is beside a linear function: the polynomial that comes within a small share of it."""
    unit = (z - z.mean()) / z.std()
    powers = np.vander(unit, max(_POWERS) + 1, increasing=True)

    def left(degree: int) -> float:
        some = powers[:, : degree + 1]
        return float(np.std(value - some @ np.linalg.lstsq(some, value, rcond=None)[0]))

    return next((name for degree, name in _POWERS.items() if left(degree) < _NEAR * left(1)), "")


def _exponential(network: Network, z: np.ndarray, value: np.ndarray) -> bool:
    """Whether φ(z) (n,) is an exponential function beside a constant, with the rate φ″/φ′ where φ′ is large."""
    first, second = (network.activation.derivative(z, order) for order in (1, 2))
    if not np.any(first * second):
        return False
    rate = float(np.sum(first * second) / np.sum(first**2))
    growth = np.exp(np.clip(rate * z - np.max(rate * z), -700.0, 0.0))
    return _straight(growth, value)
