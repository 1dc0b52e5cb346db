"""Labels and shared filters in rows that do not fit in memory: solved on a sample, finished over all rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from planted.activations import Activation
from planted.certificates import Uncertainty, uncertainty
from planted.methods._classification import _judge, classification
from planted.methods._conv import ConvResult, _verdict, _whitener, recover_conv
from planted.methods._conv_polish import ConvChart
from planted.methods._recovery import Recovery
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.progress import Progress
from planted.objectives import ConvSquared, Likelihood, Squared, curvature_matrix
from planted.rows import ArrayRows, ChunkedRows, Survey
from planted.solvers import sample_newton, silent

Once = Callable[[str, Callable[[], dict[str, np.ndarray]]], dict[str, np.ndarray]]
_ROUNDING = 1e-25


@float64
def classify_over(
    rows: ChunkedRows,
    seen: Survey,
    n_hidden: int,
    activation: Activation,
    *,
    fit_bias: bool = False,
    key: jax.Array,
    progress: Progress = silent,
    restarts: int = 4,
    once: Once | None = None,
) -> tuple[Recovery, Uncertainty]:
    """Recover the neurons behind labels in {0, 1}: :func:`classification` on the sample, the likelihood over all rows.

    >>> from planted import activations, datasets
    >>> from planted.rows import block_rows, survey
    >>> data = datasets.make_planted(20_000, 3, 2, activation="sigmoid", weights=[[4, 0, 0], [0, 4, 0]],
    ...                              task="classification", random_state=0)
    >>> rows = block_rows(data.X, data.y.astype(float), chunk_rows=6000)
    >>> found, _ = classify_over(rows, survey(rows, 8000), 2, activations.get("sigmoid"), key=jax.random.key(0))
    >>> found.status
    'recovered'
    """
    began = time.perf_counter()

    def compute() -> dict[str, np.ndarray]:
        net = classification(
            seen.X, seen.y, n_hidden, activation, fit_bias=fit_bias, key=key, progress=progress, restarts=restarts
        ).network
        return {"weights": net.weights} | ({} if net.bias is None else {"bias": net.bias})

    arrays = compute() if once is None else once("start", compute)
    start: Any = {name: arrays[name] for name in ("bias", "weights")} if fit_bias else arrays["weights"]
    likelihood = Likelihood.on(rows, activation, fit_bias)
    few = Likelihood.on(ArrayRows(to_jax(seen.X), to_jax(seen.y)), activation, fit_bias)
    run = sample_newton(likelihood, lambda point: curvature_matrix(few, point)[0], start, progress=progress)
    sure = uncertainty(likelihood, run.params)
    share = seen.mean
    null = -(share * np.log(share) + (1 - share) * np.log(1 - share)) if 0 < share < 1 else 0.0
    status, reason, advice, needed = _judge(sure, run, null)
    weights, bias = (run.params["weights"], run.params["bias"]) if fit_bias else (run.params, None)
    output = np.full(n_hidden, 1.0 / n_hidden)
    loss = Squared.on(rows, activation, to_jax(output), fit_bias).value(run.params)
    found = Recovery(
        network=Network(weights, output, activation, bias),
        status=status,
        reason=reason,
        advice=advice,
        loss=loss,
        relative_loss=2 * loss / max(seen.variance, 1e-300),
        method="classification",
        seconds=time.perf_counter() - began,
        descents={"all rows": run},
        details={
            "cross_entropy": float(run.value),
            "expected_error": sure.expected_error,
            "rows_needed": needed,
            "standard_errors": sure.weights,
            "rows": seen.n_rows,
            "sample": len(seen.y),
        },
    )
    return found, sure


@float64
def conv_over(
    rows: ChunkedRows,
    seen: Survey,
    *,
    activation: Activation,
    whiten: bool = True,
    max_iterations: int = 3000,
    random_state: Any = None,
    progress: Progress = silent,
) -> ConvResult:
    """Recover a shared filter from rows of patches (k, p): :func:`recover_conv` on the sample, polish over all rows.

    >>> from planted import activations
    >>> from planted.datasets import make_planted_conv
    >>> from planted.rows import block_rows, survey
    >>> data = make_planted_conv(4000, 4, 3, random_state=0)
    >>> rows = block_rows(data.X, data.y, chunk_rows=1500)
    >>> conv_over(rows, survey(rows, 1000), activation=activations.get("relu"), random_state=0).status
    'recovered'
    """
    began = time.perf_counter()
    patches = seen.X.reshape(len(seen.y), *rows.shape)
    found = recover_conv(
        patches, seen.y, activation=activation, whiten=whiten, max_iterations=max_iterations,
        random_state=random_state, progress=progress,
    )  # fmt: skip
    objective = ConvSquared.on(rows, activation)
    chart, start = ConvChart.at(objective, found.network)
    few: Any = ConvChart.at(ConvSquared(patches, seen.y, activation), found.network)[0]
    energy = 0.5 * (seen.variance + seen.mean**2)

    def curvature(point: Any) -> Any:
        return curvature_matrix(few, point)[0]

    run = sample_newton(chart, curvature, start, floor=_ROUNDING * energy, progress=progress)
    network = chart.network(run.params)
    whitener = _whitener(patches, whiten)
    status, reason, test, error = _verdict(objective, network, float(run.value), energy, whitener)
    return replace(
        found, network=network, status=status, reason=reason, loss=float(run.value), noise=test.noise,
        expected_error=error, seconds=time.perf_counter() - began,
    )  # fmt: skip
