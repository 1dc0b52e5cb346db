r"""Logistic regression beside a label network, with an ℓ2 penalty chosen as that of networks is.

On standardised inputs it minimises mean cross-entropy + ½ α ‖slopes‖², the intercepts free. A third of the rows is held
out, the same as for the network's own penalty, and the strength of the lowest cross-entropy there is taken. Labels that
one linear function tells apart have no finite answer otherwise, and any network would look good beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from planted.methods._label_penalty import STRENGTHS
from planted.methods._label_split import held_out
from planted.methods._labels import LabelProblem, cross_entropies
from planted.numerics import random

# A penalty too weak to matter, so that separable labels have an answer too; and rows that tell the strength.
_WEAKEST, _ROWS = 1e-9, 5000


class Logistic(NamedTuple):
    """Design (n, q), slopes (m, q) with the intercept first, one row for two classes, and the penalty's strength."""

    design: np.ndarray
    slopes: np.ndarray
    alpha: float


def logistic_regression(problem: LabelProblem) -> Logistic:
    """Fitted to the sample of a problem.

    >>> X = np.random.default_rng(1).standard_normal((60, 9))
    >>> fit = logistic_regression(LabelProblem.of(X, np.arange(60) % 2.0, 1, link="logit"))
    >>> fit.alpha, fit.slopes.shape
    (0.1, (1, 10))
    """
    survey = problem.survey
    X = survey.X.reshape(len(survey.y), -1)
    scale = X.std(axis=0)
    design = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)])
    codes = survey.y.astype(int)
    alpha = _strength(problem, design, codes)
    return Logistic(design, _slopes(design, codes, survey.weight, alpha), alpha)


def ridge(fit: Logistic, total: float) -> np.ndarray:
    """The penalty's share (q,) in the diagonal of the curvature of a sum over so many rows."""
    return total * max(fit.alpha, _WEAKEST) * np.r_[0.0, np.ones(fit.design.shape[1] - 1)]


def _strength(problem: LabelProblem, design: np.ndarray, codes: np.ndarray) -> float:
    survey = problem.survey
    train, test = held_out(survey.X, survey.y, random.fold_in(problem.key, 7))
    train, test = train[:_ROWS], test[:_ROWS]
    if len(np.unique(codes[train])) < problem.n_classes:
        return 0.0
    weight = survey.weight
    looked, share = (None, None) if weight is None else (weight[train], weight[test])
    means: dict[float, float] = {}
    for alpha in STRENGTHS:
        value = design[test] @ _slopes(design[train], codes[train], looked, alpha).T
        means[alpha] = float(np.average(cross_entropies(_probabilities(value), codes[test]), weights=share))
    return min(means, key=lambda alpha: means[alpha])


def _slopes(design: np.ndarray, codes: np.ndarray, weight: np.ndarray | None, alpha: float) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    total = len(codes) if weight is None else float(np.sum(weight))
    fit: Any = LogisticRegression(C=1 / (total * max(alpha, _WEAKEST)), max_iter=500)
    fit.fit(design[:, 1:], codes, sample_weight=weight)
    return np.column_stack([fit.intercept_, fit.coef_])


def _probabilities(value: np.ndarray) -> np.ndarray:
    value = np.column_stack([np.zeros(len(value)), value]) if value.shape[1] == 1 else value
    shifted = np.exp(value - value.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
