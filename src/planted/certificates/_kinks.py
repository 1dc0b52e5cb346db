"""Where a loss is not smooth: samples that sit on a kink of the activation, and zero rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np

from planted.numerics.precision import float64
from planted.objectives import Fit, Objective, Params, is_small, kink_distances, named
from planted.rows import Block, over_rows


@dataclass(frozen=True)
class Kinks:
    """How near the samples come to a kink of the activation.

    Attributes
    ----------
    distance : float
        Smallest |w·x + b − kink| / (‖w‖‖x‖ + |b| + |kink|); infinite for a smooth loss.
    count : int
        Pairs (sample, neuron) within the tolerance.
    neuron, sample : int
        The nearest pair; the sample's number only where it is within the tolerance and in memory, otherwise −1.
    zero_rows : tuple of int
        Neurons whose weights are all zero, where a homogeneous activation puts every sample on its kink.
    jump : int
        Order of the derivative that jumps there: 1 for relu, leaky_relu and abs, 2 for squared_relu; 0 if none.
    """

    distance: float
    count: int
    neuron: int
    sample: int
    zero_rows: tuple[int, ...]
    jump: int

    @property
    def present(self) -> bool:
        """Whether the loss is not twice differentiable here."""
        return self.count > 0

    def __str__(self) -> str:
        if not self.present:
            return "no sample is on a kink of the activation"
        what = "gradient" if self.jump == 1 else "second derivative"
        zero = "; a neuron has zero weights" if self.zero_rows else ""
        plural = "s" if self.count > 1 else ""
        nearest = f" (nearest: row {self.sample + 1})" if self.sample >= 0 else ""
        return (
            f"non-smooth point: {self.count} pre-activation{plural} on a kink of the activation, whose {what} "
            f"jumps{nearest}{zero}"
        )


SMOOTH = Kinks(np.inf, 0, -1, -1, (), 0)
_ROWS_AT_ONCE = 8192


def _nearness(block: Block, objective: Fit, params: Params, kinks: jax.Array) -> jax.Array:
    """Relative distance (r, k) of every pre-activation to the nearest kink; infinite for rows that do not count."""
    z, bound = objective.model.preactivations(params, block["x"]), objective.model.reach(params, block["x"])
    gaps = jnp.stack([jnp.abs(z - kink) / jnp.maximum(bound + jnp.abs(kink), 1e-300) for kink in kinks])
    near = jnp.min(gaps, axis=0).reshape(len(z), -1)
    # A row of zeros moves no pre-activation, so it makes no kink.
    live = (block["weight"] > 0) & jnp.any(block["x"].reshape(len(z), -1) != 0, axis=1)
    return jnp.where(live[:, None], near, jnp.inf)


def block_nearest(block: Block, objective: Fit, params: Params, kinks: jax.Array) -> jax.Array:
    """The smallest relative distance to a kink of each neuron in a block."""
    return jnp.min(_nearness(block, objective, params, kinks), axis=0)


def block_kinks(block: Block, objective: Fit, params: Params, kinks: jax.Array, tolerance: jax.Array) -> jax.Array:
    """Pairs (sample, neuron) of a block within `tolerance` of a kink."""
    return jnp.sum(_nearness(block, objective, params, kinks) <= tolerance)


@over_rows
def _nearest(objective: Fit, params: Params, kinks: jax.Array) -> jax.Array:
    return objective.rows.minimum(block_nearest, objective.bare, params, kinks)


@over_rows
def _count(objective: Fit, params: Params, kinks: jax.Array, tolerance: jax.Array) -> jax.Array:
    return objective.rows.sum(block_kinks, objective.bare, params, kinks, tolerance)


def _sample(objective: Fit, params: Params, kinks: jax.Array, neuron: int) -> int:
    """The number of the sample nearest to a kink of a neuron; −1 where rows are not in memory."""
    whole = objective.rows.in_memory()
    if whole is None:
        return -1
    cuts = range(0, len(whole["weight"]), _ROWS_AT_ONCE)
    parts = ({name: leaf[start : start + _ROWS_AT_ONCE] for name, leaf in whole.items()} for start in cuts)
    return int(np.argmin(np.concatenate([_nearness(part, objective, params, kinks)[:, neuron] for part in parts])))


@float64
def find_kinks(objective: Objective, params: Params, tolerance: float = 1e-9) -> Kinks:
    """Samples within `tolerance` (relative) of a kink of the activation of an empirical loss.

    Population losses and losses made of Hermite polynomials are smooth away from zero rows and have none.

    >>> from planted.objectives import Squared
    >>> find_kinks(Squared([[1.0, 1.0]], [0.0]), np.array([[1.0, -1.0]])).present
    True
    >>> find_kinks(Squared([[1.0, 1.0]], [0.0]), np.array([[1.0, 0.5]])).present
    False
    """
    checked = objective.checked(params)
    activation = objective.activation
    if objective.model is None or activation is None or not activation.kinks:
        return SMOOTH
    if not np.size(named(checked).get("weights", 1.0)):
        return SMOOTH
    fit = cast(Fit, objective)
    if is_small(fit, checked):
        gaps = kink_distances(fit, checked, activation.kinks)
        neuron, best = int(gaps.min(axis=0).argmin()), float(gaps.min())
        count = int(np.sum(gaps <= tolerance))
        sample = int(gaps[:, neuron].argmin()) if count else -1
    else:
        places = jnp.asarray(activation.kinks)
        nearest = np.asarray(_nearest(fit, checked, places))
        neuron, best, count, sample = int(nearest.argmin()), float(nearest.min()), 0, -1
        if best <= tolerance:
            count = int(_count(fit, checked, places, jnp.asarray(tolerance)))
            sample = _sample(fit, checked, places, neuron)
    rows = [np.atleast_2d(leaf) for name, leaf in named(checked).items() if name in ("weights", "filter", "filters")]
    zero = tuple(int(i) for part in rows for i in np.flatnonzero(~np.any(part, axis=1)))
    sides = [activation.derivative(np.array([kink - 1e-9, kink + 1e-9])) for kink in activation.kinks]
    jump = 1 if max(abs(above - below) for below, above in sides) > 1e-6 else 2
    return Kinks(best, count, neuron, sample, zero, jump)
