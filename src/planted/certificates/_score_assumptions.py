"""Assumptions 1 to 3 of Gao et al. (2018), checked on the loss L and the law of its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from planted.certificates._assumption import Assumption, assumption_row
from planted.inputs import (
    Gaussian,
    GaussianMixture,
    HyperbolicSecant,
    Laplace,
    LocalLikelihood,
    Logistic,
    StudentT,
)
from planted.objectives import Objective, Params, PopulationScoreLandscape, ScoreLandscape, named

_ORDER = 4
# By which an estimated κ*_i must differ from zero for its sign to count.
_STANDARD_ERRORS = 3.0


def score_assumptions(objective: Objective, params: Params) -> Iterator[Assumption]:
    """Rows about the density, the κ*_i and the width, for the loss L on rows or in expectation; none for other losses.

    1(a) degree at least m = 4, 1(b) derivatives of the log density, 1(d) n h^{d+2m} → ∞ for estimated scores; 2(a) κ*_i
    of one sign, 2(c) as many neurons as inputs; 3(a) exponential tails (corrected, see the errata), 3(b) derivatives of
    a row's loss that grow like a power of ‖x‖. 2(b) is about μ and λ, which have rows of their own.

    >>> from planted.inputs import Logistic
    >>> from planted.networks import Network
    >>> L = PopulationScoreLandscape(Network(np.eye(2), np.ones(2)), Logistic(2))
    >>> [row.status for row in score_assumptions(L, np.eye(2))]
    ['holds', 'holds', 'holds', 'holds', 'holds']
    """
    if not isinstance(objective, ScoreLandscape | PopulationScoreLandscape):
        return
    law = objective.inputs
    if isinstance(law, LocalLikelihood):
        yield from _of_estimate(law)
    else:
        smooth = bool(getattr(law, "smooth", True))
        yield assumption_row(
            "the log density has derivatives", smooth, float(smooth), "gao2018 1 (Assumption 1(b))", "one if it has"
        )
    agree: bool | None = bool(objective.signs_agree)
    least = int(np.argmin(objective.kappa))
    note = "least s κ*_i"
    if isinstance(objective, PopulationScoreLandscape) and np.any(objective.kappa_error):
        agree = agree if np.all(np.abs(objective.kappa) > _STANDARD_ERRORS * objective.kappa_error) else None
        note = f"least s κ*_i, with a standard error of {objective.kappa_error[least]:.2g} by draws,"
    yield assumption_row(
        "κ*_i have one sign", agree, float(objective.kappa[least]), "gao2018 2 (Assumption 2(a))", note
    )
    k, d = np.shape(named(params)["weights"])
    yield assumption_row("as many neurons as inputs", k == d, k / d, "gao2018 2 (Assumption 2(c))", "k/d")
    light, polynomial = _growth(law)
    yield assumption_row(
        "‖x‖ has exponential tails", light, np.nan, "gao2018 3 (Assumption 3(a))", "known of the family, not measured"
    )
    yield assumption_row(
        "a row's derivatives grow like a power of ‖x‖", polynomial, np.nan, "gao2018 3 (Assumption 3(b))",
        "known of the family, not measured",
    )  # fmt: skip


def _of_estimate(law: LocalLikelihood) -> Iterator[Assumption]:
    degree, n = law.degree, law.n_samples
    yield assumption_row(
        "local polynomials have degree 4 or more", degree >= _ORDER, degree, "gao2018 1 (Assumption 1(a))", "degree"
    )
    yield assumption_row("the log density has derivatives", None, np.nan, "gao2018 1 (Assumption 1(b))", "not known")
    effective = n * law.bandwidth_ ** (law.n_features + 2 * _ORDER)
    # What tends to infinity cannot be checked at one n; below one it is not on its way.
    yield assumption_row(
        "n h^(d+8) → ∞", False if effective < 1 else None, effective, "gao2018 1 (Assumption 1(d))", "n h^(d+8)"
    )


def _growth(law: Any) -> tuple[bool | None, bool | None]:
    """Whether the law has exponential tails, and score functions that grow like a power of ‖x‖."""
    if isinstance(law, Gaussian | GaussianMixture):
        return True, True
    if isinstance(law, StudentT):
        return False, True
    return (True, True) if isinstance(law, Logistic | HyperbolicSecant | Laplace) else (None, None)
