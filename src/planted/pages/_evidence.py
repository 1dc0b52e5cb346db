"""What rows say of a network, in few numbers: none of the inputs are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planted.networks import Kind, Network

_ROWS, _POINTS, _BINS, _RESIDUAL_BINS = 4000, 400, 24, 30
_PARAMETERS = 300
_BLOCK = 2**16
_TAIL = 0.005
_FLAT = 0.01
_FULL_LEVERAGE = 1 - 1e-6
_LEAST_VARIANCE = 0.05
_EQUAL = 1e-12
_PIECEWISE_LINEAR = ("relu", "leaky_relu", "abs", "relu6", "hard_tanh", "hard_sigmoid")
# Parameters in units of the target, and errors that rounding may leave of numbers in one unit.
_OF_TARGET, _ROUNDED = ("output", "intercept", "skip"), 1e-5
# The share of the largest number of the same unit below which one that is known to rounding is zero.
_ZERO = 1e-12


@dataclass(frozen=True, eq=False)
class Evidence:
    """Summaries of rows (x, y) beside a network f.

    Attributes
    ----------
    n_rows, sampled : int
        Rows there were, and rows of the sample that the summaries are made from.
    source : str
        Which predictions `predicted` holds, in words.
    truth, predicted : arrays (s,)
        Targets of some rows and what the network says of them; several outputs one after the other.
    counts, edges : arrays (b,), (b + 1,)
        Histogram of truth − prediction over the sample; of several targets, or classes, one number each for every row.
    standard : bool
        Whether truths, predictions and residuals are in standard deviations of each of several targets.
    strength : array (k,)
        Standard deviation of each neuron's contribution to its leading output, over all rows by their weight.
    leading : array (k,)
        The output on which each neuron acts most.
    active : array (k,)
        Share of rows, by their weight, in which each neuron is active: its slope is more than a hundredth of its
        largest one.
    straight : array (k,)
        Whether each neuron is linear in all rows: its activation is piecewise linear and they are on one side of every
        kink.
    mean, scale : arrays (d,)
        Mean and standard deviation of each input, over all rows by their weight.
    positions, response, partial, shares : arrays (k, b)
        Of each neuron, in bins of z = w·x + b: the middle of the bin, the contribution a φ(z) there, that plus the mean
        residual over the rows of the bin (NaN if there are none), and the share of rows in it.
    """

    n_rows: int
    sampled: int
    source: str
    truth: np.ndarray
    predicted: np.ndarray
    counts: np.ndarray
    edges: np.ndarray
    standard: bool
    strength: np.ndarray
    leading: np.ndarray
    active: np.ndarray
    straight: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    positions: np.ndarray
    response: np.ndarray
    partial: np.ndarray
    shares: np.ndarray


def evidence(
    network: Any,
    X: Any,
    y: Any,
    *,
    fresh: bool = False,
    fitted: bool = True,
    labels: bool = False,
    n_rows: int = 0,
    probability: Callable[[Any, np.ndarray], np.ndarray] | None = None,
    weight: np.ndarray | None = None,
) -> Evidence:
    """Look at rows beside a network.

    A prediction of a row that the network was fitted to is made as if the row had been left out, to first order:
    y_i − r_i/(1 − h_i) with the residual r_i and the leverage h_i = J_i (JᵀJ)⁺ J_iᵀ of the derivatives J. That takes
    at most 300 parameters; above, and for labels, predictions are those of the fit.

    Parameters
    ----------
    network : Kind
    X : array (n, d) or (n, patches, size)
    y : array (n,) or (n, m)
    fresh : bool
        Whether the fit did not see these rows.
    fitted : bool
        Whether the network is a fit to these rows; a network that is none predicts them as it is.
    labels : bool
        Whether y are labels 0, 1, …, whose probabilities the network gives.
    n_rows : int
        How many rows there were, if X is a sample of them.
    probability : callable, optional
        Network and rows to the probabilities (n, m) of the labels; the network's own output is that of label 1
        otherwise. Residuals of log-odds are those of the labels over their variance, as in a generalised linear model.
    weight : array (n,), optional
        A row of weight w counts like w equal rows in strengths, shares, means and standard deviations.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, random_state=0)
    >>> evidence(data.teacher, data.X, data.y).strength.shape
    (2,)
    """
    total = n_rows or len(y)
    some = np.random.default_rng(0).permutation(len(y))[:_ROWS]
    rows = network.rows(np.asarray(X, np.float64)[some])
    targets = np.asarray(y, np.float64)[some].reshape(len(some), -1)
    prediction = np.asarray(network.predict(rows)).reshape(len(some), -1)
    working = None
    if probability is not None:
        chances, output = probability(network, rows), prediction
        if chances.shape[1] == 2:
            prediction = chances[:, 1:]
        else:
            prediction, targets = chances, np.eye(chances.shape[1])[targets[:, 0].astype(int)]
        if not np.array_equal(output, prediction):
            working = (targets - prediction) / np.maximum(prediction * (1 - prediction), _LEAST_VARIANCE)
    residual = targets - prediction
    left_out, source = residual, "the network's own predictions of the rows it was fitted to"
    if not fitted:
        source = "the network's own predictions of these rows, to which it is no fit"
    elif fresh:
        source = "predictions of rows that the fit did not see"
    elif labels:
        source = "the network's probabilities of the labels it was fitted to"
    elif sum(np.size(part) for part in network.arrays().values()) <= _PARAMETERS:
        left_out, source = _left_out(network, rows, residual, total)
    standard = targets.shape[1] > 1 and not labels
    spread = np.std(targets, axis=0) if standard else np.ones(1)
    unit = np.where(spread > 0, spread, 1.0)
    left_out, truth = left_out / unit, targets / unit
    counts, edges = np.histogram(left_out, bins=_RESIDUAL_BINS, range=_middle(left_out.ravel()))
    shown = len(some) if labels else max(1, _POINTS // targets.shape[1])
    return Evidence(
        n_rows=total,
        sampled=len(some),
        source=source,
        truth=truth[:shown].T.ravel(),
        predicted=(truth - left_out)[:shown].T.ravel(),
        counts=counts,
        edges=edges,
        standard=standard,
        **_responses(network, rows, residual if working is None else working),
        **_over_all(network, np.asarray(X, np.float64), np.ones(len(y)) if weight is None else weight),
    )


def _left_out(network: Any, rows: np.ndarray, residual: np.ndarray, total: int) -> tuple[np.ndarray, str]:
    slopes = network.jacobian(rows, intercept=bool(np.any(getattr(network, "intercept", 0.0))))
    # Several targets count in units of what is left of them, so that none rules the weights that they share.
    left = np.sqrt(np.mean(residual**2, axis=0))
    slopes = slopes.reshape(*residual.shape, -1) / np.where(left > 0, left, 1.0)[:, None]
    flat = slopes.reshape(-1, slopes.shape[-1])
    gram = flat.T @ flat * (total / len(rows))
    leverage = np.einsum("ij,jk,ik->i", flat, np.linalg.pinv(gram, hermitian=True), flat, optimize=True)
    left_out = residual / (1 - np.minimum(leverage, _FULL_LEVERAGE).reshape(residual.shape))
    return left_out, "each row as if it had been left out of the fit (to first order)"


def _middle(values: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(values, [_TAIL, 1 - _TAIL])
    # Equal to rounding is equal: no bins fit between such values.
    room = 0.0 if high - low > _EQUAL * max(abs(low), abs(high)) else 0.5 * (max(abs(low), abs(high)) or 1.0)
    return float(low - room), float(high + room)


def _leading(network: Any) -> tuple[np.ndarray, np.ndarray]:
    """The output on which each neuron acts most (k,), and how much (k,)."""
    output = np.atleast_2d(network.output)
    k = output.shape[1]
    leading = np.argmax(np.abs(output), axis=0) if k else np.zeros(0, int)
    return leading, output[leading, np.arange(k)]


def _responses(network: Any, rows: np.ndarray, residual: np.ndarray) -> dict[str, np.ndarray]:
    """How each neuron answers along its own direction, in bins."""
    z = network.preactivations(rows)
    leading, amount = _leading(network)
    table = {name: np.zeros((z.shape[1], _BINS)) for name in ("positions", "response", "partial", "shares")}
    for i in range(z.shape[1]):
        low, high = _middle(z[:, i])
        width = (high - low) / _BINS
        bins = np.clip(((z[:, i] - low) / width).astype(int), 0, _BINS - 1)
        members = np.bincount(bins, minlength=_BINS)
        middle = low + width * (np.arange(_BINS) + 0.5)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.bincount(bins, residual[:, leading[i]], minlength=_BINS) / members
        table["positions"][i] = middle
        table["response"][i] = amount[i] * np.asarray(network.activation(middle))
        table["partial"][i] = table["response"][i] + mean
        table["shares"][i] = members / len(rows)
    return table | {"leading": leading}


def _over_all(network: Any, X: np.ndarray, weight: np.ndarray) -> dict[str, np.ndarray]:
    """Strengths, shares, means and standard deviations over all rows, in blocks: a sample would differ with copies."""
    shares = weight / weight.sum()
    # From the first row on, so that the mean of a constant input is that constant to the last digit.
    first = X[0].ravel()
    mean, value, largest = first, np.zeros(()), np.zeros(())
    low, high = np.full((2, len(_leading(network)[0])), [[np.inf], [-np.inf]])
    for rows, z, share in _blocks(network, X, shares):
        low, high = np.minimum(low, np.min(z, axis=0)), np.maximum(high, np.max(z, axis=0))
        mean, value = mean + share @ (rows - first), value + share @ np.asarray(network.activation(z))
        largest = np.maximum(largest, np.max(_slopes(network, z), axis=0, initial=0.0))
    scale, strength, active = np.zeros(()), np.zeros(()), np.zeros(())
    for rows, z, share in _blocks(network, X, shares):
        scale = scale + share @ (rows - mean) ** 2
        strength = strength + share @ (np.asarray(network.activation(z)) - value) ** 2
        active = active + share @ (_slopes(network, z) > _FLAT * largest)
    strength = np.abs(_leading(network)[1]) * np.sqrt(strength)
    between = [(low < kink) & (kink < high) for kink in network.activation.kinks]
    curved = np.full(len(low), network.activation.name not in _PIECEWISE_LINEAR)
    straight = ~np.any([curved, *between], axis=0)
    return {"mean": mean, "scale": np.sqrt(scale), "strength": strength, "active": active, "straight": straight}


def _blocks(network: Any, X: np.ndarray, share: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Inputs (r, d), pre-activations (r, k) and shares (r,) of some rows at a time."""
    for begin in range(0, len(X), _BLOCK):
        rows = network.rows(X[begin : begin + _BLOCK])
        yield rows.reshape(len(rows), -1), network.preactivations(rows), share[begin : begin + _BLOCK]


def _slopes(network: Any, z: np.ndarray) -> np.ndarray:
    return np.abs(np.asarray(network.activation.derivative(z)))


def displayed(network: Kind | None, uncertainty: Any = None) -> Any:
    """The canonical network that a page shows: the one that standard errors belong to, where there are some.

    >>> from planted.networks import Network
    >>> displayed(Network([[2.0, 0.0]], [1.0])).weights
    array([[1., 0.]])
    """
    if uncertainty is not None:
        return uncertainty.network
    return None if network is None else network.canonical()


def shown_errors(errors: Mapping[str, np.ndarray], estimate: Mapping[str, Any], exact: bool) -> dict[str, np.ndarray]:
    """Standard errors to be shown; NaN for numbers known to rounding, where the fit is `exact`: nothing else is left.

    Residuals of rounding are no noise, so that no standard error follows from them. Errors that are large for numbers
    of the same unit are shown.

    >>> shown_errors({"output": np.array([3e-17, 0.1])}, {"output": [0.8, 1.0]}, exact=True)
    {'output': array([nan, 0.1])}
    """
    if not exact:
        return dict(errors)
    size, shown = _sizes(errors, estimate), {}
    for name, error in errors.items():
        shown[name] = np.where(np.asarray(error) <= _ROUNDED * size[name], np.nan, error)
    return shown


def shown_network(network: Network, errors: Mapping[str, np.ndarray], exact: bool) -> Network:
    """The network with zeros where numbers that are known to rounding are zero but for rounding.

    >>> line = Network(np.zeros((0, 2)), np.zeros(0), skip=[2.0, 4e-16])
    >>> shown_network(line, {"skip": np.array([1e-17, 1e-17])}, exact=True).skip
    array([2., 0.])
    """
    if not exact:
        return network
    values, stated = network.arrays(), shown_errors(errors, network.arrays(), exact)
    size = _sizes(errors, values)
    zero = {
        name: np.where(np.isnan(error) & (np.abs(values[name]) <= _ZERO * size[name]), 0.0, values[name])
        for name, error in stated.items()
    }
    return network.replace(**zero)


def _sizes(errors: Mapping[str, np.ndarray], estimate: Mapping[str, Any]) -> dict[str, float]:
    """For each parameter the largest number of those that have its unit."""
    size = {name: float(np.max(np.abs(estimate[name]), initial=0.0)) for name in errors}
    return {
        name: max(size[other] for other in errors if (other in _OF_TARGET) == (name in _OF_TARGET)) for name in errors
    }
