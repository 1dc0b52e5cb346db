"""Fully connected models: output·φ(weights·x + bias) with its relatives, for one output and for several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from planted import activations
from planted.activations import Activation
from planted.networks import Network
from planted.numerics.precision import float64
from planted.objectives._models import (
    Model,
    Params,
    check_names,
    check_weights,
    flatten,
    lengths,
    named,
    part_beside,
    split,
    unit,
)
from planted.objectives._paths import Arrays, Candidates, neuron_paths


class Dense(Model):
    """x ↦ output·φ(weights·x + bias) + skip·x + intercept over {"weights", "output", "bias", "intercept", "skip"}.

    Parameters
    ----------
    activation : str, Activation or callable
    output : array (k,) or (m, k), optional
        Fixed output weights. If omitted they are parameters; parameters without them have outputs that are all one.
    bias, intercept, skip : bool
        Whether there are hidden biases (k,), an intercept () or (m,), a linear part (d,) or (m, d).
    n_outputs : int, optional
        m, where there are several outputs: the output weights are then (m, k).
    centred : bool
        Whether only differences of the m outputs matter, as for a softmax. Canonical outputs then sum to zero.

    Examples
    --------
    >>> model = Dense("relu", bias=True)
    >>> sorted(model.params(Network([[3.0, 4.0]], [2.0], bias=[1.0])))
    ['bias', 'output', 'weights']
    >>> model.canonical(model.params(Network([[3.0, 4.0]], [2.0], bias=[1.0])))["output"]
    array([10.])
    """

    _arrays = ("output",)
    _static = ("activation", "bias", "intercept", "skip", "n_outputs", "centred")
    centred: bool
    linear_part = "skip"
    on_host = True

    def __init__(
        self,
        activation: Any = "relu",
        output: ArrayLike | None = None,
        bias: bool = False,
        intercept: bool = False,
        skip: bool = False,
        n_outputs: int | None = None,
        centred: bool = False,
    ) -> None:
        self.activation = activations.get(activation)
        # A JAX array keeps its precision, and may be traced.
        self.output = output if output is None or isinstance(output, jax.Array) else np.asarray(output, float)
        self.bias, self.intercept, self.skip = bool(bias), bool(intercept), bool(skip)
        self.n_outputs = n_outputs if self.output is None else (None, *self.output.shape[:-1])[-1]
        self.centred = bool(centred)

    @property
    def _degree(self) -> float | None:
        """Degree of homogeneity, where the scale of a neuron is free between its weights and its output."""
        return self.activation.homogeneity if self.output is None else None

    @property
    def _parity(self) -> str | None:
        return self.activation.parity

    @property
    def _lead(self) -> tuple[int, ...]:
        return () if self.n_outputs is None else (self.n_outputs,)

    def check_shapes(self, arrays: Arrays, row_shape: tuple[int, ...]) -> None:
        """Weights (k, d); output unless fixed; bias, intercept and linear part if there are any.

        There may be no neuron where there is an intercept or a linear part.
        """
        d = row_shape[-1]
        if "weights" in arrays and not (np.shape(arrays["weights"]) == (0, d) and (self.skip or self.intercept)):
            check_weights(arrays["weights"], d)
        k = len(arrays.get("weights", ()))
        wanted: dict[str, tuple[int, ...]] = {"weights": (k, d)}
        if self.output is None:
            wanted["output"] = (*self._lead, k)
        if self.bias:
            wanted["bias"] = (k,)
        if self.intercept:
            wanted["intercept"] = self._lead
        if self.skip:
            wanted[self.linear_part] = (*self._lead, d)
        check_names(arrays, wanted, "" if self._lead else "output")
        if self.output is not None and self.output.shape[-1] != k:
            raise ValueError(f"weights has {k} rows but the fixed output has {self.output.shape[-1]} entries")

    def preactivations(self, params: Params, x: jax.Array) -> jax.Array:
        """weights·x + bias (r, k)."""
        return self._by_neuron(params, x).T

    def _by_neuron(self, params: Params, x: jax.Array) -> jax.Array:
        """Pre-activations (k, r): along the rows, which are many, the processor works on several numbers at a time."""
        params = named(params)
        z = params["weights"] @ x.T
        return z + params["bias"][:, None] if self.bias else z

    def reach(self, params: Params, x: jax.Array) -> jax.Array:
        """‖w‖‖x‖ + |b| (r, k)."""
        params = named(params)
        bound = jnp.linalg.norm(x, axis=-1)[:, None] * jnp.linalg.norm(params["weights"], axis=1)
        return bound + jnp.abs(params["bias"]) if self.bias else bound

    def predict(self, params: Params, x: jax.Array) -> jax.Array:
        """Network outputs (r,) or (r, m) for rows x (r, d)."""
        return self._outward(params, self._by_neuron(params, x), x)

    def linearised(
        self, params: Params, direction: Params, x: jax.Array
    ) -> tuple[jax.Array, jax.Array, Callable[[jax.Array], Params]]:
        """As of any model, with pre-activations and their change by one product with the rows."""
        both = jax.tree.map(lambda at, change: jnp.stack([at, change]), named(params), named(direction))
        k, d = both["weights"].shape[1:]
        z = (both["weights"].reshape(2 * k, d) @ x.T).reshape(2, k, len(x))
        z, dz = z + both["bias"][:, :, None] if self.bias else z
        value, linear = jax.linearize(lambda at, z: self._outward(at, z, x), params, z)

        def transposed(change: jax.Array) -> Params:
            outward, by_neuron = jax.linear_transpose(linear, params, z)(change)
            (inward,) = jax.linear_transpose(lambda at: self._by_neuron(at, x), params)(by_neuron)
            return jax.tree.map(jnp.add, outward, inward)

        return value, linear(direction, dz), transposed

    def _outward(self, params: Params, z: jax.Array, x: jax.Array) -> jax.Array:
        """Network outputs (r,) or (r, m) from pre-activations (k, r)."""
        _, output = split(params, self.output)
        value = (output @ self.feature(z)).T
        if self.intercept:
            value = value + params["intercept"]
        return value + x @ params[self.linear_part].T if self.skip else value

    def params(self, network: Network) -> dict[str, np.ndarray]:
        """Of the network's arrays, those that are parameters here."""
        (k, d), lead = network.weights.shape, self._lead
        zero = {"bias": np.zeros(k), "intercept": np.zeros(lead), "skip": np.zeros((*lead, d))}
        arrays = zero | network.arrays()
        for name, there in (("bias", self.bias), ("intercept", self.intercept), ("skip", self.skip)):
            if not there and np.any(arrays[name]):
                raise ValueError(f"the network has a part that this model has not: {name}")
        names = ["weights", *(["output"] if self.output is None else [])]
        return {name: arrays[name] for name in [*names, *(n for n in zero if getattr(self, n))]}

    def network(self, params: Params) -> Network:
        """The network with these parameters."""
        arrays = named(params)
        return Network(**{**arrays, "output": self._outer(arrays)}, activation=self.activation)

    def _outer(self, arrays: Arrays) -> np.ndarray:
        """The output layer (k,) or (m, k), fixed or among the parameters."""
        if "output" in arrays:
            return np.asarray(arrays["output"])
        return np.ones(len(arrays["weights"])) if self.output is None else np.asarray(self.output)

    def outer(self, params: Params) -> np.ndarray:
        """The output layer (k,) or (m, k) on the host."""
        return self._outer(named(params))

    def linear_between_kinks(self, arrays: Arrays) -> bool:
        """True for piecewise-linear φ and fixed outputs."""
        return self.activation.homogeneity == 1 and "output" not in arrays

    def symmetries(self, arrays: Arrays, silent: np.ndarray) -> Candidates:
        """Those of neurons, and of outputs of which only differences matter."""
        yield from neuron_paths(arrays, self._outer(arrays), self.activation.homogeneity, self._parity, silent)
        for shift in self._shifts(arrays):
            yield (
                "outputs that move together",
                lambda t, shift=shift: {  # type: ignore[misc]
                    name: value + t * shift[name] for name, value in arrays.items()
                },
            )

    def _shifts(self, arrays: Arrays) -> list[Arrays]:
        """Directions in which all outputs move by the same function."""
        shifts = []
        for name in {"output", "intercept", self.linear_part} & arrays.keys() if self.centred else ():
            for place in np.ndindex(arrays[name].shape[1:]):
                shift = {other: np.zeros(value.shape) for other, value in arrays.items()}
                shift[name][(slice(None), *place)] = 1.0
                shifts.append(shift)
        return shifts

    def normalised(self, params: dict[str, Any]) -> dict[str, Any]:
        """Unit rows where φ is homogeneous and outputs are free; outputs that sum to zero where they are centred."""
        if self.centred:
            names = {"output", "intercept", self.linear_part} & params.keys()
            params = params | {name: params[name] - params[name].mean(axis=0) for name in names}
        if self._degree is None or "output" not in params:
            return params
        length = lengths(params["weights"])
        changed = {"weights": unit(params["weights"]), "output": params["output"] * length**self._degree}
        return params | changed | ({"bias": params["bias"] / length} if self.bias else {})

    def gauge(self, arrays: Arrays) -> np.ndarray:
        """A neuron's scale, (w_i, b_i, −p a_i) for φ of degree p, and shifts of all outputs."""
        tangents = self._shifts(arrays)
        if self._degree is not None and "output" in arrays:
            for i in np.flatnonzero(np.any(arrays["weights"], axis=1)):
                tangent = {name: np.zeros(value.shape) for name, value in arrays.items()}
                for name in {"weights", "bias"} & arrays.keys():
                    tangent[name][i] = arrays[name][i]
                tangent["output"][..., i] = -self._degree * arrays["output"][..., i]
                tangents.append(tangent)
        return np.array([flatten(tangent) for tangent in tangents]).reshape(len(tangents), len(flatten(arrays)))

    def canonical_slope(self, arrays: Arrays, open_: np.ndarray | None = None) -> np.ndarray:
        """For a unit row u and φ of degree p: u changes by dw − u l·dw, the output by da + p a l·dw, the bias by db −
        b l·dw. Here l is u; with directions `open_` (p, q) it is the part of u beside them, of which u has one.
        """
        slope = super().canonical_slope(arrays) if self.centred else np.eye(len(flatten(arrays)))
        if self._degree is None or "output" not in arrays:
            return slope
        names, sizes = sorted(arrays), [arrays[name].size for name in sorted(arrays)]
        starts, (k, d) = dict(zip(names, np.cumsum([0, *sizes]), strict=False)), arrays["weights"].shape
        for i in np.flatnonzero(np.any(arrays["weights"], axis=1)):
            row, own = arrays["weights"][i], starts["weights"] + i * d + np.arange(d)
            outputs = np.atleast_2d(arrays["output"])[:, i]
            places = starts["output"] + np.arange(len(outputs)) * k + i
            length = row
            if open_ is not None and np.any(outputs):
                # A direction is one beside the scale: the multiple of that is added which leaves the outputs alone.
                scale = outputs @ open_[places] / (self._degree * outputs @ outputs)
                length = part_beside(row, open_[own] + np.outer(row, scale))
            # That of a softmax has the term of u already.
            length = length - row if self.centred else length
            slope[np.ix_(own, own)] -= np.outer(row, length)
            slope[np.ix_(places, own)] += self._degree * np.outer(outputs, length)
            if "bias" in arrays:
                slope[starts["bias"] + i, own] -= arrays["bias"][i] * length
        return slope

    @float64
    def canonical(self, params: Params) -> dict[str, np.ndarray]:
        """That of :meth:`planted.Network.canonical`, with fixed outputs the parameters as they are."""
        arrays = super().canonical(params)
        if "output" not in arrays:
            return arrays
        centred = {name: np.asarray(value) for name, value in self.normalised(arrays).items()}
        network = self.network(centred).canonical()
        try:
            return self.params(network) if network.n_hidden else centred
        except ValueError:
            # Neurons that turn around may need an intercept, which this model has not.
            return centred


def check_layers(arrays: Arrays, n_features: int, output: Any) -> None:
    """Raise a ValueError unless `arrays` holds weights (k, d) and, unless `output` is fixed, perhaps outputs (k,).

    >>> check_layers({"weights": np.ones((2, 3)), "output": np.ones(1)}, 3, None)
    Traceback (most recent call last):
    ValueError: output has shape (1,), expected (2,)
    """
    Dense(output=output).check_shapes(arrays, (n_features,))


def symmetric_part(activation: Activation, z: jax.Array) -> jax.Array:
    """ψ(z) = φ(z) − offset − tilt·z, traceable.

    >>> symmetric_part(activations.get("relu"), jnp.array([-2.0, 2.0]))
    Array([1., 1.], dtype=float32)
    """
    value = activation(z)
    if activation.tilt:
        value = value - activation.tilt * z
    return value - activation.offset if activation.offset else value


class SymmetricDense(Dense):
    r"""x ↦ intercept + linear·x + output·ψ(weights·x + bias), with φ(z) = offset + tilt·z + ψ(z).

    For ReLU, leaky ReLU and softplus ψ is even; for sigmoids, tanh and erf it is odd. (w_i, b_i) and (−w_i, −b_i) are
    then the same neuron (with −output_i if ψ is odd). The linear term is there when tilt ≠ 0.

    Parameters
    ----------
    activation : str, Activation or callable
    output : array (k,) or (m, k), optional
        Fixed outputs: for a homogeneous ψ only their signs matter, lengths being in the weights.
    bias : bool
    n_outputs : int, optional

    Examples
    --------
    >>> model = SymmetricDense("relu")
    >>> params = model.params(Network([[2.0]], [1.0]))
    >>> {name: float(value.ravel()[0]) for name, value in params.items()}
    {'weights': 2.0, 'output': 1.0, 'intercept': 0.0, 'linear': 1.0}
    >>> model.network(params).predict([[3.0], [-3.0]])
    array([6., 0.])
    """

    linear_part = "linear"
    symmetric = True

    def __init__(
        self,
        activation: Any = "relu",
        output: ArrayLike | None = None,
        bias: bool = False,
        n_outputs: int | None = None,
    ) -> None:
        act = activations.get(activation)
        super().__init__(act, output, bias, True, bool(act.tilt), n_outputs)

    @property
    def _parity(self) -> str | None:
        return self.activation.centred_parity

    def feature(self, z: jax.Array) -> jax.Array:
        """ψ(z), traceable."""
        return symmetric_part(self.activation, z)

    def _moved(self, network: Network) -> tuple[np.ndarray, np.ndarray]:
        """What Σ_i output_i (offset + tilt z_i) adds to the intercept and to the linear part."""
        act, bias = self.activation, network.shift
        return network.output @ (act.offset + act.tilt * bias), act.tilt * network.output @ network.weights

    def params(self, network: Network) -> dict[str, np.ndarray]:
        """Of the network's arrays those that are parameters here, its linear and constant parts taken together."""
        constant, linear = self._moved(network)
        skip = 0.0 if network.skip is None else network.skip
        if not self.skip and np.any(skip):
            raise ValueError("the network has a part that this model has not: skip")
        arrays = {"intercept": network.intercept + constant} | ({"skip": skip + linear} if self.skip else {})
        params = super().params(network.replace(**arrays))
        return {"linear" if name == "skip" else name: value for name, value in params.items()}

    def network(self, params: Params) -> Network:
        """The network of φ with these parameters."""
        arrays = {"skip" if name == "linear" else name: value for name, value in params.items()}
        network = super().network(arrays)
        constant, linear = self._moved(network)
        skip = {"skip": network.skip - linear} if network.skip is not None else {}
        return network.replace(intercept=network.intercept - constant, **skip)


class MeanOfProbabilities(Dense):
    """x ↦ (1/k) Σ_i φ(weights_i·x + bias_i) for φ into [0, 1]: eq. 3 of Fu et al. (2018).

    Examples
    --------
    >>> MeanOfProbabilities("sigmoid").network(np.zeros((2, 1))).output
    array([0.5, 0.5])
    """

    def __init__(self, activation: Any = "sigmoid", bias: bool = False) -> None:
        super().__init__(activation, bias=bias)

    @property
    def mirrored(self) -> bool:
        """Whether 1 − φ(z) = φ(−z)."""
        return self.activation.centred_parity == "odd" and self.activation.offset == 0.5

    def outer(self, params: Params) -> np.ndarray:
        """1/k for each neuron."""
        k = len(named(params)["weights"])
        return np.full(k, 1 / k)

    @property
    def _degree(self) -> float | None:
        return None

    @property
    def free_output(self) -> bool:
        """False: the outputs are 1/k."""
        return False

    def check_shapes(self, arrays: Arrays, row_shape: tuple[int, ...]) -> None:
        """Weights (k, d); bias (k,) if there are biases."""
        if "output" in arrays:
            raise ValueError(f"params has {sorted(arrays)}, but the outputs are 1/k")
        super().check_shapes(arrays, row_shape)

    def _outward(self, params: Params, z: jax.Array, x: jax.Array) -> jax.Array:
        """P(y = 1) (r,) from pre-activations (k, r)."""
        return jnp.mean(self.activation(z), axis=0)

    def complement(self, params: Params, x: jax.Array) -> jax.Array:
        """P(y = 0) (r,)."""
        z, act = self._by_neuron(params, x), self.activation
        # 1 − φ(z) = φ(−z) where φ is odd about 1/2, which keeps digits that the subtraction loses.
        return jnp.mean(act(-z) if self.mirrored else 1 - act(z), axis=0)

    def params(self, network: Network) -> dict[str, np.ndarray]:
        """Weights, and biases if there are any."""
        params = super().params(network)
        del params["output"]
        return params

    def network(self, params: Params) -> Network:
        """The network with these neurons and outputs 1/k."""
        arrays, k = named(params), len(named(params)["weights"])
        return Network(**arrays, output=np.full(k, 1 / k), activation=self.activation)
