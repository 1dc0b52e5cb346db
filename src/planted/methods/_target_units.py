"""Several targets, each in units of its own: what is found does not depend on the units that they came in.

Of a sum of squares over targets, that whose numbers are largest is almost all. So candidates are compared and networks
are searched for in units of the targets' standard deviations. Where what is left is noise, its sizes are known: the
network is then refined in units of these, which is what the likelihood of Gaussian noise asks for. A target that is
known well so has its say in the neurons that it shares with one that is not.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from planted.methods._facts import EXACT
from planted.methods._finish import recover
from planted.methods._problem import Problem
from planted.methods._recovery import Recovery, Start
from planted.networks import Network, grown
from planted.rows import ChunkedRows, in_memory, in_target_units

# The least noise of a target that it counts by, in standard deviations of the target, and ratios of noise between
# targets that make no difference.
_LEAST, _ALIKE = 1e-3, 1.2


def in_own_units(problem: Problem) -> Problem:
    """The problem with each of several targets in units of its standard deviation, a constant in units of itself.

    >>> problem = Problem.of(np.ones((2, 1)), [[0.0, 0.0], [2.0, 4.0]], 1)
    >>> in_own_units(problem).survey.y[1], in_own_units(problem).units
    (array([2., 2.]), array([1., 2.]))
    """
    survey = problem.survey
    varies = (survey.largest > survey.smallest) & (survey.spread > 0)
    size = np.abs(survey.largest)
    return _divided(problem, np.where(varies, survey.spread, np.where(size > 0, size, 1.0)))


def in_noise_units(problem: Problem, recovery: Recovery) -> tuple[Problem, Recovery]:
    """The problem in units of each target's noise, and the network refined there; as they are where that is no gain.

    It is none where rows are explained to rounding, where what is left is not noise, without neurons, whose weights
    targets would share, and where noise is as large in every target, in the problem's units.

    >>> from planted.datasets import make_planted
    >>> X, teacher = make_planted(200, 2, 1, random_state=0).X, Network([[1.0, 2.0]], [[1.0], [2.0]])
    >>> y = teacher.predict(X) + np.random.default_rng(0).normal(size=(200, 2)) * [0.01, 0.1]
    >>> problem = Problem.of(X, y, 1)
    >>> in_noise_units(problem, recover(problem, Start(teacher, "squared"), 0.0))[0].units.round(2)
    array([0.01, 0.1 ])
    """
    network, facts = recovery.network, recovery.verdict.facts
    if recovery.squares is None or not isinstance(network, Network) or not network.n_hidden:
        return problem, recovery
    if recovery.status != "estimated" or recovery.relative_loss <= EXACT or facts.late:
        return problem, recovery
    noise = np.maximum(np.sqrt(recovery.squares), _LEAST * problem.survey.spread)
    noise = np.where(noise > 0, noise, 1.0)
    if noise.max() <= _ALIKE * noise.min():
        return problem, recovery
    there, began = in_units(problem, network, noise)
    start = Start(
        began,
        recovery.method,
        descents=recovery.descents,
        details=recovery.details,
        remark=facts.remark,
    )
    return there, recover(there, start, time.perf_counter())


def in_units(problem: Problem, network: Network, unit: np.ndarray) -> tuple[Problem, Network]:
    """The problem, and a network for it, with each of several targets in the units (m,) given.

    >>> problem = Problem.of(np.ones((2, 1)), [[0.0, 0.0], [2.0, 4.0]], 1)
    >>> in_units(problem, Network([[1.0]], [[2.0], [6.0]]), np.array([1.0, 2.0]))[1].output.tolist()
    [[2.0], [3.0]]
    """
    arrays = {name: grown(value, name, 1 / unit) for name, value in network.arrays().items()}
    return _divided(problem, unit), Network(**arrays, activation=network.activation)


def _divided(problem: Problem, unit: np.ndarray) -> Problem:
    survey = problem.survey.in_target_units(unit)
    rows = in_target_units(problem.rows, unit) if isinstance(problem.rows, ChunkedRows) else in_memory(survey)
    return replace(
        problem, rows=rows, survey=survey, units=unit if problem.units is None else problem.units * unit, guess=None
    )
