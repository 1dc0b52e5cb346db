"""An objective in units of its own parameters, so that a verdict does not depend on how the layers share their scale.

Every named array b is written as ‖θ_b‖ u_b, with ‖u_b‖ = 1 at the point in question (a zero array keeps its unit). A
change of units is a congruence of the Hessian: signs of eigenvalues, and with them the kind of a critical point, stay.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from planted.objectives import Objective, Params
from planted.precision import float64, to_jax


class Scaled(Objective):
    """u ↦ f(s∘u) with one positive number s_b for every array of parameters.

    Examples
    --------
    >>> from planted.objectives import Squared
    >>> loss = Squared([[1.0]], [0.0], "relu")
    >>> scaled = Scaled(loss, {"weights": 2.0, "output": 3.0})
    >>> scaled.value({"weights": np.ones((1, 1)), "output": np.ones(1)})
    18.0
    """

    _arrays = ("objective", "units")

    @float64
    def __init__(self, objective: Objective, units: Any) -> None:
        self.objective, self.units = objective, to_jax(units)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of inputs d."""
        return self.objective.n_features

    @property
    def traceable(self) -> bool:
        """As the objective itself."""
        return self.objective.traceable

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """As for the objective itself."""
        self.objective.check_shapes(arrays)

    def times_units(self, tree: Params) -> Params:
        """Multiply every array by its unit."""
        return jax.tree.map(lambda unit, leaf: unit * leaf, self.units, tree)

    def traced_value(self, params: Params) -> jax.Array:
        """f(s∘u)."""
        return self.objective.traced_value(self.times_units(params))

    def traced_value_and_gradient(self, params: Params) -> tuple[jax.Array, Params]:
        """Value, and s∘∇f, accumulated as the objective does."""
        value, gradient = self.objective.traced_value_and_gradient(self.times_units(params))
        return value, self.times_units(gradient)

    def traced_hvp(self, params: Params, direction: Params) -> Params:
        """s∘H(s∘v)."""
        return self.times_units(self.objective.traced_hvp(self.times_units(params), self.times_units(direction)))

    def traced_hvps(self, params: Params, directions: Params) -> Params:
        """The same for several directions, in one pass over the rows."""
        scaled = jax.vmap(self.times_units)
        return scaled(self.objective.traced_hvps(self.times_units(params), scaled(directions)))


def units_of(params: Params) -> Params:
    """Frobenius norm of every array of `params`, one for an array of zeros.

    >>> units_of({"weights": np.full((1, 4), 2.0), "output": np.zeros(1)})
    {'weights': 4.0, 'output': 1.0}
    """
    if isinstance(params, dict):
        return {name: units_of(leaf) for name, leaf in params.items()}
    return float(np.linalg.norm(np.asarray(params))) or 1.0
