r"""Recovery by the loss L of Gao et al. (2018), for inputs with any smooth density.

L is an average of y S₄(x) for the score function S₄ = ∇⁴f/f of the inputs' density f, so nothing need be Gaussian.
Teachers with orthonormal rows and those with any full-rank rows have their own form of L; which one the data has is
not known beforehand, so both are minimised, and least squares on all rows tells which directions explain y.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from planted.inputs import Gaussian, LocalLikelihood, LowDegreeWarning
from planted.methods._directions import obstacle_of_width, start_from_directions
from planted.methods._method import Method
from planted.methods._problem import Problem
from planted.methods._recovery import Start
from planted.numerics import random
from planted.objectives import ScoreLandscape, read_off, score_span, whitening
from planted.solvers import Descent, lbfgs
from planted.starts import random_rows

_STARTS = 4
_QUADRATIC, _FOURTH = 2, 4
_FORMS = ("full-rank", "auto")
_WORDS = {"full-rank": "full-rank", "auto": "orthonormal"}


@dataclass(frozen=True)
class _Candidate:
    """Directions (k, d) at the least value of one form of L, in the coordinates that L was given."""

    loss: ScoreLandscape
    run: Descent
    directions: np.ndarray


def _minimise(L: ScoreLandscape, problem: Problem, key: np.ndarray) -> _Candidate:
    n_hidden = problem.n_hidden
    full_rank = L.form.startswith("full-rank")
    if full_rank:
        starts = random_rows(key, n_hidden, n_hidden, _STARTS) @ whitening(np.asarray(L.T), n_hidden).T
    else:
        starts = random_rows(key, n_hidden, L.n_features, _STARTS) @ np.asarray(L.projector)
    runs = [lbfgs(L, start, steps=1000, tolerance=1e-7, progress=problem.progress) for start in starts]
    run = min(runs, key=lambda descent: descent.value)
    rows = read_off(run.params)[0] if full_rank else run.params
    return _Candidate(L, run, rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _moment_error(law: LocalLikelihood) -> float | None:
    """The relative error of E[y Ŝ₄] on functions whose moment is known, where the bandwidth was chosen by it."""
    return law.criterion_[law.bandwidth_] if law.bandwidth == "moment" and law.criterion_ is not None else None


def start(problem: Problem) -> Start:
    """Minimise L for a network with full-rank weights, n_hidden ≤ d, from rows with a known or estimated density.

    Local scores are estimated on whitened rows, since their kernel is the same in all directions; with fewer neurons
    than inputs on the rows' projection to the span of E[y Ŝ₂], on which alone y depends. A LocalLikelihood that has its
    own data already, or a density, is used on the rows as they are. Each form of L is minimised by L-BFGS
    from four random starts. The directions with the least residual of a least-squares output layer are the start;
    `details` holds both residuals, and the directions before refinement. Row weights enter L and the refinement; a law
    that is fitted to the rows, and the test behind "auto", take all rows alike.

    >>> from dataclasses import replace
    >>> from planted.datasets import make_planted
    >>> from planted.inputs import Logistic, input_law
    >>> data = make_planted(8000, 3, 2, inputs=Logistic(3), random_state=0)
    >>> problem = replace(Problem.of(data.X, data.y, 2), inputs=input_law(Logistic(3), data.X))
    >>> METHOD(problem).status
    'recovered'
    """
    survey, d = problem.survey, problem.n_features
    X, y, weight = survey.X, survey.y, survey.weight
    law, frame, Z, span = problem.inputs.law, Gaussian(np.zeros(d)), X, np.eye(d)
    if isinstance(law, LocalLikelihood) and not hasattr(law, "n_features_in_"):
        frame = Gaussian.fit(X)
        Z = frame.whiten(X)
        if problem.n_hidden < d:
            span = score_span(Z, y, clone(law).set_params(degree=_QUADRATIC).fit(Z), problem.n_hidden, weight)
            Z = Z @ span
        law = clone(law).fit(Z)
    details: dict[str, Any] = {"inputs": str(problem.inputs), "residuals": {}}
    descents: dict[str, Descent] = {}
    best: tuple[float, Start] | None = None
    remarks: list[str] = []
    if isinstance(law, LocalLikelihood) and law.degree < _FOURTH:
        details["score_error"] = error = _moment_error(law)
        known = "an unknown amount" if error is None else f"{error:.0%}"
        remarks.append(
            f"S₄ is estimated by local likelihood of degree {law.degree}, below the 4 of Assumption 1(a) of Gao et al. "
            f"(2018), and E[g Ŝ₄] of smooth neurons g is {known} off; a density would do better"
        )
    for form, key in zip(_FORMS, random.split(problem.key, len(_FORMS)), strict=True):
        try:
            with warnings.catch_warnings():
                # The remark says it, with what is known of the error.
                warnings.simplefilter("ignore", LowDegreeWarning)
                L = ScoreLandscape(Z, y, law, form=form, n_hidden=problem.n_hidden, sample_weight=weight)
        except ValueError as error:
            # T is not definite, or a moment vanishes: this form cannot be written down for these rows.
            details[f"{form} form"] = str(error)
            remarks.append(f"the {_WORDS[form]} form of L was not minimised ({error})")
            continue
        candidate = _minimise(L, problem, key)
        descents[f"score, {L.form}"] = candidate.run
        begin = start_from_directions(problem, frame.unwhiten_weights(candidate.directions @ span.T)[0], "score")
        residual = float(np.average((begin.network.predict(X) - y) ** 2, weights=weight))
        details["residuals"][L.form] = residual / float(np.var(y))
        if best is None or residual < best[0]:
            best = residual, begin
            details |= {"form": L.form, "constants": L.constants.as_dict(), "kappa": L.kappa}
    if best is None:
        raise ValueError(f"no form of the score landscape applies to these rows: {details[f'{_FORMS[-1]} form']}")
    return replace(best[1].adding(descents, details), remark="; ".join(remarks))


METHOD = Method(
    name="score",
    start=start,
    summary="the loss L on score functions of the inputs' density",
    suits="inputs of another known or estimated density, at most as many neurons as inputs",
    obstacle=obstacle_of_width,
    inputs="density",
)
