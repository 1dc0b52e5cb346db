"""The last stretch for a shared filter on data: least squares in a chart without symmetry, errors, a residual test."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import null_space

from planted.activations import Activation
from planted.networks import ConvNetwork
from planted.numerics.precision import float64, to_jax
from planted.objectives import (
    ConvSquared,
    FilterCoordinates,
    Fit,
    Model,
    Params,
    SquaredError,
    curvature_matrix,
    is_small,
)
from planted.rows import Block, over_rows
from planted.solvers import Descent, least_squares


class FilterChart(Model):
    """Z ↦ Σ_i output_i φ(w·Z_i) over {"output": (k,), "tangent": (q,)}, where the filter w is base + basis·tangent."""

    _arrays = ("base", "basis")
    _static = ("activation",)
    on_host = True

    def __init__(self, activation: Activation, base: jax.Array, basis: jax.Array) -> None:
        self.activation, self.base, self.basis = activation, base, basis

    def check_shapes(self, arrays: dict[str, np.ndarray], row_shape: tuple[int, ...]) -> None:
        """Output (k,) and tangent (q,)."""
        if set(arrays) != {"output", "tangent"} or arrays["tangent"].shape != self.basis.shape[1:]:
            raise ValueError(f"expected an output and a tangent of {self.basis.shape[1]} entries")

    def preactivations(self, params: Params, x: jax.Array) -> jax.Array:
        """w·Z_i (r, k)."""
        return x @ (self.base + self.basis @ params["tangent"])

    def reach(self, params: Params, x: jax.Array) -> jax.Array:
        """‖w‖‖Z_i‖ (r, k)."""
        return jnp.linalg.norm(x, axis=-1) * jnp.linalg.norm(self.base + self.basis @ params["tangent"])

    def predict(self, params: Params, x: jax.Array) -> jax.Array:
        """Network output (r,) for patches x (r, k, p), traceable."""
        return self.activation(self.preactivations(params, x)) @ params["output"]

    def filter_coordinates(self, params: Params) -> FilterCoordinates:
        """base + basis·tangent."""
        base, basis = np.asarray(self.base), np.asarray(self.basis)
        filters = (base + basis @ np.asarray(params["tangent"]))[None]
        return FilterCoordinates("tangent", filters, np.asarray(params["output"])[None], basis)

    def params(self, network: ConvNetwork) -> dict[str, np.ndarray]:
        """The place of a canonical network in the chart."""
        tangent = np.linalg.lstsq(np.asarray(self.basis), network.filter - np.asarray(self.base))[0]
        return {"output": network.output, "tangent": tangent}

    def network(self, params: Params) -> ConvNetwork:
        """The network at a place of the chart, in canonical form."""
        direction = np.asarray(self.base) + np.asarray(self.basis) @ np.asarray(params["tangent"])
        return ConvNetwork(direction, params["output"], self.activation).canonical()

    def symmetries(self, arrays: dict[str, np.ndarray], silent: np.ndarray) -> Iterator[Any]:
        """None: that is what the chart is for."""
        return iter(())


class ConvChart(Fit):
    """The squared loss over {"output": (k,), "tangent": (q,)}, where the filter is base + basis·tangent.

    For a positively homogeneous φ the filter's length is free, which leaves the normal equations singular; here
    q = p − 1, `base` is the filter to polish and `basis` (p, q) spans its complement. For other φ, q = p and base = 0.

    >>> from planted.datasets import make_planted_conv
    >>> data = make_planted_conv(50, 2, 3, random_state=0)
    >>> chart, point = ConvChart.at(ConvSquared(data.X, data.y), data.teacher)
    >>> point["tangent"].shape, chart.value(point) < 1e-25
    ((2,), True)
    """

    model: FilterChart

    @classmethod
    @float64
    def at(cls, objective: ConvSquared, network: ConvNetwork) -> tuple[ConvChart, dict[str, np.ndarray]]:
        """The chart around a network, over an objective's rows, and the network's place in it."""
        network = network.canonical()
        p = network.patch_size
        if objective.normalised:
            base, basis, tangent = network.filter, null_space(network.filter[None]), np.zeros(p - 1)
        else:
            base, basis, tangent = np.zeros(p), np.eye(p), network.filter
        model = FilterChart(objective.activation, to_jax(base), to_jax(basis))
        return cls.composed(objective.rows, model, SquaredError()), {"output": network.output, "tangent": tangent}

    def network(self, params: Params) -> ConvNetwork:
        """The network at a place of the chart, in canonical form."""
        return self.model.network(params)


def polish(objective: ConvSquared, network: ConvNetwork, steps: int = 60) -> tuple[ConvNetwork, Descent]:
    """Levenberg–Marquardt on all rows from a network that is already near.

    >>> from planted.datasets import make_planted_conv
    >>> data = make_planted_conv(500, 2, 3, random_state=0)
    >>> near = ConvNetwork(data.teacher.filter + 0.1, data.teacher.output)
    >>> polish(ConvSquared(data.X, data.y), near)[1].value < 1e-24
    True
    """
    chart, start = ConvChart.at(objective, network)
    loose: Any = chart
    descent = least_squares(loose, start, steps=steps)
    return chart.network(descent.params), descent


@float64
def expected_error(objective: ConvSquared, network: ConvNetwork, noise: float) -> float:
    """The Cramér–Rao bound on the relative error of (output, filter), for Gaussian noise of this standard deviation.

    √(tr C_aa/‖a‖² + tr C_ww/‖w‖²) with C = noise² (JᵀJ)⁻¹ in the chart of the network, J over the objective's rows. For
    a 1-homogeneous φ it bounds the root mean square of `weight_error`. Infinite if the rows leave a parameter open.

    >>> from planted.datasets import make_planted_conv
    >>> data = make_planted_conv(500, 2, 3, random_state=0)
    >>> round(expected_error(ConvSquared(data.X, data.y), data.teacher, 0.0), 6)
    0.0
    """
    chart, point = ConvChart.at(objective, network)
    loose: Any = chart
    gram = np.asarray(curvature_matrix(loose, to_jax(point))[0]) * float(objective.rows.total_weight)
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return math.inf
    variances = noise**2 * np.sum(np.linalg.inv(factor) ** 2, axis=0)
    k = len(point["output"])
    length = 1.0 if objective.normalised else float(np.sum(network.filter**2))
    size = float(np.sum(network.canonical().output ** 2))
    if size == 0 or length == 0:
        return math.inf
    return math.sqrt(variances[:k].sum() / size + variances[k:].sum() / length)


@dataclass(frozen=True)
class ResidualTest:
    """Whether residuals still carry a linear trace of the inputs.

    Attributes
    ----------
    noise : float
        Standard deviation of the residuals, with p + k − 1 degrees of freedom taken off.
    excess : float
        (T − kp)/√(2kp), T = n Σ_ij mean(r U_ij)²/mean(r² U_ij²) over the whitened inputs U: about a standard normal
        number or below when the residuals are noise, and growing like n otherwise. At the spurious minimum
        E[r Z_i] = ½ (a_i + a*_i) w* for ReLU.
    """

    noise: float
    excess: float


@float64
def residual_test(objective: ConvSquared, network: ConvNetwork, whitener: np.ndarray) -> ResidualTest:
    """Test the residuals of a network on an objective's rows; `whitener` (p, p) makes patches Z_i·whitener white.

    >>> from planted.datasets import make_planted_conv
    >>> data = make_planted_conv(2000, 2, 3, noise=0.1, random_state=0)
    >>> test = residual_test(ConvSquared(data.X, data.y), data.teacher, np.eye(3))
    >>> 0.09 < test.noise < 0.11, test.excess < 4
    (True, True)
    """
    params = {"filter": network.filter, "output": network.output}
    if is_small(objective, params):
        first, second, square = _moments_on_host(objective, network, whitener)
    else:
        first, second, square = _residual_moments(objective, to_jax(params), to_jax(whitener))
    n = float(objective.rows.total_weight)
    freedom = max(n - network.patch_size - network.n_patches + 1, 1.0)
    second = np.asarray(second)
    statistic = n * float(np.sum(np.asarray(first) ** 2 / np.where(second > 0, second, 1.0)))
    return ResidualTest(
        noise=math.sqrt(float(square) * n / freedom), excess=(statistic - second.size) / math.sqrt(2 * second.size)
    )


def _moments_on_host(
    objective: ConvSquared, network: ConvNetwork, whitener: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means of r U, r² U² and r² in NumPy, as :func:`block_residual_moments` adds them up."""
    x, y, weight = objective.rows.on_host  # type: ignore[attr-defined]
    r, u = y[:, 0] - network.predict(x), x @ whitener
    return np.tensordot(weight * r, u, 1), np.tensordot(weight * r * r, u * u, 1), np.sum(weight * r * r)


def block_residual_moments(
    block: Block, objective: ConvSquared, params: Params, whitener: jax.Array
) -> tuple[jax.Array, ...]:
    """Σ r U, Σ r² U² and Σ r² over a block, for residuals r and whitened inputs U."""
    z = objective.activation(block["x"] @ params["filter"])
    r = block["weight"] * (block["y"] - z @ params["output"])
    u = block["x"] @ whitener
    return jnp.einsum("n,nij->ij", r, u), jnp.einsum("n,nij->ij", r * r, u * u), jnp.sum(r * r)


@over_rows
def _residual_moments(objective: ConvSquared, params: Params, whitener: jax.Array) -> tuple[jax.Array, ...]:
    return objective.rows.mean(block_residual_moments, objective.bare, params, whitener)
