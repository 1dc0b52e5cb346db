"""The squared loss of several filters shared by patches."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_matrix
from planted.objectives._base import Params, RowObjective
from planted.rows import ArrayRows, Block, Rows


class ConvFilters(RowObjective):
    """½ mean (Σ_f Σ_i output_fi φ(filters_f·Z_i) − y)² over {"filters": (f, p), "output": (f, k)}.

    A block holds activations (rows, k, f), as many numbers as the fully connected network has neurons.

    >>> loss = ConvFilters([[[3.0], [-1.0]]], [3.0])
    >>> loss.value({"filters": np.ones((1, 1)), "output": np.ones((1, 2))})
    0.0
    """

    _arrays = ("rows",)
    _static = ("activation",)
    non_negative = True

    @float64
    def __init__(self, Z: ArrayLike, y: ArrayLike, activation: Any = "relu") -> None:
        self.rows = ArrayRows(to_jax(as_matrix("Z", Z, 3)), to_jax(as_matrix("y", y, 1)))
        self.activation: Activation = activations.get(activation)

    @classmethod
    def on(cls, rows: Rows, activation: Activation) -> ConvFilters:
        """The same over given rows, traceable and unchecked."""
        return cls._build(rows=rows, activation=activation)

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Filters (f, p) and output (f, k)."""
        k, p = self.rows.shape
        shapes = {name: array.shape for name, array in arrays.items()}
        f = len(arrays["filters"]) if "filters" in arrays and arrays["filters"].ndim else 0
        if shapes != {"filters": (f, p), "output": (f, k)}:
            raise ValueError(f"params have shapes {shapes}, expected filters (f, {p}) and output (f, {k})")

    def predict(self, params: Params, x: jax.Array) -> jax.Array:
        """Network output (r,) for patches x (r, k, p), traceable."""
        return jnp.einsum("rkf,fk->r", self.activation(x @ params["filters"].T), params["output"])

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """½ Σ weight (prediction − y)² over a block."""
        residual = self.predict(params, block["x"]) - block["y"]
        return 0.5 * jnp.sum(block["weight"] * residual * residual)
