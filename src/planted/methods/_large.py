r"""Recovery from rows that do not fit in memory: methods begin on a random sample, all rows decide.

What finds the basin needs few rows; what makes weights precise needs all of them. So the search, and for every method a
polish, run on a sample in memory. "tensor" and "landscape", whose averages want every row, take them over all rows.
Newton steps with the sample's curvature then finish over all rows, one pass a step, and the verdict is theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from planted.activations import Activation
from planted.inputs import Gaussian
from planted.methods._auto import auto
from planted.methods._expand import expand
from planted.methods._landscape import control_variate, landscape
from planted.methods._recovery import Recovery, refine, verdict_at
from planted.methods._squared import squared
from planted.methods._tensor import _outputs
from planted.networks import Network
from planted.numerics.precision import float64, to_jax
from planted.numerics.progress import Progress
from planted.objectives import FullRankLandscape, Squared, curvature_matrix, read_off, whitening
from planted.rows import ArrayRows, Block, ChunkedRows, Survey
from planted.solvers import Descent, lbfgs, sample_newton, silent
from planted.starts import random_rows, start_from_moments
from planted.starts.output_layer import least_squares_outputs

SCALING = ("auto", "expand", "landscape", "squared", "tensor")
"""Methods that need no more than sums over rows once the sample is in memory."""
_ROUNDING = 1e-25
_DENSE_PARAMETERS = 2000
_LEAST_SAMPLE, _ROWS_PER_PARAMETER, _SAMPLE_BYTES = 20_000, 60, 2**27
_WIDTH_RATIO = 2


def sample_size(n_features: int, n_hidden: int | str) -> int:
    """Rows of the sample: 60 a parameter, at least 20,000, at most 128 MB.

    >>> sample_size(50, 4), sample_size(1000, 1000)
    (20000, 16777)
    """
    k = n_features if n_hidden == "auto" else int(n_hidden)
    return int(min(max(_LEAST_SAMPLE, _ROWS_PER_PARAMETER * k * (n_features + 2)), _SAMPLE_BYTES // (8 * n_features)))


def check_scaling(method: str) -> None:
    """Raise a ValueError that says so if a method cannot work on rows outside memory.

    >>> check_scaling("score")
    Traceback (most recent call last):
    ValueError: method='score' needs all rows in memory at once; for files and clusters use auto, expand, ...
    """
    if method not in SCALING:
        raise ValueError(
            f"method={method!r} needs all rows in memory at once; for files and clusters use {', '.join(SCALING)}"
        )


def block_whitened(block: Block, mean: jax.Array, whitener: jax.Array) -> Block:
    """The block with inputs (x − mean)·whitener."""
    return block | {"x": (block["x"] - mean) @ whitener}


@dataclass(frozen=True)
class _Problem:
    """What every start is made from."""

    rows: ChunkedRows
    seen: Survey
    n_hidden: int
    activation: Activation
    key: jax.Array
    progress: Progress
    options: dict[str, Any]

    def whitened(self, law: Gaussian, rest: bool) -> ChunkedRows:
        """Rows with whitened inputs, without those of the sample if `rest`."""
        d = self.rows.n_features
        whitener = law.whiten(np.eye(d) + law.mean)
        rows = self.rows.without(self.seen.seed, self.seen.threshold) if rest else self.rows
        return rows.map(block_whitened, np.asarray(law.mean), whitener)

    @property
    def law(self) -> Gaussian:
        """The Gaussian with the mean and covariance of all rows."""
        mean = self.seen.first
        return Gaussian(mean, self.seen.second - np.outer(mean, mean))


def _in_memory(method: Callable[..., Recovery]) -> Callable[[_Problem], tuple[Network, str]]:
    def start(problem: _Problem) -> tuple[Network, str]:
        seen = problem.seen
        found = method(
            seen.X, seen.y, problem.n_hidden, problem.activation,
            sample_weight=seen.weight, key=problem.key, progress=problem.progress, **problem.options,
        )  # fmt: skip
        return found.network, found.method

    return start


def _tensor_start(problem: _Problem) -> tuple[Network, str]:
    law, seen, act = problem.law, problem.seen, problem.activation
    white = problem.whitened(law, rest=False)
    start = start_from_moments([white], seen.n_rows, problem.n_hidden, act, key=problem.key)
    layer = _outputs(seen.X, seen.y, start, law.unwhiten_weights(start.weights)[0], act)
    return Network(layer.weights, layer.output, act), "tensor"


def _landscape_start(problem: _Problem) -> tuple[Network, str]:
    law, seen, act, k = problem.law, problem.seen, problem.activation, problem.n_hidden
    if k > problem.rows.n_features:
        raise ValueError(f"method='landscape' needs n_hidden ≤ inputs, but {k} > {problem.rows.n_features}")
    if seen.complete:
        return _in_memory(landscape)(problem)
    guess_key, start_key = jax.random.split(problem.key)
    Z = law.whiten(seen.X)
    guess, _ = control_variate(Z, seen.y, _WIDTH_RATIO * k, act, guess_key, problem.progress)
    rest = problem.whitened(law, rest=True)
    whole = FullRankLandscape.over(rest, act, n_hidden=k, baseline=guess)
    span = np.linalg.eigh(np.asarray(whole.T))[1][:, ::-1][:, :k]
    F = FullRankLandscape.over(rest, act, whole.constants.mu, whole.constants.lam, subspace=span, baseline=guess)
    begin = np.asarray(random_rows(start_key, k, k)) @ whitening(np.asarray(F.T), k).T
    run = lbfgs(F, begin, steps=1000, tolerance=1e-7, progress=problem.progress)
    on_x, _ = law.unwhiten_weights(read_off(run.params)[0] @ span.T)
    layer = least_squares_outputs(seen.X, seen.y, on_x / np.linalg.norm(on_x, axis=1, keepdims=True), act)
    return Network(layer.weights, layer.output, act), "landscape"


_STARTS: dict[str, Callable[[_Problem], tuple[Network, str]]] = {
    "auto": _in_memory(auto),
    "expand": _in_memory(expand),
    "squared": _in_memory(squared),
    "tensor": _tensor_start,
    "landscape": _landscape_start,
}


@float64
def recover_over(
    rows: ChunkedRows,
    seen: Survey,
    method: str,
    n_hidden: int,
    activation: Activation,
    *,
    fit_bias: bool = False,
    fit_intercept: bool = False,
    key: jax.Array,
    progress: Progress = silent,
    once: Callable[[str, Callable[[], dict[str, np.ndarray]]], dict[str, np.ndarray]] | None = None,
) -> Recovery:
    """Recover a network from rows outside memory.

    Parameters
    ----------
    rows : ChunkedRows
    seen : Survey
        Of the same rows; its sample is where the search runs.
    method : str
        One of :data:`SCALING`.
    once : callable, optional
        `once(name, compute)` gives the arrays that `compute` returned when it was first called; see
        :meth:`planted.rows.Journal.once`.

    Examples
    --------
    >>> from planted import activations, datasets
    >>> from planted.rows import block_rows, survey
    >>> data = datasets.make_planted(5000, 3, 2, random_state=0)
    >>> rows = block_rows(data.X, data.y, chunk_rows=2000)
    >>> found = recover_over(rows, survey(rows, 1000), "auto", 2, activations.get("relu"), key=jax.random.key(0))
    >>> found.status
    'recovered'
    """
    began = time.perf_counter()
    check_scaling(method)
    options = {"fit_bias": fit_bias, "fit_intercept": fit_intercept}
    problem = _Problem(rows, seen, n_hidden, activation, key, progress, options)

    def compute() -> dict[str, np.ndarray]:
        network, name = _STARTS[method](problem)
        network, _, _ = refine(seen.X, seen.y, network, sample_weight=seen.weight, progress=progress, **options)
        arrays = {"weights": network.weights, "output": network.output, "intercept": np.asarray(network.intercept)}
        if network.bias is not None:
            arrays["bias"] = network.bias
        return arrays | {"method": np.frombuffer(name.encode(), np.uint8)}

    arrays = dict(compute() if once is None else once("start", compute))
    found_by = arrays.pop("method").tobytes().decode()
    params: dict[str, Any] = {name: arrays[name] for name in ("weights", "output")}
    if fit_bias:
        params["bias"] = arrays["bias"]
    if fit_intercept:
        params["intercept"] = arrays["intercept"]
    loss = Squared.on(rows, activation, bias=fit_bias, intercept=fit_intercept)
    run = polish_over(loss, seen, params, progress)
    network = Network(
        run.params["weights"],
        run.params["output"],
        activation,
        run.params.get("bias"),
        run.params.get("intercept", 0.0),
    )
    status, reason, advice, relative = verdict_at(float(run.value), seen.variance)
    return Recovery(
        network=network,
        status=status,
        reason=reason,
        advice=advice,
        loss=float(run.value),
        relative_loss=relative,
        method=found_by,
        seconds=time.perf_counter() - began,
        descents={"all rows": run},
        details={"rows": seen.n_rows, "sample": len(seen.y)},
    )


def polish_over(loss: Squared, seen: Survey, params: dict[str, Any], progress: Progress = silent) -> Descent:
    """Descend a squared loss over all rows from the sample's minimum; L-BFGS above 2,000 parameters."""
    rows = ArrayRows(to_jax(seen.X), to_jax(seen.y), None if seen.weight is None else to_jax(seen.weight))
    few = replace_rows(loss, rows)
    enough = _ROUNDING * 0.5 * (seen.variance + seen.mean**2)
    if sum(np.size(leaf) for leaf in params.values()) > _DENSE_PARAMETERS:
        return lbfgs(loss, params, steps=1000, tolerance=1e-12, target=enough, progress=progress)

    def curvature(point: Any) -> Any:
        return curvature_matrix(few, point)[0]

    return sample_newton(loss, curvature, params, floor=enough, progress=progress)


def replace_rows(objective: Any, rows: Any) -> Any:
    """The same objective over other rows.

    >>> loss = Squared([[1.0]], [1.0])
    >>> float(replace_rows(loss, ArrayRows(jax.numpy.zeros((2, 1)), jax.numpy.zeros(2))).rows.total_weight)
    2.0
    """
    other = objective.bare
    other.rows = rows
    return other


def without_intercept(block: Block, intercept: jax.Array) -> Block:
    """The block with a constant taken off its targets."""
    return block | {"y": block["y"] - intercept}


def relabelled(block: Block, low: jax.Array, span: jax.Array) -> Block:
    """The block with targets moved from {low, low + span} to {0, 1}."""
    return block | {"y": (block["y"] - low) / span}


@dataclass(frozen=True)
class Reshaped:
    """Makes patches (k, p) of flat rows."""

    patches: int

    def __call__(self, block: Block) -> Block:
        n, width = block["x"].shape
        return block | {"x": block["x"].reshape(n, self.patches, width // self.patches)}
