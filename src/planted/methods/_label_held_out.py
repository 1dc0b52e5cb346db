r"""How well label networks predict rows that are left out, beside logistic regression and the classes' shares.

A row is left out by one Newton step. With t its log-odds, e = 1[y] − p, C = diag(p) − ppᵀ, J = ∂t/∂θ, H the curvature
of all rows and A = J H⁻¹ Jᵀ, its log-odds without itself are t − A (I − C A)⁻¹ e. For link="mean" the same holds of the
probability, with e/v and 1/v in place of e and C, v = p(1 − p). Weights are numbers of rows, of which one is left out.
Where classes have factors g, a row left out takes g e and g C with it, and losses are means by weight: network and
logistic regression are then compared in the population that both were fitted to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax

from planted.methods._baselines import FULL_LEVERAGE, linear_p_value
from planted.methods._facts import LARGE_ROWS, RIVAL_ERRORS, TESTED_ROWS, TESTED_UNKNOWNS, WORTH
from planted.methods._label_contest import DEAREST
from planted.methods._label_split import effective_rows, keyed_rows, standard_error
from planted.methods._labels import LabelProblem, class_probabilities, cross_entropies
from planted.methods._logistic import Logistic, logistic_regression, ridge
from planted.methods._method import Method
from planted.networks import Network

_LEAST = 1e-6
_VANISHING = 1e-10
_ENTRIES = 20_000_000
_PARTS = 3


def label_held_out(problem: LabelProblem, network: Network, n_parameters: int) -> dict[str, Any]:
    """Facts of a verdict: cross-entropies over that of the classes' shares, and what the network is not better than.

    Empty where rows are few. Logistic regression is left out where a time budget is spent before it is fitted.

    >>> from planted.datasets import make_planted
    >>> data = make_planted(800, 2, 1, activation="sigmoid", task="classification", random_state=0)
    >>> facts = label_held_out(LabelProblem.of(data.X, data.y, 1, "sigmoid"), data.teacher, 2)
    >>> facts["network_loss"] < facts["mean_loss"], facts["unbeaten"]
    (True, ())
    """
    survey = problem.survey
    n, total = len(survey.y), effective_rows(survey, problem.class_weight)
    if problem.unknowns > TESTED_UNKNOWNS or total <= problem.unknowns + 2:
        return {}
    most = max(TESTED_ROWS, _ENTRIES // (problem.unknowns * problem.n_classes))
    facts: dict[str, Any] = {}
    fit = logistic_regression(problem) if network.n_hidden else None
    # A gain that few rows leave open is looked for in more of them.
    for count in (TESTED_ROWS, most):
        some = np.arange(n)
        if n > count:
            some = np.sort(np.random.default_rng(0).choice(n, count, replace=False))
        facts = _compared(problem, network, n_parameters, fit, some)
        if not facts["unbeaten"] or n <= count:
            break
    return facts


def label_refitted(problem: LabelProblem, method: Method) -> dict[str, Any]:
    """The same facts where no Newton step leaves a row out, as next to a step: by fits without a third of the rows.

    Only the classes' shares are a rival. Each third is left out once, the same ones whatever the seed, and a row costs
    at most 7, as where the width is chosen. Empty where rows are few, the network is clearly better, or
    its loss is quadratic: that has steps that are sure of labels, whatever a cross-entropy says.

    >>> from planted.methods import LABELS
    >>> rng = np.random.default_rng(0)
    >>> problem = LabelProblem.of(rng.standard_normal((200, 1)), rng.integers(0, 2, 200), 1, "sigmoid")
    >>> label_refitted(problem, LABELS["likelihood"])["unbeaten"]
    ('mean',)
    """
    if problem.loss == "quadratic":
        return {}
    survey, keys = keyed_rows(problem.survey, problem.class_weight, LARGE_ROWS)
    weight = survey.weight
    distinct, place = np.unique(keys, return_inverse=True)
    third = _PARTS * place // len(distinct)
    own, constant = np.zeros(len(third)), np.zeros(len(third))
    for index in range(_PARTS):
        train, test = np.flatnonzero(third != index), np.flatnonzero(third == index)
        if len(train) <= problem.unknowns + 2 or len(np.unique(survey.y[train])) < problem.n_classes:
            return {}
        part = problem.on(survey.part(train), restarts=problem.restarts // 2)
        shares = np.broadcast_to(part.shares, (len(test), problem.n_classes))
        probability = class_probabilities(method.begin(part).network, survey.X[test], problem.link)
        own[test] = np.minimum(cross_entropies(probability, survey.y[test]), DEAREST)
        constant[test] = cross_entropies(shares, survey.y[test])
    gap = constant - own
    chance = RIVAL_ERRORS * standard_error(gap, weight, _factors(problem)[survey.y.astype(int)])
    if float(np.average(gap, weights=weight)) > chance:
        return {}
    network_loss, mean_loss = (float(np.average(loss, weights=weight)) for loss in (own, constant))
    facts = {"network_loss": network_loss / mean_loss, "mean_loss": 1.0, "unbeaten": ("mean",)}
    return facts | {"linear_p_value": _linear_p_value(problem)}


def _compared(
    problem: LabelProblem, network: Network, n_parameters: int, fit: Logistic | None, some: np.ndarray
) -> dict[str, Any]:
    """The facts by the rows at these places."""
    survey = problem.survey
    total = float(survey.total_weight)
    weight = None if survey.weight is None else survey.weight[some]
    codes = survey.y[some].astype(int)
    shares = problem.shares
    entropy = float(np.average(-np.log(shares[codes]), weights=weight))
    factor = _factors(problem)[codes]
    own = losses_left_out(problem, network, some)
    constant = -np.log(np.maximum(shares[codes] * total - factor, _LEAST) / (total - factor))

    def better(rival: np.ndarray, extra: int, own: np.ndarray = own) -> bool:
        return predicts_better(problem, some, own, rival, extra)

    unbeaten = [] if better(constant, n_parameters - problem.n_classes + 1) else ["mean"]
    losses = {"network_loss": own, "mean_loss": constant}
    about: dict[str, Any] = {"unmeasured": ("rivals",)}
    if not network.n_hidden:
        losses["linear_loss"] = own
        about = {"linear_penalty": problem.alpha, "linear_tells": not unbeaten}
    elif fit is not None:
        losses["linear_loss"] = _linear_losses(problem, fit, some)
        about = {
            "linear_penalty": fit.alpha,
            "linear_tells": better(constant, (problem.n_classes - 1) * problem.n_features, losses["linear_loss"]),
        }
    facts: dict[str, Any] = {name: float(np.average(loss, weights=weight)) / entropy for name, loss in losses.items()}
    if fit is not None:
        lost = not better(losses["linear_loss"], n_parameters - (problem.n_classes - 1) * (problem.n_features + 1))
        if problem.link == "mean":
            # Means of neurons are no logistic regression, even where that predicts as well or a little better.
            clearly = better(own, 0, losses["linear_loss"])
            lost = clearly and facts["linear_loss"] < (1 - WORTH) * facts["network_loss"]
        if lost:
            unbeaten.append("linear")
    if "mean" in unbeaten:
        about |= {"linear_p_value": _linear_p_value(problem)}
    return facts | {"unbeaten": tuple(unbeaten)} | about


def predicts_better(problem: LabelProblem, some: np.ndarray, own: np.ndarray, rival: np.ndarray, extra: int) -> bool:
    """Whether losses (s,) of rows at the places `some` are lower than a rival's by what `extra` numbers have to bring.

    >>> problem = LabelProblem.of(np.arange(60.0)[:, None], np.arange(60) % 2, 1, "sigmoid")
    >>> predicts_better(problem, np.arange(60), np.full(60, 0.1), np.full(60, 0.2), 2)
    True
    """
    survey, total = problem.survey, effective_rows(problem.survey, problem.class_weight)
    weight = None if survey.weight is None else survey.weight[some]
    gap, factor = rival - own, _factors(problem)[survey.y[some].astype(int)]
    price = max(extra, 0) * max(np.log(total) - 2, 0.0) / (2 * total)
    chance = RIVAL_ERRORS * standard_error(gap, weight, factor)
    return bool(float(np.average(gap, weights=weight)) > max(chance, price))


def _linear_p_value(problem: LabelProblem) -> float:
    """Of the test that a linear function of the inputs says nothing about the classes."""
    survey = problem.survey
    classes = np.eye(problem.n_classes)[survey.y.astype(int)][:, problem.n_classes == 2 :]
    return linear_p_value(survey.X, classes, survey.weight)


def losses_left_out(problem: LabelProblem, network: Network, some: np.ndarray) -> np.ndarray:
    """Cross-entropy (s,) of the network in each row at the places `some`, left out.

    >>> problem = LabelProblem.of(np.arange(4.0)[:, None], np.arange(4) % 2, 1, "sigmoid")
    >>> losses_left_out(problem, Network([[0.1]], [1.0], "sigmoid"), np.arange(2)).shape
    (2,)
    """
    survey = problem.survey
    rows, codes = survey.X[some], survey.y[some].astype(int)
    params = problem.params(network)
    H = np.asarray(problem.objective(problem.sample).curvature(params)) * survey.total_weight
    J = network.jacobian(rows, intercept=problem.free.intercept)
    if problem.link == "mean":
        k, start = network.n_hidden, 0 if network.bias is None else network.n_hidden
        J = np.delete(J, np.arange(start, start + k), axis=2)[:, 0]
        p = np.clip(class_probabilities(network, rows, "mean")[:, 1], _LEAST, 1 - _LEAST)
        v = p * (1 - p)
        A = np.einsum("np,pq,nq->n", J, _inverse(H), J, optimize=True)
        p = np.clip(p - A * (codes - p) / v / np.maximum(1 - A / v, 0.1), _LEAST, 1 - _LEAST)
        return -np.log(np.where(codes == 1, p, 1 - p))
    spread = np.einsum("nap,pq,nbq->nab", J, _inverse(H), J, optimize=True)
    return _softmax_losses(np.asarray(network.predict(rows)).reshape(len(some), -1), spread, codes, _factors(problem))


def _linear_losses(problem: LabelProblem, fit: Logistic, some: np.ndarray) -> np.ndarray:
    """The same of logistic regression with an intercept and the penalty that rows held out ask for."""
    survey = problem.survey
    codes, m = survey.y.astype(int), problem.n_classes
    outputs, design = len(fit.slopes), fit.design
    values = design @ fit.slopes.T
    p = np.exp(_log_probabilities(values))
    weight = np.ones(len(codes)) if survey.weight is None else survey.weight
    if outputs == 1:
        C = (p[:, 0] * p[:, 1])[:, None, None]
    else:
        C = np.einsum("na,ab->nab", p, np.eye(m)) - p[:, :, None] * p[:, None, :]
    q = design.shape[1]
    # Block by block of two classes: derivatives of all classes at once would hold mostly zeros.
    H = np.block([[(design.T * (weight * C[:, a, b])) @ design for b in range(outputs)] for a in range(outputs)])
    inverse = _inverse(H + np.diag(np.tile(ridge(fit, float(np.sum(weight))), outputs))).reshape(outputs, q, outputs, q)
    rows = design[some]
    pairs = [[np.sum((rows @ inverse[a, :, b]) * rows, axis=1) for b in range(outputs)] for a in range(outputs)]
    return _softmax_losses(values[some], np.moveaxis(np.array(pairs), 2, 0), codes[some], _factors(problem))


def _factors(problem: LabelProblem) -> np.ndarray:
    """Factors (m,) of the classes: what a row that is left out takes with it."""
    return np.ones(problem.n_classes) if problem.class_weight is None else np.asarray(problem.class_weight)


def _softmax_losses(values: np.ndarray, spread: np.ndarray, codes: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Cross-entropies (s,) of log-odds (s, m), one column for two classes, each row left out.

    `spread` (s, m, m) is J H⁻¹ Jᵀ of each row.
    """
    p = np.exp(_log_probabilities(values))
    if values.shape[1] == 1:
        e, C = codes[:, None] - p[:, 1:], (p[:, 0] * p[:, 1])[:, None, None]
    else:
        e = np.eye(values.shape[1])[codes] - p
        C = np.einsum("na,ab->nab", p, np.eye(values.shape[1])) - p[:, :, None] * p[:, None, :]
    A = spread * factors[codes][:, None, None]
    # With A = RRᵀ the step A (I − C A)⁻¹ e is R (I − RᵀCR)⁻¹ Rᵀ e, and the eigenvalues of RᵀCR are leverages.
    sizes, axes = np.linalg.eigh((A + np.swapaxes(A, 1, 2)) / 2)
    root = axes * np.sqrt(np.maximum(sizes, 0.0))[:, None, :]
    leverage, turned = np.linalg.eigh(np.swapaxes(root, 1, 2) @ C @ root)
    root = root @ turned
    shrunk = np.swapaxes(root, 1, 2) @ e[:, :, None] / (1 - np.minimum(leverage, FULL_LEVERAGE))[:, :, None]
    step = root @ shrunk
    return -_log_probabilities(values - step[:, :, 0])[np.arange(len(codes)), codes]


def _log_probabilities(values: np.ndarray) -> np.ndarray:
    """Of every class (n, m), from log-odds against the first of two classes (n, 1) or of each class (n, m)."""
    if values.shape[1] == 1:
        values = np.column_stack([np.zeros(len(values)), values])
    return np.asarray(log_softmax(values, axis=1))


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Of a positive semi-definite matrix, directions being judged in units of its diagonal."""
    unit = 1 / np.sqrt(np.maximum(np.diagonal(matrix), 1e-300))
    inverse = np.linalg.pinv(matrix * np.outer(unit, unit), rcond=_VANISHING, hermitian=True)
    return np.asarray(inverse * np.outer(unit, unit))
