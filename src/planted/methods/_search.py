r"""The search for a network of given width: descend with too many neurons, merge them, descend again.

Splitting off the linear part (see :class:`planted.objectives.SymmetricPart`) takes the sign of each neuron out of the
search. Signs come back at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from scipy.optimize import linear_sum_assignment

from planted.activations import Activation
from planted.methods._merge import merge
from planted.methods._orient import orientation
from planted.methods._problem import Free, Problem
from planted.methods._refine import DENSE_PARAMETERS
from planted.methods._whitening import Whitening
from planted.networks import Network
from planted.numerics.precision import float64
from planted.numerics.progress import Progress
from planted.objectives import SymmetricPart
from planted.rows import ArrayRows
from planted.solvers import Descent, MiniBatches, Monitor, descend, lbfgs
from planted.starts import expanded_start

# Rows a weight that a search takes, and from which on mini-batches cross a plateau.
_ROWS_PER_WEIGHT, _ROWS_PER_SWEPT_WEIGHT = 10, 4
_SMALL = 300_000
# Rows a step of mini-batches for few weights and for many, and with fewer than five rows a weight; the sum over weights
# of the first step size with 64 rows, and steps of one compiled program. From so many weights on, passes grow like
# their square root.
_BATCHES, _SCARCE_BATCH, _RATE, _CHUNK = (64, 128), 32, 6.0, 500
_SCARCE_ROWS_PER_WEIGHT = 5
_MANY_WEIGHTS = 10_000
# Neurons from which on a quarter more is enough to spare, and inputs a neuron from which on inputs are many.
_MANY = 40
_INPUTS_PER_NEURON = 10
# Two runs are in the same minimum if their losses differ by less than this fraction and rows have such cosines.
_AGREE, _PARALLEL = 1e-3, 0.98
WORTHY = 3e-5
"""Half the relative loss below which a run is worth refining."""
# The same below which it is time to merge, below which float64 should take over, and below which Gauss–Newton steps
# should where networks are so large that they take them.
_PROMISING, _NEAR, _NEAR_NEWTON = 1e-6, 1e-10, 1e-7


@dataclass(frozen=True)
class Schedule:
    """Widths relative to the wanted one; the longest descent at the first, at those between and at the last one.

    `positive` is the fraction of neurons that start with a positive output. `passes` is how often the first descent
    sees all rows, a few at a time, before it sees them together: see :class:`planted.solvers.MiniBatches`.
    """

    ratio: float
    shrink: float
    steps: tuple[int, int, int]
    positive: float = 0.5
    passes: int = 0

    def widths(self, k: int) -> list[int]:
        """Decreasing widths, the last one k.

        >>> Schedule(2.0, 0.7, (1, 1, 1)).widths(10)
        [20, 14, 10]
        """
        widths = [math.ceil(self.ratio * k)]
        while widths[-1] > k:
            widths.append(max(k, min(widths[-1] - 1, round(self.shrink * widths[-1]))))
        return widths


# Half of the neurons carry each sign unless the teacher's outputs turn out to be nearly all of one. Where neurons are
# many, a quarter of them is enough to spare.
PLENTY = (
    Schedule(1.5, 0.8, (300, 150, 400), passes=20),
    Schedule(2.0, 0.75, (500, 200, 400)),
    Schedule(2.0, 0.75, (500, 200, 400), positive=0.8),
    Schedule(2.0, 0.75, (500, 200, 400), positive=0.2),
)
_PLENTY_OF_MANY = (Schedule(1.25, 0.8, (300, 150, 400), passes=30), *PLENTY[1:])
# The network itself, for few neurons of many inputs: one descent in two to seven ends at the best minimum there, soon,
# while a wider network has almost as many weights as there are rows, and fits them in other ways.
NARROW = Schedule(1.0, 0.8, (300, 300, 300))
SCARCE = (
    Schedule(2.0, 0.85, (1500, 500, 600)),
    Schedule(2.0, 0.85, (1500, 500, 600)),
    Schedule(2.0, 0.85, (1500, 500, 600), positive=0.7),
    Schedule(2.0, 0.85, (1500, 500, 600), positive=0.3),
)


def rounded_width(width: int) -> int:
    """The next multiple of four, of eight beyond 16, of 16 beyond 32 and so on.

    >>> [rounded_width(k) for k in (1, 5, 17, 40)]
    [4, 8, 24, 48]
    """
    step = max(4, 1 << max((width - 1).bit_length() - 2, 0))
    return -(-width // step) * step


def _padded(params: dict[str, Any], signs: np.ndarray | None, idle: int) -> tuple[dict[str, Any], np.ndarray | None]:
    """Parameters, and fixed outputs, with so many idle neurons more."""
    if not idle:
        return params, signs

    def more(array: np.ndarray, axis: int) -> np.ndarray:
        shape = list(np.shape(array))
        shape[axis] = idle
        return np.concatenate([array, np.zeros(shape)], axis=axis)

    wider: dict[str, Any] = {name: more(params[name], 0) for name in ("weights", "bias") if name in params}
    if "output" in params:
        wider["output"] = more(params["output"], -1)
    return params | wider, None if signs is None else more(signs, 0)


@dataclass(frozen=True)
class Attempt:
    """One run's parameters at the wanted width, its loss on the search's rows, and its descents.

    `wide_loss` is the loss of its widest network relative to what a linear function leaves; `explaining_width` the
    smallest width at which the run explained its rows, zero if it never did; `grown` says that it started from another
    run's network, and so is no independent witness.
    """

    params: dict[str, Any]
    loss: float
    descents: dict[str, Descent]
    wide_loss: float = float("nan")
    explaining_width: int = 0
    grown: bool = False


def same_minimum(one: Attempt, other: Attempt) -> bool:
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
    """Rows with unit second moments and targets of unit variance, and the fit of a linear function to them.

    Attributes
    ----------
    Z : array (n, d)
        The whitened inputs; d is their rank.
    whitening : Whitening
        How they come from the caller's inputs, and networks go back.
    rows : ArrayRows
        Those that are searched on, with scaled targets.
    linear : array (d + 1,) or (d + 1, m)
        Least-squares coefficients of the inputs and the constant.
    spread : float
        Root mean square of what that fit leaves.
    scale : float or array (m,)
        Standard deviation of the targets.
    width : int
        The wanted number of neurons.

    Examples
    --------
    >>> from planted.datasets import make_planted
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> search = Search.of(Problem.of(data.X, data.y, 2))
    >>> np.allclose(search.Z.T @ search.Z / 300, np.eye(3))
    True
    """

    Z: np.ndarray
    rows: ArrayRows
    some: np.ndarray
    targets: np.ndarray
    share: np.ndarray | None
    whitening: Whitening
    linear: np.ndarray
    spread: float
    scale: Any
    width: int
    activation: Activation
    free: Free
    dtype: Any
    progress: Progress
    agree: float = _AGREE

    @classmethod
    @float64
    def of(cls, problem: Problem) -> Search:
        """The search on a problem's sample."""
        X, y, weight = problem.survey.X, problem.survey.y, problem.survey.weight
        n, width, activation = len(X), problem.n_hidden, problem.activation
        share = np.ones(n) if weight is None else weight / np.mean(weight)
        free = problem.free
        # A mean is taken off where biases, and an intercept for the linear part, make up for it.
        centred = free.bias and (free.intercept or not free.skip)
        whitening = Whitening.of(X, None if weight is None else share, centred=centred)
        Z = whitening(X)
        d = Z.shape[1]
        few = min(n, max(_ROWS_PER_WEIGHT * width * d, 1000))
        scale = np.sqrt(np.average((y - np.average(y, axis=0, weights=weight)) ** 2, axis=0, weights=weight))
        scale = np.where((scale > 0) & (np.ptp(y, axis=0) > 0), scale, 1.0)
        targets, share = y[:few] / scale, share[:few]
        design = np.column_stack([Z[:few], np.ones(few)])
        if not activation.tilt:
            design = design[:, -1:]
        # Columns are white, so the normal equations lose nothing and take one pass over the rows.
        weighted = design * share[:, None]
        fit = np.linalg.lstsq(weighted.T @ design, weighted.T @ targets, rcond=1e-12)[0]
        residual = (targets - design @ fit).reshape(few, -1)
        left = float(np.sqrt(np.mean(share[:, None] * residual**2)))
        linear = fit if activation.tilt else np.concatenate([np.zeros((d, *fit.shape[1:])), fit])
        dtype = np.float32 if few * width * d > _SMALL else np.float64
        # Shuffled where they may be taken a few at a time: tables can be sorted.
        order: Any = np.random.default_rng(0).permutation(few) if dtype is np.float32 else slice(few)
        rows = ArrayRows(Z[order].astype(dtype), targets[order].astype(dtype), share[order].astype(dtype))
        return cls(
            Z=Z,
            rows=rows,
            some=Z[:few],
            targets=targets,
            share=None if weight is None else share,
            whitening=whitening,
            linear=linear,
            spread=left,
            scale=scale,
            width=width,
            activation=activation,
            free=free,
            dtype=dtype,
            progress=problem.progress,
        )

    @property
    def n_outputs(self) -> int | None:
        """m where there are several outputs."""
        return None if self.linear.ndim == 1 else self.linear.shape[1]

    @property
    def plenty(self) -> tuple[Schedule, ...]:
        """Schedules for rows enough, one after the other."""
        return PLENTY if self.width < _MANY else _PLENTY_OF_MANY

    @property
    def scarce(self) -> tuple[Schedule, ...]:
        """Schedules for few rows: mini-batches come first where these are enough for them, as they are the quickest.

        From where they end on a plateau, descents on all rows do so too; twice as many passes mostly do not.
        """
        swept = self.dtype is np.float32 and self.activation.homogeneity is not None
        enough = len(self.some) >= _ROWS_PER_SWEPT_WEIGHT * self.width * self.Z.shape[1]
        if not (swept and enough):
            return SCARCE
        first = self.plenty[0]
        return first, replace(first, passes=2 * first.passes), *SCARCE

    @property
    def many_inputs(self) -> bool:
        """Whether inputs are so many beside neurons that these span few of their directions."""
        return self.Z.shape[1] >= _INPUTS_PER_NEURON * (self.width + 1)

    def at(self, width: int) -> Search:
        """The same search for another width."""
        return replace(self, width=width)

    def start(self, key: np.ndarray, width: int, positive: float = 0.5) -> tuple[dict[str, Any], np.ndarray | None]:
        """A random start of this width: parameters, and the fixed outputs where φ is homogeneous."""
        return expanded_start(
            key, width, self.activation, self.linear, self.spread, bias=self.free.bias, positive=positive
        )

    @float64
    def descend(self, params: dict[str, Any], signs: np.ndarray | None, steps: int, *, final: bool) -> Descent:
        """L-BFGS from given parameters; a final descent goes on to where float64 should take over."""
        width = len(params["weights"])
        idle = self._idle(width)
        params, signs = _padded(params, signs, idle)
        output = None if signs is None else jax.device_put(np.asarray(signs, self.dtype))
        near = _NEAR_NEWTON if self.width * self.Z.shape[1] > DENSE_PARAMETERS else _NEAR
        run = lbfgs(
            SymmetricPart.on(self.rows, self.activation, output, self.free.bias, self.n_outputs),
            params,
            steps=steps,
            tolerance=0.0,
            target=near if final else _PROMISING,
            decrease=0.1 * _NEAR if final else 0.01 * _PROMISING,
            dtype=self.dtype,
            progress=self.progress,
        )
        return replace(run, params=self._without_idle(run.params, width)) if idle else run

    @float64
    def sweep(self, params: dict[str, Any], signs: np.ndarray, passes: int, key: Any) -> Descent:
        """Steps of Adam on a few rows at a time, about `passes` times through all of them.

        Weights with signs for outputs have about the same norm together whatever their number, so that the steps that
        they bear fall with it. Fewer rows a weight than ten are seen more often, like their number to the power −3;
        fewer than five in smaller batches too, as it takes steps to cross the plateau: 100 neurons of 100 inputs with
        five crossed it in 240 passes of 64 rows a step, with 4.5 in 330 of 32 or 700 of 64, not in 330 of 64.
        """
        output = jax.device_put(np.asarray(signs, self.dtype))
        loss = SymmetricPart.on(self.rows, self.activation, output, self.free.bias, self.n_outputs)
        weights = self.width * self.Z.shape[1]
        scarce = max(1.0, _ROWS_PER_WEIGHT * weights / len(self.some))
        enough = len(self.some) >= _SCARCE_ROWS_PER_WEIGHT * weights
        batch = _BATCHES[weights > 2 * _MANY_WEIGHTS] if enough else _SCARCE_BATCH
        wanted = passes * scarce**3 * max(1.0, math.sqrt(weights / _MANY_WEIGHTS)) * len(self.some) / batch
        steps = _CHUNK * max(1, round(wanted / _CHUNK))
        rule = MiniBatches(batch, _RATE * math.sqrt(batch / _BATCHES[0]) / weights, steps)
        begin = jax.tree.map(lambda leaf: np.asarray(leaf, self.dtype), params)
        return descend(loss, begin, rule, steps=steps, key=key, monitor=Monitor(every=_CHUNK), progress=self.progress)

    def _idle(self, width: int) -> int:
        """Idle neurons that bring a network to a width that many share, so that they share one compiled program.

        They have no weights. Where ψ'(0) = 0, or ψ(0) = 0 as their outputs then stay zero, they never wake up.
        """
        if self.dtype is np.float32 or self.activation.centred_parity is None:
            return 0
        return rounded_width(width) - width

    def _without_idle(self, params: dict[str, Any], width: int) -> dict[str, Any]:
        """The parameters of the first `width` neurons; what idle ones add to the output is a constant."""
        cut: dict[str, Any] = {name: params[name][:width] for name in ("weights", "bias") if name in params}
        if "output" in params:
            at_zero = float(self.activation(0.0)) - self.activation.offset
            constant = params["intercept"] + at_zero * params["output"][..., width:].sum(axis=-1)
            cut |= {"output": params["output"][..., :width], "intercept": constant}
        return params | cut

    @float64
    def run(self, schedule: Schedule, key: np.ndarray) -> Attempt:
        """Expand from one random start and merge down to the wanted width."""
        widths = schedule.widths(self.width)
        params, signs = self.start(key, widths[0], schedule.positive)
        descents: dict[str, Descent] = {}
        if schedule.passes and signs is not None and self.dtype is np.float32:
            sweep = self.sweep(params, signs, schedule.passes, key)
            descents["mini-batches"] = sweep
            params = params if sweep.status == "diverged" else sweep.params
        for stage, width in enumerate(widths):
            if stage:
                params, signs = self.shrink(params, signs, width)
            last = width == self.width
            steps = schedule.steps[2 if last else min(stage, 1)]
            descent = self.descend(params, signs, steps, final=last)
            params = descent.params
            descents[f"width {width}"] = descent
        return Attempt(params if signs is None else params | {"output": signs}, float(descent.value), descents)

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

    def network(self, params: dict[str, Any]) -> Network:
        """The oriented network, on whitened rows and the caller's targets."""
        act, free = self.activation, self.free
        weights, output, bias = params["weights"], params["output"], params.get("bias")
        constant, linear = np.asarray(params["intercept"]), params.get("linear", self.linear[:-1].T)
        sign = np.ones(len(weights))
        if not (free.skip and act.centred_parity == "even"):
            sign = orientation(weights, output, bias, linear, constant, act, fit_intercept=free.intercept)
        if act.centred_parity == "odd":
            output = output * sign
        bias = None if bias is None else bias * sign
        weights = weights * sign[:, None]
        scale = self.scale[..., None]
        parts: dict[str, Any] = {}
        if free.intercept:
            tilted = 0.0 if bias is None else act.tilt * (output @ bias)
            parts["intercept"] = self.scale * (constant - tilted - act.offset * output.sum(axis=-1))
        if free.skip:
            parts["skip"] = scale * (linear - act.tilt * (output @ weights))
        return Network(weights, scale * output, act, bias, **parts)
