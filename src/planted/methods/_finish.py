"""The end that all methods share: finish over all rows, measure, judge."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from planted.methods._baselines import HeldOut, LeftOut, looked_at
from planted.methods._causes import misfit_cause
from planted.methods._collinear import constant_inputs, dependence_advice, shortest_weights
from planted.methods._errors import errors_of
from planted.methods._facts import EXACT, ROUNDED, ROW_EXACT, Facts
from planted.methods._limits import Limit, limit_of
from planted.methods._observations import Observations, observations
from planted.methods._problem import Problem
from planted.methods._recovery import Recovery, Start
from planted.methods._refine import finish
from planted.methods._residual_test import residual_p_value
from planted.methods._row_facts import confirmed, exchangeable, thin_neuron
from planted.methods._smaller import fewer_neurons
from planted.methods._verdict import OUT_OF_TIME, judge
from planted.networks import Network, counting_rows, largest_residual, residual_sizes
from planted.numerics.deadline import finishing
from planted.numerics.precision import float64
from planted.rows import ChunkedRows

_BLOCK = 65_536
# The share of rows up to which what is left in them alone is no noise.
_FEW_ROWS = 0.05


@float64
def recover(problem: Problem, start: Start, began: float) -> Recovery:
    """Finish a start, measure what the verdict follows from, and judge: the common end of every dense method.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, random_state=0)
    >>> recover(Problem.of(data.X, data.y, 2), Start(data.teacher, "squared"), time.perf_counter()).status
    'recovered'
    """
    with finishing() as late:
        # A search that ran out of time has not polished its network.
        done = finish(problem, replace(start, loss=None) if late and problem.n_hidden else start)
    remarks = [start.remark, OUT_OF_TIME if late else ""]
    network, survey = shortest_weights(problem, done.network), problem.survey
    relative = 2 * done.loss / survey.variance
    exact = relative <= EXACT
    data = observations(survey)
    intercept = problem.free.intercept
    about = errors_of(problem, network, data, relative)
    errors, needed = about.uncertainty, about.n_parameters
    # The rows determine the matrix of a quadratic network whatever its rank, and it the network up to symmetry.
    unique = bool(start.details.get("unique"))
    undetermined = "" if unique else about.undetermined
    if exact and not undetermined:
        undetermined = exchangeable(network, survey.X)
    dependence = dependence_advice(survey, problem.free, problem.names) if undetermined else ""
    limit = limit_of(survey.X, errors, labels=False) if undetermined and not dependence else Limit()
    few = LeftOut.of(data, survey.n_rows if problem.in_chunks else data.number)
    left, held = looked_at(few, network, needed, intercept=intercept)
    facts = Facts(
        relative_loss=relative,
        largest_residual=worst_row(problem, network) if exact else np.inf,
        counting_rows=counting_rows(network, survey.X) if survey.complete else survey.n_rows,
        n_parameters=needed,
        undetermined=limit.reason or undetermined,
        different_rows=len(data.y),
        given=about.given or _without_biases(problem),
        remedy=dependence or limit.advice,
        p_value=np.nan if relative <= ROUNDED else residual_p_value(data, network, intercept=intercept),
        structure="it is worse than the mean" if relative > 1 + 1e-9 else "",
        odd_rows="" if exact else _odd_rows(network, data),
        noise=_noise(done.loss, problem.n_outputs, few.n_rows, needed) + about.words,
        remark="; ".join(remark for remark in remarks if remark),
        agreeing_runs=start.details.get("agreeing_runs"),
        precision=about.precision,
        confirmed=exact and survey.complete and confirmed(network, survey.X, needed, intercept),
        thin=thin_neuron(network, survey.X) if exact and survey.complete else "",
        n_hidden=network.n_hidden,
        compared=problem.compared,
        late=late,
        without_neurons="" if problem.n_hidden else "linear" if problem.free.skip else "constant",
        enough_neurons=0 if unique else fewer_neurons(problem, network, left, errors),
        **held_out_facts(held),
    )
    verdict = judge(facts)
    if verdict.status == "misfit" and network.n_hidden and not late:
        cause, better = misfit_cause(problem.on_sample(), network)
        if better is not None and "searched_again" not in start.details:
            again = Start(better, start.method, details=start.details | {"searched_again": True}, remark=start.remark)
            other = recover(problem, again, began)
            if other.loss < done.loss:
                return other
        verdict = judge(replace(facts, cause=cause))
    details = start.details | ({"rows": survey.n_rows, "sample": len(survey.y)} if problem.in_chunks else {})
    return Recovery(
        network=network,
        verdict=verdict,
        loss=done.loss,
        relative_loss=relative,
        method=start.method,
        seconds=time.perf_counter() - began,
        uncertainty=errors,
        descents=done.descents,
        details=details,
    )


def _without_biases(problem: Problem) -> str:
    """That inputs may stand for biases, in words, where these were left out of the network by a comparison."""
    if "bias" not in problem.compared or problem.free.bias or not problem.n_hidden:
        return ""
    inputs = constant_inputs(problem.survey, problem.names)
    return f"if it has no biases, for which {inputs} could stand" if inputs else ""


def _odd_rows(network: Network, data: Observations) -> str:
    """How many rows are not explained where all but a few are, to rounding, in words: noise would be in every row.

    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> _odd_rows(Network([[1.0]], [1.0]), Observations(X, np.maximum(X[:, 0], 0) + (X[:, 0] < -0.97)))
    '2 of 100 rows'
    """
    if not network.n_hidden:
        return ""
    left = int(np.sum(residual_sizes(network, data.X, data.y) > ROW_EXACT))
    return f"{left:,} of {len(data.X):,} rows" if 0 < left <= _FEW_ROWS * len(data.X) else ""


def _noise(loss: float, n_outputs: int, n_rows: float, numbers: int) -> str:
    """The size of the noise behind a loss, half the mean of Σ_j r_j² over rows, in one of several targets, in words.

    Numbers that were fitted take their share of the noise along: squares are divided by targets minus numbers.

    >>> _noise(0.01, 1, 100, 0), _noise(0.01, 1, 100, 50)
    ('its standard deviation is 0.141', 'its standard deviation is 0.2')
    >>> _noise(0.01, 2, 100, 0)
    'its standard deviation is 0.1, the root mean square over targets'
    """
    over = ", the root mean square over targets" if n_outputs > 1 else ""
    return f"its standard deviation is {np.sqrt(2 * loss * n_rows / max(n_rows * n_outputs - numbers, 1.0)):.3g}{over}"


def held_out_facts(held: HeldOut | None) -> dict[str, Any]:
    """What rows left out say, as facts of a verdict."""
    if held is None:
        return {}
    losses = {"network_loss": held.network, "linear_loss": held.linear, "mean_loss": held.mean}
    return losses | {"unbeaten": held.unbeaten}


def worst_row(problem: Problem, network: Any) -> float:
    """The largest residual of a row over all rows, relative to the terms that add up to it."""
    rows, survey = problem.rows, problem.survey
    if isinstance(rows, ChunkedRows):
        return max(rows.engine.each(rows.chunks, _worst_in_chunk, network))
    parts = [slice(start, start + _BLOCK) for start in range(0, len(survey.y), _BLOCK)]
    return max(largest_residual(network, survey.X[part], survey.y[part]) for part in parts)


def _worst_in_chunk(arrays: Any, start: int, network: Any) -> float:
    x, y, _ = arrays
    return largest_residual(network, network.rows(np.asarray(x, np.float64)), np.asarray(y, np.float64))
