r"""Fits with an ℓ2 penalty: mean loss + ½ Σ_j ridge_j θ_j².

Weights count in units of their inputs, so that the units of the inputs do not matter: with s_j the spread of input j
and α the strength, ridge is α s_j² for weights and linear parts, α for outputs and zero for biases and intercepts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted.numerics.precision import float64, to_jax
from planted.objectives._base import Params
from planted.objectives._fit import Fit
from planted.objectives._losses import Loss
from planted.objectives._models import Model, named
from planted.rows import Rows


class Penalised(Fit):
    """mean loss(model.predict(params, x), y) + ½ alpha (Σ_ij (spread_j weights_ij)² + ‖output‖²).

    Parameters
    ----------
    rows : Rows
    model : Model
    loss : Loss
    alpha : float
        Strength of the penalty, positive.
    spread : array (d,)
        Units of the inputs; a linear part is penalised like the weights, biases and intercepts are not.

    Examples
    --------
    >>> from planted.objectives import BernoulliLogit, Dense
    >>> from planted.rows import ArrayRows
    >>> rows = ArrayRows(np.ones((2, 1)), np.array([0.0, 1.0]))
    >>> loss = Penalised(rows, Dense("tanh"), BernoulliLogit(), 0.5, [2.0])
    >>> zero, one = ({"weights": np.array([[w]]), "output": np.zeros(1)} for w in (0.0, 1.0))
    >>> round(loss.value(one) - loss.value(zero), 12)
    1.0
    """

    _arrays: ClassVar[tuple[str, ...]] = ("rows", "model", "ridge")

    @float64
    def __init__(self, rows: Rows, model: Model, loss: Loss, alpha: float, spread: ArrayLike) -> None:
        super().__init__(rows, model, loss)
        scale = np.asarray(spread, dtype=np.float64)
        parts = {"weights": alpha * scale**2}
        if model.free_output:
            parts["output"] = np.asarray(float(alpha))
        if model.skip:
            parts["skip"] = alpha * scale**2
        self.ridge = {name: to_jax(part) for name, part in parts.items()}

    @classmethod
    @float64
    def by(cls, rows: Rows, model: Model, loss: Loss, ridge: Mapping[str, ArrayLike]) -> Penalised:
        """The same with penalties of the parameters by name, each of a shape that broadcasts to them.

        >>> from planted.objectives import Dense, SquaredError
        >>> from planted.rows import ArrayRows
        >>> rows = ArrayRows(np.ones((1, 1)), np.zeros(1))
        >>> loss = Penalised.by(rows, Dense("relu"), SquaredError(), {"output": [6.0]})
        >>> loss.value({"weights": np.array([[-1.0]]), "output": np.ones(1)})
        3.0
        """
        penalised = cls(rows, model, loss, 0.0, np.zeros(1))
        penalised.ridge = {name: to_jax(np.asarray(part, dtype=np.float64)) for name, part in ridge.items()}
        return penalised

    def penalty(self, params: Params) -> jax.Array:
        """½ Σ ridge θ²."""
        arrays = named(params)
        return 0.5 * jnp.sum(jnp.stack([jnp.sum(ridge * arrays[name] ** 2) for name, ridge in self.ridge.items()]))

    def flat_ridge(self, params: Params) -> Any:
        """The factors (p,) of all parameters, flattened by sorted name; zero where there is no penalty."""
        arrays = named(params)
        parts = [
            np.broadcast_to(np.asarray(self.ridge.get(name, 0.0)), np.shape(arrays[name])) for name in sorted(arrays)
        ]
        return np.concatenate([part.reshape(-1) for part in parts])

    def canonical_ridge(self, arrays: dict[str, np.ndarray]) -> np.ndarray:
        """The factors (p,) at canonical parameters that stand for the minimum.

        For a homogeneous φ of degree p the canonical rows have length one. The minimum has rows t times as long, where
        t^(2p+2) = p ‖output‖²/‖spread weights‖² balances the two layers of a neuron; in canonical units the factors
        are those of the weights times t² and those of the output over t^(2p).
        """
        ridge = {
            name: np.broadcast_to(np.asarray(self.ridge.get(name, 0.0)), value.shape).astype(np.float64)
            for name, value in arrays.items()
        }
        degree = self.model.activation.homogeneity
        if degree is not None and "output" in self.ridge:
            weights = np.sum(ridge["weights"] * arrays["weights"] ** 2, axis=1)
            outputs = np.sum(np.atleast_2d(ridge["output"] * arrays["output"] ** 2), axis=0)
            length = np.where((weights > 0) & (outputs > 0), degree * outputs / np.maximum(weights, 1e-300), 1.0)
            length = length ** (1 / (2 * degree + 2))
            ridge["weights"] = ridge["weights"] * length[:, None] ** 2
            ridge["output"] = ridge["output"] / length ** (2 * degree)
        return np.concatenate([ridge[name].reshape(-1) for name in sorted(ridge)])
