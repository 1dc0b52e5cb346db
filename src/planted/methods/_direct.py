r"""Runs of the search where rows are few: the network itself from many starts, none of its parts split off.

The other runs (:mod:`planted.methods._second_order`) start too wide and fit a linear function beside the neurons. Rows
that hardly exceed the numbers of the network do not afford that: the wider problem is solved by networks that have
nothing to do with the rows. A descent of the narrow one often ends in a local minimum, but takes milliseconds. From the
best of some independent starts, runs go on with one of its neurons exchanged for one that explains much of what the
others leave, and a new start in between.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planted.methods._facts import EXACT
from planted.methods._problem import Problem
from planted.methods._row_facts import confirmed
from planted.methods._search import Attempt, Search
from planted.methods._sparse import sparse_runs
from planted.networks import Network
from planted.numerics import random
from planted.numerics.deadline import passed
from planted.solvers import SeparableRows, variable_projection

# Rows a number of the network up to which these runs are made.
_ROWS_PER_NUMBER = 3
_RUNS = 200
BRIEF, USUAL, LONG = 3e7, 1e9, 4e9
"""Rows × (hidden parameters)² of all runs together, a step's cost of each: before candidates are compared, before the
other runs, and where those have explained nothing."""
# Independent runs at first, and one in so many afterwards.
_FIRST, _NEW = 8, 6
# Candidates for the place of a neuron, and the mean rank of the one taken.
_DRAWN, _RANK = 200, 5.0
AGREEING = 5
"""Independent runs in one minimum, after which no more are made if so many with a new neuron have not left it."""
_IDLE = 20
_DECAY, _STEPS, _PATIENCE = 0.03, 150, (15, 0.9)
# Loss relative to that of a linear function: where a run is worth finishing without decay, and where nothing is left.
_WORTHWHILE, _ROUNDING = 1e-7, 1e-26
_LAST_STEPS, _LAST_PATIENCE = 600, (60, 0.97)
_SAME, _PARALLEL = 1e-3, 0.98
# Apart from the keys of the other runs, which are numbered.
_STREAM = 10**6


def direct_runs(search: Search, problem: Problem, work: float = USUAL) -> int:
    """How many runs to make: none unless rows are few, and inputs and activation let them end at one network.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(15, 3, 2, random_state=0)
    >>> problem = Problem.of(data.X, data.y, 2)
    >>> direct_runs(Search.of(problem), problem)
    200
    >>> problem = Problem.of(np.tile(data.X, (9, 1)), np.tile(data.y, 9), 2)
    >>> direct_runs(Search.of(problem), problem)
    0
    """
    (n, d), act = search.Z.shape, search.activation
    targets = n * problem.n_outputs
    few = problem.unknowns < targets <= _ROWS_PER_NUMBER * problem.unknowns
    # A sum of squares is one matrix, which belongs to many networks.
    determined = d == problem.n_features and act.name != "quadratic"
    if not (few and determined and act.on_host):
        return 0
    runs = min(_RUNS, int(work / (n * (search.width * (d + problem.free.bias)) ** 2)))
    # Without neurons that are exchanged, few runs find nothing that thinned-out ones do not.
    return 0 if work == USUAL and runs <= _FIRST and sparse_runs(search, problem) else runs


def direct_attempts(
    search: Search, problem: Problem, work: float = USUAL, before: Sequence[Attempt] = ()
) -> list[Attempt]:
    """Runs until one explains every row, or several agree, after those made `before`; the best one last.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(15, 3, 2, random_state=0)
    >>> problem = Problem.of(data.X, data.y, 2)
    >>> direct_attempts(Search.of(problem), problem)[-1].loss < 1e-20
    True
    """
    attempts = list(before)
    best = attempts[-1] if attempts else None
    idle = 0
    key = random.fold_in(problem.key, _STREAM)
    rows = _separable(search)
    for run in range(len(before), direct_runs(search, problem, work)):
        one = random.fold_in(key, run)
        grown = best is not None and run >= _FIRST and run % _NEW > 0
        drawn = _hidden(search, search.start(one, _DRAWN if grown else search.width)[0])
        start = _exchanged(rows, _hidden(search, best.params), drawn, one) if best is not None and grown else drawn
        attempt = _run(search, rows, start, grown=grown)
        attempts.append(attempt)
        if best is None or attempt.loss < (1 - _SAME) * best.loss:
            best, idle = attempt, 0
        idle += grown
        agreed = idle >= _IDLE and agreeing(best, attempts) >= AGREEING
        if best.loss <= EXACT or agreed or passed():
            break
    return [*(attempt for attempt in attempts if attempt is not best), *([best] if best else [])]


def _exchanged(rows: SeparableRows, hidden: np.ndarray, drawn: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Hidden rows (k, q) with one at random given up for one of those drawn.

    A candidate u lowers the squared loss of the neurons that stay, their linear layers solved anew, by ‖rᵀφ‖² / ‖φ⊥‖²
    with their residual r, φ = φ(Xu), and φ⊥ what their columns leave of it. Every other time the one taken is among the
    best, its rank being exponential, and otherwise any: the best alone can lead to one minimum again and again.
    """
    place, luck, coin = random.uniform(random.fold_in(key, 1), (3,))
    staying = np.delete(hidden, min(int(place * len(hidden)), len(hidden) - 1), axis=0)
    point = rows.at(staying)
    features = rows.features(rows.X @ drawn.T)
    if rows.weight is not None:
        features = features * rows.weight[:, None]
    left = np.sum(point.cleared(features) ** 2, axis=0)
    gain = np.sum((point.residual.T @ features) ** 2, axis=0) / np.maximum(left, 1e-12 * np.max(left, initial=1e-300))
    rank = min(int(-_RANK * np.log1p(-luck) if coin < 0.5 else luck * len(drawn)), len(drawn) - 1)
    return np.concatenate([staying, drawn[np.argsort(-gain, kind="stable")[rank]][None]])


def direct_network(search: Search, attempt: Attempt) -> Network:
    """The network of a run, on whitened rows and the caller's targets."""
    params, scale = attempt.params, search.scale
    parts = {name: (params[name].T * scale).T for name in ("intercept", "skip") if name in params}
    output = (params["output"].T * scale).T
    return Network(params["weights"], output, search.activation, params.get("bias"), **parts)


def _hidden(search: Search, params: dict[str, np.ndarray]) -> np.ndarray:
    """Hidden rows (k, q) of parameters, biases last."""
    return np.column_stack([params["weights"], params["bias"]]) if search.free.bias else params["weights"]


def _separable(search: Search) -> SeparableRows:
    """The rows of a search, with no part of the network split off."""
    Z, free, act = search.some, search.free, search.activation
    ones = np.ones((len(Z), 1))
    nuisance = np.column_stack([Z] * free.skip + [ones] * free.intercept + [ones[:, :0]])
    X = np.column_stack([Z, ones]) if free.bias else Z
    root = None if search.share is None else np.sqrt(search.share)
    targets = np.asarray(search.targets).reshape(len(Z), -1)
    return SeparableRows(X, nuisance, targets, act, root, centred=False)


def _run(search: Search, rows: SeparableRows, hidden: np.ndarray, *, grown: bool) -> Attempt:
    """Levenberg–Marquardt on the hidden rows (k, q), the outputs solved at each."""
    unit = 0.5 * max(search.spread, 1e-300) ** 2 * rows.y.shape[1]
    descents = {
        "direct": variable_projection(
            rows, hidden, steps=_STEPS, target=_ROUNDING * unit, decay=_DECAY, patience=_PATIENCE
        )
    }
    if descents["direct"].value <= _WORTHWHILE * unit:
        begin = descents["direct"].params["rows"]
        descents["narrow valley"] = variable_projection(
            rows, begin, steps=_LAST_STEPS, target=_ROUNDING * unit, patience=_LAST_PATIENCE
        )
    end = list(descents.values())[-1]
    search.progress(1, 1, f"loss {end.value:.3g}")
    return Attempt(_params(search, end.params), float(end.value), descents, grown=grown)


def _params(search: Search, solved: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Layers of the network for the result of a descent."""
    d, free = search.Z.shape[1], search.free
    layers = {"weights": solved["rows"][:, :d], "output": solved["output"]}
    if free.skip:
        layers["skip"] = solved["nuisance"][:, :d]
    if free.intercept:
        layers["intercept"] = solved["nuisance"][:, -1]
    if search.n_outputs is None:
        layers |= {name: layers[name][0] for name in ("output", "skip", "intercept") if name in layers}
    return layers | ({"bias": solved["rows"][:, d]} if free.bias else {})


def direct_confirmed(search: Search, problem: Problem, attempt: Attempt) -> bool:
    """Whether the rows that a run explains confirm its network."""
    network = search.whitening.network(direct_network(search, attempt))
    numbers = problem.unknowns - network.n_hidden * (search.activation.homogeneity is not None)
    return confirmed(network, problem.survey.X, numbers, problem.free.intercept)


def agreeing(attempt: Attempt, attempts: list[Attempt]) -> int:
    """How many independent runs ended in the minimum of one."""
    return sum(_same(attempt, other) for other in attempts if not other.grown)


def _same(one: Attempt, other: Attempt) -> bool:
    """Whether two runs ended in one minimum: losses that differ by a thousandth or rounding, and equal directions."""
    if abs(one.loss - other.loss) > _SAME * one.loss + EXACT:
        return False
    units = [
        run.params["weights"] / np.maximum(np.linalg.norm(run.params["weights"], axis=1, keepdims=True), 1e-300)
        for run in (one, other)
    ]
    cosines = np.abs(units[0] @ units[1].T)
    return bool(np.all(cosines.max(axis=0) > _PARALLEL) and np.all(cosines.max(axis=1) > _PARALLEL))
