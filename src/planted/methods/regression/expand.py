"""Expand and merge: fit too many neurons with the linear part split off, join them down to the wanted number.

A network of the right size seldom descends to the teacher from a random start. With half as many neurons again or
more it reaches the data almost always; its superfluous neurons are then copies or idle, and joining them, a few at
a time with a short descent after each, leaves the teacher (:class:`planted.methods.Search`). Descents
are second-order where that is affordable (:mod:`planted.methods._second_order`); runs begin from independent starts, or
from the best network so far with new neurons where its residuals have structure. Where rows are few, many descents of
the network itself come first (:mod:`planted.methods._direct`), and wide ones that are thinned out
(:mod:`planted.methods._sparse`); where inputs are many as well, short first-order descents of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planted.methods._direct import AGREEING, LONG, agreeing, direct_attempts, direct_network
from planted.methods._facts import EXACT, LEVEL, ROUNDED, WORTH
from planted.methods._linear_neurons import with_linear_neurons
from planted.methods._method import Method
from planted.methods._observations import observations
from planted.methods._orient import orientation
from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.methods._refine import DENSE_PARAMETERS, Refined, explained, refine
from planted.methods._residual_test import residual_p_value
from planted.methods._search import NARROW, WORTHY, Attempt, Search, same_minimum
from planted.methods._second_order import affordable, pointless, second_order_plan, second_order_run
from planted.methods._sparse import sparse_attempts
from planted.methods._subspace import subspace_attempts, subspace_runs
from planted.methods._whitening import Whitening
from planted.networks import Network
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.solvers import lbfgs, least_squares

_RUNS = 12
# Runs that do not lower the loss, after which independent runs that agree are believed though structure is left.
_IDLE = 4
_ROWS_PER_WEIGHT = 6
# First-order runs of the network itself that come first where inputs are many and rows few, and how many of them that
# do not lower the loss end the search where residuals look like noise.
_NARROW_RUNS, _IDLE_NARROW = 24, 8
# A relative loss below which descending further moves weights by rounding errors only.
_ROUNDING = 1e-25
# A relative loss above which the signs of neurons are wrong where a run explained its rows.
_NEAR = 1e-6
# Mean squared difference of two networks, as a share of what one leaves, beyond which they are never one.
_MOST_CHANCE = 0.5
# Steps after which two networks are compared, and after which one that was near is at its minimum.
_BRIEF, _STEPS = 30, 25


def start(problem: Problem) -> Start:
    """Expand and merge from independent starts until one verifies itself.

    The search runs on at most ten rows a weight, in float32 where that is worth a compilation; it ends as soon as
    a run explains its rows to rounding, or independent runs agree on a minimum whose residuals look like noise, or
    that further runs do not leave; runs that lean on a linear part that the network may not have are no witnesses. The
    best run is refined in float64 on the whole sample.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(600, 6, 4, weights="gaussian", output="mixed", random_state=0)
    >>> METHOD(Problem.of(data.X, data.y, 4)).status
    'recovered'
    """
    search = Search.of(problem)
    white = problem.with_inputs(search.Z)
    plenty = len(problem.survey.y) >= _ROWS_PER_WEIGHT * problem.n_hidden * problem.n_features
    schedules = search.plenty if plenty else search.scarce
    narrow = _NARROW_RUNS if search.many_inputs and not (plenty or affordable(search)) else 0
    attempts: list[Attempt] = []

    def witnesses(attempt: Attempt) -> int:
        return sum(same_minimum(attempt, other) for other in attempts if not other.grown)

    def conclude(attempt: Attempt) -> Start:
        free = problem.free
        network = search.network(attempt.params)
        if problem.activation.offset and not free.intercept:
            # Signs follow from a sum of signed outputs: with many neurons only precise outputs tell patterns apart.
            wider = replace(white, free=replace(free, intercept=True))
            near = replace(search, free=wider.free).network(attempt.params)
            network = _reoriented(_refined(wider, near).network)
        if attempt.loss <= EXACT and 2 * _loss(white, network) > _NEAR * white.survey.variance:
            network = _without_linear_part(search, white, attempt, network)
        settled = _settled(problem, white, network, search.whitening)
        done = _refined(white, network) if settled is None else settled
        own = search.whitening.network(done.network) if settled is None else settled.network
        widths = [other.explaining_width for other in attempts if other.explaining_width]
        details = {
            "run_losses": np.array([other.loss for other in attempts]),
            "wide_losses": np.array([other.wide_loss for other in attempts]),
            "explaining_width": min(widths, default=0),
        }
        if settled is not None or not _leans(search, attempt, done.network):
            details["agreeing_runs"] = witnesses(attempt) + (settled is not None)
        return Start(own, "expand", done.loss, attempt.descents | done.descents, details)

    few = direct_attempts(search, problem)
    direct = _direct_start(search, white, few) if few else None
    if direct is not None:
        agreed = direct.details["agreeing_runs"] >= AGREEING and not _structured(problem, direct.network)
        if explained(problem, direct) or agreed or passed():
            return direct
    attempts += sparse_attempts(search, problem)
    if attempts:
        thinned = conclude(attempts[-1])
        if explained(problem, thinned) or passed():
            return _lower(thinned, direct)
    early = subspace_attempts(search, problem.key) if subspace_runs(search) else []
    best: Attempt | None = attempts[-1] if attempts else None
    idle = 0
    for run, move in enumerate([None] * narrow + second_order_plan(search, _RUNS)):
        if move is not None and pointless(search, move, best):
            continue
        key = random.fold_in(problem.key, run)
        if run < len(early):
            attempt = early[run]
        elif move is None:
            attempt = search.run(NARROW if run < narrow else schedules[(run - narrow) % len(schedules)], key)
        else:
            attempt = second_order_run(search, move, key, best)
        # Of runs that explain their rows rounding makes one the lowest, and any may be the one whose signs can be told.
        lowest = best is None or attempt.loss <= max((1 + search.agree) * best.loss, EXACT)
        idle = 0 if best is None or attempt.loss < (1 - search.agree) * best.loss else idle + 1
        attempts.append(attempt)
        best = attempt if best is None or attempt.loss < best.loss else best
        if passed():
            break
        # Second-order runs end at the minimum; refining one that does not explain its rows would change nothing.
        if lowest and attempt.loss <= (WORTHY if move is None else EXACT):
            result = conclude(attempt)
            if explained(problem, result) and (_rounded(problem, result) or not _structured(problem, result.network)):
                return result
        # A network that a comparison found is a witness too.
        if witnesses(best) > 1 or (run < len(early) and problem.at_minimum):
            result = conclude(best)
            if result.details.get("agreeing_runs", 0) > 1 and not _structured(problem, result.network):
                return _lower(result, direct)
            if idle >= _IDLE and run >= narrow:
                break
        # Of few rows a weight, networks that leave noise alone differ in how they fit it, and wider ones do so more.
        if narrow and idle == _IDLE_NARROW:
            result = conclude(best)
            if not _structured(problem, result.network):
                return _lower(result, direct)
    assert best is not None
    result = _lower(conclude(best), direct)
    if explained(problem, result) or passed():
        return result
    more = direct_attempts(search, problem, LONG, few)
    return _lower(result, _direct_start(search, white, more)) if len(more) > len(few) else result


def _direct_start(search: Search, white: Problem, attempts: list[Attempt]) -> Start:
    """The last of the runs that few rows call for, refined."""
    best = attempts[-1]
    done = _refined(white, direct_network(search, best))
    details = {"run_losses": np.array([run.loss for run in attempts]), "agreeing_runs": agreeing(best, attempts)}
    return Start(search.whitening.network(done.network), "expand", done.loss, best.descents | done.descents, details)


def _rounded(problem: Problem, start: Start) -> bool:
    """Whether what a refined start leaves is rounding of float64."""
    return start.loss is not None and 2 * start.loss <= ROUNDED * problem.survey.variance


def _lower(one: Start, other: Start | None) -> Start:
    """The start with the lower loss."""
    return one if other is None or (one.loss or 0.0) <= (other.loss or 0.0) else other


def _structured(problem: Problem, network: Network) -> bool:
    """Whether what a network leaves of the sample has structure.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(300, 3, 2, random_state=0)
    >>> _structured(Problem.of(data.X, data.y, 1), Network(data.teacher.weights[:1], data.teacher.output[:1]))
    True
    """
    p_value = residual_p_value(observations(problem.survey), network, intercept=problem.free.intercept)
    return bool(p_value < LEVEL)


def _leans(search: Search, attempt: Attempt, network: Network) -> bool:
    """Whether a run leans on its linear part: the network on whitened rows, refined without one, leaves clearly more.

    Runs that agree have then found the best network beside a linear part, and nothing of the one that is asked for.
    """
    if search.free.skip:
        return False
    residual = (network.predict(search.some) / search.scale - search.targets).reshape(len(search.some), -1)
    left = 0.5 * float(np.average(np.sum(residual**2, axis=1), weights=search.share))
    chance = 2 * (search.Z.shape[1] + 1) / len(search.some)
    return left > max((1 + WORTH + chance) * attempt.loss, EXACT)


def _without_linear_part(search: Search, white: Problem, attempt: Attempt, network: Network) -> Network:
    """The network of a run that explained its rows, where the signs of its neurons do not give its linear part.

    Rows in which a neuron is active may be too few to determine it beside a linear part of its own, though they do
    without: Levenberg–Marquardt steps find it then, where others would take kinks over rows. Or a neuron is linear at
    all rows (:mod:`planted.methods._linear_neurons`).
    """
    if white.unknowns <= DENSE_PARAMETERS:
        run = least_squares(white.objective(white.sample), white.params(network), steps=_STEPS)
        if 2 * run.value <= EXACT * white.survey.variance:
            return white.network(run.params)
    return with_linear_neurons(search, attempt) or network


def _loss(problem: Problem, network: Network) -> float:
    """½ mean squared residual of the sample."""
    survey = problem.survey
    squares = np.sum((network.predict(survey.X) - survey.y).reshape(len(survey.y), -1) ** 2, axis=1)
    return 0.5 * float(np.average(squares, weights=survey.weight))


def _refined(problem: Problem, network: Network) -> Refined:
    """The network at the minimum of its loss; as it is where it explains the rows to rounding already."""
    if problem.activation.on_host:
        loss = _loss(problem, network)
        if 2 * loss <= _ROUNDING * problem.survey.variance:
            return Refined(network, loss)
    return refine(problem, network)


def _settled(problem: Problem, white: Problem, network: Network, whitening: Whitening) -> Refined | None:
    """The guess, where it is a minimum, refining costs much, and a run has ended where the guess is.

    That is so if after some steps of the network alone, without the linear part of the search, predictions differ by
    less than estimates of so many numbers do by chance.
    """
    survey, guess = problem.survey, problem.guess
    if guess is None or not problem.at_minimum or problem.unknowns <= DENSE_PARAMETERS:
        return None
    run = lbfgs(white.objective(white.sample), white.params(network), steps=_BRIEF)
    near = whitening.network(white.network(run.params))
    values, own = (np.reshape(one.predict(survey.X), (len(survey.y), -1)) for one in (guess, near))
    left = np.average(np.sum((values - survey.y.reshape(values.shape)) ** 2, axis=1), weights=survey.weight)
    apart = np.average(np.sum((values - own) ** 2, axis=1), weights=survey.weight)
    chance = min(problem.unknowns / values.size, _MOST_CHANCE)
    return Refined(guess, 0.5 * float(left)) if apart <= chance * left else None


def _reoriented(network: Network) -> Network:
    """A network that is odd about a constant, turned so that its intercept becomes part of the neurons."""
    act, output, bias = network.activation, network.output, network.bias
    constant = network.intercept + act.offset * output.sum(axis=-1)
    sign = orientation(network.weights, output, bias, np.zeros(network.n_features), constant, act)
    bias = None if bias is None else bias * sign
    return network.replace(
        weights=network.weights * sign[:, None], output=output * sign, bias=bias, intercept=0.0 * constant
    )


METHOD = Method(
    name="expand",
    start=start,
    summary="starts too wide, merges neurons in stages; needs no Gaussian inputs",
    suits="outputs of both signs, biases, several outputs, more neurons than inputs",
    scales=True,
    several_outputs=True,
    rank=0,
)
