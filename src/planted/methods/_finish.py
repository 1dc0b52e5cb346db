"""The end that all methods share: finish over all rows, measure, judge."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from planted.certificates import Uncertainty, leaving_neurons_open, leaving_open
from planted.methods._baselines import HeldOut, LeftOut, linear_p_value, looked_at
from planted.methods._causes import misfit_cause
from planted.methods._collinear import constant_inputs, dependence_advice, dependence_words, shortest_weights
from planted.methods._errors import errors_of
from planted.methods._facts import EXACT, LEVEL, ROUNDED, ROW_EXACT, TESTED_UNKNOWNS, Facts, TargetLosses, crowded
from planted.methods._heavy_tails import far_rows
from planted.methods._limits import Limit, limit_of, steep_neurons
from planted.methods._neighbours import input_in_order, neighbours_correlation
from planted.methods._observations import Observations, observations
from planted.methods._problem import Problem
from planted.methods._recovery import Recovery, Start
from planted.methods._refine import finish
from planted.methods._refits import refits_of, unsettled
from planted.methods._residual_test import residual_p_value
from planted.methods._row_facts import confirmed, exchangeable, repeated_inputs, thin_neuron
from planted.methods._shortest import shortest_along_open
from planted.methods._smaller import fewer_neurons
from planted.methods._spare import spare_neurons
from planted.methods._verdict import OUT_OF_TIME, judge
from planted.networks import Network, counting_rows, largest_residual, residual_sizes
from planted.numerics.deadline import MEASURE, POLISH, until
from planted.numerics.precision import float64, to_jax
from planted.objectives import residual_products, unflatten
from planted.rows import ChunkedRows, Survey

_BLOCK = 65_536
# The share of rows up to which what is left in them alone is no noise.
_FEW_ROWS = 0.05
# The factor by which what is left in them exceeds what is left in any other row.
_APART = 100.0
# Targets of which each is named.
_LISTED = 4


@float64
def recover(problem: Problem, start: Start, began: float) -> Recovery:
    """Finish a start, measure what the verdict follows from, and judge: the common end of every dense method.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(500, 3, 2, random_state=0)
    >>> recover(Problem.of(data.X, data.y, 2), Start(data.teacher, "squared"), time.perf_counter()).status
    'recovered'
    """
    with until(POLISH) as late:
        # A search that ran out of time has not polished its network.
        done = finish(problem, replace(start, loss=None) if late and problem.n_hidden else start)
    # What is measured of rows that fit in memory is measured there, however they were read.
    given, problem = problem, problem.at_hand
    remarks = [start.remark, OUT_OF_TIME if late else ""]
    network, survey = shortest_weights(problem, done.network), problem.survey
    squares = target_squares(problem, network)
    relative = relative_loss(done.loss, squares, survey)
    exact = relative <= EXACT
    data = observations(survey)
    intercept = problem.free.intercept
    about = errors_of(problem, network, data, relative)
    shorter = shortest_along_open(problem, network, about.uncertainty)
    if shorter is not network:
        network, about = shorter, errors_of(problem, shorter, data, relative)
    errors, needed = about.uncertainty, about.n_parameters
    # The rows determine the matrix of a quadratic network whatever its rank, and it the network up to symmetry.
    unique = bool(start.details.get("unique"))
    undetermined, open_, instead = "" if unique else about.undetermined, [], ""
    if exact and not undetermined:
        canonical = None if errors is None else errors.network
        exchange = exchangeable(canonical if isinstance(canonical, Network) else network, survey.X)
        undetermined, open_, instead = exchange.words, list(exchange.neurons), exchange.advice
    dependence = about.remedy
    if undetermined and not dependence:
        dependence = dependence_advice(survey, problem.free, problem.names)
    ends = undetermined and not dependence
    limit = limit_of(survey.X, errors, labels=False, survey=survey) if ends else Limit()
    why = dependence_words(survey, problem.free, problem.names) if dependence and not about.remedy else ""
    undetermined = f"{why}, and {undetermined}" if why else undetermined
    few = LeftOut.of(data, survey.n_rows if problem.in_chunks else data.number)
    p_value = np.nan if relative <= ROUNDED else residual_p_value(data, network, intercept=intercept)
    # Of a misfit neither refits nor fewer neurons are asked for.
    structured = p_value < LEVEL
    with until(MEASURE):
        refits = None if exact or structured else refits_of(problem, network, needed, few.n_rows)
        left, held = looked_at(refits or few, network, needed, intercept=intercept)
        unknown = "" if undetermined else unsettled(left, network, needed, errors, intercept)
        unknown = unknown or ("" if exact else about.unknown)
        # Where no row can be left out, a network that does not explain all is no measure of others.
        alone = unique or structured or (held is None and not exact)
        smaller = network if alone else fewer_neurons(problem, network, left, errors)
    enough = 0 if smaller is None or smaller is network else smaller.n_hidden
    if enough and smaller is not None and errors is not None:
        open_ += spare_neurons(errors, smaller, survey.X)
    in_turn = survey.complete and not exact
    neighbours = neighbours_correlation(network, data, intercept=intercept) if in_turn else 0.0
    largest, counting = _of_rows(problem, network, data, exact)
    facts = Facts(
        relative_loss=relative,
        largest_residual=largest,
        counting_rows=counting,
        n_parameters=needed,
        undetermined=limit.reason or undetermined or unknown,
        different_rows=round(data.number) if data.counted else len(data.y),
        given=about.given or _without_biases(problem) or (_linear_neurons(network) if exact else ""),
        remedy=dependence or limit.advice or (instead if undetermined else _drop_for_biases(problem)),
        repeated_inputs=repeated_inputs(survey.X, survey.weight),
        p_value=p_value,
        structure="it is worse than the mean" if relative > 1 + 1e-9 else "",
        odd_rows="" if exact else _odd_rows(network, data),
        far_rows="" if exact else far_rows(network, data),
        neighbours=neighbours,
        in_order=input_in_order(data.X, problem.names) if neighbours else "",
        noise=noise_words(done.loss, squares, problem.units, few.n_rows, needed) + about.words,
        remark="; ".join(remark for remark in remarks if remark),
        agreeing_runs=start.details.get("agreeing_runs"),
        precision=about.precision,
        confirmed=exact and survey.complete and confirmed(network, survey.X, needed, intercept),
        thin=thin_neuron(network, survey.X) if exact and survey.complete else "",
        n_hidden=network.n_hidden,
        compared=problem.compared,
        refitted=held is not None and refits is not None,
        crowded=crowded(needed, few.n_rows, problem.n_outputs),
        late=late,
        without_neurons="" if problem.n_hidden else "linear" if problem.free.skip else "constant",
        enough_neurons=enough,
        all_needed=smaller is network and not alone and problem.unknowns <= TESTED_UNKNOWNS,
        unmeasured=("fewer",) if smaller is None else (),
        targets=target_losses(squares, survey, held),
        **held_out_facts(held, data),
    )
    if facts.scarce and not facts.undetermined and errors is not None and errors.determined:
        errors, facts = _of_steps(problem, errors, facts)
    verdict = judge(facts)
    if verdict.status == "misfit" and network.n_hidden and not late:
        cause, better = misfit_cause(problem.on_sample(), network)
        if better is not None and "searched_again" not in start.details:
            again = Start(better, start.method, details=start.details | {"searched_again": True}, remark=start.remark)
            other = recover(given, again, began)
            if other.loss < done.loss:
                return other
        verdict = judge(replace(facts, cause=cause))
    read = given.survey
    details = start.details | ({"rows": read.n_rows, "sample": len(read.y)} if given.in_chunks else {})
    return Recovery(
        network=network,
        verdict=verdict,
        loss=done.loss,
        relative_loss=relative,
        method=start.method,
        seconds=time.perf_counter() - began,
        uncertainty=leaving_neurons_open(errors, sorted({*open_})) if errors is not None and open_ else errors,
        descents=done.descents,
        details=details,
        squares=squares,
    )


def _of_steps(problem: Problem, errors: Uncertainty, facts: Facts) -> tuple[Uncertainty, Facts]:
    """Errors and facts where hardly a row counts since neurons are steps: rows leave the lengths of these open."""
    assert isinstance(errors.network, Network)
    steep, limit = steep_neurons(errors.network, problem.survey.X)
    if not steep:
        return errors, facts
    places = unflatten(np.arange(len(errors.covariance)), errors.estimate)
    longer = np.zeros((len(errors.covariance), len(steep)))
    for column, i in enumerate(steep):
        for name in ("weights", "bias"):
            if name in places:
                longer[places[name][i], column] = errors.estimate[name][i]
    errors = leaving_open(errors, problem.objective().model, longer)
    return errors, replace(facts, undetermined=limit.reason, remedy=limit.advice)


def _of_rows(problem: Problem, network: Network, data: Observations, exact: bool) -> tuple[float, int]:
    """The largest residual of a row, where all are explained, and how many rows say something of the weights.

    Without noise these are the distinct inputs at which a neuron is active.
    """
    largest = worst_row(problem, network) if exact else np.inf
    if not problem.survey.complete:
        return largest, problem.survey.n_rows
    counted = data.counted and not exact
    return largest, round(data.number) if counted else counting_rows(network, problem.survey.X)


def _without_biases(problem: Problem) -> str:
    """That inputs may stand for biases, in words, where these were left out of the network by a comparison."""
    if "bias" not in problem.compared or problem.free.bias or not problem.n_hidden:
        return ""
    inputs = constant_inputs(problem.survey, problem.names)
    return f"if it has no biases, for which {inputs} could stand" if inputs else ""


def _linear_neurons(network: Network) -> str:
    """That a linear part may be neurons with a kink that no row has passed, in words.

    >>> _linear_neurons(Network([[1.0]], [1.0], skip=[1.0]))
    'up to neurons that are linear in all of these rows, for which its linear part could stand'
    """
    if network.activation.homogeneity != 1 or not network.n_hidden or network.skip is None or not np.any(network.skip):
        return ""
    return "up to neurons that are linear in all of these rows, for which its linear part could stand"


def _drop_for_biases(problem: Problem) -> str:
    """What to drop so that biases can be told from inputs, one sentence; empty where no inputs stand for them."""
    inputs = constant_inputs(problem.survey, problem.names) if _without_biases(problem) else ""
    one = "one of " * ("inputs" in inputs)
    return f"To see whether there are biases, drop {one}{inputs.removesuffix(',')}." if inputs else ""


def _odd_rows(network: Network, data: Observations) -> str:
    """How many rows are not explained where all but a few are, to rounding, in words: noise would be in every row.

    They are orders of magnitude apart from the others: an approximation leaves residuals of every size.

    >>> X = np.linspace(-1, 1, 100)[:, None]
    >>> _odd_rows(Network([[1.0]], [1.0]), Observations(X, np.maximum(X[:, 0], 0) + (X[:, 0] < -0.97)))
    '2 of 100 rows'
    """
    if not network.n_hidden:
        return ""
    # Beside neurons that nearly cancel noise looks like rounding: beside the targets it does not.
    spread = np.maximum(np.std(data.y, axis=0), 1e-300)
    beside = np.max((np.abs(network.predict(data.X) - data.y) / spread).reshape(len(data.X), -1), axis=1)
    sizes = np.maximum(residual_sizes(network, data.X, data.y), beside)
    odd = sizes > ROW_EXACT
    left = int(np.sum(odd))
    if not 0 < left <= _FEW_ROWS * len(data.X) or np.min(sizes[odd]) < _APART * np.max(sizes[~odd]):
        return ""
    return f"{left:,} of {len(data.X):,} rows"


def target_squares(problem: Problem, network: Network) -> np.ndarray | None:
    """Mean squared residual (m,) of each of several targets over all rows; None of one target.

    >>> problem = Problem.of(np.ones((2, 1)), [[1.0, 0.0], [1.0, 2.0]], 1)
    >>> target_squares(problem, Network([[1.0]], [[1.0], [1.0]]))
    array([0., 1.])
    """
    if problem.survey.y.ndim == 1:
        return None
    return np.diagonal(np.asarray(residual_products(problem.objective(), to_jax(problem.params(network))))).copy()


def relative_loss(loss: float, squares: np.ndarray | None, survey: Survey) -> float:
    """Residual variance over the variance of the targets, whose mean it is over several ones.

    >>> relative_loss(2.5, np.array([1.0, 4.0]), Survey.of(np.ones((2, 1)), np.array([[0.0, 0.0], [2.0, 8.0]])))
    0.625
    """
    if squares is None:
        return 2 * loss / survey.variance
    return float(np.mean(squares / np.where(survey.spread > 0, survey.spread, 1.0) ** 2))


def target_losses(squares: np.ndarray | None, survey: Survey, held: HeldOut | None) -> tuple[TargetLosses, ...]:
    """Losses of each of several targets from mean squared residuals (m,), and from rows left out where there are some.

    >>> survey = Survey.of(np.ones((2, 1)), np.array([[0.0, 0.0], [2.0, 8.0]]))
    >>> [target.fit for target in target_losses(np.array([1.0, 4.0]), survey, None)]
    [1.0, 0.25]
    """
    if squares is None:
        return ()
    fit = (squares / np.where(survey.spread > 0, survey.spread, 1.0) ** 2).tolist()
    left = [()] * len(fit) if held is None else held.targets
    return tuple(TargetLosses(own, *losses) for own, losses in zip(fit, left, strict=True))


def noise_words(loss: float, squares: np.ndarray | None, units: np.ndarray | None, n_rows: float, numbers: int) -> str:
    """The size of the noise behind a loss, half the mean of r² over rows, or behind those of several targets, in words.

    Numbers that were fitted take their share of the noise along: sums of squares are divided by rows minus numbers, of
    which every target has its share.

    >>> noise_words(0.01, None, None, 100, 0), noise_words(0.01, None, None, 100, 50)
    ('its standard deviation is 0.141', 'its standard deviation is 0.2')
    >>> noise_words(0.01, np.array([0.01, 4.0]), np.array([1.0, 2.0]), 100, 0)
    'its standard deviations are 0.1 and 4 in the targets'
    """
    one = 1 if squares is None else len(squares)
    share = n_rows / max(n_rows - numbers / one, 1.0)
    if squares is None:
        return f"its standard deviation is {np.sqrt(2 * loss * share):.3g}"
    sizes = [f"{size:.3g}" for size in np.sqrt(squares * share) * (1.0 if units is None else units)]
    if len(sizes) > _LISTED:
        low, high = sorted((min(sizes, key=float), max(sizes, key=float)), key=float)
        return f"its standard deviations are {low} to {high} in the targets"
    return f"its standard deviations are {', '.join(sizes[:-1])} and {sizes[-1]} in the targets"


def held_out_facts(held: HeldOut | None, data: Observations) -> dict[str, Any]:
    """What rows left out say, as facts of a verdict, and a test of a linear function where the mean is not beaten."""
    if held is None:
        return {}
    losses: dict[str, Any] = {"network_loss": held.network, "linear_loss": held.linear, "mean_loss": held.mean}
    if "mean" in held.unbeaten:
        losses["linear_p_value"] = linear_p_value(*data[:3], counted=data.counted)
    return losses | {"unbeaten": held.unbeaten, "linear_tells": held.linear_tells}


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
