"""The penalty of labels: which need one, and its strength, the same whatever the seed and how often rows are given."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_wine

from planted import Network, PlantedClassifier
from planted.cli._words import in_flags
from planted.methods import Free, LabelProblem, choose_label_alpha
from planted.methods._facts import Cause, Facts
from planted.methods._label_finish import _penalty
from planted.methods._label_held_out import predicts_better
from planted.methods._label_penalty import choose_alpha, in_doubt, thirds, unbounded
from planted.methods._label_search import standardised
from planted.methods._verdict import judge
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
    again, positive = choose_alpha(standardised(other)[0], logit.fitted_params, thirds(other), positive=True)
    assert again == alpha
    assert positive == pytest.approx({strength: loss for strength, loss in losses.items() if strength}, rel=1e-6)


def test_the_strength_of_weighted_rows_is_that_of_repeated_ones():
    X, y = separable(40, d=3)
    times = np.random.default_rng(1).integers(1, 4, len(y))
    alpha, losses = choose_label_alpha(asked(X, y, sample_weight=times.astype(float)))
    again, same = choose_label_alpha(asked(np.repeat(X, times, axis=0), np.repeat(y, times)))
    assert again == alpha
    assert same == pytest.approx(losses, rel=1e-4)


def nearly_separable(n=80):
    """One label is on the wrong side of a plane."""
    X, y = separable(n)
    y[np.argmax(np.abs(X[:, 0] + 0.5 * X[:, 1]))] = 1 - y[np.argmax(np.abs(X[:, 0] + 0.5 * X[:, 1]))]
    return X, y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_with_hardly_an_error_have_a_penalty_and_are_compared_with_logistic_regression():
    X, y = nearly_separable()
    est = PlantedClassifier(1, "tanh", False, 0, 0, link="logit").fit(X, y)
    assert est.alpha_ > 0
    assert "hardly any label is in doubt" in est.result_.reason
    facts = est.verdict_.facts
    assert facts.network_loss < facts.mean_loss
    assert "logistic regression" in est.result_.reason
    assert "too few to tell a dependence" not in est.result_.reason
    assert "logistic regression" in str(est.summary())
    assert np.isfinite(est.standard_errors_.errors["output"]).all()


def test_a_network_that_loses_to_logistic_regression_is_said_to_be_worse():
    losses = {"network_loss": 50.0, "linear_loss": 0.13, "mean_loss": 1.0}
    facts = Facts(0.1, np.inf, 500, 30, labels=True, unbeaten=("mean", "linear"), linear_tells=True, **losses)
    verdict = judge(facts)
    assert verdict.reason.startswith("on rows left out the network is worse than logistic regression (explained dev")
    assert verdict.advice.startswith("Use logistic regression")
    # With structure left it is said before anything else.
    misfit = judge(replace(facts, p_value=1e-9, cause=Cause("other", "", 0.7, 0.69), network_loss=0.13))
    assert misfit.status == "misfit"
    assert misfit.reason.startswith("on rows left out the network is not clearly better than logistic regression")


def test_rows_in_doubt_are_counted_with_weights_and_without_factors_of_classes():
    X, y = nearly_separable(30)
    network = Network(np.eye(6)[:1], [1.0], "tanh", intercept=0.0)
    once = in_doubt(asked(X, y), network)
    np.testing.assert_allclose(in_doubt(asked(X, y, sample_weight=np.full(30, 2.0)), network), 2 * once)
    factors = np.array([3.0, 0.5])
    weighted = asked(X, y, sample_weight=factors[y.astype(int)], class_weight=factors)
    # With factors the intercept is larger by their log ratio, and the rows are as much in doubt.
    there = network.replace(intercept=np.log(factors[1] / factors[0]))
    np.testing.assert_allclose(in_doubt(weighted, there), once)
    assert 0 < once.sum() < 30


@pytest.mark.parametrize(("settings", "alpha"), [({}, 1e-6), ({}, "auto"), ({"link": "logit", "fit_bias": True}, 0.1)])
def test_labels_that_can_be_told_apart_determine_no_lengths_whatever_penalty_is_asked_for(settings, alpha):
    X = np.random.default_rng(1).standard_normal((400, 2))
    act = "tanh" if settings else "sigmoid"
    est = PlantedClassifier(1, act, restarts=0, alpha=alpha, **settings).fit(X, X[:, 0] > 0.3 * bool(settings))
    assert est.result_.status == "ambiguous"
    words = "labels can be told apart without error, so no finite weights are likeliest; the ℓ2 penalty of"
    assert words in est.result_.reason
    assert "About" not in est.result_.advice
    # Where labels keep weights finite a penalty leaves them determined.
    odds = 2 * np.tanh(2 * X[:, 0])
    noisy = np.random.default_rng(2).random(400) < 1 / (1 + np.exp(-odds))
    again = PlantedClassifier(1, act, restarts=0, alpha=1e-3, **settings).fit(X, noisy)
    assert "told apart" not in again.result_.reason


def test_a_few_labels_of_a_rare_class_bound_no_weights_however_much_they_count():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 2))
    y = (rng.random(1000) > 1 / (1 + np.exp(-6 + 3 * np.tanh(2 * X[:, 0])))).astype(int)
    est = PlantedClassifier(2, "relu", True, 1, 0, link="logit", class_weight="balanced").fit(X, y)
    assert "hardly any label is in doubt where neuron" in est.result_.reason
    # They were 3,000, and larger the nearer the kink came to a row.
    assert np.abs(est.network_.predict(X)).max() < 50


def test_neurons_with_a_kink_need_rows_in_doubt_where_they_are_active():
    X = np.linspace(-1, 1, 400)[:, None]
    y = (np.arange(400) % 2).astype(float)
    y[380:] = 1.0
    problem = LabelProblem.of(X, y, 1, "relu", link="logit", free=Free(bias=True, intercept=True))
    steep, flat = (Network([[slope]], [1.0], bias=[-0.9 * slope], intercept=0.0) for slope in (3e3, 3.0))
    assert "where neuron 1 is active" in unbounded(problem, steep)
    assert unbounded(problem, flat) == ""


def test_numbers_are_as_dear_as_the_rows_of_a_rare_class_are_few():
    X, y = np.zeros((400, 6)), (np.arange(400) < 4).astype(float)
    factors = np.array([400 / 792, 50.0])
    plain, balanced = asked(X, y), asked(X, y, sample_weight=factors[y.astype(int)], class_weight=factors)
    losses = np.full(400, 0.5), np.full(400, 0.6)
    assert predicts_better(plain, np.arange(400), *losses, 15)
    assert not predicts_better(balanced, np.arange(400), *losses, 15)


def test_fewer_neurons_are_advised_where_they_predict_penalised_labels_as_well():
    """Of the three kinds of wine one neuron predicts rows left out far worse than two."""
    wine = load_wine()
    est = PlantedClassifier(2, "tanh", True, link="logit", random_state=0).fit(wine.data, wine.target)
    facts = est.result_.verdict.facts
    assert est.alpha_ > 0
    assert facts.enough_neurons == 0
    assert est.result_.advice.endswith("logistic regression, or give more rows.")
    fewer = judge(replace(facts, n_hidden=3, enough_neurons=2))
    assert fewer.advice.endswith("logistic regression, or give more rows, or ask for n_hidden=2.")


def test_tables_of_candidates_say_that_they_are_of_penalised_fits():
    X = np.random.default_rng(0).standard_normal((90, 2))
    est = PlantedClassifier(1, link="logit", random_state=0).fit(X, X[:, 0] > 0)
    assert est.choice_.reason.endswith("where weights have no end, compared with an ℓ2 penalty of at most 0.001")


def test_a_penalty_is_advised_as_an_argument_that_can_be_given():
    X = np.random.default_rng(0).standard_normal((200, 2))
    problem = LabelProblem.of(X, (X[:, 0] > 0).astype(float), 1, "sigmoid")
    assert _penalty(problem) == "keep weights finite with a penalty such as alpha=0.001"
    assert _penalty(replace(problem, alpha=0.01)) == ""
    sentence = in_flags(_penalty(replace(problem, loss="quadratic")))
    assert sentence == "keep weights finite with a penalty such as --alpha 0.001 and --loss likelihood"
