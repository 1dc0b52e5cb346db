r"""The tensor start: Algorithm 2 of Fu et al. (2018), after Zhong et al. (2017).

1. The span V of the neurons from P₂ = M_{j₂}(I, I, α, …), by subspace iteration with products P₂V only.
2. Their directions from R₃ = M_{j₃}(V, V, V, …), by simultaneous diagonalisation.
3. Their lengths and signs from the lowest non-zero moment by inverting m_l(‖w‖), eq. 73 to 79; no homogeneity.

Two departures from the paper. α is M₁ where that does not vanish: a random α has w̄_i·α of order 1/√d, α ∝ M₁ of order
1/√k, at the same noise. And the targets first lose their least-squares quadratic part, which carries no third or
fourth Hermite moment but most of the variance. Both are options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from scipy.optimize import brentq

from planted.activations import Activation
from planted.names import count_of
from planted.numerics import random
from planted.numerics.decompositions import svd
from planted.numerics.precision import float64
from planted.rows import ArrayRows, Rows, over_rows
from planted.rows.moments import without_lower_parts
from planted.starts._joint_diagonal import Decomposition, decompose
from planted.starts._tensor_moments import (
    Orders,
    choose_orders,
    contracted_matrix,
    neuron_moment,
    projected_tensor,
    unfolded,
)

_POWER_STEPS = 30
_UNFOLDINGS = 5
_ALPHAS = 6
SIGMAS = np.geomspace(0.05, 60.0, 61)
"""Lengths among which the inverse of m_l is looked for."""


class NoInverse(ArithmeticError):
    """A moment has a value that no, or more than one, length of a neuron explains."""


@dataclass(frozen=True, eq=False)
class TensorStart:
    """Where the tensor method begins.

    Attributes
    ----------
    weights : array (k, d)
        Rows w_i; unit directions, signs undecided, if `status` is "directions only".
    output : array (k,)
        Given, or estimated outputs; NaN for "directions only".
    status : "ok" or "directions only"
    reason : str
    orders : Orders
    spectrum : array (k + 1,)
        Largest singular values of the matrix that gave the span; the last one is noise.
    residual : float
        Share of the moment tensor that k neurons do not explain.
    details : dict
    """

    weights: np.ndarray
    output: np.ndarray
    status: str
    reason: str
    orders: Orders
    spectrum: np.ndarray
    residual: float
    details: dict[str, Any] = field(default_factory=dict)


def invert_moment(function: Callable[[float], float], value: float, what: str) -> float:
    """The one σ in 0.05 … 60 with function(σ) = value, or :class:`NoInverse` (Assumption 4).

    >>> round(invert_moment(lambda s: s / 2, 1.5, "m₁(σ)"), 9)
    3.0
    >>> invert_moment(lambda s: 1 - 1 / s, 2.0, "m₁(σ)")
    Traceback (most recent call last):
    planted.starts._tensor.NoInverse: m₁(σ) lies between -19 and 0.983 for σ from 0.05 to 60 but was measured as 2
    """
    values = np.array([function(float(sigma)) for sigma in SIGMAS])
    crossings = np.flatnonzero(np.sign(values[:-1] - value) * np.sign(values[1:] - value) <= 0)
    if not len(crossings):
        raise NoInverse(
            f"{what} lies between {values.min():.3g} and {values.max():.3g} for σ from {SIGMAS[0]:g} to "
            f"{SIGMAS[-1]:g} but was measured as {value:.3g}"
        )
    if len(crossings) > 1:
        raise NoInverse(
            f"{what} takes the measured value {value:.3g} at {len(crossings)} lengths σ: it is not monotone"
        )
    i = crossings[0]
    return float(brentq(lambda sigma: function(sigma) - value, SIGMAS[i], SIGMAS[i + 1]))


def _third(index: int, split: bool, X: np.ndarray, y: np.ndarray) -> ArrayRows:
    part = slice(index, None, 3) if split else slice(None)
    return ArrayRows(np.asarray(X[part], np.float64), np.asarray(y[part], np.float64))


_cleared = over_rows(without_lower_parts)
_product = over_rows(contracted_matrix, static_argnums=(1,))
_unfolded = over_rows(unfolded)
_tensor = over_rows(projected_tensor, static_argnums=(1,))


def _span(
    rows: Rows, fit: Any, orders: Orders, k: int, alpha: np.ndarray, key: jax.Array
) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal V (d, k) and the k + 1 largest singular values of what gave it."""
    (d,) = rows.shape
    if orders.subspace == 2:
        values, vectors = np.linalg.eigh(np.asarray(fit.quadratic))
        order = np.argsort(-np.abs(values))
        return vectors[:, order[:k]], np.abs(values[order[: k + 1]])
    V = np.linalg.qr(np.asarray(random.normal(key, (d, min(k + 2, d)))))[0]
    for _ in range(_POWER_STEPS):
        V = np.linalg.qr(np.asarray(_product(rows, orders.subspace, alpha, V)))[0]
    values, vectors = np.linalg.eigh(V.T @ np.asarray(_product(rows, orders.subspace, alpha, V)))
    order = np.argsort(-np.abs(values))
    spectrum = np.abs(values[order[: k + 1]])
    V = V @ vectors[:, order[:k]]
    if orders.subspace == 3:
        # All of M₃(I, V, V), not one slice of it: neurons that α happens to miss come back.
        for _ in range(_UNFOLDINGS):
            left, singular, _ = svd(np.asarray(_unfolded(rows, V)))
            V, spectrum = left[:, :k], singular[: k + 1]
    return V, spectrum


def _coefficients(order: int, U: np.ndarray, fit: Any, V: np.ndarray, tensor: Decomposition, third: int) -> np.ndarray:
    """b_i with M_l(V, …, V) = Σ_i b_i û_i^{⊗l}, that is a_i m_l(σ_i) s_i^l where û_i = s_i Vᵀw̄_i (eq. 76)."""
    if order == 1:
        return np.linalg.lstsq(U, V.T @ np.asarray(fit.linear), rcond=None)[0]
    if order == 2:
        squares = np.einsum("ia,ja->ija", U, U).reshape(-1, U.shape[1])
        return np.linalg.lstsq(squares, (V.T @ np.asarray(fit.quadratic) @ V).ravel(), rcond=None)[0]
    assert order == third
    return tensor.coefficients


def _magnitudes(
    activation: Activation, orders: Orders, measured: dict[int, np.ndarray], output: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lengths, signs and outputs (k,) of the neurons from b_i = a_i m_l(σ_i) s_i^l at the orders l in `measured`."""

    def m(order: int) -> Callable[[float], float]:
        return lambda sigma: neuron_moment(activation, order, sigma)

    k = len(next(iter(measured.values())))
    lengths, signs = np.ones(k), np.ones(k)
    odd = next((order for order in measured if order % 2), None)
    even = next((order for order in measured if order % 2 == 0), None)
    first = orders.magnitude
    if output is not None:
        values = measured[first] / output
        if odd is not None:
            typical = np.sign(m(odd)(1.0))
            signs = np.where(measured[odd] * np.sign(output) * typical < 0, -1.0, 1.0)
        norms = [invert_moment(m(first), v * s**first, f"m_{first}(σ)") for v, s in zip(values, signs, strict=True)]
        return np.array(norms), signs, output
    # With a homogeneous φ the length is part of the output: unit rows.
    if activation.homogeneity is None:
        second = next(order for order in measured if order != first)
        ratios = measured[second] / measured[first]
        # s^(second − first) changes the sign of the ratio where one order is even and the other odd.
        if (second - first) % 2:
            ratios = np.abs(ratios) * np.sign(m(second)(1.0) / m(first)(1.0))
        lengths = np.array(
            [
                invert_moment(lambda s: m(second)(s) / m(first)(s), float(r), f"m_{second}(σ)/m_{first}(σ)")
                for r in ratios
            ]
        )
    moments = np.array([m(first)(float(sigma)) for sigma in lengths])
    outputs = measured[first] / moments
    if odd is not None and even is not None:
        at = even if first % 2 else first
        truth = measured[at] / np.array([m(at)(float(sigma)) for sigma in lengths])
        odd_part = measured[odd] / np.array([m(odd)(float(sigma)) for sigma in lengths])
        signs = np.where(truth * odd_part < 0, -1.0, 1.0)
        outputs = signs * outputs if first % 2 else outputs
    return lengths, signs, outputs


@float64
def tensor_start(
    X: np.ndarray,
    y: np.ndarray,
    n_hidden: int,
    activation: Activation,
    *,
    key: jax.Array,
    output: np.ndarray | None = None,
    split: bool = False,
    alpha: str = "mean",
) -> TensorStart:
    """Weights near those of the network behind standard Gaussian rows X (n, d), from moments alone.

    Parameters
    ----------
    output : array (k,), optional
        Known outputs, such as 1/k for classification. Otherwise they are estimated: for a homogeneous φ with unit
        rows, else from a second order of moments; for a φ that is odd about a constant up to the sign of each neuron.
    split : bool
        Estimate the span, the directions and the lengths from three separate thirds of the rows, as the paper does.
    alpha : "mean" or "random"
        The vector α of Definition 3.

    Examples
    --------
    >>> from planted import activations, datasets
    >>> data = datasets.make_planted(20_000, 6, 2, activation="tanh", output=[1.0, 2.0], random_state=0)
    >>> start = tensor_start(data.X, data.y, 2, activations.get("tanh"), key=jax.random.key(0))
    >>> start.status, bool(np.abs(np.sort(np.abs(start.output)) - [1.0, 2.0]).max() < 0.2)
    ('ok', True)
    """
    plain = [_third(i, split, X, y) for i in range(3 if split else 1)]
    return start_from_moments(plain, len(X), n_hidden, activation, key=key, output=output, alpha=alpha)


@float64
def start_from_moments(
    parts: Sequence[Rows],
    n_rows: int,
    n_hidden: int,
    activation: Activation,
    *,
    key: jax.Array,
    output: np.ndarray | None = None,
    alpha: str = "mean",
) -> TensorStart:
    """:func:`tensor_start` over rows, wherever they are: one part for all stages, or three for the three stages.

    Parameters
    ----------
    parts : sequence of Rows
        With standard Gaussian inputs.
    n_rows : int
        Of all parts together.

    Examples
    --------
    >>> from planted import activations, datasets
    >>> data = datasets.make_planted(20_000, 6, 2, activation="tanh", output=[1.0, 2.0], random_state=0)
    >>> with jax.enable_x64(True):
    ...     rows = ArrayRows(data.X, data.y)
    >>> start_from_moments([rows], 20_000, 2, activations.get("tanh"), key=jax.random.key(0)).status
    'ok'
    """
    plain = parts
    k, (d,) = n_hidden, plain[0].shape
    if not 1 <= k <= d:
        raise ValueError(f"the tensor start needs at most as many neurons as inputs, but {k} > {d}")
    if alpha not in ("mean", "random"):
        raise ValueError(f"alpha must be 'mean' or 'random', not {alpha!r}")
    orders = choose_orders(activation)
    unknowns = 1 + d + d * (d + 1) // 2
    if n_rows // len(plain) < 2 * unknowns:
        raise ValueError(
            f"{n_rows} rows are too few for moments of {d} inputs: a quadratic fit has {unknowns} unknowns"
        )
    span_key, alpha_key, seed_key = random.split(key, 3)
    rng = np.random.default_rng(random.bits(seed_key, (4,)))

    rest, fits = zip(*(_cleared(rows) for rows in plain), strict=True)

    direction = np.asarray(
        fits[0].linear if alpha == "mean" and orders.magnitude == 1 else random.normal(alpha_key, (d,))
    )
    direction = direction / max(float(np.linalg.norm(direction)), 1e-300)
    V, spectrum = _span(rest[0], fits[0], orders, k, direction, span_key)
    alphas = np.ones((1, k)) if orders.decomposition == 3 else rng.standard_normal((min(k, _ALPHAS), k))
    tensors = np.asarray(_tensor(rest[len(rest) // 2], orders.decomposition, V, alphas))
    decomposition = decompose(tensors, rng)

    U, basis = decomposition.factors, V
    directions = (basis @ U).T
    if orders.decomposition == 3:
        own = decomposition.coefficients[0]
    else:
        # c_mi = b_i (û_i·α_m): least squares over the m contractions.
        overlap = alphas @ U
        own = np.sum(decomposition.coefficients * overlap, axis=0) / np.sum(overlap**2, axis=0)
    tensor = decomposition._replace(coefficients=own)
    low = [order for order in orders.nonzero if order <= 2 or order == orders.decomposition]
    measured = {order: _coefficients(order, U, fits[-1], basis, tensor, orders.decomposition) for order in low}
    details = {"moments": measured, "rows_a_part": n_rows // len(plain)}
    try:
        lengths, signs, outputs = _magnitudes(activation, orders, measured, output)
    except NoInverse as error:
        return TensorStart(
            directions,
            np.full(k, np.nan),
            "directions only",
            str(error),
            orders,
            spectrum,
            decomposition.residual,
            details,
        )
    share = f"{100 * (1 - decomposition.residual**2):.1f} %"
    reason = f"{count_of(k, 'neuron explains', 'neurons explain')} {share} of the order-{orders.decomposition} moment"
    weights = directions * (signs * lengths)[:, None]
    return TensorStart(weights, outputs, "ok", reason, orders, spectrum, decomposition.residual, details)
