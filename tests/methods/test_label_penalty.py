"""The strength of the penalty of labels: the same whatever the seed, the way to ask for it, and how often rows are given."""

from dataclasses import replace

import numpy as np
import pytest

from planted.methods import LabelProblem, choose_label_alpha
from planted.methods._label_penalty import choose_alpha, thirds
from planted.methods._label_search import standardised
from planted.methods.labels import logit


def separable(n, seed=0, d=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] + 0.5 * X[:, 1] > 0).astype(float)


def asked(X, y, **settings):
    return LabelProblem.of(X, y, 1, "tanh", link="logit", restarts=0, **settings)


def test_the_strength_does_not_depend_on_the_seed_nor_on_where_the_path_may_end():
    problem = asked(*separable(60))
    alpha, losses = choose_label_alpha(problem)
    assert losses[0.0] == np.inf
    # Of strengths that predict alike the strongest is taken.
    assert alpha >= min(losses, key=losses.get)
    other = replace(problem, key=np.array([5, 6], np.uint32))
    again, positive = choose_alpha(standardised(other)[0], logit.fitted_params, thirds(other), least=1e-6)
    assert again == alpha
    assert positive == pytest.approx({strength: loss for strength, loss in losses.items() if strength}, rel=1e-6)


def test_the_strength_of_weighted_rows_is_that_of_repeated_ones():
    X, y = separable(40, d=3)
    times = np.random.default_rng(1).integers(1, 4, len(y))
    alpha, losses = choose_label_alpha(asked(X, y, sample_weight=times.astype(float)))
    again, same = choose_label_alpha(asked(np.repeat(X, times, axis=0), np.repeat(y, times)))
    assert again == alpha
    assert same == pytest.approx(losses, rel=1e-4)
