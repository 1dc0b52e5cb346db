"""What is said of labels: the level of the residual test, causes, and noise."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import entropy, kstest
from sklearn.exceptions import ConvergenceWarning

from planted import Network, PlantedClassifier
from planted.methods import LABELS, Free, LabelProblem, Observations
from planted.methods._label_causes import label_cause
from planted.methods._label_contest import Contest
from planted.methods._label_finish import _noise, _too_far
from planted.methods._label_held_out import _compared, label_held_out
from planted.methods._label_split import content_keys, held_out
from planted.methods._label_test import label_p_value
from planted.methods._label_width import _choice
from planted.methods._logistic import logistic_regression
from planted.methods._residual_test import residual_p_value


@pytest.mark.parametrize("intercept", [-3.0, -4.0])
def test_p_values_of_the_right_model_keep_their_level_with_a_rare_class(intercept):
    # The constant among the probes is what the bias of a sigmoid explains, to rounding.
    neuron, values = Network([[1.0, -1.0]], [1.0], "sigmoid", bias=[intercept]), []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((1000, 2))
        y = (rng.random(1000) < neuron.predict(X)).astype(float)
        problem = LabelProblem.of(X, y, 1, "sigmoid", free=Free(bias=True))
        values.append(label_p_value(problem, neuron))
    assert kstest(values, "uniform").pvalue > 1e-3
    assert np.min(values) > 1e-4


def test_probes_that_a_few_labels_decide_are_left_out():
    rare = Network([[2.0, -2.0]], [6.0], "sigmoid", bias=[-2.0], intercept=-7.0)
    values = []
    for seed in range(20):
        rng = np.random.default_rng(1000 + seed)
        X = rng.standard_normal((3000, 2))
        y = (rng.random(3000) < expit(rare.predict(X))).astype(float)
        problem = LabelProblem.of(X, y, 1, "sigmoid", link="logit", free=Free(True, True))
        values.append(label_p_value(problem, rare))
    assert np.min(values) > 1e-3


def test_causes_are_scored_against_the_shares_of_the_part_that_was_fitted(monkeypatch):
    """A network that gives these shares explains nothing of the rest, however rare a class is there."""
    rng = np.random.default_rng(67)
    X = rng.standard_normal((600, 2))
    y = (rng.random(600) < 0.05).astype(float)
    weight = np.where(y == 1, 1.0, 2.0)
    train, test = held_out(y, content_keys(X, y))
    weight[test] *= np.where(y[test] == 1, 1.0, 5.0)
    share = np.average(y[train], weights=weight[train])
    constant = Network([[0.0, 0.0]], [1.0], "sigmoid", bias=[np.log(share / (1 - share))])
    monkeypatch.setattr("planted.methods._label_causes.descended", lambda problem, network: network)
    monkeypatch.setattr("planted.methods._label_causes._changes", lambda part: iter(()))
    problem = LabelProblem.of(X, y, 1, "sigmoid", free=Free(bias=True), sample_weight=weight)
    assert label_cause(problem, constant)[0].before == pytest.approx(1.0)


def test_losses_of_some_rows_left_out_are_over_that_of_the_shares_there():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 1))
    y = (rng.random(400) < 0.03).astype(float)
    problem = LabelProblem.of(X, y, 1, "sigmoid", free=Free(bias=True))
    few = np.flatnonzero(y == 0)[:50]
    constant = Network([[0.0]], [1.0], "sigmoid", bias=[np.log(y.mean() / (1 - y.mean()))])
    assert _compared(problem, constant, 2, logistic_regression(problem), few)["mean_loss"] == pytest.approx(1, abs=0.01)


def test_a_step_that_fits_noise_is_called_noise_and_a_true_one_is_not():
    rng = np.random.default_rng(50)
    X = rng.standard_normal((400, 2))
    chance = rng.random(400)
    labels = {"noise": chance < 0.5, "step": chance < np.where(X[:, 0] > 0.3, 0.8, 0.2)}
    said = {}
    for name, y in labels.items():
        problem = LabelProblem.of(X, y.astype(float), 1, "sigmoid", link="logit", free=Free(True, True), restarts=0)
        said[name] = LABELS["logit"](problem)
        assert "runs_off" in said[name].details
    assert "classes' shares" in said["noise"].reason
    assert "only noise" in said["noise"].reason
    assert "would settle it" not in said["noise"].advice
    assert "classes' shares" not in said["step"].reason
    assert "would settle it" in said["step"].advice


def test_a_row_that_alone_determines_something_does_not_decide_the_score():
    """An input that one row has: without that row nothing is known of its weight, and a first-order step has no end."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((400, 2)), np.eye(400)[:, :3]])
    teacher = Network([[2.0, -1.0, 0.5, 0.5, 0.5]], [3.0], "tanh")
    y = (rng.random(400) < 1 / (1 + np.exp(-teacher.predict(X)))).astype(float)
    problem = LabelProblem.of(X, y, 1, "tanh", link="logit")
    facts = label_held_out(problem, teacher, 6)
    plain = label_held_out(LabelProblem.of(X[:, :2], y, 1, "tanh", link="logit"),
                           Network(teacher.weights[:, :2], [3.0], "tanh"), 3)  # fmt: skip
    assert facts["network_loss"] < plain["network_loss"] + 0.1


def test_labels_of_two_sides_ask_for_log_odds_of_several_neurons():
    """Means of sigmoid neurons are no parity, and neither are log-odds of two neurons."""
    rng = np.random.default_rng(21)
    X = rng.standard_normal((1000, 2))
    y = (((X[:, 0] * X[:, 1]) > 0) ^ (rng.random(1000) < 0.1)).astype(float)
    problem = LabelProblem.of(X, y, 2, "sigmoid", free=Free(True))
    verdict = LABELS["likelihood"](problem).verdict
    assert verdict.status == "misfit"
    assert verdict.facts.cause.kind in ("link", "links")
    assert "link='logit'" in verdict.advice


def test_noise_is_no_misfit_where_shares_are_likelier_by_chance():
    """A mean of neurons without biases says one half where inputs say nothing; 53 % of 600 labels may be that."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((600, 1)), rng.permutation(np.arange(600) < 318).astype(int)
    with pytest.warns(ConvergenceWarning, match="only noise"):
        est = PlantedClassifier(1, "sigmoid", False, link="mean", random_state=0).fit(X, y)
    assert est.result_.details["cross_entropy"] > entropy([0.47, 0.53])
    # Of 75 % that is no chance.
    with pytest.warns(ConvergenceWarning, match="misfit"):
        PlantedClassifier(1, "sigmoid", False, link="mean", random_state=0).fit(X, np.arange(600) < 450)


def test_weights_with_an_error_beyond_themselves_are_not_estimated():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 3))
    odds = Network([[1.0, 1.0, 0.0], [0.0, 1.0, -1.0]], [3.0, -3.0], "relu").predict(X)
    y = (rng.random(600) < 1 / (1 + np.exp(-odds))).astype(int)
    est = PlantedClassifier(2, "softplus", False, link="logit", random_state=0)
    with pytest.warns(ConvergenceWarning, match="ambiguous"):
        est.fit(X, y)
    assert est.result_.details["expected_error"] > 1
    assert "more than the weights themselves" in est.result_.reason


@pytest.mark.parametrize("link", ["logit", "mean"])
def test_labels_that_fewer_neurons_explain_as_well_are_said_to_be_so(link):
    rng = np.random.default_rng(33)
    X = rng.standard_normal((1500, 3))
    method, name, output = ("logit", "tanh", 3.0) if link == "logit" else ("likelihood", "sigmoid", 1.0)
    value = Network([[1.5, -1.0, 0.0]], [output], name).predict(X)
    y = (rng.random(1500) < (expit(value) if link == "logit" else value)).astype(float)
    problem = LabelProblem.of(X, y, 3, name, link=link)
    result = LABELS[method](problem)
    assert result.status == "ambiguous"
    assert result.reason.startswith("1 neuron explains the rows left out as well: the other 2 of 3 are not determined")
    assert result.advice == "Ask for n_hidden=1."
    assert np.isinf(result.uncertainty.weights).all(axis=1).sum() >= 2
    alone = LABELS[method](replace(problem, n_hidden=1))
    assert alone.status == "estimated"
    assert np.isfinite(alone.uncertainty.weights).all()


def test_an_error_near_the_goal_is_not_said_to_have_reached_it():
    """About 9,700 rows would bring the error to 0.1 where 9,300 leave 0.102."""
    assert _noise(SimpleNamespace(alpha=0.0, n_hidden=1), 0.102).endswith("error of 0.102")
    assert _noise(SimpleNamespace(alpha=0.0, n_hidden=1), 0.234).endswith("error of 0.23")
    assert "error of 1.003, more than" in _too_far(SimpleNamespace(alpha=0.0), 1.003)


def test_the_chosen_network_of_labels_is_called_chosen_in_the_table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    right, wrong = (Network([row], [1.0], "sigmoid") for row in ([3.0, 0.0], [0.0, 1.0]))
    contest = Contest.of(LabelProblem.of(X, (rng.random(300) < right.predict(X)).astype(float), 1, "sigmoid"))
    tried = [contest.tried(contest.part, network) for network in (right, wrong)]
    choice = _choice(contest, tried[0], tried, [])
    assert [one.why for one in choice.candidates] == ["chosen", "held-out rows are less likely"]


def test_what_is_said_of_labels_does_not_depend_on_the_origin_of_inputs():
    rng = np.random.default_rng(5300)
    X = rng.standard_normal((600, 2))
    y = X[:, 0] + 0.3 * rng.standard_normal(600) > 0
    fits = [PlantedClassifier(1, "sigmoid", True, random_state=0).fit(X + origin, y) for origin in (0, 1000)]
    assert [fit.result_.status for fit in fits] == ["estimated", "estimated"]
    assert fits[1].result_.verdict.p_value == pytest.approx(fits[0].result_.verdict.p_value, rel=1e-3)
    assert np.allclose(fits[1].network_.weights, fits[0].network_.weights, rtol=1e-5)


@pytest.mark.parametrize("origin", [30.0, 1000.0])
def test_residual_tests_see_as_much_where_inputs_are_far_from_zero(origin):
    rng = np.random.default_rng(5500)
    X = rng.standard_normal((600, 4))
    y = np.tanh(X[:, 0]) + 0.3 * np.sin(2.5 * X[:, 2]) + 0.3 * rng.standard_normal(600)
    labels = (rng.random(600) < expit(3 * y)).astype(float)
    network = Network([[1.0, 0, 0, 0]], [3.0], "tanh", bias=[0.0], intercept=0.0)
    moved = network.replace(bias=-network.weights.sum(axis=1) * origin)
    near, far = (
        (
            residual_p_value(Observations(inputs, y), net.replace(output=[1.0]), intercept=True),
            label_p_value(LabelProblem.of(inputs, labels, 1, "tanh", free=Free(True, True), link="logit"), net),
        )
        for inputs, net in ((X, network), (X + origin, moved))
    )
    assert far == pytest.approx(near, rel=1e-3)


def test_labels_that_nothing_explains_keep_the_biases_of_their_shares():
    X = np.random.default_rng(5210).standard_normal((200, 3))
    fit = PlantedClassifier(random_state=0).fit(X, np.arange(200) < 4)
    assert fit.choice_.chosen.name == "1 sigmoid neuron, biases, link mean"
    assert fit.result_.status == "ambiguous"
    assert "worse than the classes' shares" in fit.result_.reason


@pytest.mark.parametrize("settings", [{"link": "mean"}, {"class_weight": "balanced", "activation": "tanh"}])
def test_labels_of_weight_w_are_w_equal_labels_to_the_last_bit(settings):
    rng = np.random.default_rng(5900)
    X, number = rng.standard_normal((120, 2)), rng.integers(0, 4, 120)
    y = rng.random(120) < expit(3 * np.tanh(2 * X[:, 0] - X[:, 1]))
    places = np.repeat(np.arange(120), number)
    late = np.r_[np.flatnonzero(number), np.repeat(np.arange(120), np.maximum(number - 1, 0))]
    weighted = PlantedClassifier(1, random_state=0, **settings).fit(X, y, sample_weight=number)
    for some in (places, late):
        repeated = PlantedClassifier(1, random_state=0, **settings).fit(X[some], y[some])
        assert np.array_equal(weighted.network_.weights, repeated.network_.weights)
        assert weighted.result_.reason == repeated.result_.reason
        assert str(weighted.choice_) == str(repeated.choice_)
        assert np.array_equal(weighted.result_.uncertainty.covariance, repeated.result_.uncertainty.covariance)


def test_truth_values_among_objects_are_labels():
    X = np.random.default_rng(6100).standard_normal((60, 1))
    labels = (X[:, 0] + np.random.default_rng(1).standard_normal(60) > 0).astype(object)
    fit = PlantedClassifier(1, "sigmoid", False, random_state=0).fit(X, labels)
    assert fit.classes_.tolist() == [False, True]
    assert fit.classes_.dtype == bool
