"""One-hidden-layer networks: evaluate, bring to canonical form, save, load."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.networks._format import ModelFileError, read_model, stored_activation, write_model
from planted.numerics.precision import float64

_FORMAT = "planted-network-1"


def _finite(name: str, value: ArrayLike, ndim: int) -> np.ndarray:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers") from None
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension{'s' * (ndim > 1)}, not {array.ndim}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds NaN or infinite values")
    return array


@dataclass(frozen=True, eq=False)
class Network:
    """The network x ↦ intercept + Σ_i output_i φ(weights_i·x + bias_i).

    Parameters
    ----------
    weights : array (k, d)
        One row a hidden neuron.
    output : array (k,)
        Output weight of each neuron.
    activation : str, Activation or callable
        φ, see :func:`planted.activations.get`.
    bias : array (k,), optional
        Hidden biases, none (zero) by default.
    intercept : float
        Added to the output.

    Examples
    --------
    >>> net = Network([[1.0, 0.0], [0.0, -2.0]], [1.0, 3.0], activation="relu")
    >>> net.predict([[1.0, 1.0], [2.0, -1.0]])
    array([1., 8.])
    """

    weights: np.ndarray
    output: np.ndarray
    activation: Activation
    bias: np.ndarray | None
    intercept: float

    def __init__(
        self,
        weights: ArrayLike,
        output: ArrayLike,
        activation: Any = "relu",
        bias: ArrayLike | None = None,
        intercept: float = 0.0,
    ) -> None:
        fields: dict[str, Any] = {
            "weights": _finite("weights", weights, 2),
            "output": _finite("output", output, 1),
            "activation": activations.get(activation),
            "bias": None if bias is None else _finite("bias", bias, 1),
            "intercept": float(_finite("intercept", intercept, 0)),
        }
        k = len(fields["weights"])
        for name in ("output", "bias"):
            if fields[name] is not None and len(fields[name]) != k:
                raise ValueError(f"{name} has {len(fields[name])} entries but weights has {k} rows")
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def n_hidden(self) -> int:
        """Number of neurons k."""
        return self.weights.shape[0]

    @property
    def n_features(self) -> int:
        """Number of inputs d."""
        return self.weights.shape[1]

    @float64
    def predict(self, X: ArrayLike) -> np.ndarray:
        """Outputs (n,) for inputs X (n, d)."""
        inputs = _finite("X", X, 2)
        if inputs.shape[1] != self.n_features:
            raise ValueError(f"X has {inputs.shape[1]} columns but the network takes {self.n_features}")
        result = np.empty(len(inputs))
        block = 65_536
        for start in range(0, len(inputs), block):
            part = slice(start, start + block)
            result[part] = np.asarray(self.traced(jnp.asarray(inputs[part])))
        return result

    def traced(self, x: Any) -> Any:
        """The same as :meth:`predict` for JAX arrays of any precision, without checks."""
        z = x @ jnp.asarray(self.weights, x.dtype).T
        if self.bias is not None:
            z = z + jnp.asarray(self.bias, x.dtype)
        return self.activation(z) @ jnp.asarray(self.output, x.dtype) + self.intercept

    def canonical(self) -> Network:
        """The same function in a form without free choices.

        For a positively homogeneous φ of degree p, neurons with a zero row are dropped when they
        contribute nothing and all others get unit rows, output_i ‖weights_i‖^p; for an even or odd φ the
        first non-zero weight of each row is positive; neurons are sorted by their weights.

        >>> Network([[0.0, -2.0]], [3.0], "abs").canonical().weights
        array([[0., 1.]])
        """
        weights, output = self.weights.copy(), self.output.copy()
        bias = None if self.bias is None else self.bias.copy()
        joint = weights if bias is None else np.column_stack([weights, bias])
        if self.activation.homogeneity is not None:
            norms = np.linalg.norm(weights, axis=1)
            keep = norms > 0 if bias is None else np.ones(len(norms), bool)
            scale = np.where(norms > 0, norms, 1.0)
            joint = (joint / scale[:, None])[keep]
            output = (output * scale**self.activation.homogeneity)[keep]
        if self.activation.parity is not None and len(joint):
            first = joint[np.arange(len(joint)), np.argmax(joint != 0, axis=1)]
            sign = np.where(first < 0, -1.0, 1.0)
            joint = joint * sign[:, None]
            if self.activation.parity == "odd":
                output = output * sign
        order = np.lexsort(joint.T[::-1]) if len(joint) else np.arange(0)
        joint, output = joint[order] + 0.0, output[order]  # no negative zeros
        d = self.n_features
        return Network(joint[:, :d], output, self.activation, None if bias is None else joint[:, d], self.intercept)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the network as safetensors with its metadata; returns the path written.

        >>> import tempfile, os
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Network([[1.0]], [2.0]).save(os.path.join(folder, "model"))
        ...     Network.load(path).output
        array([2.])
        """
        arrays = {"weights": self.weights, "output": self.output, "intercept": np.array(self.intercept)}
        if self.bias is not None:
            arrays["bias"] = self.bias
        return write_model(path, _FORMAT, self.activation, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Network:
        """Read what :meth:`save` wrote. The file is data only: nothing in it is executed."""
        metadata, arrays = read_model(path)
        if metadata.get("format") != _FORMAT or not {"weights", "output", "intercept"} <= arrays.keys():
            raise ModelFileError(f"{path} is a safetensors file but not a planted model")
        try:
            return cls(
                arrays["weights"],
                arrays["output"],
                stored_activation(metadata),
                arrays.get("bias"),
                float(arrays["intercept"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"{path} is not a valid planted model: {error}") from None

    def __repr__(self) -> str:
        extras = "" if self.bias is None else ", biases"
        return f"Network({self.n_hidden} {self.activation.name} neurons, {self.n_features} inputs{extras})"
