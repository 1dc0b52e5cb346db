r"""Expand and merge: fit too many neurons with the linear part split off, join them down to the wanted number.

A network of the right size seldom descends to the teacher from a random start. With half as many neurons again or
more it reaches the data almost always; its superfluous neurons are then copies or idle, and joining them, a few at
a time with a short descent after each, leaves the teacher. Splitting off the linear part (see
:class:`planted.objectives.SymmetricPart`) takes the sign of each neuron out of the search. Signs come back at the end.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import linear_sum_assignment

from planted.activations import Activation
from planted.methods._merge import merge
from planted.methods._orient import orientation
from planted.methods._recovery import Recovery, finish, refine
from planted.networks import Network
from planted.numerics.precision import float64
from planted.numerics.progress import Progress
from planted.objectives import SymmetricPart
from planted.rows import ArrayRows
from planted.solvers import Descent, lbfgs, silent
from planted.starts import expanded_start

_ROWS_PER_WEIGHT = 10
_SCARCE = 6
_SMALL = 300_000
# Two runs are in the same minimum if their losses differ by less than this fraction and rows have such cosines.
_AGREE, _PARALLEL = 1e-3, 0.98
# Half the relative loss below which a run is worth refining, below which it is time to merge, and below which
# float64 should take over.
_WORTHY, _PROMISING, _NEAR = 3e-5, 1e-6, 1e-10


@dataclass(frozen=True)
class Schedule:
    """Widths relative to the wanted one; the longest descent at the first, at those between and at the last one.

    `positive` is the fraction of neurons that start with a positive output.
    """

    ratio: float
    shrink: float
    steps: tuple[int, int, int]
    positive: float = 0.5

    def widths(self, k: int) -> list[int]:
        """Decreasing widths, the last one k.

        >>> Schedule(2.0, 0.7, (1, 1, 1)).widths(10)
        [20, 14, 10]
        """
        widths = [math.ceil(self.ratio * k)]
        while widths[-1] > k:
            widths.append(max(k, min(widths[-1] - 1, round(self.shrink * widths[-1]))))
        return widths


# Half of the neurons carry each sign unless the teacher's outputs turn out to be nearly all of one.
PLENTY = (
    Schedule(1.5, 0.8, (300, 150, 400)),
    Schedule(2.0, 0.75, (500, 200, 400)),
    Schedule(2.0, 0.75, (500, 200, 400), positive=0.8),
    Schedule(2.0, 0.75, (500, 200, 400), positive=0.2),
)
SCARCE = (
    Schedule(2.0, 0.85, (1500, 500, 600)),
    Schedule(2.0, 0.85, (1500, 500, 600)),
    Schedule(2.0, 0.85, (1500, 500, 600), positive=0.7),
    Schedule(2.0, 0.85, (1500, 500, 600), positive=0.3),
)


@float64
def expand(
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
    runs: int = 12,
) -> Recovery:
    """Recover a network by expanding and merging, from up to `runs` independent starts.

    The search runs on at most ten rows a weight, in float32 where that is worth a compilation; it ends as soon as
    a run explains its rows to rounding, or two runs agree on the loss that is left (noise). The best run is
    refined in float64 on all rows.

    >>> from planted import activations, datasets
    >>> data = datasets.make_planted(600, 6, 4, weights="gaussian", output="mixed", random_state=0)
    >>> expand(data.X, data.y, 4, activations.get("relu"), key=jax.random.key(0)).status
    'recovered'
    """
    began = time.perf_counter()
    search = Search.of(X, y, n_hidden, activation, fit_bias, sample_weight)
    plenty = len(X) >= _SCARCE * n_hidden * X.shape[1]
    schedules = PLENTY if plenty else SCARCE
    attempts: list[_Attempt] = []

    def conclude(attempt: _Attempt) -> Recovery:
        losses = np.array([other.loss for other in attempts])
        start = search.network(attempt.params, fit_intercept)
        if activation.offset and not fit_intercept:
            # Signs follow from a sum of signed outputs: with many neurons only precise outputs tell patterns apart.
            start, _, _ = refine(
                search.Z,
                y,
                search.network(attempt.params, True),
                fit_bias=fit_bias,
                fit_intercept=True,
                sample_weight=sample_weight,
                progress=progress,
            )
            start = _reoriented(start)
        done = finish(
            search.Z,
            y,
            start,
            method="expand",
            began=began,
            fit_bias=fit_bias,
            fit_intercept=fit_intercept,
            sample_weight=sample_weight,
            progress=progress,
            descents=attempt.descents,
            details={"run_losses": losses, "agreeing_runs": sum(_same(attempt, other) for other in attempts)},
        )
        net = done.network
        return replace(
            done, network=Network(net.weights @ search.whitener, net.output, activation, net.bias, net.intercept)
        )

    for run in range(runs):
        attempt = search.run(schedules[run % len(schedules)], jax.random.fold_in(key, run), progress)
        lowest = all(attempt.loss <= (1 + _AGREE) * other.loss for other in attempts)
        agreed = lowest and any(_same(attempt, other) for other in attempts)
        attempts.append(attempt)
        if agreed or (lowest and attempt.loss <= _WORTHY):
            result = conclude(attempt)
            if agreed or result.status == "recovered":
                return result
    return conclude(min(attempts, key=lambda attempt: attempt.loss))


def _reoriented(network: Network) -> Network:
    """A network that is odd about a constant, turned so that its intercept becomes part of the neurons."""
    act, output, bias = network.activation, network.output, network.bias
    constant = network.intercept + act.offset * float(np.sum(output))
    sign = orientation(network.weights, output, bias, np.zeros(network.n_features), constant, act)
    bias = None if bias is None else bias * sign
    return Network(network.weights * sign[:, None], output * sign, act, bias)


@dataclass(frozen=True)
class _Attempt:
    """One run's parameters at the wanted width, its loss on the search's rows, and its descents."""

    params: dict[str, Any]
    loss: float
    descents: dict[str, Descent]


def _same(one: _Attempt, other: _Attempt) -> bool:
    """Whether two runs ended in the same minimum: equal losses, and rows that pair up with equal directions."""
    if abs(one.loss - other.loss) > _AGREE * max(one.loss, other.loss):
        return False
    units = [
        run.params["weights"] / np.maximum(np.linalg.norm(run.params["weights"], axis=1, keepdims=True), 1e-300)
        for run in (one, other)
    ]
    cosines = np.abs(units[0] @ units[1].T)
    return bool(cosines[linear_sum_assignment(-cosines)].min() > _PARALLEL)


@dataclass(frozen=True)
class Search:
    """Rows with unit second moments and targets of unit variance, and the fit of a linear function to them."""

    Z: np.ndarray
    rows: ArrayRows
    some: np.ndarray
    whitener: np.ndarray
    linear: np.ndarray
    spread: float
    scale: float
    width: int
    activation: Activation
    bias: bool
    dtype: Any

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        y: np.ndarray,
        width: int,
        activation: Activation,
        bias: bool,
        sample_weight: np.ndarray | None,
    ) -> Search:
        """The search for `width` neurons on rows X (n, d), y (n,)."""
        n, d = X.shape
        spectrum, axes = np.linalg.eigh(X.T @ X / n)
        spectrum = np.maximum(spectrum, 1e-12 * spectrum[-1])
        whitener = (axes / np.sqrt(spectrum)) @ axes.T
        Z = X @ whitener
        few = min(n, max(_ROWS_PER_WEIGHT * width * d, 1000))
        scale = float(np.std(y))
        weight = np.ones(n) if sample_weight is None else sample_weight / np.mean(sample_weight)
        targets, root = y[:few] / scale, np.sqrt(weight[:few])
        design = np.column_stack([Z[:few], np.ones(few)])
        if not activation.tilt:
            design = design[:, -1:]
        # Columns are white, so the normal equations lose nothing and take one pass over the rows.
        weighted = design * (root * root)[:, None]
        fit = np.linalg.lstsq(weighted.T @ design, weighted.T @ targets, rcond=1e-12)[0]
        left = float(np.sqrt(np.mean(weight[:few] * (targets - design @ fit) ** 2)))
        linear = fit if activation.tilt else np.append(np.zeros(d), fit)
        dtype = np.float32 if few * width * d > _SMALL else np.float64
        rows = ArrayRows(jnp.asarray(Z[:few], dtype), jnp.asarray(targets, dtype), jnp.asarray(weight[:few], dtype))
        return cls(
            Z=Z,
            rows=rows,
            some=Z[:few],
            whitener=whitener,
            linear=linear,
            spread=left,
            scale=scale,
            width=width,
            activation=activation,
            bias=bias,
            dtype=dtype,
        )

    def at(self, width: int) -> Search:
        """The same search for another width."""
        return replace(self, width=width)

    def start(self, key: jax.Array, width: int, positive: float = 0.5) -> tuple[dict[str, Any], np.ndarray | None]:
        """A random start of this width: parameters, and the fixed outputs where φ is homogeneous."""
        return expanded_start(key, width, self.activation, self.linear, self.spread, bias=self.bias, positive=positive)

    def descend(
        self, params: dict[str, Any], signs: np.ndarray | None, steps: int, *, final: bool, progress: Progress
    ) -> Descent:
        """L-BFGS from given parameters; a final descent goes on to where float64 should take over."""
        output = None if signs is None else jnp.asarray(signs, self.dtype)
        return lbfgs(
            SymmetricPart.on(self.rows, self.activation, output, self.bias),
            params,
            steps=steps,
            tolerance=0.0,
            target=_NEAR if final else _PROMISING,
            decrease=0.1 * _NEAR if final else 0.01 * _PROMISING,
            dtype=self.dtype,
            progress=progress,
        )

    def run(self, schedule: Schedule, key: jax.Array, progress: Progress) -> _Attempt:
        """Expand from one random start and merge down to the wanted width."""
        widths = schedule.widths(self.width)
        params, signs = self.start(key, widths[0], schedule.positive)
        descents: dict[str, Descent] = {}
        for stage, width in enumerate(widths):
            if stage:
                params, signs = self.shrink(params, signs, width)
            last = width == self.width
            steps = schedule.steps[2 if last else min(stage, 1)]
            descent = self.descend(params, signs, steps, final=last, progress=progress)
            params = descent.params
            descents[f"width {width}"] = descent
        return _Attempt(params if signs is None else params | {"output": signs}, float(descent.value), descents)

    def shrink(
        self, params: dict[str, Any], signs: np.ndarray | None, width: int
    ) -> tuple[dict[str, Any], np.ndarray | None]:
        """Merge neurons until `width` are left."""
        output = params["output"] if signs is None else signs
        weights, output, bias = merge(params["weights"], output, params.get("bias"), width, self.some, self.activation)
        if signs is not None:
            length = np.abs(output) ** (1 / float(self.activation.homogeneity or 1.0))
            weights, output, signs = weights * length[:, None], np.sign(output), np.where(output < 0, -1.0, 1.0)
            bias = None if bias is None else bias * length
        shrunk = {**params, "weights": weights}
        if signs is None:
            shrunk["output"] = output
        if bias is not None:
            shrunk["bias"] = bias
        return shrunk, signs

    def network(self, params: dict[str, Any], fit_intercept: bool) -> Network:
        """The oriented network, on whitened rows and the caller's targets."""
        act = self.activation
        weights, output, bias = params["weights"], params["output"], params.get("bias")
        constant, linear = float(params["intercept"]), params.get("linear", self.linear[:-1])
        sign = orientation(weights, output, bias, linear, constant, act, fit_intercept=fit_intercept)
        if act.centred_parity == "odd":
            output = output * sign
        bias = None if bias is None else bias * sign
        weights = weights * sign[:, None]
        intercept = 0.0
        if fit_intercept:
            tilted = 0.0 if bias is None else act.tilt * float(output @ bias)
            intercept = constant - tilted - act.offset * float(np.sum(output))
        return Network(weights, self.scale * output, act, bias, self.scale * intercept)
