r"""Logistic regression beside a label network, with an ℓ2 penalty chosen as that of networks is.

On standardised inputs it minimises mean cross-entropy + ½ α ‖slopes‖², the intercepts free. Each third of the rows is
held out once, the same thirds in every fit of these rows; equal rows go together unless their inputs come with both
labels, as in a table of few values, where each is an observation. The strength of the lowest cross-entropy there is
taken, but none where that is worse by less than one standard error. Labels that one linear function tells apart always
have a penalty: they have no finite answer otherwise, and any network would look good beside it. Weaker strengths are
tried for these alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from planted.methods._label_penalty import STRENGTHS, WEAKER
from planted.methods._label_split import OBSERVED, content_keys, standard_error
from planted.methods._labels import LabelProblem, cross_entropies
from planted.methods._observations import apart
from planted.numerics.deadline import passed

# A penalty too weak to matter, so that separable labels have an answer too; and rows that tell the strength, in parts.
_WEAKEST, _ROWS, _PARTS = 1e-9, 6000, 3
# Mean gradients at which a fit ends: what a weak penalty takes from long slopes is smaller than the usual one.
_TOLERANCE, _FINE, _STEPS, _MANY_STEPS = 1e-4, 1e-8, 500, 5000


class Logistic(NamedTuple):
    """Design (n, q), slopes (m, q) with the intercept first, one row for two classes, and the penalty's strength."""

    design: np.ndarray
    slopes: np.ndarray
    alpha: float


def logistic_regression(problem: LabelProblem) -> Logistic | None:
    """Fitted to the sample of a problem; None where a time budget is spent before.

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
    return None if alpha is None else Logistic(design, _slopes(design, codes, survey.weight, alpha), alpha)


def ridge(fit: Logistic, total: float) -> np.ndarray:
    """The penalty's share (q,) in the diagonal of the curvature of a sum over so many rows."""
    return total * (fit.alpha or _WEAKEST) * np.r_[0.0, np.ones(fit.design.shape[1] - 1)]


def _strength(problem: LabelProblem, design: np.ndarray, codes: np.ndarray) -> float | None:
    survey = problem.survey
    counted = apart(design, codes, survey.weight, _ROWS, OBSERVED)
    if counted is None:
        keys = content_keys(survey.X, survey.y)
        weight = np.ones(len(codes)) if survey.weight is None else survey.weight
    else:
        # Rows of few values are observations each: all of a kind held out at once would leave none to learn it from.
        design, codes, _ = counted
        keys, weight = np.random.default_rng(0).random(len(codes)), np.ones(len(codes))
    some = np.argsort(keys, kind="stable")[:_ROWS]
    design, codes, weight = design[some], codes[some], weight[some]
    distinct, place = np.unique(keys[some], return_inverse=True)
    free = _slopes(design, codes, weight, 0.0)
    certain = np.array_equal(_probabilities(design @ free.T).argmax(axis=1), codes)
    asked = (*STRENGTHS, *WEAKER) if certain else STRENGTHS
    losses = {alpha: np.zeros(len(some)) for alpha in asked}
    for part in range(_PARTS):
        test = _PARTS * place // len(distinct) == part
        if len(np.unique(codes[~test])) < problem.n_classes:
            return 0.0
        for alpha in asked:
            if passed():
                return None
            slopes = _slopes(design[~test], codes[~test], weight[~test], alpha)
            probability = _probabilities(design @ slopes.T)
            losses[alpha][test] = cross_entropies(probability[test], codes[test])
            if not alpha and np.array_equal(probability[~test].argmax(axis=1), codes[~test]):
                losses[alpha][test] = np.inf
    means = {alpha: float(np.average(loss, weights=weight)) for alpha, loss in losses.items()}
    best = min(means, key=lambda alpha: means[alpha])
    if not np.isfinite(means[0.0]):
        return best
    factor = 1.0 if problem.class_weight is None else np.asarray(problem.class_weight)[codes]
    chance = standard_error(losses[0.0] - losses[best], weight, factor)
    return best if means[0.0] - means[best] > chance else 0.0


def _slopes(design: np.ndarray, codes: np.ndarray, weight: np.ndarray | None, alpha: float) -> np.ndarray:
    from sklearn.linear_model import LogisticRegression

    total = len(codes) if weight is None else float(np.sum(weight))
    tolerance, steps = (_FINE, _MANY_STEPS) if alpha in WEAKER else (_TOLERANCE, _STEPS)
    fit: Any = LogisticRegression(C=1 / (total * (alpha or _WEAKEST)), tol=tolerance, max_iter=steps)
    fit.fit(design[:, 1:], codes, sample_weight=weight)
    return np.column_stack([fit.intercept_, fit.coef_])


def _probabilities(value: np.ndarray) -> np.ndarray:
    value = np.column_stack([np.zeros(len(value)), value]) if value.shape[1] == 1 else value
    shifted = np.exp(value - value.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
