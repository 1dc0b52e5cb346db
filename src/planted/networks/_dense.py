"""One-hidden-layer networks: evaluate, bring to canonical form, save, load."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.names import count_of
from planted.networks._convert import from_onnx, from_sklearn, from_torch, to_onnx, to_sklearn, to_torch
from planted.networks._format import Form
from planted.networks._kind import Kind
from planted.networks._simplify import simplify
from planted.numerics.validation import check_plain

_BLOCK = 65_536


def _finite(name: str, value: ArrayLike, ndim: int | tuple[int, ...]) -> np.ndarray:
    check_plain(name, value)
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers") from None
    wanted = (ndim,) if isinstance(ndim, int) else ndim
    if array.ndim not in wanted:
        count = " or ".join(str(n) for n in wanted)
        raise ValueError(f"{name} must have {count} dimension{'s' * (count != '1')}, not {array.ndim}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds NaN or infinite values")
    return array


@dataclass(frozen=True, eq=False)
class Network(Kind):
    """The network x ↦ output·φ(weights·x + bias) + skip·x + intercept.

    Parameters
    ----------
    weights : array (k, d)
        One row a hidden neuron; no row at all for a linear function.
    output : array (k,) or (m, k)
        Output weight of each neuron; one row an output where there are several.
    activation : str, Activation or callable
        φ, see :func:`planted.activations.get`.
    bias : array (k,), optional
        Hidden biases, none (zero) by default.
    intercept : float or array (m,)
        Added to the output.
    skip : array (d,) or (m, d), optional
        A linear part beside the neurons, none (zero) by default.

    Examples
    --------
    >>> net = Network([[1.0, 0.0], [0.0, -2.0]], [1.0, 3.0], activation="relu")
    >>> net.predict([[1.0, 1.0], [2.0, -1.0]])
    array([1., 8.])
    >>> Network([[1.0]], [[1.0], [2.0]], intercept=[0.0, 1.0]).predict([[3.0]])
    array([[3., 7.]])
    """

    form: ClassVar[Form] = Form(
        "planted-network",
        frozenset({"weights", "output", "intercept"}),
        frozenset({"weights", "output", "bias", "intercept", "skip"}),
    )

    weights: np.ndarray
    output: np.ndarray
    activation: Activation
    bias: np.ndarray | None
    intercept: Any
    skip: np.ndarray | None

    def __init__(
        self,
        weights: ArrayLike,
        output: ArrayLike,
        activation: Any = "relu",
        bias: ArrayLike | None = None,
        intercept: ArrayLike = 0.0,
        skip: ArrayLike | None = None,
    ) -> None:
        fields: dict[str, Any] = {
            "weights": _finite("weights", weights, 2),
            "output": _finite("output", output, (1, 2)),
            "activation": activations.get(activation),
            "bias": None if bias is None else _finite("bias", bias, 1),
            "intercept": _finite("intercept", intercept, (0, 1)),
            "skip": None if skip is None else _finite("skip", skip, (1, 2)),
        }
        (k, d), lead = fields["weights"].shape, fields["output"].shape[:-1]
        if fields["output"].shape[-1] != k:
            raise ValueError(f"output has {fields['output'].shape[-1]} entries but weights has {k} rows")
        if fields["bias"] is not None and len(fields["bias"]) != k:
            raise ValueError(f"bias has {len(fields['bias'])} entries but weights has {k} rows")
        if lead and fields["intercept"].ndim == 0:
            fields["intercept"] = np.full(lead, float(fields["intercept"]))
        if fields["intercept"].shape != lead:
            raise ValueError(f"intercept has shape {fields['intercept'].shape}, expected {lead}")
        if not lead:
            fields["intercept"] = float(fields["intercept"])
        if fields["skip"] is not None and fields["skip"].shape != (*lead, d):
            raise ValueError(f"skip has shape {fields['skip'].shape}, expected {(*lead, d)}")
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

    @property
    def n_outputs(self) -> int:
        """Number of outputs m; one for an output layer (k,)."""
        return 1 if self.output.ndim == 1 else self.output.shape[0]

    @property
    def shift(self) -> np.ndarray:
        """Biases (k,), zero where the network has none."""
        return np.zeros(self.n_hidden) if self.bias is None else self.bias

    def arrays(self) -> dict[str, np.ndarray]:
        """The parameters that are there, by name: weights, output, bias, intercept, skip.

        >>> sorted(Network([[1.0]], [2.0], bias=[0.5]).arrays())
        ['bias', 'intercept', 'output', 'weights']
        """
        everything = {name: getattr(self, name) for name in ("weights", "output", "bias", "intercept", "skip")}
        return {name: np.asarray(value) for name, value in everything.items() if value is not None}

    def replace(self, **changed: Any) -> Network:
        """The same network with some of its parts changed.

        >>> Network([[1.0]], [2.0], intercept=3.0).replace(intercept=0.0).intercept
        0.0
        """
        return Network(**{"activation": self.activation, **self.arrays(), **changed})

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Outputs (n,), or (n, m) for m outputs, at inputs X (n, d)."""
        inputs = _finite("X", X, 2)
        if inputs.shape[1] != self.n_features:
            raise ValueError(f"X has {count_of(inputs.shape[1], 'column')} but the network takes {self.n_features}")
        result = np.empty((len(inputs), *self.output.shape[:-1]))
        for start in range(0, len(inputs), _BLOCK):
            part = slice(start, start + _BLOCK)
            result[part] = self.activation(self.preactivations(inputs[part])) @ self.output.T + self.intercept
            if self.skip is not None:
                result[part] += inputs[part] @ self.skip.T
        return result

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Rows (n, d)."""
        return X.reshape(len(X), -1)

    def preactivations(self, X: np.ndarray) -> np.ndarray:
        """weights·x + bias (n, k)."""
        return self.rows(X) @ self.weights.T + (0.0 if self.bias is None else self.bias)

    def reach(self, X: np.ndarray) -> np.ndarray:
        """|weights|·|x| + |bias| (n, k)."""
        return np.abs(self.rows(X)) @ np.abs(self.weights).T + np.abs(self.shift)

    def terms(self, X: np.ndarray) -> np.ndarray:
        """|output|·|φ| + |skip|·|x| + |intercept|, (n,) or (n, m)."""
        sizes = np.abs(self.activation(self.preactivations(X))) @ np.abs(self.output).T + np.abs(self.intercept)
        return sizes if self.skip is None else sizes + np.abs(self.rows(X)) @ np.abs(self.skip).T

    def rounding(self, X: np.ndarray) -> np.ndarray:
        """|output|·(|φ'| reach + |φ|) + |skip|·|x| (n,)."""
        z, output = self.preactivations(X), np.abs(np.atleast_2d(self.output)).sum(axis=0)
        errors = (np.abs(self.activation.derivative(z)) * self.reach(X) + np.abs(self.activation(z))) @ output
        return errors if self.skip is None else errors + np.abs(self.rows(X)) @ np.abs(np.atleast_2d(self.skip)).sum(0)

    def speaking(self, X: np.ndarray) -> np.ndarray:
        """As of every kind; all rows where there is a linear part, or no neuron."""
        if self.skip is not None or not self.n_hidden:
            return np.ones(len(X), bool)
        return super().speaking(X)

    def jacobian(self, X: ArrayLike, *, intercept: bool = False) -> np.ndarray:
        r"""∂f_o(x_r)/∂θ as an array (n, m, p), m outputs, at rows X (n, d): nothing is compiled.

        Parameters
        ----------
        intercept : bool
            Whether the intercepts are among the parameters.

        Returns
        -------
        array (n, m, p)
            Columns in the order bias, intercept, output, skip, weights of those that there are, each flattened row by
            row.

        Examples
        --------
        >>> Network([[1.0, 2.0]], [3.0]).jacobian([[1.0, 1.0]])
        array([[[3., 3., 3.]]])
        """
        rows, act = np.asarray(X, dtype=np.float64), self.activation
        n, output = len(rows), np.atleast_2d(self.output)
        m, k = output.shape
        z = self.preactivations(rows)
        slope = act.derivative(z)[:, None, :] * output[None]
        each = np.broadcast_to(np.eye(m)[None], (n, m, m))
        parts = []
        if self.bias is not None:
            parts.append(slope)
        if intercept:
            parts.append(each)
        parts.append(np.einsum("rop,rk->ropk", each, act(z)).reshape(n, m, m * k))
        if self.skip is not None:
            parts.append(np.einsum("rop,rd->ropd", each, rows).reshape(n, m, -1))
        parts.append(np.einsum("rok,rd->rokd", slope, rows).reshape(n, m, -1))
        return np.concatenate(parts, axis=2)

    def traced(self, x: Any) -> Any:
        """The same as :meth:`predict` for JAX arrays of any precision, without checks."""
        z = x @ jnp.asarray(self.weights, x.dtype).T
        if self.bias is not None:
            z = z + jnp.asarray(self.bias, x.dtype)
        value = self.activation(z) @ jnp.asarray(self.output, x.dtype).T + jnp.asarray(self.intercept, x.dtype)
        return value if self.skip is None else value + x @ jnp.asarray(self.skip, x.dtype).T

    def turned(self, signs: ArrayLike) -> Network:
        """The same function with neurons turned around where `signs` (k,) is −1.

        With φ(z) = offset + tilt·z + ψ(z): for an even ψ, φ(z) = φ(−z) + 2 tilt z, so the linear part and the
        intercept make up for a turn; for an odd ψ, φ(z) = 2 offset − φ(−z), so the output's sign and the intercept do.
        relu6 is odd about the point (3, 3): φ(z) = 6 − φ(6 − z), so its bias moves too.

        >>> net = Network([[1.0, 2.0]], [3.0], "sigmoid").turned([-1])
        >>> net.weights, net.output, net.intercept
        (array([[-1., -2.]]), array([-3.]), 3.0)
        """
        sign, act = np.asarray(signs, dtype=np.float64), self.activation
        away = sign < 0
        if np.any(away) and act.centred_parity is None and not act.centre:
            raise ValueError(f"a {act.name} neuron cannot be turned around")
        arrays, output = self.arrays(), self.output
        bias = self.shift
        if act.centred_parity == "odd" or act.centre:
            middle = float(act(act.centre)) if act.centre else act.offset  # φ(centre + z) − middle is odd
            arrays["output"] = output * sign
            arrays["intercept"] = self.intercept + 2 * middle * output[..., away].sum(axis=-1)
        elif act.tilt and np.any(away):
            moved = 2 * act.tilt * output[..., away]
            arrays["intercept"] = self.intercept + moved @ bias[away]
            arrays["skip"] = (0.0 if self.skip is None else self.skip) + moved @ self.weights[away]
        arrays["weights"] = self.weights * sign[:, None]
        if self.bias is not None or (act.centre and np.any(away)):
            arrays["bias"] = bias * sign + 2 * act.centre * away
        return Network(**arrays, activation=act)

    def canonical(self) -> Network:
        """The same function in a form without free choices.

        For a positively homogeneous φ of degree p, neurons with a zero row are dropped when they
        contribute nothing and all others get unit rows, output_i ‖weights_i‖^p. Neurons that can be turned around
        (:meth:`turned`) without another part being added have a positive first non-zero weight: for an even or odd φ
        all, for one that is odd about a constant where there is an intercept, for one that is even but for a linear
        part where there is a skip term. Neurons are sorted by their weights.

        >>> Network([[0.0, -2.0]], [3.0], "abs").canonical().weights
        array([[0., 1.]])
        """
        act, net = self.activation, self
        if act.homogeneity is not None:
            norms = np.linalg.norm(net.weights, axis=1)
            keep = norms > 0 if net.bias is None else np.ones(len(norms), bool)
            scale = np.where(norms > 0, norms, 1.0)
            arrays = net.arrays() | {
                "weights": (net.weights / scale[:, None])[keep],
                "output": (net.output * scale**act.homogeneity)[..., keep],
            }
            if net.bias is not None:
                arrays["bias"] = (net.bias / scale)[keep]
            net = Network(**arrays, activation=act)
        if net.n_hidden and (net._turns_freely or act.parity is not None):
            joint = net.weights if net.bias is None else np.column_stack([net.weights, net.bias])
            first = joint[np.arange(len(joint)), np.argmax(joint != 0, axis=1)]
            net = net.turned(np.where(first < 0, -1.0, 1.0))
        joint = net.weights if net.bias is None else np.column_stack([net.weights, net.bias])
        order = np.lexsort(joint.T[::-1]) if len(joint) else np.arange(0)
        # Adding zero leaves no negative zeros.
        arrays = net.arrays() | {"weights": net.weights[order] + 0.0, "output": net.output[..., order] + 0.0}
        if net.bias is not None:
            arrays["bias"] = net.bias[order] + 0.0
        return Network(**arrays, activation=act)

    @property
    def _turns_freely(self) -> bool:
        """Whether the parts that make up for a turn are there already."""
        if self.activation.centre and self.bias is None:
            return False
        if self.activation.centred_parity == "odd" or self.activation.centre:
            return bool(np.any(self.intercept))
        return self.activation.centred_parity == "even" and self.skip is not None

    def simplify(self, tolerance: float = 1e-9) -> Network:
        """The smallest network equal to this one that merging and dropping neurons can give.

        Dead neurons go, duplicates and opposites become one, and what is linear goes into the linear part; the result
        is compared with this network at points near and far, and this network is returned if they differ.

        >>> net = Network([[1.0, 2.0], [-2.0, -4.0], [0.0, 0.0]], [1.0, -0.5, 3.0], bias=[1.0, -2.0, 1.0])
        >>> net.simplify()                       # max(z, 0) − max(−z, 0) + 3 = z + 3
        Network(no neurons, 2 inputs, biases, linear part, intercept)
        """
        return simplify(self, tolerance)

    @classmethod
    def from_sklearn(cls, model: Any) -> Network:
        """A fitted scikit-learn MLPRegressor or MLPClassifier (its log-odds), or a pipeline of a scaler and one.

        >>> Network.from_sklearn(Network([[1.0]], [2.0], bias=[0.5]).to_sklearn()).output
        array([2.])
        """
        return from_sklearn(cls, model)

    def to_sklearn(self) -> Any:
        """A fitted scikit-learn MLPRegressor that predicts the same; without neurons a LinearRegression.

        >>> Network([[1.0]], [2.0]).to_sklearn().predict([[3.0]])
        array([6.])
        """
        return to_sklearn(self)

    @classmethod
    def from_torch(cls, module: Any) -> Network:
        """A torch Sequential of Linear, activation and Linear, or what :meth:`to_torch` gives."""
        return from_torch(cls, module)

    def to_torch(self, dtype: str = "float64") -> Any:
        """A torch module that computes the same, in float64 or float32."""
        return to_torch(self, dtype)

    @classmethod
    def from_onnx(cls, path: str | PathLike[str]) -> Network:
        """An ONNX file that is a network with one hidden layer, by its weights; nothing in it is run."""
        return from_onnx(cls, path)

    def to_onnx(self, path: str | PathLike[str], dtype: str = "float32") -> Path:
        """Write an ONNX file with input X (n, d) and output Y (n, m), in float32 or float64; returns the path."""
        return to_onnx(self, path, dtype)

    def __repr__(self) -> str:
        outputs = f", {count_of(self.n_outputs, 'output')}" if self.output.ndim > 1 else ""
        there = (self.bias is not None, self.skip is not None, bool(np.any(self.intercept)))
        names = ("biases", "linear part", "intercept")
        extras = "".join(f", {name}" for name, part in zip(names, there, strict=True) if part)
        k, d = self.n_hidden, self.n_features
        neurons = count_of(k, f"{self.activation.name} neuron") if k else "no neurons"
        return f"Network({neurons}, {count_of(d, 'input')}{outputs}{extras})"
