"""Logistic regression beside a network of labels."""

from __future__ import annotations

import numpy as np

from planted.methods import LabelProblem
from planted.methods._logistic import logistic_regression
from planted.methods._observations import joined_rows

RNG = np.random.default_rng(1)
X = np.column_stack([RNG.integers(0, 2, 2000), RNG.integers(0, 4, 2000)]).astype(float)
Y = (RNG.random(2000) < 1 / (1 + np.exp(1 - 1.5 * X[:, 0]))).astype(float)


def test_inputs_of_few_values_ask_for_no_penalty():
    fit = logistic_regression(LabelProblem.of(X, Y, 1, link="logit"))
    assert fit.alpha == 0.0
    moved = logistic_regression(LabelProblem.of(X + 1e-9 * RNG.standard_normal(X.shape), Y, 1, link="logit"))
    np.testing.assert_allclose(fit.slopes, moved.slopes, rtol=1e-3)


def test_whole_weights_are_repeated_rows():
    X_once, y_once, number = joined_rows(X, Y)
    once = LabelProblem.of(X_once, y_once, 1, link="logit", sample_weight=number)
    assert logistic_regression(once).alpha == logistic_regression(LabelProblem.of(X, Y, 1, link="logit")).alpha
