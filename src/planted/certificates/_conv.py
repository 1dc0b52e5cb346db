r"""Which stationary point of Lemma 4.1 of Du et al. (2017) is this? For a shared ReLU filter, teacher known or not.

In expectation the points are known from the teacher (see :func:`planted.objectives.stationary_points`). At the filter
opposite to the teacher's, φ = π, the Hessian vanishes in every direction of the filter and a turn by t changes the loss
by c t³ + O(t⁴), c = −aᵀa*/(6π): a minimum for c > 0.

On data there is no teacher, but the lemma pairs the points: a network (w, a*) has its opposite point at (−w, a) with

    a = (π 1ᵀa*/(k + π − 1) 1 − a*)/(π − 1),

and the loss there is higher by a known amount. So a point is told by its partner: turned around, the spurious minimum
falls, and the teacher's kind rises, by what the lemma predicts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np

from planted.networks import ConvNetwork
from planted.numerics.precision import float64, to_jax
from planted.objectives import (
    ConvSquared,
    Objective,
    Params,
    PopulationConv,
    best_output,
    flatten,
    nearest_stationary_point,
    row_jacobian,
    stationary_points,
)
from planted.rows import Block, over_rows

_AGREE = 0.5
_ERRORS = 4.0


@dataclass(frozen=True)
class ConvStationary:
    """A stationary point of Lemma 4.1.

    Attributes
    ----------
    name : "teacher", "spurious minimum", "opposite saddle" or "saddle between"
    third_order : float
        c, for a turn t of the filter away from φ = π, in the loss c t³; zero at the other points.
    reason : str
    """

    name: str
    third_order: float
    reason: str


def _cubic(output: np.ndarray, target: np.ndarray) -> float:
    return -float(output @ target) / (6 * math.pi)


def _mirrored(network: ConvNetwork) -> ConvNetwork | None:
    """The teacher whose opposite point `network` would be; None for one patch, where the outputs do not tell."""
    k, a = network.n_patches, network.output
    if k < 2:
        return None
    total = a.sum() * (k + math.pi - 1) / (k - 1)
    return ConvNetwork(-network.filter, math.pi * total / (k + math.pi - 1) - (math.pi - 1) * a)


def block_row_moments(block: Block, objective: ConvSquared, params: Params) -> tuple[jax.Array, jax.Array]:
    """Σ ‖∇ of the row's loss‖² and Σ mean_i (w·Z_i)² over a block, w = filter/‖filter‖; holds the block's Jacobian."""
    unit = params["filter"] / jnp.linalg.norm(params["filter"])
    slope = objective.loss.slope(objective.predict(params, block["x"]), block["y"])
    norms = jnp.sum(row_jacobian(objective, params, block["x"]) ** 2, axis=1)
    spread = jnp.mean((block["x"] @ unit) ** 2, axis=1)
    return jnp.sum(block["weight"] * slope**2 * norms), jnp.sum(block["weight"] * spread)


@over_rows
def _row_moments(objective: ConvSquared, params: Params) -> tuple[jax.Array, jax.Array]:
    """Means over rows of ‖∇ of the row's loss‖² and of (w·Z_i)², w = filter/‖filter‖."""
    return objective.rows.mean(block_row_moments, objective.bare, params)


@float64
def _on_data(objective: ConvSquared, params: Params) -> ConvStationary | None:
    network = objective.network(params)
    if not np.any(network.output) or not np.any(network.filter):
        return None
    value, gradient = objective.value_and_gradient(params)
    squares, spread = (float(part) for part in _row_moments(objective, to_jax(objective.check(params))))
    slope = float(np.linalg.norm(flatten(gradient)))
    if slope > _ERRORS * math.sqrt(squares / float(objective.rows.total_weight)) + 1e-12 * (value + spread):
        return None

    def height(teacher: ConvNetwork) -> float:
        return spread * stationary_points(teacher)[-1].value

    def loss(other: ConvNetwork) -> float:
        return objective.value(objective.model.params(other))

    mirror = _mirrored(network)
    if mirror is not None and abs((value - loss(mirror)) / height(mirror) - 1) < _AGREE:
        cubic = spread * _cubic(network.output, mirror.output)
        name = "spurious minimum" if cubic > 0 else "opposite saddle"
        reason = (
            f"within sampling error the {name} of Lemma 4.1 (Du et al. 2017): the filter turned around, with the "
            f"lemma's outputs, lowers the loss by {value - loss(mirror):.4g} (predicted {height(mirror):.4g}), and a "
            f"turn t from there changes it by {cubic:.2g} t³"
        )
        return ConvStationary(name, cubic, reason)
    opposite = ConvNetwork(-network.filter, best_output(network, math.pi))
    if abs((loss(opposite) - value) / height(network) - 1) < _AGREE:
        reason = (
            "within sampling error the teacher of Lemma 4.1 (Du et al. 2017): the loss of its opposite point is higher "
            f"by {loss(opposite) - value:.4g} (predicted {height(network):.4g})"
        )
        return ConvStationary("teacher", 0.0, reason)
    return None


def recognise(objective: Objective, params: Params, tolerance: float = 1e-6) -> ConvStationary | None:
    """The stationary point of Lemma 4.1 that `params` are, or None; for ReLU losses of a shared filter only.

    On a population loss the point must be within `tolerance`. On data it must have a gradient within four standard
    errors of zero and a partner whose loss agrees with the lemma to a half, which supposes patches that are nearly
    Gaussian and independent.

    >>> teacher = ConvNetwork([1.0, 0.0], [1.0, -1.0, 0.5])
    >>> trap = {"filter": np.array([-1.0, 0.0]), "output": best_output(teacher, np.pi)}
    >>> recognise(PopulationConv(teacher), trap).name
    'spurious minimum'
    """
    if not objective.shared_filter or objective.activation is None or objective.activation.name != "relu":
        return None
    if objective.rows is not None:
        return _on_data(cast(ConvSquared, objective), params)
    teacher = cast(PopulationConv, objective).teacher
    if not np.any(teacher.output) or not np.any(params["filter"]):
        return None
    point = nearest_stationary_point(teacher, params["filter"], params["output"], tolerance)
    if point is None:
        return None
    if point.angle == 0:
        return ConvStationary("teacher", 0.0, f"φ = 0 of Lemma 4.1 (Du et al. 2017): {point.reason}")
    if point.angle < math.pi:
        reason = f"the saddle at φ = {point.angle:.4f} between the minima of Lemma 4.1 (Du et al. 2017): {point.reason}"
        return ConvStationary("saddle between", 0.0, reason)
    cubic = _cubic(point.output, teacher.output)
    name = "spurious minimum" if point.kind == "local minimum" else "opposite saddle"
    reason = (
        f"φ = π of Lemma 4.1 (Du et al. 2017): the Hessian vanishes in every direction of the filter, and a turn t "
        f"changes the loss by {cubic:.2g} t³"
    )
    return ConvStationary(name, cubic, reason)


def turn(params: Params) -> Params:
    """A direction that turns the filter and leaves the output, in the structure of `params`.

    >>> turn({"filter": np.array([2.0, 0.0]), "output": np.ones(1)})["filter"]
    array([0., 1.])
    """
    v = np.asarray(params["filter"], dtype=np.float64)
    axis = np.eye(len(v))[int(np.argmin(np.abs(v)))]
    across = axis - v * (axis @ v) / (v @ v)
    return {"filter": across, "output": np.zeros(np.shape(params["output"]))}
