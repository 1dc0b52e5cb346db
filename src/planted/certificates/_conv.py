r"""Which stationary point of Lemma 4.1 of Du et al. (2017) is this? For a shared ReLU filter, teacher known or not.

In expectation the points are known from the teacher (see :func:`planted.objectives.stationary_points`). At the filter
opposite to the teacher's, φ = π, the Hessian vanishes in every direction of the filter and a turn by t changes the loss
by c t³ + O(t⁴), c = −aᵀa*/(6π): a minimum for c > 0.

On data there is no teacher, but the lemma pairs the points: a network (w, a*) has its opposite point at (−w, a) with

    a = μ (π 1ᵀa*/(μk + π − μ) 1 − a*)/(π − μ),

and the loss there is higher by a known amount; μ is one for Gaussian patches, and (π/2) E|t_i||t_j| / E t² with t_i =
w·Z_i for other rotation-invariant ones, which is measured on the rows. So a point is told by its partner: turned
around, the spurious minimum falls, and the teacher's kind rises, by what the lemma predicts. Of that kind is the best
network of any rows, so that only one that explains them is called the teacher. Where the rows break the
lemma's assumptions (:func:`outside_theory`) the reason says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np

from planted.certificates._filter_coverage import outside_theory
from planted.inputs import white_coordinates
from planted.networks import ConvNetwork
from planted.numerics.precision import float64
from planted.objectives import (
    ConvSquared,
    Objective,
    Params,
    PopulationConv,
    best_output,
    nearest_stationary_point,
    row_jacobian,
    stationary_points,
)
from planted.rows import Block, over_rows

_AGREE = 0.5
_ERRORS = 4.0
# A share of the height of the opposite point below which nothing is left of the rows.
_EXPLAINED = 1e-12


@dataclass(frozen=True)
class ConvStationary:
    """A stationary point of Lemma 4.1.

    Attributes
    ----------
    name : "teacher", "spurious minimum", "opposite saddle" or "saddle between"
        On data, of that kind: that a network is not opposite to a teacher does not say that it made the rows.
    third_order : float
        c, for a turn t of the filter away from φ = π, in the loss c t³; zero at the other points.
    reason : str
    way : Params or None
        A direction down whose length matters, where the third order vanishes too.
    """

    name: str
    third_order: float
    reason: str
    way: Params | None = None


def _cubic(output: np.ndarray, target: np.ndarray) -> float:
    return -float(output @ target) / (6 * math.pi)


def _mirrored(network: ConvNetwork, mu: float) -> ConvNetwork | None:
    """The teacher whose opposite point `network` would be; None for one patch, where the outputs do not tell."""
    k, a = network.n_patches, network.output
    if k < 2:
        return None
    # Sums: 1ᵀa (μk + π − μ) = μ(k − 1) 1ᵀa*.
    total = a.sum() * (mu * k + math.pi - mu) / (mu * (k - 1))
    return ConvNetwork(-network.filter, math.pi * total / (mu * k + math.pi - mu) - (math.pi - mu) / mu * a)


def block_row_moments(block: Block, objective: ConvSquared, params: Params) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Σ ‖∇ of the row's loss‖², Σ mean_i t_i² and Σ mean_{i≠j} |t_i||t_j| over a block, t_i = filter·Z_i/‖filter‖.

    It holds the block's Jacobian.
    """
    unit = params["filter"] / jnp.linalg.norm(params["filter"])
    slope = objective.loss.slope(objective.predict(params, block["x"]), block["y"])
    norms = jnp.sum(row_jacobian(objective, params, block["x"]) ** 2, axis=1)
    sizes = jnp.abs(block["x"] @ unit)
    k = sizes.shape[1]
    squares = jnp.sum(sizes**2, axis=1)
    pairs = (jnp.sum(sizes, axis=1) ** 2 - squares) / max(k * (k - 1), 1)
    return tuple(jnp.sum(block["weight"] * part) for part in (slope**2 * norms, squares / k, pairs))  # type: ignore


@over_rows
def _row_moments(objective: ConvSquared, params: Params) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Means over rows of ‖∇ of the row's loss‖², t_i² and |t_i||t_j|, t_i = filter·Z_i/‖filter‖."""
    return objective.rows.mean(block_row_moments, objective.bare, params)


def _not_covered(objective: ConvSquared) -> str:
    """What the lemma does not cover in the rows, in words; empty if nothing is seen, or rows are not in memory."""
    whole = objective.rows.in_memory()
    if whole is None:
        return ""
    patches = np.asarray(whole["x"])[np.asarray(whole["weight"]) > 0]
    return outside_theory(patches, white_coordinates(patches.reshape(-1, patches.shape[2])))


@float64
def _on_data(objective: ConvSquared, params: Params, value: float, slope: float) -> ConvStationary | None:
    network = objective.network(params)
    if not np.any(network.output) or not np.any(network.filter):
        return None
    squares, spread, pairs = (float(part) for part in _row_moments(objective, objective.checked(params)))
    if slope > _ERRORS * math.sqrt(squares / float(objective.rows.total_weight)) + 1e-12 * (value + spread):
        return None

    # E|t|² = 2/π for Gaussian patches of second moment one, so that μ is one for them.
    mu = math.pi / 2 * pairs / spread if network.n_patches > 1 else 1.0
    if not 0 < mu < math.pi:
        return None

    def height(teacher: ConvNetwork) -> float:
        return spread * stationary_points(teacher, mu / (2 * math.pi))[-1].value

    def loss(other: ConvNetwork) -> float:
        return objective.value(objective.model.params(other))

    broken = _not_covered(objective)
    within, rest = ("like", f"; {broken}, which the lemma does not cover") if broken else ("within sampling error", "")
    mirror = _mirrored(network, mu)
    if mirror is not None and abs((value - loss(mirror)) / height(mirror) - 1) < _AGREE:
        cubic = spread * _cubic(network.output, mirror.output)
        name = "spurious minimum" if cubic > 0 else "opposite saddle"
        reason = (
            f"{within} the {name} of Lemma 4.1 (Du et al. 2017): the filter turned around, with the lemma's outputs, "
            f"lowers the loss by {value - loss(mirror):.4g} (predicted {height(mirror):.4g}), and a turn t from there "
            f"changes it by {cubic:.2g} t³{rest}"
        )
        return ConvStationary(name, cubic, reason)
    opposite = ConvNetwork(-network.filter, best_output(network, math.pi, mu / (2 * math.pi)))
    if abs((loss(opposite) - value) / height(network) - 1) < _AGREE:
        # A network that leaves something turns around like a teacher whether or not it made the rows.
        explained = value <= _EXPLAINED * height(network)
        what = f"{within} the teacher" if explained else "of the kind of the teacher, not of the spurious minimum,"
        reason = (
            f"{what} of Lemma 4.1 (Du et al. 2017): the loss of its opposite point is higher by "
            f"{loss(opposite) - value:.4g} (predicted {height(network):.4g}){rest}"
        )
        return ConvStationary("teacher", 0.0, reason)
    return None


def recognise(
    objective: Objective, params: Params, value: float, slope: float, tolerance: float = 1e-6
) -> ConvStationary | None:
    """The stationary point of Lemma 4.1 that `params`, of this value and length of the gradient, are, or None.

    It is known for ReLU losses of a shared filter only.

    On a population loss the point must be within `tolerance`. On data it must have a gradient within four standard
    errors of zero and a partner whose loss agrees with the lemma to a half; where patches overlap, depend on each
    other or prefer directions the reason says that the lemma does not cover them.

    >>> teacher = ConvNetwork([1.0, 0.0], [1.0, -1.0, 0.5])
    >>> trap = {"filter": np.array([-1.0, 0.0]), "output": best_output(teacher, np.pi)}
    >>> loss = PopulationConv(teacher)
    >>> recognise(loss, trap, loss.value(trap), 0.0).name
    'spurious minimum'
    """
    if not objective.shared_filter or objective.activation is None or objective.activation.name != "relu":
        return None
    if objective.rows is not None:
        return _on_data(cast(ConvSquared, objective), params, value, slope)
    teacher = cast(PopulationConv, objective).teacher
    if not np.any(teacher.output) or not np.any(params["filter"]):
        return None
    expected = cast(PopulationConv, objective)
    if not expected.normalised:
        return None
    point = nearest_stationary_point(teacher, params["filter"], params["output"], tolerance, expected.mean_square)
    if point is None:
        return None
    if point.angle == 0:
        return ConvStationary("teacher", 0.0, f"φ = 0 of Lemma 4.1 (Du et al. 2017): {point.reason}")
    if point.angle < math.pi:
        reason = f"the saddle at φ = {point.angle:.4f} between the minima of Lemma 4.1 (Du et al. 2017): {point.reason}"
        return ConvStationary("saddle between", 0.0, reason)
    cubic = _cubic(point.output, teacher.output) * expected.second
    name = "spurious minimum" if point.kind == "local minimum" else "opposite saddle"
    if len(teacher.filter) == 1 or abs(point.output @ teacher.output) <= 1e-9 * float(teacher.output @ teacher.output):
        return ConvStationary(
            name,
            0.0,
            f"φ = π of Lemma 4.1 (Du et al. 2017): {point.reason}",
            _followed(params, teacher, expected.mean_square),
        )
    reason = (
        f"φ = π of Lemma 4.1 (Du et al. 2017): the Hessian vanishes in every direction of the filter, and a turn t "
        f"changes the loss by {cubic:.2g} t³"
    )
    return ConvStationary(name, cubic, reason)


def _followed(params: Params, teacher: ConvNetwork, mean_square: float) -> Params | None:
    """A turn of half a radian from φ = π and the change of the output that follows it; None for one input."""
    way = turn(params)
    length = float(np.linalg.norm(way["filter"]))
    if length < 1e-12:
        return None
    angle = 0.5
    change = best_output(teacher, math.pi - angle, mean_square) - best_output(teacher, math.pi, mean_square)
    size = math.tan(angle) * float(np.linalg.norm(params["filter"])) / length
    return {"filter": size * way["filter"], "output": change}


def turn(params: Params) -> Params:
    """A direction that turns the filter and leaves the output, in the structure of `params`.

    >>> turn({"filter": np.array([2.0, 0.0]), "output": np.ones(1)})["filter"]
    array([0., 1.])
    """
    v = np.asarray(params["filter"], dtype=np.float64)
    axis = np.eye(len(v))[int(np.argmin(np.abs(v)))]
    across = axis - v * (axis @ v) / (v @ v)
    return {"filter": across, "output": np.zeros(np.shape(params["output"]))}
