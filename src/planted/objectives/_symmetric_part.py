r"""The squared loss with what is linear split off, so that the sign of a neuron drops out of the hard problem."""

from __future__ import annotations

from typing import Any

import jax
from numpy.typing import ArrayLike

from planted.activations import Activation
from planted.numerics.precision import float64
from planted.objectives._dense_models import SymmetricDense
from planted.objectives._fit import Fit, check_outputs, fixed_output, outputs_of, targets_of
from planted.objectives._losses import SquaredError
from planted.rows import Rows


class SymmetricPart(Fit):
    """½ mean ‖intercept + linear·x + Σ_i output_i ψ(weights_i·x + bias_i) − y‖²; see :class:`SymmetricDense`.

    The linear term is there when tilt ≠ 0.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,) or (n, m)
    activation : str, Activation or callable
    output : array (k,) or (m, k), optional
        Fixed outputs: for a homogeneous ψ only their signs matter, lengths being in the weights.
    bias : bool
        Whether there are hidden biases.
    sample_weight : array (n,), optional

    Examples
    --------
    >>> import numpy as np
    >>> loss = SymmetricPart([[1.0], [-1.0]], [1.0, 0.0])
    >>> float(loss.value({"weights": np.ones((1, 1)), "output": np.ones(1), "linear": np.array([0.5]),
    ...                   "intercept": np.zeros(())}))
    0.0
    """

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
        rows = targets_of(X, y, sample_weight)
        model = SymmetricDense(activation, fixed_output(output), bias, outputs_of(rows))
        check_outputs(model, rows)
        super().__init__(rows, model, SquaredError())

    @classmethod
    def on(
        cls,
        rows: Rows,
        activation: Activation,
        output: jax.Array | None = None,
        bias: bool = False,
        n_outputs: int | None = None,
    ) -> SymmetricPart:
        """The same over given rows, traceable and unchecked."""
        return cls.composed(rows, SymmetricDense(activation, output, bias, n_outputs), SquaredError())
