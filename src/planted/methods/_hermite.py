"""Recovery by the loss f' of Ge et al. (2017), section 2.1: second and fourth Hermite parts, unit rows."""

from __future__ import annotations

import time

import jax
import numpy as np
import optax

from planted.activations import Activation
from planted.inputs import Gaussian
from planted.methods._recovery import Recovery, finish
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.progress import Progress
from planted.objectives import Hermite24
from planted.rows import ArrayRows
from planted.solvers import FirstOrder, Monitor, descend, silent, unit_rows
from planted.starts import random_rows
from planted.starts.output_layer import least_squares_outputs

_ROWS = 32_768
_RESTARTS = 4
_STEPS = 1500
_SOLVER = FirstOrder(optax.adam(optax.cosine_decay_schedule(0.05, _STEPS)), project=unit_rows)


@float64
def hermite(
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
) -> Recovery:
    """Recover a network by projected gradient descent on f' from four random starts side by side.

    Outputs are learned with the weights. The best start is given its signs by least squares and refined.

    >>> from planted import activations, datasets
    >>> data = datasets.make_planted(5000, 4, 4, random_state=0)
    >>> hermite(data.X, data.y, 4, activations.get("relu"), key=jax.random.key(0)).status
    'recovered'
    """
    began = time.perf_counter()
    law = Gaussian.fit(X)
    Z = law.whiten(X[:_ROWS])
    weight = None if sample_weight is None else sample_weight[: len(Z)]
    targets = y[: len(Z)] - np.average(y[: len(Z)], weights=weight)
    loss = Hermite24.on(ArrayRows(to_jax(Z), to_jax(targets), None if weight is None else to_jax(weight)), activation)
    start_key, run_key = jax.random.split(key)
    weights = random_rows(start_key, n_hidden, X.shape[1], _RESTARTS)
    scale = float(np.std(y)) / (n_hidden**0.5 * max(abs(activation.hermite(2)), abs(activation.hermite(4))))
    start = {"weights": weights, "output": to_jax(np.full((_RESTARTS, n_hidden), 0.5 * scale))}
    run = descend(
        loss,
        start,
        _SOLVER,
        steps=_STEPS,
        key=run_key,
        side_by_side=True,
        monitor=Monitor(every=100),
        progress=progress,
    )
    best = int(np.argmin(run.value))
    on_x, _ = law.unwhiten_weights(run.params["weights"][best])
    layer = least_squares_outputs(X, y, on_x / np.linalg.norm(on_x, axis=1, keepdims=True), activation)
    return finish(
        X,
        y,
        Network(layer.weights, layer.output, activation),
        method="hermite",
        began=began,
        fit_bias=fit_bias,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        progress=progress,
        descents={"hermite": run},
        details={"hermite_value": float(run.value[best]), "signs": layer.status},
    )
