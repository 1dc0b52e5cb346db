"""Networks to and from scikit-learn, torch and ONNX. A library is imported only when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planted import activations
from planted.names import SKLEARN_ACTIVATIONS
from planted.numerics.files import write_whole

if TYPE_CHECKING:
    from planted.networks._dense import Network

_TORCH = {
    "relu": "ReLU",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "gelu": "GELU",
    "silu": "SiLU",
    "relu6": "ReLU6",
    "hard_tanh": "Hardtanh",
    "hard_sigmoid": "Hardsigmoid",
    "leaky_relu": "LeakyReLU",
}
_ONNX = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Softplus": "softplus", "Abs": "abs"}


class ConversionError(ValueError):
    """A network that another library cannot represent, or a model of another library that is no such network."""


def _missing(library: str, extra: str) -> ImportError:
    return ImportError(f"this needs {library}: pip install 'planted[{extra}]'")


# scikit-learn


def from_sklearn(kind: type[Network], model: Any) -> Network:
    """A fitted MLPRegressor or MLPClassifier, or a pipeline of a StandardScaler and one, as a network."""
    centre = scale = None
    if hasattr(model, "steps"):
        *before, (_, last) = model.steps
        if len(before) > 1 or not all(hasattr(step, "scale_") and hasattr(step, "mean_") for _, step in before):
            raise ConversionError(
                "only a pipeline of a StandardScaler and a network can be converted; use planted.read"
            )
        if before:
            scaler = before[0][1]
            scale = np.ones(scaler.n_features_in_) if scaler.scale_ is None else scaler.scale_
            centre = np.zeros(scaler.n_features_in_) if scaler.mean_ is None else scaler.mean_
        model = last
    if not hasattr(model, "coefs_") or not hasattr(model, "hidden_layer_sizes"):
        raise ConversionError(f"{type(model).__name__} is not a fitted network of scikit-learn")
    if len(model.coefs_) != 2:
        raise ConversionError(f"the model has {len(model.coefs_) - 1} hidden layers, not one")
    weights, output = model.coefs_[0].T.astype(float), model.coefs_[1].T.astype(float)
    bias, intercept = model.intercepts_[0].astype(float), model.intercepts_[1].astype(float)
    if scale is not None and centre is not None:
        weights = weights / scale
        bias = bias - weights @ centre
    names = {theirs: ours for ours, theirs in SKLEARN_ACTIVATIONS.items()}
    if model.activation == "identity":
        d = weights.shape[1]
        arrays = {"intercept": intercept + output @ bias, "skip": output @ weights, "bias": np.empty(0)}
        weights, output, activation = np.empty((0, d)), np.empty((len(output), 0)), "relu"
    else:
        arrays = {"intercept": intercept, "bias": bias}
        activation = names[model.activation]
    if len(intercept) == 1:
        output, arrays["intercept"] = output[0], arrays["intercept"][0]
        if "skip" in arrays:
            arrays["skip"] = arrays["skip"][0]
    return kind(weights, output, activation, **arrays)


def to_sklearn(network: Network) -> Any:
    """A fitted MLPRegressor that predicts the same, or a LinearRegression for a network without neurons."""
    from sklearn.neural_network import MLPRegressor

    if not network.n_hidden:
        return _linear_regression(network)
    name = network.activation.name
    if name not in SKLEARN_ACTIVATIONS or any(value != 1.0 for _, value in network.activation.parameters):
        known = ", ".join(SKLEARN_ACTIVATIONS)
        raise ConversionError(f"scikit-learn has no {network.activation!r} neurons; it knows {known}")
    if network.skip is not None:
        raise ConversionError("scikit-learn's networks have no linear part beside their neurons")
    k, m = network.n_hidden, network.n_outputs
    model = MLPRegressor(hidden_layer_sizes=(k,), activation=SKLEARN_ACTIVATIONS[name])
    model.coefs_ = [network.weights.T.copy(), np.atleast_2d(network.output).T.copy()]
    bias = np.zeros(k) if network.bias is None else network.bias.copy()
    model.intercepts_ = [bias, np.atleast_1d(np.asarray(network.intercept, dtype=float)).copy()]
    model.n_layers_, model.n_outputs_, model.out_activation_ = 3, m, "identity"
    model.n_features_in_, model.n_iter_, model.t_ = network.n_features, 0, 0
    return model


def _linear_regression(network: Network) -> Any:
    from sklearn.linear_model import LinearRegression

    model = LinearRegression()
    shape = (*network.output.shape[:-1], network.n_features)
    model.coef_ = np.zeros(shape) if network.skip is None else network.skip.copy()
    model.intercept_ = np.array(network.intercept, dtype=float)[()]
    model.n_features_in_ = network.n_features
    return model


# torch


def to_torch(network: Network, dtype: str = "float64") -> Any:
    """A torch module that computes the same, in float64 or float32."""
    try:
        import torch
    except ImportError:
        raise _missing("torch", "torch") from None
    kind = getattr(torch, dtype)
    hidden = torch.nn.Linear(network.n_features, network.n_hidden, bias=network.bias is not None, dtype=kind)
    final = torch.nn.Linear(network.n_hidden, network.n_outputs, dtype=kind)
    with torch.no_grad():
        hidden.weight.copy_(torch.tensor(network.weights))
        if network.bias is not None:
            hidden.bias.copy_(torch.tensor(network.bias))
        final.weight.copy_(torch.tensor(np.atleast_2d(network.output)))
        final.bias.copy_(torch.tensor(np.atleast_1d(network.intercept)))
    chain = torch.nn.Sequential(hidden, _torch_activation(torch, network.activation), final)
    if network.skip is None:
        return chain
    linear = torch.nn.Linear(network.n_features, network.n_outputs, bias=False, dtype=kind)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(np.atleast_2d(network.skip)))

    return with_linear_part(chain, linear)


def with_linear_part(neurons: Any, skip: Any) -> Any:
    """The torch module x ↦ neurons(x) + skip(x), which pickles as a call of this function."""
    import torch

    class WithLinearPart(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.neurons, self.skip = neurons, skip

        def forward(self, x: Any) -> Any:
            return self.neurons(x) + self.skip(x)

        def __reduce__(self) -> Any:
            return with_linear_part, (self.neurons, self.skip)

    return WithLinearPart()


def _torch_activation(torch: Any, act: Any) -> Any:
    parameters = dict(act.parameters)
    if act.name not in _TORCH:
        raise ConversionError(f"torch has no module for {act!r}; it knows {', '.join(_TORCH)}")
    kind = getattr(torch.nn, _TORCH[act.name])
    if act.name == "leaky_relu":
        return kind(negative_slope=parameters["slope"])
    if act.name == "softplus":
        return kind(beta=parameters["b"], threshold=1e9)
    if parameters.get("b", 1.0) != 1.0:
        raise ConversionError(f"torch has no module for {act!r}")
    return kind()


def from_torch(kind: type[Network], module: Any) -> Network:
    """A torch Sequential of Linear, activation, Linear, or what :func:`to_torch` gives, as a network."""
    skip = None
    if hasattr(module, "neurons") and hasattr(module, "skip"):
        skip = module.skip.weight.detach().cpu().double().numpy()
        module = module.neurons
    parts = [part for part in module.modules() if not list(part.children())]
    shape = [type(part).__name__ for part in parts]
    names = {theirs: ours for ours, theirs in _TORCH.items()}
    if len(parts) != 3 or shape[0] != "Linear" or shape[2] != "Linear" or shape[1] not in names:
        raise ConversionError(
            f"the module is {' → '.join(shape) or 'empty'}, not Linear → activation → Linear; planted.read may read it"
        )
    first, act, last = parts
    name, parameters = names[shape[1]], {}
    if name == "leaky_relu":
        parameters = {"slope": float(act.negative_slope)}
    elif name == "softplus":
        parameters = {"b": float(act.beta)}
    elif name == "gelu" and getattr(act, "approximate", "none") != "none":
        raise ConversionError("the module's gelu is an approximation of the one that planted knows")
    elif name == "hard_tanh" and (act.min_val, act.max_val) != (-1.0, 1.0):
        raise ConversionError("the module's hard tanh is not between −1 and 1")

    def array(tensor: Any) -> np.ndarray:
        return tensor.detach().cpu().double().numpy()

    output = array(last.weight)
    intercept = np.zeros(len(output)) if last.bias is None else array(last.bias)
    bias = None if first.bias is None else array(first.bias)
    if len(output) == 1:
        output, intercept = output[0], intercept[0]
        skip = None if skip is None else skip[0]
    return kind(
        array(first.weight), output, activations.get(name, **parameters), bias=bias, intercept=intercept, skip=skip
    )


# ONNX


def to_onnx(network: Network, path: str | PathLike[str], dtype: str = "float32") -> Path:
    """Write an ONNX model with one input X (n, d) and one output Y (n, m); returns the path written."""
    target = Path(path)
    write_whole(target, onnx_bytes(network, dtype))
    return target


def onnx_bytes(network: Network, dtype: str = "float32") -> bytes:
    """The ONNX model of :func:`to_onnx` as the bytes of a file."""
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        raise _missing("onnx", "onnx") from None
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be float32 or float64, not {dtype!r}")
    kind, real = (TensorProto.FLOAT, np.float32) if dtype == "float32" else (TensorProto.DOUBLE, np.float64)
    d, m = network.n_features, network.n_outputs
    arrays = {
        "weights": network.weights.T,
        "bias": network.shift,
        "output": np.atleast_2d(network.output).T,
        "intercept": np.atleast_1d(network.intercept),
    }
    nodes = [helper.make_node("Gemm", ["X", "weights", "bias"], ["z"])]
    made, extra = _onnx_activation(helper, network.activation)
    nodes += [*made, helper.make_node("Gemm", ["h", "output", "intercept"], ["f" if network.skip is not None else "Y"])]
    arrays |= extra
    if network.skip is not None:
        arrays["skip"] = np.atleast_2d(network.skip).T
        nodes += [helper.make_node("MatMul", ["X", "skip"], ["s"]), helper.make_node("Add", ["f", "s"], ["Y"])]
    graph = helper.make_graph(
        nodes,
        "planted",
        [helper.make_tensor_value_info("X", kind, [None, d])],
        [helper.make_tensor_value_info("Y", kind, [None, m])],
        [numpy_helper.from_array(np.ascontiguousarray(value, dtype=real), name) for name, value in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    parts = {"parameters": dict(network.activation.parameters), "vector": network.output.ndim == 1}
    helper.set_model_props(
        model,
        {
            "planted_activation": network.activation.name,
            "planted": json.dumps(parts | {"bias": network.bias is not None}),
        },
    )
    onnx.checker.check_model(model)
    return model.SerializeToString()


def _onnx_activation(helper: Any, act: Any) -> tuple[list[Any], dict[str, np.ndarray]]:
    """Nodes from z to h, and the constants they need."""
    node: Callable[..., Any] = helper.make_node
    name, parameters = act.name, dict(act.parameters)
    scalar = lambda value: np.array(value)  # noqa: E731
    b = parameters.get("b", 1.0)
    if name == "leaky_relu":
        return [node("LeakyRelu", ["z"], ["h"], alpha=parameters["slope"])], {}
    if name in ("relu", "abs", "tanh"):
        return [node({"relu": "Relu", "abs": "Abs", "tanh": "Tanh"}[name], ["z"], ["h"])], {}
    if name in ("sigmoid", "tanh_probability"):
        b = 2.0 if name == "tanh_probability" else b
        return [node("Mul", ["z", "rate"], ["y"]), node("Sigmoid", ["y"], ["h"])], {"rate": scalar(b)}
    if name == "softplus":
        return [
            node("Mul", ["z", "rate"], ["y"]),
            node("Softplus", ["y"], ["p"]),
            node("Div", ["p", "rate"], ["h"]),
        ], {"rate": scalar(b)}
    if name == "quadratic":
        return [node("Mul", ["z", "z"], ["h"])], {}
    if name == "squared_relu":
        return [node("Relu", ["z"], ["r"]), node("Mul", ["r", "r"], ["h"])], {}
    if name == "silu":
        return [node("Sigmoid", ["z"], ["p"]), node("Mul", ["z", "p"], ["h"])], {}
    if name == "gelu":
        constants = {"rate": scalar(np.sqrt(0.5)), "one": scalar(1.0), "half": scalar(0.5)}
        return [
            node("Mul", ["z", "rate"], ["y"]),
            node("Erf", ["y"], ["e"]),
            node("Add", ["e", "one"], ["p"]),
            node("Mul", ["p", "half"], ["q"]),
            node("Mul", ["z", "q"], ["h"]),
        ], constants
    if name in ("erf", "standard_erf"):
        rate, height = (np.sqrt(0.5), np.sqrt(2.0)) if name == "erf" else (1.0, 1.0)
        nodes = [node("Mul", ["z", "rate"], ["y"]), node("Erf", ["y"], ["e"]), node("Mul", ["e", "height"], ["h"])]
        return nodes, {"rate": scalar(rate), "height": scalar(height)}
    if name in ("relu6", "hard_tanh", "hard_sigmoid"):
        low, high, rate, shift = {
            "relu6": (0.0, 6.0, 1.0, 0.0),
            "hard_tanh": (-1.0, 1.0, 1.0, 0.0),
            "hard_sigmoid": (0.0, 1.0, 1 / 6, 0.5),
        }[name]
        return [
            node("Mul", ["z", "rate"], ["y"]),
            node("Add", ["y", "shift"], ["p"]),
            node("Clip", ["p", "low", "high"], ["h"]),
        ], {"rate": scalar(rate), "shift": scalar(shift), "low": scalar(low), "high": scalar(high)}
    raise ConversionError(f"ONNX has no operator for {act!r}")


def from_onnx(kind: type[Network], path: str | PathLike[str]) -> Network:
    """An ONNX model that is a network with one hidden layer, by its weights: nothing is run."""
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError:
        raise _missing("onnx", "onnx") from None
    if not Path(path).is_file():
        raise ConversionError(f"no ONNX file at {path}")
    try:
        model = onnx.load(str(path))
    except Exception as error:
        raise ConversionError(f"{path} is not an ONNX model: {str(error)[:100]}") from None
    arrays = {item.name: numpy_helper.to_array(item).astype(float) for item in model.graph.initializer}
    properties = {item.key: item.value for item in model.metadata_props}
    if "planted_activation" in properties:
        return _own(kind, arrays, properties)
    return _chain(kind, model.graph, arrays, path)


def _own(kind: type[Network], arrays: dict[str, np.ndarray], properties: dict[str, str]) -> Network:
    parts = json.loads(properties["planted"])
    output, intercept, skip = arrays["output"].T, arrays["intercept"], arrays.get("skip")
    skip = None if skip is None else skip.T
    if parts["vector"]:
        output, intercept, skip = output[0], intercept[0], None if skip is None else skip[0]
    act = activations.get(properties["planted_activation"], **parts["parameters"])
    bias = arrays["bias"] if parts["bias"] else None
    return kind(arrays["weights"].T, output, act, bias=bias, intercept=intercept, skip=skip)


def _chain(kind: type[Network], graph: Any, arrays: dict[str, np.ndarray], path: Any) -> Network:
    """Gemm or MatMul and Add, one activation, Gemm or MatMul and Add, as other tools write them."""
    layers: list[list[np.ndarray]] = []
    acts: list[Any] = []
    for item in graph.node:
        known = [arrays[name] for name in item.input if name in arrays]
        options = {attribute.name: attribute for attribute in item.attribute}
        if item.op_type in ("Gemm", "MatMul") and known:
            matrix = known[0].T if item.op_type == "Gemm" and "transB" in options and options["transB"].i else known[0]
            layers.append([matrix, known[1] if len(known) > 1 else np.zeros(matrix.shape[1])])
        elif item.op_type == "Add" and known and layers:
            layers[-1][1] = layers[-1][1] + known[0].ravel()
        elif item.op_type == "LeakyRelu":
            slope = options["alpha"].f if "alpha" in options else 0.01
            acts.append(activations.get("leaky_relu", slope=float(slope)))
        elif item.op_type in _ONNX:
            acts.append(activations.get(_ONNX[item.op_type]))
        elif item.op_type not in ("Identity", "Flatten", "Squeeze", "Reshape", "Cast"):
            raise ConversionError(f"{path} has an operator {item.op_type}; planted.read may read it by asking")
    if len(layers) != 2 or len(acts) != 1:
        raise ConversionError(f"{path} has {len(layers)} layers and {len(acts)} activations, not two and one")
    (first, bias), (last, intercept) = layers
    output, level = (last[:, 0], intercept[0]) if last.shape[1] == 1 else (last.T, intercept)
    return kind(first.T, output, acts[0], bias=bias, intercept=level)
