"""Where a loss is not smooth: samples that sit on a kink of the activation, and zero rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.numerics.precision import float64
from planted.objectives import Objective, Params
from planted.rows import Block


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
        The nearest pair, or −1.
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
        zero = f"; neuron {self.zero_rows[0]} has zero weights" if self.zero_rows else ""
        plural = "s" if self.count > 1 else ""
        return (
            f"non-smooth point: {self.count} pre-activation{plural} on a kink of the activation, whose {what} jumps "
            f"(nearest: sample {self.sample}, neuron {self.neuron}){zero}"
        )


SMOOTH = Kinks(np.inf, 0, -1, -1, (), 0)


def _pre_activations(objective: Any, params: Params, x: jax.Array) -> tuple[jax.Array, jax.Array] | None:
    """w·x + b (rows, neurons or patches) and its scale, for losses that apply the activation to samples."""
    if isinstance(params, dict) and "filter" in params:
        return x @ params["filter"], jnp.linalg.norm(x, axis=-1) * jnp.linalg.norm(params["filter"])
    if not hasattr(objective, "predict"):
        return None
    named = params if isinstance(params, dict) else {"weights": params}
    bias = named.get("bias", jnp.zeros(len(named["weights"])))
    z = x @ named["weights"].T + bias
    sizes = jnp.linalg.norm(x, axis=1)[:, None] * jnp.linalg.norm(named["weights"], axis=1) + jnp.abs(bias)
    return z, sizes


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
    activation = getattr(objective, "activation", None)
    rows: Any = getattr(objective, "rows", None)
    checked = objective.check(params)
    filtered = isinstance(checked, dict) and "filter" in checked
    kinks = getattr(activation, "kinks", (0.0,) if filtered and activation is None else ())
    if rows is None or not kinks:
        return SMOOTH
    if not rows.traceable:
        return _found_in_passes(objective, checked, kinks, tolerance)
    best, count, where, offset = np.inf, 0, (-1, -1), 0
    for index in range(rows.blocks["y"].shape[0]):
        block = jax.tree.map(lambda leaf, i=index: leaf[i], rows.blocks)
        found = _pre_activations(objective, checked, block["x"])
        if found is None:
            return SMOOTH
        z, sizes = (np.asarray(part) for part in found)
        real = np.asarray(block["weight"]) > 0
        # A row of zeros moves no pre-activation, so it makes no kink.
        real &= np.any(np.asarray(block["x"]).reshape(len(real), -1) != 0, axis=1)
        near = np.min(np.stack([np.abs(z - kink) / np.maximum(sizes + abs(kink), 1e-300) for kink in kinks]), axis=0)
        near = np.where(real.reshape(-1, *[1] * (near.ndim - 1)), near, np.inf)
        count += int(np.sum(near <= tolerance))
        if near.size and near.min() < best:
            sample, neuron = np.unravel_index(np.argmin(near), near.shape)
            best, where = float(near.min()), (int(sample) + offset, int(neuron))
        offset += len(real)
    return _described(activation, checked, kinks, best, count, where)


def _described(activation: Any, params: Params, kinks: Any, best: float, count: int, where: tuple[int, int]) -> Kinks:
    named = params if isinstance(params, dict) else {"weights": params}
    rows_of = np.atleast_2d(np.asarray(named.get("weights", named.get("filter"))))
    zero = tuple(int(i) for i in np.flatnonzero(~np.any(rows_of, axis=1)))
    jump = 1
    if activation is not None:
        slopes = [np.abs(np.diff(activation.derivative(np.array([k - 1e-9, k + 1e-9]))))[0] for k in kinks]
        jump = 1 if max(slopes) > 1e-6 else 2
    return Kinks(best, count, where[1], where[0], zero, jump)


def block_kinks(block: Block, objective: Any, params: Params, kinks: jax.Array, tolerance: jax.Array) -> Any:
    """Pairs (sample, neuron) of a block within `tolerance` of a kink."""
    return jnp.sum(_nearness(block, objective, params, kinks) <= tolerance)


def block_nearest(block: Block, objective: Any, params: Params, kinks: jax.Array) -> jax.Array:
    """The smallest relative distance to a kink of each neuron in a block."""
    return jnp.min(_nearness(block, objective, params, kinks), axis=0)


def _nearness(block: Block, objective: Any, params: Params, kinks: jax.Array) -> jax.Array:
    found = _pre_activations(objective, params, block["x"])
    assert found is not None
    z, sizes = found
    scale = jnp.maximum(sizes + jnp.abs(kinks)[:, None, None], 1e-300)
    near = jnp.min(jnp.abs(z - kinks[:, None, None]) / scale, axis=0)
    live = (block["weight"] > 0) & jnp.any(block["x"].reshape(len(near), -1) != 0, axis=1)
    return jnp.where(live[:, None], near, jnp.inf)


def _found_in_passes(objective: Any, params: Params, kinks: tuple[float, ...], tolerance: float) -> Kinks:
    """The same over rows that are known by sums only: two passes, and no number for the nearest sample."""
    if not hasattr(objective, "predict"):
        return SMOOTH
    places = np.asarray(kinks)
    nearest = np.asarray(objective.rows.minimum(block_nearest, objective.bare, params, places))
    best = float(nearest.min())
    count = 0
    if best <= tolerance:
        count = int(objective.rows.sum(block_kinks, objective.bare, params, places, np.asarray(tolerance)))
    return _described(objective.activation, params, kinks, best, count, (-1, int(nearest.argmin())))
