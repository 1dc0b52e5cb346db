"""The certificate of a recovered network: what kind of point it is for the loss over its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planted.certificates import Certificate, certify, uncertified
from planted.methods._agreement import with_ends
from planted.methods._problem import Problem
from planted.methods._recovery import Recovery
from planted.networks import match
from planted.numerics import deadline
from planted.numerics.precision import float64
from planted.rows import in_memory
from planted.solvers import sample_newton

_LEAST_ROWS, _ROWS_PER_PARAMETER = 1000, 5
# Up to so many rows all are used, by programs that the fit has compiled already.
_MANY_ROWS = 16_384
_NO_TIME = "no time was left to look at the loss around it"
# Products with the Hessian that a Lanczos run takes.
_PRODUCTS = 1500
_A_CENTURY = 3e9
# Products rows × parameters² up to which curvature is taken over all rows that are read piece by piece.
_CURVATURE_COST = 1e10


@float64
def certificate(problem: Problem, result: Recovery) -> Certificate:
    """Certify the network of a result for the problem's loss.

    A network that explains every one of many rows is certified on five rows a parameter: zero on every row is zero on
    some, these settle the kind, and the curvature costs less. Rows that are read piece by piece are all used where
    their curvature is affordable; otherwise the certificate is that of the sample's own minimum next to the network,
    which has the same kind up to sampling error.

    Where a time budget leaves no time for it, only value and gradient are computed, and it is open what kind of point
    this is.

    >>> from planted.datasets import make_planted
    >>> from planted.methods import METHODS
    >>> data = make_planted(500, 3, 2, random_state=0)
    >>> problem = Problem.of(data.X, data.y, 2)
    >>> certificate(problem, METHODS["auto"](problem)).kind
    'global minimum'
    """
    problem = problem.settled(result.details)
    with deadline.until(deadline.MEASURE):
        if not _affordable(problem, problem.params(result.network)):
            return uncertified(problem.objective(), problem.params(result.network), _NO_TIME)
    return with_ends(_certified(problem, result), problem, result.network, result.uncertainty)


def _affordable(problem: Problem, params: Any) -> bool:
    """Whether a time budget leaves time for products with the Hessian: one a parameter, or those of a Lanczos run."""
    if not deadline.passed(ahead=_A_CENTURY):
        return True
    if deadline.passed():
        return False
    objective = problem.objective()
    # The first product may be compiled.
    objective.hvp(params, params)
    began = deadline.now()
    objective.hvp(params, params)
    size = sum(np.size(value) for value in params.values())
    return not deadline.passed(ahead=min(size, _PRODUCTS) * (deadline.now() - began))


def _certified(problem: Problem, result: Recovery) -> Certificate:
    survey, network = problem.survey, result.network
    params = problem.params(network)
    size = sum(np.size(value) for value in params.values())
    if result.verdict.facts.explained and len(survey.y) > _MANY_ROWS:
        some = slice(max(_LEAST_ROWS, _ROWS_PER_PARAMETER * size))
        return certify(problem.objective(in_memory(survey, some)), params)
    if not problem.in_chunks or survey.n_rows * size**2 <= _CURVATURE_COST:
        return certify(problem.objective(), params)
    few = problem.objective(problem.sample)
    near = sample_newton(few, few.curvature, params).params
    gap = match(problem.network(near), network).weight_error
    about = f"at the minimum of a random sample of {len(survey.y):,} rows, {gap:.1g} from that of all"
    certified = certify(few, near)
    return replace(certified, reason=f"{certified.reason} ({about})")
