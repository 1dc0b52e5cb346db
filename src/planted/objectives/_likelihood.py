r"""Cross-entropy of binary labels whose probability is the mean of neurons into (0, 1).

P(y = 1 | x) = (1/k) Σ_i φ(w_i·x + b_i), eq. 3 of Fu et al. (2018). The paper minimises the quadratic loss, which is
:class:`planted.objectives.Squared` with the output fixed at 1/k. The likelihood has the same minimiser on the
population and the smallest variance on a sample.
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
from planted.objectives._squared import Squared, check_layers
from planted.rows import ArrayRows, Block, Rows

# A probability below this counts as this: the row's loss is then 345 and its gradient zero. Its square, which second
# derivatives divide by, is still a float64.
_SMALLEST = 1e-150


def check_probability(activation: Activation) -> None:
    """Raise a ValueError unless φ maps into [0, 1].

    >>> check_probability(activations.get("tanh"))
    Traceback (most recent call last):
    ValueError: classification needs an activation into [0, 1], such as sigmoid, tanh_probability or
    erf_probability, not tanh
    """
    low, high = activation.range
    if low < 0 or high > 1:
        raise ValueError(
            "classification needs an activation into [0, 1], such as sigmoid, tanh_probability or erf_probability, "
            f"not {activation.name}"
        )


class Likelihood(RowObjective):
    """−mean(y log p + (1 − y) log(1 − p)) with p = (1/k) Σ_i φ(weights_i·x + bias_i).

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
        Labels 0 and 1, or probabilities between them.
    activation : str, Activation or callable
        φ into [0, 1].
    bias : bool
        Whether there are hidden biases, {"weights": …, "bias": …}.
    sample_weight : array (n,), optional

    Examples
    --------
    >>> loss = Likelihood([[1.0], [-1.0]], [1, 0])
    >>> round(loss.value(np.zeros((2, 1))), 6)    # log 2
    0.693147
    """

    _arrays = ("rows",)
    _static = ("activation", "bias")
    non_negative = True

    @float64
    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        activation: Any = "sigmoid",
        bias: bool = False,
        sample_weight: ArrayLike | None = None,
    ) -> None:
        inputs, targets = as_rows(X, y)
        if targets.min() < 0 or targets.max() > 1:
            raise ValueError("y must hold labels 0 and 1")
        weight = None if sample_weight is None else to_jax(as_matrix("sample_weight", sample_weight, 1))
        self.rows = ArrayRows(to_jax(inputs), to_jax(targets), weight)
        self.activation: Activation = activations.get(activation)
        check_probability(self.activation)
        self.bias = bool(bias)

    @classmethod
    def on(cls, rows: Rows, activation: Activation, bias: bool = False) -> Likelihood:
        """The same over given rows, traceable and unchecked."""
        return cls._build(rows=rows, activation=activation, bias=bias)

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Weights (k, d); bias (k,) if there are biases."""
        check_layers(arrays, self.n_features, np.ones(len(arrays["weights"])), ("bias",) if self.bias else ())

    def predict(self, params: Params, x: jax.Array) -> jax.Array:
        """P(y = 1) (r,) for rows x (r, d), traceable."""
        return jnp.mean(self.activation(self._preactivation(params, x)), axis=1)

    def _preactivation(self, params: Params, x: jax.Array) -> jax.Array:
        weights = params["weights"] if isinstance(params, dict) else params
        z = x @ weights.T
        return z + params["bias"] if self.bias else z

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """Σ weight · cross-entropy over a block."""
        z = self._preactivation(params, block["x"])
        act = self.activation
        # 1 − φ(z) = φ(−z) where φ is odd about 1/2, which keeps digits that the subtraction loses.
        mirrored = act.centred_parity == "odd" and act.offset == 0.5
        yes = jnp.mean(act(z), axis=1)
        no = jnp.mean(act(-z) if mirrored else 1 - act(z), axis=1)
        log = lambda p: jnp.log(jnp.maximum(p, _SMALLEST))  # noqa: E731
        y = block["y"]
        return -jnp.sum(block["weight"] * (y * log(yes) + (1 - y) * log(no)))


def label_loss(
    X: ArrayLike, y: ArrayLike, n_hidden: int, activation: Any = "sigmoid", sample_weight: ArrayLike | None = None
) -> Squared:
    """The quadratic loss of eq. 2, ½ mean (y − (1/k) Σ_i φ(w_i·x))²: the squared loss with outputs fixed at 1/k.

    >>> label_loss([[1.0], [-1.0]], [1.0, 0.0], 2).value(np.zeros((2, 1)))
    0.125
    """
    act = activations.get(activation)
    check_probability(act)
    return Squared(X, y, act, np.full(n_hidden, 1.0 / n_hidden), sample_weight=sample_weight)
