"""The last stretch for a shared filter on data: least squares in a chart without symmetry, errors, a residual test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.networks import ConvNetwork
from planted.numerics.precision import float64, to_jax
from planted.objectives import ConvChart, ConvSquared, Params, curvature_matrix, is_small
from planted.rows import Block, over_rows
from planted.solvers import Descent, least_squares


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
    inputs = max(int(np.sum(second > 0)), 1)
    return ResidualTest(
        noise=math.sqrt(float(square) * n / freedom), excess=(statistic - inputs) / math.sqrt(2 * inputs)
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
    """Σ r U, Σ r² U² and Σ r² over a block, weighted, for residuals r and whitened inputs U."""
    z = objective.activation(block["x"] @ params["filter"])
    r = block["y"] - z @ params["output"]
    u, once, twice = block["x"] @ whitener, block["weight"] * r, block["weight"] * r * r
    return jnp.einsum("n,nij->ij", once, u), jnp.einsum("n,nij->ij", twice, u * u), jnp.sum(twice)


@over_rows
def _residual_moments(objective: ConvSquared, params: Params, whitener: jax.Array) -> tuple[jax.Array, ...]:
    return objective.rows.mean(block_residual_moments, objective.bare, params, whitener)
