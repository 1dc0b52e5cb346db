"""The usual way: squared loss from several random starts, the best one refined."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from planted.activations import Activation
from planted.methods._recovery import Recovery, finish
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.progress import Progress
from planted.objectives import Squared
from planted.rows import ArrayRows
from planted.solvers import FirstOrder, Monitor, descend, silent
from planted.starts import random_rows

_ROWS = 8192
_RESTARTS = 8
_STEPS = 1000
_SOLVER = FirstOrder(optax.adam(optax.cosine_decay_schedule(0.03, _STEPS)))


@float64
def squared(
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
    """Fit both layers by Adam from eight random starts side by side, refine the best.

    Works for any activation and any inputs, but often ends in a spurious minimum: it is the baseline that the
    other methods are measured against.

    >>> from planted import activations, datasets
    >>> data = datasets.make_planted(500, 3, 2, activation="tanh", output="mixed", random_state=0)
    >>> squared(data.X, data.y, 2, activations.get("tanh"), key=jax.random.key(0)).status
    'recovered'
    """
    began = time.perf_counter()
    few = slice(0, _ROWS)
    loss = Squared.on(ArrayRows(to_jax(X[few]), to_jax(y[few])), activation, bias=fit_bias)
    weight_key, sign_key, run_key = jax.random.split(key, 3)
    # Rows of unit response: whatever the inputs' scale, a neuron starts with pre-activations of order one.
    spread = np.sqrt(np.mean(X[few] ** 2, axis=0))
    weights = random_rows(weight_key, n_hidden, X.shape[1], _RESTARTS) / to_jax(np.where(spread > 0, spread, 1.0))
    signs = jax.random.rademacher(sign_key, (_RESTARTS, n_hidden), jnp.float64)
    start: dict[str, Any] = {"weights": weights, "output": signs * float(np.std(y)) / n_hidden**0.5}
    if fit_bias:
        start["bias"] = jnp.zeros((_RESTARTS, n_hidden))
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
    best = int(np.nanargmin(np.where(np.isfinite(run.value), run.value, np.inf)))
    chosen = {name: value[best] for name, value in run.params.items()}
    return finish(
        X,
        y,
        Network(chosen["weights"], chosen["output"], activation, chosen.get("bias")),
        method="squared",
        began=began,
        fit_bias=fit_bias,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        progress=progress,
        descents={"squared": run},
        details={"restart_losses": np.sort(run.value)},
    )
