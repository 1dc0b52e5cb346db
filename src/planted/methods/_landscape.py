r"""Recovery by the designed landscape of Ge et al. (2017): the loss F, then the output layer, then refinement.

Fourth-order averages are noisy: for a teacher with condition number 3 at d = k = 20 and 200,000 rows the noise of F
exceeds its signal, even with the quadratic part of y subtracted. A control variate removes it. A wide network f̂,
fitted by squared loss on a third of the rows, need not resemble the teacher; it only has to be close as a function.
F is then an average of y − f̂(x) over the other rows plus the exact Hermite tensors of f̂.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted.activations import Activation
from planted.inputs import Gaussian
from planted.methods._recovery import Recovery, finish
from planted.networks import Network
from planted.numerics.precision import float64
from planted.numerics.progress import Progress
from planted.objectives import AssumptionError, FullRankLandscape, Squared, read_off, whitening
from planted.solvers import Descent, lbfgs, silent
from planted.starts import random_rows
from planted.starts.output_layer import least_squares_outputs

_WIDTH_RATIO = 2
_ROWS_PER_WEIGHT = 20
_ADVICE = "The loss F needs outputs of one sign; try method='auto', which does not, or more rows."


def control_variate(
    Z: np.ndarray, y: np.ndarray, width: int, activation: Activation, key: jax.Array, progress: Progress = silent
) -> tuple[Network, Descent]:
    """A network of `width` neurons fitted to rows Z (n, d) by squared loss from a random start.

    >>> from planted import activations, datasets
    >>> data = datasets.make_planted(2000, 3, 2, random_state=0)
    >>> net, _ = control_variate(data.X, data.y, 4, activations.get("relu"), jax.random.key(0))
    >>> bool(np.std(data.y - net.predict(data.X)) < 0.1 * np.std(data.y))
    True
    """
    weights = np.asarray(random_rows(key, width, Z.shape[1]))
    features = activation(Z @ weights.T)
    scale = np.std(y) / max(float(np.std(features.sum(axis=1))), 1e-12)
    start = {"weights": weights, "output": np.full(width, scale)}
    run = lbfgs(Squared(Z, y, activation), start, steps=400, tolerance=1e-10, progress=progress)
    return Network(run.params["weights"], run.params["output"], activation), run


@float64
def landscape(
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
    mu: float | None = None,
    lam: float | None = None,
) -> Recovery:
    """Recover a network with positive outputs and full-rank weights, n_hidden ≤ d, from Gaussian rows.

    Rows are whitened by their sample mean and covariance. T's leading eigenvectors give the neurons' span; F is
    minimised in it from a random start; the pseudo-inverse of the minimiser gives the weights up to sign, least
    squares the signs and outputs. Where the data contradict positive outputs, the result is "failed" and says so;
    its network is the squared loss's from the largest neurons of the control variate.

    >>> from planted import activations, datasets
    >>> data = datasets.make_planted(20_000, 5, 3, weights="correlated", output="positive", random_state=0)
    >>> landscape(data.X, data.y, 3, activations.get("relu"), key=jax.random.key(0)).status
    'recovered'
    """
    began = time.perf_counter()
    n, d = X.shape
    if n_hidden > d:
        raise ValueError(f"method='landscape' needs n_hidden ≤ inputs, but {n_hidden} > {d}; use method='squared'")
    law = Gaussian.fit(X)
    Z = law.whiten(X)
    guess_key, start_key = jax.random.split(key)
    width = _WIDTH_RATIO * n_hidden
    few = min(n // 3, max(_ROWS_PER_WEIGHT * width * d, 1000))
    descents: dict[str, Descent] = {}
    guess, descents["control variate"] = control_variate(Z[:few], y[:few], width, activation, guess_key, progress)
    details: dict[str, Any] = {}
    obstacle = ""
    try:
        directions, descents["landscape"], details = _minimise(
            Z[few:], y[few:], n_hidden, activation, guess, start_key, mu, lam, progress
        )
    except AssumptionError as error:
        obstacle = str(error)
        size = np.abs(guess.output) * np.std(activation(Z[:few] @ guess.weights.T), axis=0)
        directions = guess.weights[np.argsort(-size)[:n_hidden]]
    on_x, _ = law.unwhiten_weights(directions)
    # Least squares decides signs and outputs on the caller's own inputs, whatever their mean.
    layer = least_squares_outputs(X, y, on_x / np.linalg.norm(on_x, axis=1, keepdims=True), activation)
    done = finish(
        X,
        y,
        Network(layer.weights, layer.output, activation),
        method="landscape",
        began=began,
        fit_bias=fit_bias,
        fit_intercept=fit_intercept,
        sample_weight=sample_weight,
        progress=progress,
        descents=descents,
        details=details | {"signs": layer.status},
    )
    if obstacle and done.status != "recovered":
        return replace(done, status="failed", reason=obstacle, advice=_ADVICE)
    return done


def _minimise(
    Z: np.ndarray,
    y: np.ndarray,
    n_hidden: int,
    activation: Activation,
    guess: Network,
    key: jax.Array,
    mu: float | None,
    lam: float | None,
    progress: Progress,
) -> tuple[np.ndarray, Descent, dict[str, Any]]:
    """Unit rows (k, d) up to sign on whitened inputs, the descent of F in their span, and numbers to report."""
    whole = FullRankLandscape(Z, y, activation, mu, lam, n_hidden=n_hidden, baseline=guess)
    span = np.linalg.eigh(np.asarray(whole.T))[1][:, ::-1][:, :n_hidden]
    F = FullRankLandscape(Z, y, activation, whole.constants.mu, whole.constants.lam, subspace=span, baseline=guess)
    W = whitening(np.asarray(F.T), n_hidden)
    start = np.asarray(random_rows(key, n_hidden, n_hidden)) @ W.T
    run = lbfgs(F, start, steps=1000, tolerance=1e-7, progress=progress)
    directions, outputs = read_off(run.params)
    details = {
        "constants": whole.constants.as_dict(),
        "landscape_outputs": outputs,
        "residual_of_control_variate": float(np.std(y - guess.predict(Z))),
        "landscape_value": float(run.value),
        "spectrum": np.asarray(jnp.sort(jnp.linalg.eigvalsh(whole.T))[::-1]),
    }
    return directions @ span.T, run, details
