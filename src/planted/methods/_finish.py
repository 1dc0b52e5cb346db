"""The end that all methods share: refine on the sample, finish over all rows, measure, judge."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from planted.certificates import Uncertainty, uncertainty
from planted.methods._problem import Problem, in_memory
from planted.methods._recovery import Recovery, Start
from planted.methods._residual_test import residual_p_value
from planted.methods._row_facts import (
    confirmed,
    counting_rows,
    exchangeable,
    largest_residual,
    off_kinks,
    open_neurons,
    rounding_noise,
    thin_neuron,
)
from planted.methods._verdict import EXACT, ROUNDED, Facts, judge
from planted.networks import ConvNetwork, Network
from planted.numerics.precision import float64
from planted.rows import ChunkedRows
from planted.solvers import Descent, gauss_newton, lbfgs, least_squares, sample_newton

PARAMETERS_WITH_ERRORS = 1000
"""Above so many parameters no standard errors are computed."""
# A relative loss below which descending further moves weights by rounding errors only.
_ROUNDING = 1e-25
_ROWS_PER_PARAMETER = 20
_DENSE_PARAMETERS, _DENSE_PARAMETERS_IN_CHUNKS = 300, 2000
_POLISH = 25
# Half the relative loss below which Gauss–Newton steps converge at once, and a decrease an iteration that is too slow.
_NEAR, _SLOW = 1e-3, 1e-3
_BLOCK = 65_536
# Weights that a direction left open moves by less than this share of the most it moves any are not named.
_MOVED = 0.1


@dataclass(frozen=True)
class Refined:
    """A network at a minimum of the squared loss, its loss there, and the solvers' runs."""

    network: Network
    loss: float
    descents: dict[str, Descent] = field(default_factory=dict)


@float64
def refine(problem: Problem, network: Network, *, steps: int = 1000) -> Refined:
    """Descend the squared loss over all free parameters from `network`, on the problem's sample.

    L-BFGS on all rows brings the start near, and stops where rounding begins. Levenberg–Marquardt then finishes,
    first on a subsample of twenty rows a parameter (enough to pin a noise-free network down), then on all rows.
    Networks with more than 300 parameters are finished by Gauss–Newton steps without a Jacobian, whose cost grows
    linearly in them, and by L-BFGS again if those do not converge.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(2000, 4, 3, random_state=0)
    >>> near = Network(data.teacher.weights + 0.05, data.teacher.output)
    >>> refine(Problem.of(data.X, data.y, 3), near).loss < 1e-20
    True
    """
    survey, progress = problem.survey, problem.progress
    n = len(survey.y)
    loss = problem.objective(problem.sample)
    params: Any = problem.params(network)
    size = sum(np.size(leaf) for leaf in params.values())
    runs: dict[str, Descent] = {}
    dense = size <= _DENSE_PARAMETERS and n >= size
    square = float(np.average(np.sum(survey.y.reshape(n, -1) ** 2, axis=1), weights=survey.weight))
    enough = _ROUNDING * square
    if size > _DENSE_PARAMETERS and n >= size:
        near = _NEAR * square
        runs["near"] = lbfgs(loss, params, steps=steps, tolerance=1e-14, target=near, decrease=_SLOW, progress=progress)
        runs["gauss_newton"] = gauss_newton(loss, runs["near"].params, progress=progress)
        params = runs["gauss_newton"].params
    if "gauss_newton" not in runs or runs["gauss_newton"].status != "converged":
        limit = 300 if dense else steps
        runs["lbfgs"] = lbfgs(loss, params, steps=limit, tolerance=1e-14, target=enough, progress=progress)
        params = runs["lbfgs"].params
    if dense and runs["lbfgs"].value > enough:
        few = _ROWS_PER_PARAMETER * size
        if n > 2 * few:
            part = replace(
                survey,
                X=survey.X[:few],
                y=survey.y[:few],
                weight=None if survey.weight is None else survey.weight[:few],
            )
            subsample = problem.objective(in_memory(part))
            runs["subsample"] = least_squares(subsample, params, steps=_POLISH, progress=progress)
            if loss.value(runs["subsample"].params) < runs["lbfgs"].value:
                params = runs["subsample"].params
        runs["least_squares"] = least_squares(loss, params, steps=_POLISH, progress=progress)
        params = runs["least_squares"].params
    return Refined(problem.network(params), float(loss.value(params)), runs)


def refined(problem: Problem, start: Start) -> Start:
    """A start whose network is at a minimum on the sample."""
    if start.loss is not None:
        return start
    done = refine(problem, start.network)
    return replace(start, network=done.network, loss=done.loss, descents=start.descents | done.descents)


def explained(problem: Problem, start: Start) -> bool:
    """Whether a refined start explains the sample to rounding."""
    return start.loss is not None and 2 * start.loss <= EXACT * problem.survey.variance


@float64
def finish(problem: Problem, start: Start) -> Refined:
    """Descend over all rows from a network that is at the sample's minimum; nothing is left where they are the sample.

    Newton steps with the sample's curvature cost one pass each; above 2,000 parameters L-BFGS takes over.
    """
    start = refined(problem, start)
    assert start.loss is not None
    if not problem.in_chunks:
        return Refined(start.network, start.loss, start.descents)
    loss, few = problem.objective(), problem.objective(problem.sample)
    params = problem.params(start.network)
    enough = _ROUNDING * problem.energy
    if sum(np.size(leaf) for leaf in params.values()) > _DENSE_PARAMETERS_IN_CHUNKS:
        run = lbfgs(loss, params, steps=1000, tolerance=1e-12, target=enough, progress=problem.progress)
    else:
        run = sample_newton(loss, problem.curvature(few), params, floor=enough, progress=problem.progress)
    return Refined(problem.network(run.params), float(run.value), start.descents | {"all rows": run})


@float64
def recover(problem: Problem, start: Start, began: float) -> Recovery:
    """Finish a start, measure what the verdict follows from, and judge: the common end of every dense method.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, random_state=0)
    >>> recover(Problem.of(data.X, data.y, 2), Start(data.teacher, "squared"), time.perf_counter()).status
    'recovered'
    """
    done = finish(problem, start)
    network, survey = done.network, problem.survey
    relative = 2 * done.loss / survey.variance
    exact = relative <= EXACT
    errors, undetermined, needed = _uncertainty(problem, network)
    if start.details.get("unique"):
        # The rows determine the matrix of a quadratic network whatever its rank, and it the network up to symmetry.
        undetermined = ""
    if exact and not undetermined:
        undetermined = exchangeable(network, survey.X)
    facts = Facts(
        relative_loss=relative,
        largest_residual=worst_row(problem, network) if exact else np.inf,
        counting_rows=counting_rows(network, survey.X) if survey.complete else survey.n_rows,
        n_parameters=needed,
        undetermined=undetermined,
        p_value=np.nan
        if relative <= ROUNDED
        else residual_p_value(survey.X, survey.y, network, intercept=problem.free.intercept),
        structure="that is worse than their mean" if relative > 1 else "",
        noise=f"its standard deviation is {np.sqrt(2 * done.loss):.3g}",
        remark=start.remark,
        agreeing_runs=start.details.get("agreeing_runs"),
        precision=errors.relative_error if errors is not None and errors.determined else 0.0,
        confirmed=exact and survey.complete and confirmed(network, survey.X, needed, problem.free.intercept),
        thin=thin_neuron(network, survey.X) if exact and survey.complete else "",
    )
    details = start.details | ({"rows": survey.n_rows, "sample": len(survey.y)} if problem.in_chunks else {})
    return Recovery(
        network=network,
        verdict=judge(facts),
        loss=done.loss,
        relative_loss=relative,
        method=start.method,
        seconds=time.perf_counter() - began,
        uncertainty=errors,
        descents=done.descents,
        details=details,
    )


def worst_row(problem: Problem, network: Any) -> float:
    """The largest residual of a row over all rows, relative to the terms that add up to it."""
    rows, survey = problem.rows, problem.survey
    if isinstance(rows, ChunkedRows):
        return max(rows.engine.each(rows.chunks, _worst_in_chunk, network))
    parts = [slice(start, start + _BLOCK) for start in range(0, len(survey.y), _BLOCK)]
    return max(largest_residual(network, survey.X[part], survey.y[part]) for part in parts)


def _worst_in_chunk(arrays: Any, start: int, network: Any) -> float:
    x, y, _ = arrays
    if isinstance(network, ConvNetwork):
        x = x.reshape(len(y), network.n_patches, network.patch_size)
    return largest_residual(network, np.asarray(x, np.float64), np.asarray(y, np.float64))


def smooth_objective(problem: Problem, network: Any) -> Any:
    """The loss over the rows that no neuron has on a kink; over all rows where none is, as almost always.

    A descent may end on a kink, where rounding makes a silent row look as if it determined something.
    """
    survey = problem.survey
    smooth = off_kinks(network, survey.X)
    if smooth.all():
        return problem.objective()
    weight = None if survey.weight is None else survey.weight[smooth]
    if not smooth.any():
        smooth, weight = np.ones(len(smooth), bool), survey.weight
    return problem.objective(in_memory(replace(survey, X=survey.X[smooth], y=survey.y[smooth], weight=weight)))


def _uncertainty(problem: Problem, network: Network) -> tuple[Any, str, int]:
    """Standard errors where there are few enough parameters, what the rows leave open, and how much they determine."""
    if problem.unknowns > PARAMETERS_WITH_ERRORS:
        scales = network.n_hidden if network.activation.homogeneity is not None else 0
        return None, open_neurons(network, problem.survey.X, problem.names), problem.unknowns - scales
    least = rounding_noise(network, problem.survey.X, problem.survey.y)
    errors = uncertainty(smooth_objective(problem, network), problem.params(network), least_noise=least)
    symmetric = 0
    if network.activation.homogeneity == 2 and network.activation.parity == "even":
        # W and QW with QᵀDQ = D have the same matrix WᵀDW: a symmetry, though no canonical form takes it out.
        k, d = network.n_hidden, problem.n_features + problem.free.bias
        width = min(k, d)
        symmetric = width * (width - 1) // 2 + (k - width) * d
    return errors, left_open(errors, symmetric, problem.names), errors.n_parameters - symmetric


def left_open(errors: Uncertainty, symmetric: int = 0, names: tuple[str, ...] = ()) -> str:
    """What the rows leave open, in words, beyond `symmetric` directions; empty if nothing.

    Inputs are named where no more than half of them are concerned, otherwise neurons.
    """
    count = errors.n_parameters - errors.rank - symmetric
    if count <= 0:
        return ""
    words = f"{count} of {errors.n_parameters - symmetric} directions of the parameters are left open"
    reached = errors.weights
    if reached is None or reached.ndim != 2 or symmetric:
        return words
    start = sum(value.size for name, value in errors.estimate.items() if name < "weights")
    weights = errors.estimate["weights"]
    moves = errors.flat_directions[start : start + reached.size].reshape(*reached.shape, -1)
    if errors.network.activation.homogeneity is not None:
        # A direction left open is known up to the scale of each neuron: the multiple that moves fewest weights.
        scale = np.where(weights == 0, 1.0, weights)[..., None]
        moves = moves - np.median(moves / scale, axis=1, keepdims=True) * weights[..., None]
    moved = np.abs(moves).max(axis=2, initial=0.0)
    open_ = moved > _MOVED * max(float(moved.max(initial=0.0)), 1e-300)
    for name, along, limit in (("inputs", 0, reached.shape[1] / 2), ("neurons", 1, reached.shape[0])):
        places = np.flatnonzero(open_.any(axis=along))
        if 0 < len(places) <= limit:
            called = names if name == "inputs" and len(names) == reached.shape[1] else range(max(reached.shape))
            shown = ", ".join(str(called[place])[:40] for place in places[:8]) + (", …" if len(places) > 8 else "")
            return f"{words}, in the weights of {name} {shown}"
    return words
