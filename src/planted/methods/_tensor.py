"""Recovery from the tensor start of Fu et al. (2018) and Zhong et al. (2017): moments first, descent afterwards."""

from __future__ import annotations

import time

import jax
import numpy as np

from planted.activations import Activation
from planted.inputs import Gaussian
from planted.methods._recovery import Recovery, finish
from planted.networks import Network
from planted.numerics.precision import float64
from planted.numerics.progress import Progress
from planted.solvers import silent
from planted.starts import TensorStart, tensor_start
from planted.starts.output_layer import OutputLayer, least_squares_outputs

_ENUMERATED = 16
_LENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


def _nearest_signs(X: np.ndarray, y: np.ndarray, layer: OutputLayer, act: Activation) -> OutputLayer:
    """Signs s for φ odd about a constant c: c Σ s_i a_i nearest to the constant that the fit leaves, however far.

    Outputs of a start are off by several per cent, more than :func:`least_squares_outputs` accepts; the refinement
    that follows shows whether the signs were right.
    """
    left = float(np.mean(y - (act(X @ layer.weights.T) - act.offset) @ layer.output))
    k = len(layer.output)
    if k <= _ENUMERATED:
        patterns = 1.0 - 2.0 * ((np.arange(2**k)[:, None] >> np.arange(k)) & 1)
        signs = patterns[np.argmin(np.abs(act.offset * patterns @ layer.output - left))]
    else:
        signs = np.where(layer.output < 0, -1.0, 1.0)
    reason = f"nearest to the mean of y among the signs of {k} neurons"
    return OutputLayer(layer.weights * signs[:, None], layer.output * signs, "nearest", reason)


def _outputs(X: np.ndarray, y: np.ndarray, start: TensorStart, on_x: np.ndarray, act: Activation) -> OutputLayer:
    """Signs and outputs by least squares; where moments gave no lengths, at the common length that fits best."""
    if start.status == "ok":
        layer = least_squares_outputs(X, y, on_x, act)
        odd_about_constant = act.parity is None and act.centred_parity == "odd"
        return _nearest_signs(X, y, layer, act) if layer.status != "ok" and odd_about_constant else layer
    layers = [least_squares_outputs(X, y, length * on_x, act) for length in _LENGTHS]
    losses = [np.mean((Network(layer.weights, layer.output, act).predict(X) - y) ** 2) for layer in layers]
    return layers[int(np.argmin(losses))]


@float64
def tensor(
    X: np.ndarray,
    y: np.ndarray,
    n_hidden: int,
    activation: Activation,
    *,
    fit_bias: bool = False,
    fit_intercept: bool = False,
    sample_weight: np.ndarray | None = None,
    key: jax.Array,
    progress: Progress = silent,
    split: bool = False,
) -> Recovery:
    """Recover a network from its Hermite moments, then refine: no random starts, one descent.

    For Gaussian rows, at most as many neurons as inputs, and an activation whose third or fourth moment does not
    vanish. `split` estimates each stage of the start from its own third of the rows, as the paper does. Where a
    moment has no inverse (`details["start_reason"]`), one common length is chosen by least squares.

    >>> from planted import activations, datasets
    >>> data = datasets.make_planted(20_000, 6, 3, activation="tanh", output="mixed", random_state=0)
    >>> tensor(data.X, data.y, 3, activations.get("tanh"), key=jax.random.key(0)).status
    'recovered'
    """
    began = time.perf_counter()
    law = Gaussian.fit(X)
    start = tensor_start(law.whiten(X), y, n_hidden, activation, key=key, split=split)
    on_x, _ = law.unwhiten_weights(start.weights)
    layer = _outputs(X, y, start, on_x, activation)
    return finish(
        X,
        y,
        Network(layer.weights, layer.output, activation),
        method="tensor",
        began=began,
        fit_bias=fit_bias,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        progress=progress,
        descents={},
        details={
            "start": start.status,
            "start_reason": start.reason,
            "start_residual": start.residual,
            "start_spectrum": start.spectrum,
            "orders": start.orders[:3],
            "signs": layer.status,
        },
    )
