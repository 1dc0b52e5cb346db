"""A shared filter in a chart without symmetry: the filter near a given one, its free length taken out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import null_space

from planted.activations import Activation
from planted.networks import ConvNetwork
from planted.numerics.precision import float64, to_jax
from planted.objectives._conv import ConvSquared
from planted.objectives._fit import Fit
from planted.objectives._host_filters import FilterCoordinates
from planted.objectives._losses import SquaredError
from planted.objectives._models import Model, Params
from planted.objectives._paths import Arrays, Candidates


class FilterChart(Model):
    """Z ↦ Σ_i output_i φ(w·Z_i) over {"output": (k,), "tangent": (q,)}, where the filter w is base + basis·tangent."""

    _arrays = ("base", "basis")
    _static = ("activation",)
    on_host = True

    def __init__(self, activation: Activation, base: jax.Array, basis: jax.Array) -> None:
        self.activation, self.base, self.basis = activation, base, basis

    def check_shapes(self, arrays: Arrays, row_shape: tuple[int, ...]) -> None:
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

    def symmetries(self, arrays: Arrays, silent: np.ndarray) -> Candidates:
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
