r"""Recovery by the designed landscape of Ge et al. (2017): the loss F, then the output layer, then refinement.

Fourth-order averages are noisy: for a teacher with condition number 3 at d = k = 20 and 200,000 rows the noise of F
exceeds its signal, even with the quadratic part of y subtracted. A control variate removes it. A wide network f̂,
fitted by squared loss on some of the rows, need not resemble the teacher; it only has to be close as a function.
F is then an average of y − f̂(x) over the other rows plus the exact Hermite tensors of f̂.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from planted.methods._directions import obstacle_of_width, start_from_directions
from planted.methods._method import Method
from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.networks import Network
from planted.numerics import random
from planted.numerics.precision import float64, to_jax
from planted.objectives import AssumptionError, FullRankLandscape, Squared, read_off, whitening
from planted.rows import ArrayRows, ChunkedRows, Rows
from planted.solvers import Descent, lbfgs
from planted.starts import random_rows

_WIDTH_RATIO = 2
_ROWS_PER_WEIGHT = 20
_RACE_ROWS_PER_WEIGHT = 50
_VANISHING = 1e-12


def _parts(problem: Problem, wanted: int) -> tuple[ArrayRows, Rows]:
    """Whitened rows for the control variate and, apart from these, for F.

    A third of rows in memory at the most, and `wanted` if that is fewer; the sample of rows that are read piece by
    piece.
    """
    survey, rows = problem.survey, problem.rows
    if isinstance(rows, ChunkedRows) and not survey.complete:
        return problem.whitened(problem.sample), problem.whitened(rows.without(survey.seed, survey.threshold))  # type: ignore[return-value]
    few = min(len(survey.y) // 3, wanted)
    white = problem.gaussian.whiten(survey.X)

    def part(cut: slice) -> ArrayRows:
        weight = None if survey.weight is None else to_jax(survey.weight[cut])
        return ArrayRows(to_jax(white[cut]), to_jax(survey.y[cut]), weight)

    return part(slice(0, few)), part(slice(few, None))


@float64
def control_variate(problem: Problem, rows: ArrayRows, width: int, key: np.ndarray) -> tuple[Network, Descent]:
    """A network of `width` neurons fitted to rows in memory by squared loss from a random start.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(2000, 3, 2, random_state=0)
    >>> problem = Problem.of(data.X, data.y, 2)
    >>> net, _ = control_variate(problem, problem.sample, 4, np.array([0, 0]))
    >>> bool(np.std(data.y - net.predict(data.X)) < 0.1 * np.std(data.y))
    True
    """
    act = problem.activation
    weights = random_rows(key, width, rows.n_features)
    flat = [np.asarray(rows.blocks[name]) for name in ("x", "y", "weight")]
    x, y, weight = (array.reshape(-1, *array.shape[2:]) for array in flat)
    features = act(x[weight > 0] @ weights.T)
    scale = np.std(y[weight > 0]) / max(float(np.std(features.sum(axis=1))), _VANISHING)
    begin = {"weights": weights, "output": np.full(width, scale)}
    run = lbfgs(Squared.on(rows, act), begin, steps=400, tolerance=1e-10, progress=problem.progress)
    return Network(run.params["weights"], run.params["output"], act), run


def start(problem: Problem) -> Start:
    """Minimise F for a network with positive outputs and full-rank weights, n_hidden ≤ d, from Gaussian rows.

    Rows are whitened by their mean and covariance. T's leading eigenvectors give the neurons' span; F is
    minimised in it from a random start; the pseudo-inverse of the minimiser gives the weights up to sign, least
    squares the signs and outputs. Where the data contradict positive outputs F cannot be minimised; the result then
    says so and begins from the largest neurons of the control variate.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(20_000, 5, 3, weights="correlated", output="positive", random_state=0)
    >>> METHOD(Problem.of(data.X, data.y, 3)).status
    'recovered'
    """
    k, d = problem.n_hidden, problem.n_features
    guess_key, start_key = random.split(problem.key)
    width = _WIDTH_RATIO * k
    some, others = _parts(problem, max(_ROWS_PER_WEIGHT * width * d, 1000))
    guess, first = control_variate(problem, some, width, guess_key)
    descents: dict[str, Descent] = {"control variate": first}
    remark = ""
    try:
        directions, descents["landscape"], details = _minimise(problem, others, guess, start_key)
    except AssumptionError as error:
        remark = f"F was not minimised ({error}), so the directions are those of the control variate's largest neurons"
        details = {"landscape": "not minimised"}
        x = np.asarray(some.blocks["x"]).reshape(-1, d)
        size = np.abs(guess.output) * np.std(problem.activation(x @ guess.weights.T), axis=0)
        directions = guess.weights[np.argsort(-size)[:k]]
    begin = start_from_directions(problem, problem.gaussian.unwhiten_weights(directions)[0], "landscape")
    begin = begin.adding(descents, details)
    return Start(begin.network, "landscape", None, begin.descents, begin.details, remark)


def _minimise(
    problem: Problem, rows: Rows, guess: Network, key: np.ndarray
) -> tuple[np.ndarray, Descent, dict[str, Any]]:
    """Unit rows (k, d) up to sign on whitened inputs, the descent of F in their span, and numbers to report."""
    k, act = problem.n_hidden, problem.activation
    whole = FullRankLandscape.over(rows, act, n_hidden=k, baseline=guess)
    span = np.linalg.eigh(np.asarray(whole.T))[1][:, ::-1][:, :k]
    F = FullRankLandscape.over(rows, act, whole.constants.mu, whole.constants.lam, subspace=span, baseline=guess)
    W = whitening(np.asarray(F.T), k)
    begin = random_rows(key, k, k) @ W.T
    run = lbfgs(F, begin, steps=1000, tolerance=1e-7, progress=problem.progress)
    directions, outputs = read_off(run.params)
    details = {
        "landscape": "minimised",
        "constants": whole.constants.as_dict(),
        "landscape_outputs": outputs,
        "landscape_value": float(run.value),
        "spectrum": np.linalg.eigvalsh(np.asarray(whole.T))[::-1],
    }
    return directions @ span.T, run, details


def _obstacle(problem: Problem) -> str | None:
    act = problem.activation
    if min(abs(act.hermite(2)), abs(act.hermite(4))) <= _VANISHING:
        return f"does not apply: the second or fourth Hermite coefficient of {act.name} is zero"
    return obstacle_of_width(problem)


def _affordable(problem: Problem) -> str | None:
    enough = problem.survey.n_rows >= _RACE_ROWS_PER_WEIGHT * problem.n_hidden * problem.n_features
    return None if enough else f"it needs {_RACE_ROWS_PER_WEIGHT} rows a weight"


METHOD = Method(
    name="landscape",
    start=start,
    summary="the loss F has no spurious minima: one descent from any start",
    suits="Gaussian inputs, positive outputs, at most as many neurons as inputs",
    obstacle=_obstacle,
    inputs="gaussian",
    scales=True,
    rank=3,
    affordable=_affordable,
)
