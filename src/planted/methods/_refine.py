"""To a minimum of the squared loss: on the sample, and then over all rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from planted.methods._facts import EXACT
from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.methods._squares import orthogonal_squares
from planted.networks import Network
from planted.numerics.precision import float64
from planted.rows import in_memory
from planted.solvers import Descent, gauss_newton, lbfgs, least_squares, sample_newton

# A relative loss below which descending further moves weights by rounding errors only.
_ROUNDING = 1e-25
_ROWS_PER_PARAMETER = 20
DENSE_PARAMETERS = 300
"""Above so many parameters a network is polished by steps without a Jacobian."""
_DENSE_PARAMETERS_IN_CHUNKS = 2000
_POLISH = 25
# Half the relative loss below which Gauss–Newton steps converge at once, and a decrease an iteration that is too slow.
_NEAR, _SLOW = 1e-3, 1e-3
# Rows a parameter that Gauss–Newton steps see first, and half the relative loss below which they do.
_ROWS_PER_STEP, _EXPLAINED = 4, 1e-4
# Gauss–Newton steps at a time, how often, and a share of the loss that so many steps have to take off.
# The last without and with noise.
_BATCH, _BATCHES, _STANDING = 10, 5, (1e-5, 1e-3)
# A share of a loss with noise that a last descent has to take off with every step.
_TOO_LITTLE = 1e-7


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
    dense = size <= DENSE_PARAMETERS and n >= size
    square = float(np.average(np.sum(survey.y.reshape(n, -1) ** 2, axis=1), weights=survey.weight))
    enough = _ROUNDING * square
    if size > DENSE_PARAMETERS and n >= size:
        near = _NEAR * square
        runs["near"] = lbfgs(loss, params, steps=steps, tolerance=1e-14, target=near, decrease=_SLOW, progress=progress)
        params, value = runs["near"].params, np.inf
        stride = n // (_ROWS_PER_STEP * size)
        if stride > 1 and runs["near"].value <= _EXPLAINED * square:
            # Where nothing but the start is wrong, some rows tell as much as all.
            some = problem.objective(in_memory(survey, slice(None, None, stride)))
            runs["subsample"] = gauss_newton(some, params, steps=_BATCH, progress=progress)
            if loss.value(runs["subsample"].params) < runs["near"].value:
                params = runs["subsample"].params
        for _ in range(_BATCHES):
            runs["gauss_newton"] = gauss_newton(loss, params, steps=_BATCH, progress=progress)
            params = runs["gauss_newton"].params
            # Kinks of single rows stop it for good where noise is left.
            noisy = runs["gauss_newton"].value > _EXPLAINED * square
            standing = runs["gauss_newton"].value > (1 - _STANDING[noisy]) * value
            value = runs["gauss_newton"].value
            if standing or runs["gauss_newton"].status == "converged":
                break
    if "gauss_newton" not in runs or runs["gauss_newton"].status != "converged":
        limit = 300 if dense else steps
        # Kinks of single rows let a loss with noise fall for a thousand steps, by less than errors of its weights show.
        stands = "gauss_newton" in runs and runs["gauss_newton"].value > _EXPLAINED * square
        slow = _TOO_LITTLE * runs["gauss_newton"].value if stands else 0.0
        runs["lbfgs"] = lbfgs(
            loss, params, steps=limit, tolerance=1e-14, target=enough, decrease=slow, progress=progress
        )
        params = runs["lbfgs"].params
    if dense and runs["lbfgs"].value > enough:
        few = _ROWS_PER_PARAMETER * size
        if n > 2 * few:
            subsample = problem.objective(in_memory(survey, slice(few)))
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
        network = orthogonal_squares(problem, start.network)
        if network is start.network:
            return Refined(network, start.loss, start.descents)
        again = refine(problem, network)
        return replace(again, descents=start.descents | again.descents)
    enough, params = _ROUNDING * problem.energy, problem.params(start.network)
    loss, few = problem.objective(), problem.objective(problem.sample)
    if sum(np.size(leaf) for leaf in params.values()) > _DENSE_PARAMETERS_IN_CHUNKS:
        run = lbfgs(loss, params, steps=1000, tolerance=1e-12, target=enough, progress=problem.progress)
    else:
        run = sample_newton(loss, few.curvature, params, floor=enough, progress=problem.progress)
    return Refined(problem.network(run.params), float(run.value), start.descents | {"all rows": run})
