"""Models of other libraries as functions of arrays. A library is imported only when one of its models is met."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from planted.names import SKLEARN_ACTIVATIONS
from planted.networks import Network
from planted.reading._query import ModelError, Source

# Log-odds from probabilities lose digits as the greater of two comes close to one: eps·exp(log-odds).
_HIGHEST_LOG_ODDS = 5.0
_OURS = {theirs: ours for ours, theirs in SKLEARN_ACTIVATIONS.items()}
_TORCH = {
    "ReLU": "relu",
    "LeakyReLU": "leaky_relu",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
    "GELU": "gelu",
    "SiLU": "silu",
    "Softplus": "softplus",
    "ReLU6": "relu6",
    "Hardtanh": "hard_tanh",
    "Hardsigmoid": "hard_sigmoid",
}


def adapt(model: Any, n_inputs: int | None = None) -> Source:
    """A model as a :class:`Source`; `n_inputs` is needed where the model does not say how many inputs it takes.

    Examples
    --------
    >>> adapt(lambda X: X[:, 0], n_inputs=3).n_inputs
    3
    >>> adapt(Network([[1.0, 2.0]], [1.0])).n_inputs
    2
    """
    source = _adapt(model, n_inputs)
    if n_inputs is not None and source.n_inputs != n_inputs:
        raise ValueError(f"the model takes {source.n_inputs} inputs, not {n_inputs}")
    return source


def _adapt(model: Any, n_inputs: int | None) -> Source:
    if isinstance(model, Network):
        return Source(model.predict, model.n_features, activation=model.activation.name)
    if isinstance(model, str | PathLike):
        return _onnx(_session(model), n_inputs)
    if hasattr(model, "get_inputs") and hasattr(model, "run"):
        return _onnx(model, n_inputs)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        return _torch(torch, model, n_inputs)
    if hasattr(model, "predict") or hasattr(model, "predict_proba"):
        return _estimator(model, n_inputs)
    if not callable(model):
        raise TypeError(
            f"a model is a function of arrays, an estimator, a module or a file, not {type(model).__name__}"
        )
    return Source(model, _counted(n_inputs, "a function"))


def _counted(n_inputs: int | None, what: str) -> int:
    if n_inputs is None:
        raise ValueError(f"{what} does not say how many inputs it takes; give n_inputs (--inputs)")
    if isinstance(n_inputs, bool) or not isinstance(n_inputs, int | np.integer) or n_inputs < 1:
        raise ValueError(f"n_inputs must be a positive integer, not {n_inputs!r}")
    return int(n_inputs)


def _estimator(model: Any, n_inputs: int | None) -> Source:
    """An estimator by `predict`; a classifier by its decision function, or by log-odds of its probabilities."""
    inputs = getattr(model, "n_features_in_", n_inputs)
    if inputs is None and not hasattr(model, "classes_"):
        from sklearn.base import BaseEstimator
        from sklearn.utils.validation import check_is_fitted

        if isinstance(model, BaseEstimator):
            check_is_fitted(model)
    inputs = _counted(inputs, f"the {type(model).__name__}")
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    last = getattr(last, "regressor_", last)
    name = getattr(last, "activation", None)
    activation = _OURS.get(name) if isinstance(name, str) else None
    centre, scale = _scaler(model)
    function, bounded = _answers(model, last)
    return Source(_named_columns(model, function), inputs, activation, centre, scale, bounded)


def _named_columns(model: Any, function: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    """The function on tables with the column names that the model was fitted with, if it was."""
    columns = getattr(model, "feature_names_in_", None)
    if columns is None:
        return function
    import pandas

    return lambda X: function(pandas.DataFrame(X, columns=columns))


def _answers(model: Any, last: Any) -> tuple[Callable[[Any], Any], bool]:
    """What to ask an estimator for, and whether its answers are undefined far out."""
    if not hasattr(model, "predict_proba"):
        return (model.decision_function if hasattr(model, "classes_") else model.predict), False
    if hasattr(model, "decision_function"):
        return model.decision_function, False
    if getattr(last, "out_activation_", None) in ("logistic", "softmax"):
        return _logits(model, last), False
    return (lambda X: log_ratios(model.predict_proba(X))), True


def _logits(model: Any, last: Any) -> Callable[[Any], Any]:
    """The log-odds of a scikit-learn MLPClassifier, or its unnormalised log-probabilities for several classes.

    `predict_proba` of a copy whose last activation is the identity gives them without the rounding of a probability
    close to one.
    """
    bare = copy.copy(last)
    bare.out_activation_ = "identity"
    if last is not model:
        whole = copy.copy(model)
        whole.steps = [*model.steps[:-1], (model.steps[-1][0], bare)]
    else:
        whole = bare
    one = last.n_outputs_ == 1

    def logits(X: Any) -> np.ndarray:
        answers = np.asarray(whole.predict_proba(X))
        return answers[:, 1] if one else answers

    return logits


def log_ratios(probabilities: Any) -> np.ndarray:
    """log p_1 − log p_0 for two classes, log p_c − log p_0 (c = 1, 2, …) for more; NaN where too few digits are left.

    >>> log_ratios([[0.5, 0.5], [0.9, 0.1]]).round(6)
    array([ 0.      , -2.197225])
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] < 2:
        raise ModelError(f"predict_proba answered with shape {p.shape}; expected one column a class")
    with np.errstate(divide="ignore", invalid="ignore"):
        if p.shape[1] == 2:
            odds = np.log(p[:, 1]) - np.log1p(-p[:, 1])
            return np.where(np.isfinite(odds) & (odds < _HIGHEST_LOG_ODDS), odds, np.nan)
        logs = np.log(p)
        ratios = logs[:, 1:] - logs[:, :1]
    return np.where(np.isfinite(ratios).all(axis=1, keepdims=True) & (p.min(axis=1, keepdims=True) > 0), ratios, np.nan)


def _scaler(model: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Mean and scale of the inputs, from the scaler that a pipeline begins with."""
    if not hasattr(model, "steps"):
        return None, None
    first = model.steps[0][1]
    centre = getattr(first, "mean_", getattr(first, "center_", None))
    scale = getattr(first, "scale_", None)
    if scale is None or np.ndim(scale) != 1 or not hasattr(first, "transform"):
        return None, None
    if centre is None:
        centre = np.zeros(len(scale))
        if hasattr(first, "min_"):  # a MinMaxScaler's scale multiplies
            scale, centre = 1 / np.asarray(scale), -np.asarray(first.min_) / np.asarray(scale)
    return np.asarray(centre, dtype=np.float64), np.asarray(scale, dtype=np.float64)


def _torch(torch: Any, module: Any, n_inputs: int | None) -> Source:
    parameters = list(module.parameters())
    if n_inputs is None:
        n_inputs = next((int(part.in_features) for part in module.modules() if hasattr(part, "in_features")), None)
    dtype = parameters[0].dtype if parameters else torch.get_default_dtype()
    device = parameters[0].device if parameters else "cpu"
    kinds = [_TORCH.get(type(part).__name__) for part in module.modules()]

    def answers(X: np.ndarray) -> np.ndarray:
        training = module.training
        module.eval()
        try:
            with torch.no_grad():
                values = module(torch.as_tensor(np.array(X), dtype=dtype, device=device))
        finally:
            module.train(training)
        values = values.detach().cpu().double().numpy()
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    return Source(answers, _counted(n_inputs, "the module"), next((kind for kind in kinds if kind), None))


def _session(path: str | PathLike[str]) -> Any:
    if not Path(path).is_file():
        raise ValueError(f"no model file at {path}")
    try:
        import onnxruntime
    except ImportError:
        raise ImportError("reading an ONNX file needs onnxruntime: pip install 'planted[onnx]'") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ValueError(f"{path} is not an ONNX model that onnxruntime can run: {str(error)[:200]}") from None


def _onnx(session: Any, n_inputs: int | None) -> Source:
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise ModelError(f"the ONNX model takes {len(inputs)} inputs; only one array can be read")
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64}
    if inputs[0].type not in kinds:
        raise ModelError(f"the ONNX model takes {inputs[0].type}, not an array of numbers")
    shape, dtype = inputs[0].shape, kinds[inputs[0].type]
    if len(shape) == 2 and isinstance(shape[1], int):
        n_inputs = shape[1]
    outputs = [out for out in session.get_outputs() if out.type in kinds]
    if not outputs:
        raise ModelError("the ONNX model has no output that is an array of numbers")
    chosen = next((out for out in outputs if "prob" in out.name.lower()), outputs[0])
    probabilities = "prob" in chosen.name.lower()

    def answers(X: np.ndarray) -> np.ndarray:
        values = np.asarray(session.run([chosen.name], {inputs[0].name: X.astype(dtype)})[0], dtype=np.float64)
        if probabilities:
            return log_ratios(values)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    return Source(answers, _counted(n_inputs, "the ONNX model"), bounded=probabilities)
