"""Recovery from the tensor start of Fu et al. (2018) and Zhong et al. (2017): moments first, descent afterwards."""

from __future__ import annotations

import numpy as np

from planted.activations import Activation
from planted.methods._directions import obstacle_of_width
from planted.methods._method import Method
from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.names import count_of
from planted.networks import Network
from planted.rows import Survey
from planted.starts import TensorStart, start_from_moments
from planted.starts.output_layer import OutputLayer, least_squares_outputs, nearest_signs

_LENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_ROWS_PER_WEIGHT = 50


def _outputs(survey: Survey, start: TensorStart, on_x: np.ndarray, act: Activation) -> OutputLayer:
    """Signs and outputs by least squares; where moments gave no lengths, at the common length that fits best."""
    X, y, weight = survey.X, survey.y, survey.weight

    def fitted(rows: np.ndarray) -> OutputLayer:
        return least_squares_outputs(X, y, rows, act, sample_weight=weight)

    if start.status != "ok":
        layers = [fitted(length * on_x) for length in _LENGTHS]
        squares = [(Network(layer.weights, layer.output, act).predict(X) - y) ** 2 for layer in layers]
        return layers[int(np.argmin([np.average(each, weights=weight) for each in squares]))]
    layer = fitted(on_x)
    if layer.status == "ok" or act.parity is not None or act.centred_parity != "odd":
        return layer
    # Outputs of a start are off by several per cent, more than least squares accepts; the refinement that follows shows
    # whether the signs were right.
    left = np.average(y - (act(X @ layer.weights.T) - act.offset) @ layer.output, weights=weight)
    signs = nearest_signs(layer.output, left / act.offset)
    reason = f"nearest to the mean of y among the signs of {count_of(len(signs), 'neuron')}"
    return OutputLayer(layer.weights * signs[:, None], layer.output * signs, "nearest", reason)


def start(problem: Problem) -> Start:
    """A network from its Hermite moments: no random starts, one descent.

    For Gaussian rows, at most as many neurons as inputs, and an activation whose third or fourth moment does not
    vanish. Where a moment has no inverse (`details["start_reason"]`), one common length is chosen by least squares.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(20_000, 6, 3, activation="tanh", output="mixed", random_state=0)
    >>> METHOD(Problem.of(data.X, data.y, 3, "tanh")).status
    'recovered'
    """
    survey, act = problem.survey, problem.activation
    white = problem.whitened(problem.rows)
    begin = start_from_moments([white], survey.n_rows, problem.n_hidden, act, key=problem.key)
    on_x = problem.gaussian.unwhiten_weights(begin.weights)[0]
    layer = _outputs(survey, begin, on_x, act)
    details = {
        "start": begin.status,
        "start_reason": begin.reason,
        "start_residual": begin.residual,
        "start_spectrum": begin.spectrum,
        "orders": begin.orders[:3],
        "signs": layer.status,
        "directions": on_x / np.linalg.norm(on_x, axis=1, keepdims=True),
    }
    fallback = (
        f"lengths of the rows do not come from moments ({begin.reason}) but from one common length that fits best"
    )
    remark = fallback if begin.status != "ok" else ""
    return Start(Network(layer.weights, layer.output, act), "tensor", details=details, remark=remark)


def _affordable(problem: Problem) -> str | None:
    enough = problem.survey.n_rows >= _ROWS_PER_WEIGHT * problem.n_hidden * problem.n_features
    return None if enough else f"it needs {_ROWS_PER_WEIGHT} rows a weight"


METHOD = Method(
    name="tensor",
    start=start,
    summary="Hermite moments decomposed, then one descent",
    suits="Gaussian inputs, at most as many neurons as inputs, a start wanted without random restarts",
    obstacle=obstacle_of_width,
    scales=True,
    rank=2,
    affordable=_affordable,
)
