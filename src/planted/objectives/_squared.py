"""The squared loss and its population form (Theorem 2.1 of Ge et al. 2017)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.activations.kernels import SERIES_ORDER, gaussian_kernel, truncation_error
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.validation import as_matrix, as_rows
from planted.objectives._base import Objective, Params, RowObjective, check_weights
from planted.rows import ArrayRows, Block, Rows


def split(params: Params, output: jax.Array | None) -> tuple[jax.Array, jax.Array]:
    """Weights (k, d) and outputs (k,) of `params`; outputs are `output` or one where `params` has none.

    >>> weights, output = split(jnp.ones((2, 3)), None)
    >>> output
    Array([1., 1.], dtype=float32)
    """
    if not isinstance(params, dict):
        params = {"weights": params}
    weights = params["weights"]
    if "output" in params:
        return weights, params["output"]
    return weights, jnp.ones(weights.shape[0], weights.dtype) if output is None else output.astype(weights.dtype)


def check_layers(arrays: dict[str, np.ndarray], n_features: int, output: Any, optional: tuple[str, ...] = ()) -> None:
    """Raise a ValueError unless `arrays` holds weights (k, d) and, where asked for, vectors (k,).

    `output` given at construction must then not be among the parameters.

    >>> check_layers({"weights": np.ones((2, 3)), "output": np.ones(1)}, 3, None)
    Traceback (most recent call last):
    ValueError: output has shape (1,), expected (2,)
    """
    allowed = {"weights", *optional} | ({"output"} if output is None else set())
    if "weights" not in arrays or not arrays.keys() <= allowed or not set(optional) <= arrays.keys():
        raise ValueError(f"params has {sorted(arrays)}, expected {sorted(allowed)}")
    check_weights(arrays["weights"], n_features)
    k = len(arrays["weights"])
    for name in arrays.keys() - {"weights"}:
        if arrays[name].shape != (k,):
            raise ValueError(f"{name} has shape {arrays[name].shape}, expected ({k},)")
    if output is not None and len(output) != k:
        raise ValueError(f"weights has {k} rows but the fixed output has {len(output)} entries")


class Squared(RowObjective):
    """½ mean (intercept + Σ_i output_i φ(weights_i·x + bias_i) − y)².

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
    activation : str, Activation or callable
    output : array (k,), optional
        Fixed output weights. If omitted they are parameters, {"weights": …, "output": …}; a plain array
        of weights then stands for a network whose outputs are all one.
    bias : bool
        Whether there are hidden biases, {"weights": …, "bias": …, …}.
    sample_weight : array (n,), optional
    intercept : bool
        Whether there is an intercept, {"intercept": number, …}; zero otherwise.

    Examples
    --------
    >>> loss = Squared([[1.0], [2.0]], [1.0, 0.0])
    >>> loss.value({"weights": np.array([[1.0]]), "output": np.array([1.0])})
    1.0
    """

    _arrays = ("rows", "output")
    _static = ("activation", "bias", "intercept")
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
        intercept: bool = False,
    ) -> None:
        inputs, targets = as_rows(X, y)
        weight = None if sample_weight is None else to_jax(as_matrix("sample_weight", sample_weight, 1))
        self.rows = ArrayRows(to_jax(inputs), to_jax(targets), weight)
        self.activation: Activation = activations.get(activation)
        self.output = None if output is None else to_jax(as_matrix("output", output, 1))
        self.bias = bool(bias)
        self.intercept = bool(intercept)

    @classmethod
    def on(
        cls,
        rows: Rows,
        activation: Activation,
        output: jax.Array | None = None,
        bias: bool = False,
        intercept: bool = False,
    ) -> Squared:
        """The same over given rows, traceable and unchecked."""
        return cls._build(rows=rows, output=output, activation=activation, bias=bias, intercept=intercept)

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Weights (k, d); output (k,) unless fixed; bias (k,) if there are biases; intercept () if there is one."""
        if self.intercept:
            if arrays.get("intercept", np.zeros(1)).shape != ():
                raise ValueError("params has no number named intercept, but this loss has one")
            arrays = {name: value for name, value in arrays.items() if name != "intercept"}
        check_layers(arrays, self.n_features, self.output, ("bias",) if self.bias else ())

    def predict(self, params: Params, x: jax.Array) -> jax.Array:
        """Network output (r,) for rows x (r, d), traceable."""
        weights, output = split(params, self.output)
        z = x @ weights.T
        if self.bias:
            z = z + params["bias"]
        value = self.feature(z) @ output
        return value + params["intercept"] if self.intercept else value

    def feature(self, z: jax.Array) -> jax.Array:
        """φ(z), traceable."""
        return self.activation(z)

    def block_sum(self, params: Params, block: Block) -> jax.Array:
        """½ Σ weight (prediction − y)² over a block."""
        residual = self.predict(params, block["x"]) - block["y"]
        return 0.5 * jnp.sum(block["weight"] * residual * residual)


class PopulationSquared(Objective):
    """Expectation of :class:`Squared` under x ~ N(0, I) and y from a teacher.

    ½ (E[y²] − 2 Σ_ij a_i a*_j K(b_i, b*_j) + Σ_ij a_i a_j K(b_i, b_j)) with the Gaussian kernel K of the
    activation: closed for the arc-cosine family, the quadratic and the error functions, otherwise its
    Hermite series (eq. 2.3) up to `order`; `truncation_error` bounds what that leaves out.

    Parameters
    ----------
    teacher : Network
        Without biases.
    output : array (k,), optional
        Fixed output weights of the student, as in :class:`Squared`.

    Examples
    --------
    >>> teacher = Network(np.eye(2), np.ones(2))
    >>> PopulationSquared(teacher).value(np.eye(2))
    0.0
    """

    _arrays = ("weights", "targets", "energy", "output")
    _static = ("activation", "order")
    non_negative = True

    @float64
    def __init__(self, teacher: Network, output: ArrayLike | None = None, order: int = SERIES_ORDER) -> None:
        check_teacher(teacher)
        self.weights, self.targets = to_jax(teacher.weights), to_jax(teacher.output)
        self.activation, self.order = teacher.activation, int(order)
        kernel = gaussian_kernel(self.activation, self.weights, self.weights, self.order)
        self.energy = self.targets @ kernel @ self.targets
        self.output = None if output is None else to_jax(as_matrix("output", output, 1))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of inputs d."""
        return self.weights.shape[1]

    def check_shapes(self, arrays: dict[str, np.ndarray]) -> None:
        """Weights (k, d); output (k,) unless fixed."""
        check_layers(arrays, self.n_features, self.output)

    def traced_value(self, params: Params) -> jax.Array:
        """½ E (prediction − y)²."""
        weights, output = split(params, self.output)
        cross = gaussian_kernel(self.activation, weights, self.weights, self.order)
        own = gaussian_kernel(self.activation, weights, weights, self.order)
        return 0.5 * (self.energy - 2 * output @ cross @ self.targets + output @ own @ output)

    def truncation_error(self, params: Params) -> float:
        """Bound on |error| of the value from cutting the Hermite series; zero for closed forms.

        >>> teacher = Network(np.eye(2), np.ones(2), "softplus")
        >>> PopulationSquared(teacher).truncation_error(np.eye(2)) < 1e-6
        True
        """
        named = params if isinstance(params, dict) else {"weights": params}
        weights = np.vstack([np.asarray(named["weights"]), np.asarray(self.weights)])
        fixed = np.ones(len(np.asarray(named["weights"]))) if self.output is None else np.asarray(self.output)
        mass = np.sum(np.abs(named.get("output", fixed))) + np.sum(np.abs(np.asarray(self.targets)))
        return 0.5 * float(mass) ** 2 * truncation_error(self.activation, weights, self.order)


def check_teacher(teacher: Any) -> None:
    """Raise unless `teacher` is a network whose population losses are known in closed form.

    >>> check_teacher(Network([[1.0]], [1.0], bias=[1.0]))
    Traceback (most recent call last):
    ValueError: population objectives need a teacher without biases and intercept
    """
    if not isinstance(teacher, Network):
        raise TypeError(f"teacher must be a planted.Network, not {type(teacher).__name__}")
    if teacher.bias is not None or teacher.intercept:
        raise ValueError("population objectives need a teacher without biases and intercept")
