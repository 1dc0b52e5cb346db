"""The assumptions of the theorems, checked on data, an activation and a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from planted import activations
from planted.activations import Activation
from planted.certificates._assumption import Assumption
from planted.certificates._assumption import assumption_row as _row
from planted.certificates._score_assumptions import score_assumptions
from planted.inputs import henze_zirkler
from planted.networks import Network
from planted.numerics.quadrature import gaussian_expectation
from planted.numerics.validation import as_matrix
from planted.objectives import Constants, Objective, Params, named
from planted.starts import neuron_moment

_SMALL = 0.01
_SIGNIFICANCE = 0.001
_ZERO = 1e-10
_SLOPE = 1e-7


def average_slope(activation: Activation, sigma: float) -> float:
    """μ(σ) = E[φ'(σg)], by Stein's identity from the first Hermite coefficient.

    >>> average_slope(activations.get("relu"), 2.0)
    0.5
    """
    return activation.hermite(1, sigma) / sigma


def average_curvature(activation: Activation, sigma: float) -> float:
    """γ(σ) = E[φ''(σg)], from the second Hermite coefficient.

    >>> round(average_curvature(activations.get("quadratic"), 3.0), 9)
    2.0
    """
    return 2**0.5 * activation.hermite(2, sigma) / sigma**2


def rho(activation: Activation, sigma: float) -> float:
    """ρ(σ) = min{β₀ − α₀² − α₁², β₂ − α₁² − α₂²} of Fu et al. (2018), Definition 1.

    α_q = E[φ'(σz) z^q], β_q = E[φ'(σz)² z^q].

    >>> rho(activations.get("sigmoid"), 1.0) > 0, abs(rho(activations.get("quadratic"), 1.0)) < 1e-9
    (True, True)
    """
    slope = lambda z: activation.derivative(sigma * z)  # noqa: E731
    kinks = tuple(kink / sigma for kink in activation.kinks)
    first = gaussian_expectation(lambda z: slope(z)[:, None] * z[:, None] ** np.arange(3), kinks=kinks)
    second = gaussian_expectation(lambda z: slope(z)[:, None] ** 2 * z[:, None] ** np.array([0, 2]), kinks=kinks)
    return float(min(second[0] - first[0] ** 2 - first[1] ** 2, second[1] - first[1] ** 2 - first[2] ** 2))


def _of_inputs(X: np.ndarray) -> Iterator[Assumption]:
    n, d = X.shape
    test = henze_zirkler(X)
    known = np.isfinite(test.p_value)
    yield _row(
        "inputs are Gaussian", bool(test.p_value >= _SIGNIFICANCE) if known else None, test.p_value,
        "ge2017 2.3, du2017 2.2, fu2018 1, soltanolkotabi2017 2.2 and 2.5", "p-value of Henze and Zirkler's test",
    )  # fmt: skip
    if n > 1:
        mean = np.abs(X.mean(axis=0)) * n**0.5
        second = np.abs(X.T @ X / n - np.eye(d)) * (n / (1 + np.eye(d))) ** 0.5
        worst = float(max(mean.max(), second.max()))
        # Bonferroni over the d + d(d+1)/2 moments.
        limit = float(norm.isf(_SIGNIFICANCE / (2 * (d + d * (d + 1) / 2))))
        yield _row(
            "inputs have mean zero and covariance I", worst <= limit, worst,
            "ge2017 2.3, du2017 2.2, fu2018 1", f"standard errors of the largest deviation, {limit:.2g} allowed",
        )  # fmt: skip


def _kept(weight: np.ndarray, seed: int = 0) -> np.ndarray:
    """Which rows (n,) are kept: each with probability weight / largest weight, all where weights are equal.

    >>> bool(np.all(_kept(np.ones(5)))), _kept(np.array([0.0, 2.0])).tolist()
    (True, [False, True])
    """
    return np.asarray(np.random.default_rng(seed).random(len(weight)) * weight.max() < weight)


def _of_activation(act: Activation, norms: np.ndarray) -> Iterator[Assumption]:
    fourth, second = act.hermite(4), act.hermite(2)
    first_bound, second_bound, third_bound = (act.derivative_bound(order) for order in (1, 2, 3))
    yield _row("σ̂₄ ≠ 0", abs(fourth) > _ZERO, fourth, "ge2017 2.3", "σ̂₄")
    yield _row("σ̂₂ ≠ 0", abs(second) > _ZERO, second, "ge2017 A.4 and A.5", "σ̂₂")
    scales = np.unique(np.concatenate([norms[norms > 0], np.geomspace(0.1, 10, 13)]))
    slopes = np.array([average_slope(act, s) for s in scales])
    curves = np.array([average_curvature(act, s) for s in scales])
    for name, values in (("μ(σ)", slopes), ("γ(σ)", curves)):
        sizes = np.abs(values)
        same = bool(np.all(sizes > _ZERO) and len(np.unique(np.sign(values))) == 1) or bool(np.all(sizes <= _ZERO))
        yield _row(
            f"{name} is zero everywhere or nowhere", same, sizes.min(), "soltanolkotabi2017 Assumption 2.3",
            f"least |{name}| at σ from 0.1 to 10",
        )  # fmt: skip
    bound = max(first_bound, second_bound)
    yield _row("φ' and φ'' are bounded", bool(np.isfinite(bound)), bound, "soltanolkotabi2017 2.5", "sup of both")
    bound = max(bound, third_bound)
    yield _row("φ', φ'' and φ''' are bounded", bool(np.isfinite(bound)), bound, "fu2018 1", "L_φ")


def _of_network(net: Network, mu: float | None, lam: float | None) -> Iterator[Assumption]:
    act, W = net.activation, net.weights
    k, d = W.shape
    norms = np.linalg.norm(W, axis=1)
    outputs = net.output * norms**act.homogeneity if act.homogeneity is not None else net.output
    yield _row("outputs are positive", bool(outputs.min() > 0), outputs.min(), "ge2017 2.3", "least output")
    positive = outputs.min() > 0
    kappa = outputs.max() / outputs.min() if positive else np.inf
    yield _row("κ* is finite", positive, kappa, "ge2017 2.3", "κ* = largest / least output")
    fourth = abs(act.hermite(4))
    if mu is not None:
        yield _row(
            "μ β_max ≤ c α_min", bool(mu * kappa / 12 <= _SMALL * (1 + 1e-9)), mu * kappa / 12,
            "ge2017 2.3 as Theorem 5.1 has it", f"μκ*/12, allowed {_SMALL}",
        )  # fmt: skip
    if lam is not None:
        needed = 4 * 6**0.5 * fourth * outputs.max() * max(1.0, (mu or 0.0) / 12)
        yield _row(
            "λ ≥ 4 max(μ β_max, α_max)", bool(lam >= needed * (1 - 1e-9)), lam / needed if needed > 0 else np.inf,
            "ge2017 2.3 as Theorem 5.1 has it", "λ / what is needed",
        )  # fmt: skip
    singular = np.linalg.svd(W, compute_uv=False)
    least = singular[-1] if k <= d else 0.0
    full = bool(least > 1e-10 * singular[0])
    condition = singular[0] / least if full else np.inf
    yield _row("weights have full rank k ≤ d", full, condition, "ge2017 A.4, fu2018 1", "condition number")
    unit = W / np.where(norms > 0, norms, 1.0)[:, None]
    off = float(np.abs(unit @ unit.T - np.eye(k)).max())
    yield _row("weights are orthogonal", off <= 1e-6, off, "ge2017 2.3", "largest |cosine| of two rows")
    if full:
        value = rho(act, float(least))
        yield _row("ρ(σ_k) > 0", value > _ZERO, value, "fu2018 1", "ρ(σ_k)")
    else:
        yield _row("ρ(σ_k) > 0", False, 0.0, "fu2018 1", "ρ(σ_k)")
    if act.name == "quadratic":
        plus, minus = int(np.sum(net.output > 0)), int(np.sum(net.output < 0))
        yield _row(
            "d positive and d negative outputs (k ≥ 2d)", min(plus, minus) >= d, min(plus, minus) / d,
            "soltanolkotabi2017 2.1", "the fewer of both / d",
        )  # fmt: skip
        yield _row(
            "d outputs of one sign, none of the other (k ≥ d)", min(plus, minus) == 0 and max(plus, minus) >= d,
            max(plus, minus) / d, "soltanolkotabi2017 2.2", "the more of both / d",
        )  # fmt: skip


def _of_tensor_start(act: Activation, norms: np.ndarray) -> Iterator[Assumption]:
    """Assumptions 3 and 4 of Fu et al. (2018), for neurons of these lengths.

    With linearly independent rows and a generic α the sums of Assumption 3 vanish only if their m_j do. Its second part
    asks for M₃ or M₄; what the decomposition needs is one of both for every neuron.
    """
    # Twelve digits, whatever the units of the inputs.
    lengths = np.unique([float(f"{length:.12g}") for length in norms[norms > 0]])
    moments = np.array([[neuron_moment(act, order, length) for order in range(1, 5)] for length in lengths])
    if len(lengths) == 0:
        return
    signal = float(np.abs(moments[:, 2:]).max(axis=1).min())
    yield _row(
        "every neuron has a third or fourth moment", signal > _ZERO, signal, "fu2018 3 (Assumption 3)",
        "least over neurons of max(|m₃|, |m₄|)",
    )  # fmt: skip
    present = np.flatnonzero(np.abs(moments).max(axis=0) > _ZERO)
    slope = 0.0
    if len(present):
        first, step = int(present[0]) + 1, 1e-4
        slope = min(
            abs(neuron_moment(act, first, (1 + step) * length) - neuron_moment(act, first, (1 - step) * length))
            / (2 * step * length)
            for length in lengths
        )
    yield _row(
        "the first moment that there is grows or falls with a neuron's length", slope > _SLOPE, slope,
        "fu2018 3 (Assumption 4)", "least |m′(‖w‖)|",
    )  # fmt: skip


def _of_constants(constants: Constants) -> Iterator[Assumption]:
    """What G, F and their relatives assume, from the outputs (or κ*_i) that the loss itself estimated."""
    least, most = constants.smallest_output, constants.largest_output
    needs = "ge2017 2.3 and A.4, gao2018 2 (Assumption 2(b))"
    yield _row("outputs are positive", least > 0, least, needs, "least output, as the loss estimates it")
    yield _row("κ* is finite", least > 0, most / least if least > 0 else np.inf, needs, "κ* = largest / least output")
    slack = 1 + 1e-9
    holds = constants.mu <= constants.largest_mu * slack
    share = constants.mu / constants.largest_mu if constants.largest_mu > 0 else np.inf
    yield _row("μ β_max ≤ c α_min", bool(holds), share, needs, "μ / what is allowed")
    holds = constants.lam * slack >= constants.smallest_lam
    yield _row(
        "λ ≥ 4 max(μ β_max, α_max)", bool(holds), constants.lam / constants.smallest_lam, needs, "λ / what is needed"
    )


def _of_size(n: int, d: int, k: int | None, act: Activation | None) -> Iterator[Assumption]:
    room = d * (d + 1) / 2
    if act is not None and act.name == "quadratic":
        yield _row(
            "n ≤ d(d+1)/2",
            n <= room,
            n / room,
            "soltanolkotabi2017 2.1 and 2.2 (zero training error)",
            "n / (d(d+1)/2)",
        )
    if k is not None:
        yield _row(
            "fewer samples than parameters", n <= k * d, n / (k * d), "soltanolkotabi2017 2.5 (n ≲ kd)", "n / (kd)"
        )
        need = d * k**3 * max(np.log(d), 1.0) ** 2
        # The theorem's constant is not known, so enough rows cannot be told; too few can.
        yield _row("n ≥ d poly(k, κ, log d, 1/ε)", False if n < d * k else None, n / (d * k), "fu2018 3", "n / (dk)")
        yield _row("n ≥ C dk³ log² d", False if n < d * k else None, n / need, "fu2018 1", "n / (dk³ log² d)")
    # The theorems name no polynomial; with fewer rows than inputs not even one neuron is determined.
    yield _row("n ≥ poly(d)", False if n < d else None, n / d, "ge2017 2.7, gao2018 3", "n / d")


def assumptions(
    X: ArrayLike | None = None,
    network: Network | None = None,
    activation: Any = None,
    mu: float | None = None,
    lam: float | None = None,
    weight: ArrayLike | None = None,
) -> list[Assumption]:
    """Check what the theorems assume, on as much as is given.

    Parameters
    ----------
    X : array (n, d), optional
        Inputs.
    network : Network, optional
        The fitted network, standing in for the teacher. Of one without neurons, which the theorems are not about, only
        the inputs are looked at.
    activation : str, Activation or callable, optional
        The network's if omitted.
    mu, lam : float, optional
        Constants of the loss G or F that was minimised.
    weight : array (n,), optional
        Of the rows: their law is looked at on rows that are kept with probability weight / largest weight, which are
        independent draws of the law that the weights make.

    Returns
    -------
    list of Assumption
        "unknown" where a theorem leaves its constant open or the data do not tell.

    Examples
    --------
    >>> table = assumptions(network=Network(np.eye(3), np.ones(3)), mu=0.1, lam=2.0)
    >>> {row.name: row.status for row in table}["weights are orthogonal"]
    'holds'
    """
    act = activations.get(activation) if activation is not None else None
    inputs = None if X is None else as_matrix("X", X)
    share = None if weight is None else as_matrix("weight", weight, 1)
    return _table(inputs, network, act, mu, lam, share)


def _table(
    inputs: np.ndarray | None,
    network: Network | None,
    act: Activation | None,
    mu: float | None = None,
    lam: float | None = None,
    weight: np.ndarray | None = None,
) -> list[Assumption]:
    """The rows of the table for inputs (n, d), a network and its activation, as many as are given."""
    rows: list[Assumption] = []
    if network is not None and not network.n_hidden:
        network = None
    if act is None and network is not None:
        act = network.activation
    if inputs is not None:
        rows += _of_inputs(inputs if weight is None else inputs[_kept(weight)])
    if act is not None:
        norms = np.linalg.norm(network.weights, axis=1) if network is not None else np.ones(1)
        rows += _of_activation(act, norms)
    if network is not None:
        rows += _of_network(network, mu, lam)
        rows += _of_tensor_start(network.activation, np.linalg.norm(network.weights, axis=1))
    if inputs is not None:
        rows += _of_size(inputs.shape[0], inputs.shape[1], network.n_hidden if network is not None else None, act)
    return rows


def assumptions_of(objective: Objective, params: Params, network: Any) -> list[Assumption]:
    """The table for an objective at a point: its rows, its activation, its constants, and the network of `params`.

    >>> from planted.objectives import PopulationSquared
    >>> loss = PopulationSquared(Network(np.eye(2), np.ones(2)))
    >>> len(assumptions_of(loss, np.eye(2), loss.network(np.eye(2)))) > 5
    True
    """
    whole = None if objective.rows is None else objective.rows.in_memory()
    X = weight = None
    if whole is not None:
        live = whole["weight"] > 0
        # Patches of a convolutional row are inputs side by side.
        X, weight = whole["x"].reshape(len(live), -1)[live], np.asarray(whole["weight"])[live]
    # The theorems are about one output.
    single = "weights" in named(params) and isinstance(network, Network) and network.output.ndim <= 1
    rows = _table(X, network if single else None, objective.activation, weight=weight)
    rows += [] if objective.constants is None else _of_constants(objective.constants)
    return rows + list(score_assumptions(objective, params))
