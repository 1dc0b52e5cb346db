r"""The squared loss with what is linear split off, so that the sign of a neuron drops out of the hard problem.

Write φ(z) = offset + tilt·z + ψ(z). For ReLU, leaky ReLU and softplus ψ is even; for sigmoids, tanh and erf it is
odd. A network Σ_i c_i φ(w_i·x + b_i) is then intercept + v·x + Σ_i c_i ψ(w_i·x + b_i), in which (w_i, b_i) and
(−w_i, −b_i) are the same neuron (with −c_i if ψ is odd).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_matrix, as_rows
from planted.objectives._base import Params, RowObjective
from planted.objectives._squared import check_layers
from planted.rows import ArrayRows, Block


def symmetric_part(activation: Activation, z: jax.Array) -> jax.Array:
    """ψ(z) = φ(z) − offset − tilt·z, traceable.

    >>> symmetric_part(activations.get("relu"), jnp.array([-2.0, 2.0]))
    Array([1., 1.], dtype=float32)
    """
    value = activation(z)
    if activation.tilt:
        value = value - activation.tilt * z
    return value - activation.offset if activation.offset else value


class SymmetricPart(RowObjective):
    """½ mean (intercept + linear·x + Σ_i output_i ψ(weights_i·x + bias_i) − y)².

    The linear term is there when tilt ≠ 0.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
    activation : str, Activation or callable
    output : array (m,), optional
        Fixed outputs: for a homogeneous ψ only their signs matter, lengths being in the weights.
    bias : bool
        Whether there are hidden biases.
    sample_weight : array (n,), optional

    Examples
    --------
    >>> loss = SymmetricPart([[1.0], [-1.0]], [1.0, 0.0])
    >>> float(loss.value({"weights": np.ones((1, 1)), "output": np.ones(1), "linear": np.array([0.5]),
    ...                   "intercept": np.zeros(())}))
    0.0
    """

    _arrays = ("rows", "output")
    _static = ("activation", "bias")
    non_negative = True

    @float64
    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        activation: Any = "relu",
        output: ArrayLike | None = None,
        bias: bool = False,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        inputs, targets = as_rows(X, y)
        weight = None if sample_weight is None else to_jax(as_matrix("sample_weight", sample_weight, 1))
        self.rows = ArrayRows(to_jax(inputs), to_jax(targets), weight)
        self.activation: Activation = activations.get(activation)
        self.output = None if output is None else to_jax(as_matrix("output", output, 1))
        self.bias = bool(bias)

    @classmethod
    def on(cls, rows: ArrayRows, activation: Activation, output: jax.Array | None, bias: bool) -> SymmetricPart:
        """The same over given rows, traceable and unchecked."""
        return cls._build(rows=rows, output=output, activation=activation, bias=bias)

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Weights (m, d), intercept (), linear (d,) if tilt ≠ 0, output (m,) unless fixed, bias (m,) if asked for."""
        layers = {name: value for name, value in arrays.items() if name not in ("linear", "intercept")}
        check_layers(layers, self.n_features, self.output, ("bias",) if self.bias else ())
        wanted = {"intercept": ()} | ({"linear": (self.n_features,)} if self.activation.tilt else {})
        given = {name: arrays[name].shape for name in arrays.keys() - layers.keys()}
        if given != wanted:
            raise ValueError(f"params has {given} besides the layers, expected {wanted}")

    def predict(self, params: Params, x: jax.Array) -> jax.Array:
        """Outputs (r,) for rows x (r, d), traceable."""
        output = params["output"] if self.output is None else self.output
        z = x @ params["weights"].T
        if self.bias:
            z = z + params["bias"]
        value = self.feature(z) @ output + params["intercept"]
        return value + x @ params["linear"] if self.activation.tilt else value

    def feature(self, z: jax.Array) -> jax.Array:
        """ψ(z), traceable."""
        return symmetric_part(self.activation, z)

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """½ Σ weight (prediction − y)² over a block."""
        residual = self.predict(params, block["x"]) - block["y"]
        return 0.5 * jnp.sum(block["weight"] * residual * residual)
