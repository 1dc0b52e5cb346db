"""Fits on rows that do not fit in memory: what the estimators do when they are given files or Dask collections."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from planted import activations
from planted.certificates import Certificate, Uncertainty, certify, uncertainty
from planted.methods import ConvResult, Recovery, Verdict, choose_width, judge, refine
from planted.methods._large import Reshaped, check_scaling, recover_over, relabelled, sample_size, without_intercept
from planted.methods._large_other import classify_over, conv_over
from planted.networks import Network, match
from planted.numerics.precision import float64
from planted.numerics.progress import Progress
from planted.numerics.seeding import key_from
from planted.objectives import Likelihood, Squared, check_probability, curvature_matrix
from planted.rows import Block, ChunkedRows, Counts, Engine, Journal, Survey, file_rows, survey
from planted.solvers import sample_newton

_ROWS_PER_PARAMETER = 5
_PARAMETERS_WITH_ERRORS = 1000
# Products rows × parameters² up to which curvature is taken over all rows.
_CURVATURE_COST = 1e10
_EVERY = 0.2


def is_large(X: Any) -> bool:
    """Whether X is a path, chunked rows or a Dask collection, rather than an array.

    >>> is_large("data.parquet"), is_large([[1.0]])
    (True, False)
    """
    return isinstance(X, (str, PathLike, ChunkedRows)) or type(X).__module__.split(".")[0] in ("dask", "dask_expr")


def as_rows_in_chunks(X: Any, y: Any, target: str = "y") -> ChunkedRows:
    """Chunked rows of what a caller gave: a path, rows, Dask arrays X and y, or a Dask dataframe with its target.

    >>> as_rows_in_chunks("nowhere.parquet", None)
    Traceback (most recent call last):
    ValueError: no data file or folder at nowhere.parquet
    """
    if isinstance(X, ChunkedRows):
        return X
    if isinstance(X, (str, PathLike)):
        return file_rows(X, target if y is None else str(y))
    from planted.rows import dask_rows

    return dask_rows(X, None, target=y) if isinstance(y, str) else dask_rows(X, y, target=target)


@dataclass
class PassProgress:
    """Joins what solvers and the engine report: the phase, the pass, and the time left as the engine's counts tell.

    >>> told = []
    >>> PassProgress(lambda *words: told.append(words))(1, 2, "loss 0.5")
    >>> told
    [(1, 2, 'loss 0.5')]
    """

    report: Progress
    last: tuple[int, int, str] = (0, 1, "looking at the rows")
    spoken: float = field(default=0.0)

    def __call__(self, done: int, total: int, text: str) -> None:
        """A solver's report."""
        self.last = (done, total, text)
        self.report(done, total, text)

    def listen(self, engine: Engine) -> None:
        """Hear of the chunks of every pass."""
        engine.observer = self.observe

    def observe(self, done: int, total: int, counts: Counts) -> None:
        """An engine's report."""
        now = time.monotonic()
        if now - self.spoken < _EVERY or not counts.chunks:
            return
        self.spoken = now
        step, steps, text = self.last
        each = counts.seconds / counts.chunks
        left, phase = each * (total - done), each * total * max(steps - step, 0)
        self.report(
            step, steps, f"{text}; pass {counts.passes}, block {done} of {total}, {_span(left)} left in it, "
            f"at most {_span(left + phase)} in this phase",
        )  # fmt: skip


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@dataclass(frozen=True)
class Checkpoint:
    """Where to keep what passes have found, and whether to go on from what is there."""

    folder: Any
    resume: bool = False

    def journal(self, seen: Survey, settings: dict[str, Any]) -> Journal:
        """A journal of this computation: the data as one pass saw them, and the settings."""
        if settings.get("random_state") is None and self.folder is not None:
            raise ValueError("a checkpoint needs random_state: without it a resumed fit would be another one")
        numbers = [seen.mean, seen.variance, seen.smallest, seen.largest, *seen.first, *np.diagonal(seen.second)]
        digest = hashlib.sha256(" ".join(f"{value:.8e}" for value in numbers).encode()).hexdigest()[:16]
        # A caller's own activation is known by its values, not by its name.
        values = " ".join(f"{value:.6g}" for value in settings["activation"](np.array([-1.3, -0.2, 0.7, 2.1])))
        settings = settings | {"activation": f"{settings['activation']} ({values})"}
        about = {"number of rows": seen.n_rows, "number of inputs": int(seen.first.size), "data": digest}
        return Journal(self.folder, about | {name: str(value) for name, value in settings.items()}, self.resume)


@dataclass(frozen=True)
class LargeFit:
    """What a fit over many rows found."""

    n_hidden: int
    result: Recovery
    verdict: Verdict
    certificate: Certificate
    standard_errors: Uncertainty | None
    width_losses: dict[int, float] | None
    survey: Survey
    counts: Counts


@float64
def fit_large(
    rows: ChunkedRows,
    *,
    n_hidden: Any,
    activation: Any,
    method: str,
    fit_bias: bool,
    fit_intercept: bool,
    random_state: Any,
    progress: Progress,
    largest: Callable[[int, int], int],
    check: Callable[[int, int, bool], None],
    checkpoint: Checkpoint,
    sample_rows: int | None = None,
) -> LargeFit:
    """Recover a network from rows outside memory; the steps of `PlantedRegressor.fit`."""
    check_scaling(method)
    act = activations.get(activation)
    told = PassProgress(progress)
    told.listen(rows.engine)
    seen = survey(rows, sample_rows or sample_size(rows.n_features, n_hidden))
    check(seen.n_rows, rows.n_features, seen.smallest == seen.largest)
    unknowns = 0 if n_hidden == "auto" else int(n_hidden) * (rows.n_features + 1 + bool(fit_bias))
    if len(seen.y) < unknowns:
        raise ValueError(
            f"the search runs on a sample in memory, whose {len(seen.y):,} rows cannot determine {unknowns:,} "
            "unknowns; give a larger sample_rows"
        )
    settings = {
        "n_hidden": n_hidden, "activation": act, "method": method, "fit_bias": fit_bias,
        "fit_intercept": fit_intercept, "random_state": random_state, "sample": len(seen.y),
    }  # fmt: skip
    journal = checkpoint.journal(seen, settings)
    rows = replace(rows, memory=journal)
    key = key_from(random_state)
    losses: dict[int, float] | None = None
    k = n_hidden
    if k == "auto":
        key, width_key = jax.random.split(key)

        def choose() -> dict[str, np.ndarray]:
            width, found = choose_width(
                seen.X, seen.y, act, width_key, largest(*seen.X.shape),
                fit_bias=fit_bias, sample_weight=seen.weight, progress=told,
            )  # fmt: skip
            return {"width": np.asarray(width), "tried": np.array([*found]), "losses": np.array([*found.values()])}

        chosen = journal.once("width", choose)
        k = int(chosen["width"])
        losses = dict(zip(chosen["tried"].tolist(), chosen["losses"].tolist(), strict=True))
    result = recover_over(
        rows, seen, method, int(k), act,
        fit_bias=fit_bias, fit_intercept=fit_intercept, key=key, progress=told, once=journal.once,
    )  # fmt: skip
    network = result.network
    verdict = judge(seen.X, seen.y, network, result.relative_loss, sample_weight=seen.weight)
    certificate = _certificate(rows, seen, result)
    errors = None
    if network.n_hidden * (rows.n_features + 2) <= _PARAMETERS_WITH_ERRORS:
        errors = _uncertainty(rows, network, fit_intercept)
    journal.delete()
    return LargeFit(int(k), result, verdict, certificate, errors, losses, seen, rows.engine.counts)


def _uncertainty(rows: ChunkedRows, network: Network, fit_intercept: bool) -> Uncertainty:
    if not fit_intercept and network.intercept:
        rows, network = rows.map(without_intercept, np.asarray(network.intercept)), without_offset(network)
    loss = Squared.on(rows, network.activation, bias=network.bias is not None, intercept=fit_intercept)
    return uncertainty(loss, loss.model.params(network))


def _certificate(rows: ChunkedRows, seen: Survey, result: Recovery) -> Certificate:
    """Over all rows where their curvature is affordable; over the sample otherwise, or where the loss is zero."""
    net = result.network
    params = {"weights": net.weights, "output": net.output}
    if net.bias is not None:
        params["bias"] = net.bias
    size = sum(np.size(value) for value in params.values())
    if result.status != "recovered" and seen.n_rows * size**2 <= _CURVATURE_COST:
        shifted = rows.map(without_intercept, np.asarray(net.intercept)) if net.intercept else rows
        return certify(Squared.on(shifted, net.activation, bias=net.bias is not None), params)
    weight = seen.weight
    X, y = seen.X, seen.y - net.intercept
    if result.status == "recovered":
        some = slice(max(1000, _ROWS_PER_PARAMETER * size))
        X, y, weight = X[some], y[some], None if weight is None else weight[some]
        return certify(Squared(X, y, net.activation, bias=net.bias is not None, sample_weight=weight), params)
    # All rows' minimum is not one of the sample: the sample's own, next to it, has the same kind up to sampling error.
    near, _, _ = refine(X, y, without_offset(net), fit_bias=net.bias is not None, sample_weight=weight)
    params = {"weights": near.weights, "output": near.output} | ({} if near.bias is None else {"bias": near.bias})
    found = certify(Squared(X, y, net.activation, bias=net.bias is not None, sample_weight=weight), params)
    gap = match(near, without_offset(net)).weight_error
    about = f"at the minimum of a random sample of {len(y):,} rows, {gap:.1g} from that of all"
    return replace(found, reason=f"{found.reason} ({about})")


def without_offset(network: Network) -> Network:
    """The network without its intercept.

    >>> without_offset(Network([[1.0]], [1.0], intercept=2.0)).intercept
    0.0
    """
    return Network(network.weights, network.output, network.activation, network.bias)


@float64
def fit_large_labels(
    rows: ChunkedRows,
    *,
    n_hidden: Any,
    activation: Any,
    fit_bias: bool,
    restarts: int,
    random_state: Any,
    progress: Progress,
    checkpoint: Checkpoint,
    sample_rows: int | None = None,
) -> tuple[Recovery, Uncertainty, Certificate, np.ndarray, int]:
    """Recover the neurons behind two-valued targets of rows outside memory; the steps of `PlantedClassifier.fit`."""
    if n_hidden == "auto":
        raise ValueError("n_hidden='auto' needs labels in memory: fit a sample first, or give the number of neurons")
    act = activations.get(activation)
    check_probability(act)
    told = PassProgress(progress)
    told.listen(rows.engine)
    seen = survey(rows, sample_rows or sample_size(rows.n_features, n_hidden))
    low, high = seen.smallest, seen.largest
    if low == high:
        raise ValueError(f"y has only one class, {low:g}: there is nothing to tell apart")
    settings = {
        "n_hidden": n_hidden, "activation": act, "fit_bias": fit_bias, "restarts": restarts,
        "random_state": random_state, "sample": len(seen.y),
    }  # fmt: skip
    journal = checkpoint.journal(seen, settings)
    coded = replace(rows, memory=journal).map(relabelled, np.asarray(low), np.asarray(high - low))
    others = float(coded.sum(block_others))
    if others:
        raise ValueError(
            f"Only binary classification is supported: {others:.0f} rows are neither {low:g} nor {high:g}."
        )
    seen = replace(
        seen, y=(seen.y - low) / (high - low), mean=(seen.mean - low) / (high - low),
        variance=seen.variance / (high - low) ** 2,
    )  # fmt: skip
    found, sure = classify_over(
        coded, seen, int(n_hidden), act,
        fit_bias=fit_bias, key=key_from(random_state), progress=told, restarts=restarts, once=journal.once,
    )  # fmt: skip
    net = found.network
    params: Any = {"weights": net.weights, "bias": net.bias} if fit_bias else net.weights
    size = net.n_hidden * (net.n_features + fit_bias)
    if seen.n_rows * size**2 <= _CURVATURE_COST:
        certificate = certify(Likelihood.on(coded, act, fit_bias), params)
    else:
        few = Likelihood(seen.X, seen.y, act, fit_bias)
        near = sample_newton(few, lambda point: curvature_matrix(few, point)[0], params).params
        certificate = certify(few, near)
        about = f"at the minimum of a random sample of {len(seen.y):,} rows"
        certificate = replace(certificate, reason=f"{certificate.reason} ({about})")
    journal.delete()
    return found, sure, certificate, np.array([low, high]), seen.n_rows


def block_others(block: Block) -> jax.Array:
    """Rows whose target is neither 0 nor 1."""
    return jnp.sum((block["weight"] > 0) & (block["y"] != 0) & (block["y"] != 1))


def fit_large_conv(
    rows: ChunkedRows,
    *,
    n_patches: int | None,
    activation: Any,
    whiten: bool,
    max_iterations: int,
    random_state: Any,
    progress: Progress,
    checkpoint: Checkpoint,
    sample_rows: int | None = None,
) -> tuple[ConvResult, tuple[int, ...]]:
    """Recover a shared filter from rows outside memory; the steps of `PlantedConvRegressor.fit`."""
    if len(rows.shape) == 1:
        if n_patches is None or rows.n_features % n_patches:
            raise ValueError(f"n_patches must divide the {rows.n_features} inputs of a row, not {n_patches!r}")
        rows = rows.map(Reshaped(n_patches), shape=(n_patches, rows.n_features // n_patches))
    told = PassProgress(progress)
    told.listen(rows.engine)
    seen = survey(rows, sample_rows or sample_size(int(np.prod(rows.shape)), 1))
    if seen.smallest == seen.largest == 0:
        raise ValueError("y is zero in every row: there is no network to recover")
    act = activations.get(activation)
    settings = {
        "n_patches": rows.shape[0], "activation": act, "whiten": whiten, "max_iterations": max_iterations,
        "random_state": random_state, "sample": len(seen.y),
    }  # fmt: skip
    journal = checkpoint.journal(seen, settings)
    result = conv_over(
        replace(rows, memory=journal), seen,
        activation=act, whiten=whiten, max_iterations=max_iterations, random_state=random_state, progress=told,
    )  # fmt: skip
    journal.delete()
    return result, rows.shape
