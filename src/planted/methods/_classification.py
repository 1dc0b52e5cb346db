"""Recovery of the neurons behind binary labels: tensor start, quadratic loss, likelihood, and how sure it is."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from planted.activations import Activation
from planted.certificates import Uncertainty, uncertainty
from planted.inputs import Gaussian
from planted.methods._recovery import Recovery
from planted.names import unknown
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.progress import Progress
from planted.objectives import (
    Likelihood,
    Params,
    Squared,
    check_probability,
    curvature_matrix,
    smallest_curvature,
)
from planted.rows import ArrayRows
from planted.solvers import Descent, FirstOrder, descend, lbfgs, sample_newton, silent
from planted.starts import random_rows, tensor_start

SOLVERS = ("lbfgs", "gradient")
ACCURATE = 0.1
"""Expected relative error of the weights at which a network counts as recovered."""
_DIVERGED = 1e3
_TRIAL_ROWS = 20_000
_TRIAL_STEPS = 60
_SCORING_STEPS = 20


def _starts(
    X: np.ndarray, y: np.ndarray, k: int, act: Activation, restarts: int, split: bool, key: jax.Array
) -> tuple[list[np.ndarray], str]:
    """Weights (k, d) to begin from, the tensor start first if there is one, and what came of it."""
    tensor_key, random_key = jax.random.split(key)
    starts: list[np.ndarray] = []
    law: Gaussian | None = None
    try:
        law = Gaussian.fit(X)
        found = tensor_start(law.whiten(X), y, k, act, key=tensor_key, output=np.full(k, 1 / k), split=split)
        outcome = f"{found.status}: {found.reason}"
        weights = found.weights
        if found.status != "ok":
            # Directions are known up to sign and length: the sign that correlates with the labels, length one.
            weights = weights * np.where(law.whiten(X).T @ (y - y.mean()) @ weights.T < 0, -1.0, 1.0)[:, None]
        starts.append(law.unwhiten_weights(weights)[0])
    except (ValueError, ArithmeticError) as error:
        outcome = f"none: {error}"
    spread = np.sqrt(np.mean(X**2, axis=0))
    rows = np.asarray(random_rows(random_key, k, X.shape[1], max(restarts, 0 if starts else 1)), dtype=np.float64)
    return starts + list(rows / np.where(spread > 0, spread, 1.0)), outcome


def _as_params(weights: np.ndarray, fit_bias: bool) -> Params:
    return {"weights": weights, "bias": np.zeros(len(weights))} if fit_bias else weights


def _quadratic(loss: Squared, params: Params, solver: str, steps: int, progress: Progress) -> Descent:
    """Descend the quadratic loss over the fixed sample, by L-BFGS or by the paper's gradient descent."""
    if solver == "lbfgs":
        return lbfgs(loss, params, steps=steps, tolerance=1e-7, progress=progress)
    rate = 1 / smallest_curvature(loss, params).norm
    return descend(
        loss, to_jax(params), FirstOrder(optax.sgd(rate)), steps=20 * steps, key=jax.random.key(0), tolerance=1e-7,
        progress=progress,
    )  # fmt: skip


def _judge(sure: Uncertainty, run: Descent, null: float) -> tuple[str, str, str, float]:
    """Status, reason, advice and the rows that the noise needs."""
    needed = sure.rows_for(ACCURATE)
    if np.abs(sure.estimate["weights"]).max() > _DIVERGED:
        return (
            "failed",
            "the labels can be told apart almost without error, so the likelihood grows with the weights",
            "Give more rows, or fewer neurons: only the directions of the weights can be trusted.",
            needed,
        )
    if run.value >= null:
        return "failed", "the neurons explain the labels no better than their mean", "Try more rows.", needed
    if not sure.determined:
        return (
            "failed",
            "the Fisher information is singular: some weights have no effect on the labels' probabilities",
            "Try fewer neurons, or more rows.",
            needed,
        )
    noise = f"labels alone leave an expected relative weight error of {sure.expected_error:.2g}"
    if needed <= sure.n_rows:
        return "recovered", f"the likelihood is at a minimum; {noise}", "", needed
    return (
        "fitted",
        f"the likelihood is at a minimum, but {noise}",
        f"About {needed:,.0f} rows would bring the error to {ACCURATE:g}; there are {sure.n_rows:,.0f}.",
        needed,
    )


@float64
def classification(
    X: np.ndarray,
    y: np.ndarray,
    n_hidden: int,
    activation: Activation,
    *,
    fit_bias: bool = False,
    key: jax.Array,
    progress: Progress = silent,
    restarts: int = 4,
    solver: str = "lbfgs",
    split: bool = False,
) -> Recovery:
    """Recover the neurons of P(y = 1 | x) = (1/k) Σ_i φ(w_i·x) from labels y in {0, 1}.

    The tensor start and `restarts` random ones first run for a few steps on part of the rows; the best of them goes on
    over all rows, on the quadratic loss and then on the likelihood. With restarts = 0 the tensor start alone decides.

    Parameters
    ----------
    solver : "lbfgs" or "gradient"
        For the quadratic loss; "gradient" is the paper's plain gradient descent.
    split : bool
        Three separate thirds of the rows for the three stages of the tensor start.

    Returns
    -------
    Recovery
        "recovered" if the Fisher information promises a relative weight error of at most 0.1. `details` has the
        cross-entropy, the expected error, the rows that would do, the standard errors and the start.

    Examples
    --------
    >>> from planted import activations, datasets
    >>> data = datasets.make_planted(20_000, 3, 2, activation="sigmoid", weights=[[4, 0, 0], [0, 4, 0]],
    ...                              task="classification", random_state=0)
    >>> classification(data.X, data.y, 2, activations.get("sigmoid"), key=jax.random.key(0)).status
    'recovered'
    """
    began = time.perf_counter()
    check_probability(activation)
    if solver not in SOLVERS:
        raise ValueError(unknown("solver", solver, SOLVERS))
    y = np.asarray(y, dtype=np.float64)
    start_key, sample_key = jax.random.split(key)
    starts, outcome = _starts(X, y, n_hidden, activation, restarts, split, start_key)
    output = jnp.full(n_hidden, 1.0 / n_hidden)
    chosen = 0
    if len(starts) > 1:
        some = np.asarray(jax.random.permutation(sample_key, len(X)))[:_TRIAL_ROWS]
        part = ArrayRows(to_jax(X[some]), to_jax(y[some]))
        trial = Squared.on(part, activation, output, fit_bias)
        trials = [
            lbfgs(trial, _as_params(start, fit_bias), steps=_TRIAL_STEPS, tolerance=1e-6, progress=progress)
            for start in starts
        ]
        chosen = int(np.argmin([run.value for run in trials]))
        if not (chosen == 0 and not outcome.startswith("none")):
            starts[chosen] = trials[chosen].params["weights"] if fit_bias else trials[chosen].params
    rows = ArrayRows(to_jax(X), to_jax(y))
    squared = Squared.on(rows, activation, output, fit_bias)
    quadratic = _quadratic(squared, _as_params(starts[chosen], fit_bias), solver, 300, progress)
    likelihood = Likelihood.on(rows, activation, fit_bias)
    refined = lbfgs(likelihood, quadratic.params, steps=300, tolerance=1e-8, progress=progress)
    # Quasi-Newton steps stop at the rounding of the value; scoring steps go on to that of the gradient.
    scored = sample_newton(
        likelihood, lambda point: curvature_matrix(likelihood, point)[0], refined.params, steps=_SCORING_STEPS
    )
    params: Any = scored.params
    sure = uncertainty(likelihood, params)
    share = float(np.mean(y))
    null = -(share * np.log(share) + (1 - share) * np.log(1 - share)) if 0 < share < 1 else 0.0
    status, reason, advice, needed = _judge(sure, scored, null)
    loss = squared.value(params)
    weights, bias = (params["weights"], params["bias"]) if fit_bias else (params, None)
    by_tensor = chosen == 0 and not outcome.startswith("none")
    return Recovery(
        network=Network(weights, np.asarray(output), activation, bias),
        status=status,
        reason=reason,
        advice=advice,
        loss=loss,
        relative_loss=2 * loss / max(float(np.var(y)), 1e-300),
        method="classification",
        seconds=time.perf_counter() - began,
        descents={"quadratic": quadratic, "likelihood": refined, "scoring": scored},
        details={
            "cross_entropy": float(scored.value),
            "expected_error": sure.expected_error,
            "rows_needed": needed,
            "standard_errors": sure.weights,
            "start": "tensor" if by_tensor else "random",
            "tensor_start": outcome,
        },
    )
