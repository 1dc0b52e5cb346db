"""What a fit says of itself: what simpler things do as well, why it fails, and what a weight means."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from planted import Network, PlantedClassifier, PlantedConvRegressor, PlantedRegressor, datasets
from planted.datasets import make_planted
from planted.methods import (
    LABELS,
    Facts,
    Free,
    LabelProblem,
    Observations,
    Problem,
    Start,
    judge,
    observations,
    recover,
    refine,
)
from planted.methods._baselines import LeftOut, compared, linear_p_value
from planted.methods._causes import misfit_cause
from planted.methods._collinear import dependence_advice, dependence_words, shortest_weights
from planted.methods._errors import errors_of, uneven_noise
from planted.methods._facts import Cause
from planted.methods._finish import _odd_rows
from planted.methods._label_causes import label_cause
from planted.methods._label_finish import recover_labels
from planted.methods._label_held_out import label_held_out
from planted.methods._residual_test import residual_p_value
from planted.methods._smaller import fewer_neurons
from planted.methods._squares import orthogonal_squares
from planted.networks import residual_sizes
from planted.rows import Survey
from planted.solvers import lbfgs

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
rng = np.random.default_rng(0)
X = rng.standard_normal((300, 3))
NOISE = rng.standard_normal(300)
TANH = Network([[1.5, 0.0, 0.5], [0.0, 1.0, -1.0]], [1.0, -0.7], "tanh")


def test_ten_rows_tell_a_linear_function_from_the_mean():
    """Squared errors of the mean vary by more than their half, and say less than an F-test."""
    rows = np.random.default_rng(1).standard_normal((10, 4))
    y = rows[:, 0] - rows[:, 1] + 0.1 * rows[:, 3]
    est = PlantedRegressor(random_state=0).fit(rows[:, :3], y)
    assert "mean" not in est.result_.reason
    assert "linear function" in est.result_.reason


def test_no_other_inputs_are_asked_for_where_these_tell():
    facts = Facts(0.5, np.inf, 40, 1, without_neurons="constant", unbeaten=("mean",), mean_loss=1.0, network_loss=1.0)
    assert judge(replace(facts, linear_p_value=1e-6)).advice == "Give more rows."
    assert judge(facts).advice == "Give other inputs, or more rows."
    neurons = replace(facts, without_neurons="", n_hidden=2, linear_p_value=1e-6)
    assert judge(neurons).advice == "Give more rows."
    assert judge(replace(neurons, enough_neurons=1)).advice == "Give more rows, or ask for n_hidden=1."


def test_a_network_that_leaves_something_explains_not_all():
    left = "the network explains all but 7e-06 of the variance"
    assert judge(Facts(7e-6, np.inf, 900, 5, p_value=0.5)).reason.startswith(left)
    assert judge(Facts(7e-4, np.inf, 900, 5, p_value=0.5)).reason.startswith("the network explains 99.93 %")


def test_fewer_rows_than_inputs_are_no_dependence_of_these():
    rows = np.random.default_rng(0).standard_normal((8, 20))
    for twice in (1, 2):
        survey = Survey.of(np.repeat(rows, twice, axis=0), np.zeros(8 * twice))
        words = "Give more than 20 distinct rows, of which there are 8, or fewer inputs."
        assert dependence_advice(survey, Free(intercept=True, skip=True)) == words


def test_the_linear_function_and_the_mean_are_left_out_exactly():
    """Against refits without each row."""
    y = X @ [1.0, 2.0, 0.0] + 3 + NOISE
    left = LeftOut.of(Observations(X[:40], y[:40]), 40)
    refitted = cross_val_predict(LinearRegression(), X[:40], y[:40], cv=LeaveOneOut())
    variance = np.var(y[:40])
    np.testing.assert_allclose(left.linear() * variance, (y[:40] - refitted) ** 2, rtol=1e-8)
    means = (y[:40].sum() - y[:40]) / 39
    np.testing.assert_allclose(left.mean() * variance, (y[:40] - means) ** 2, rtol=1e-8)


def test_left_out_network_against_refits():
    """To first order: within a few percent of networks refitted without a row."""
    y = TANH.predict(X) + 0.1 * NOISE
    problem = Problem.of(X, y, 2, "tanh")
    network = refine(problem, TANH).network
    squares = LeftOut.of(Observations(X, y), 300).squares(network, intercept=False) * np.var(y)
    for i in (0, 7, 100):
        rest = np.delete(np.arange(300), i)
        other = refine(Problem.of(X[rest], y[rest], 2, "tanh"), network).network
        assert squares[i] == pytest.approx((y[i] - other.predict(X[i : i + 1])[0]) ** 2, rel=0.1)


def test_a_network_that_few_rows_speak_for_is_better_if_most_rows_gain():
    """Two rows of 300 make the linear function's error; its mean says nothing, the number of rows that gain does."""
    left = LeftOut.of(Observations(X, X[:, 0]), 300)
    rival = np.full(300, 1e-6)
    rival[:2] = 1.0
    assert left.better(np.full(300, 1e-12), rival, 5)
    mixed = np.where(np.arange(300) % 2, 1e-12, 2e-6)
    assert not left.better(mixed, rival, 5)


def test_rounding_is_no_gain():
    left = LeftOut.of(Observations(X, X[:, 0]), 300)
    own = left.mean()
    assert not left.better(own * (1 - 1e-15), own, 0)
    assert left.better(own * (1 - 1e-6), own, 0)


@pytest.mark.parametrize("output", [[0.09], [1.0, 0.07]])
def test_a_weak_neuron_that_many_rows_show_is_not_called_noise(output):
    # A gain of 0.3 % of the variance: 1.5 standard errors in 4,000 rows, and 6 in 60,000.
    rng = np.random.default_rng(2)
    teacher = Network([[1.0, 0.5, 0.0], [0.0, 1.0, -1.0]][: len(output)], output, "relu")
    X = rng.standard_normal((60_000, 3))
    y = teacher.predict(X) + rng.standard_normal(60_000)
    known = {"fit_bias": False, "fit_intercept": False, "fit_skip": False, "random_state": 0}
    assert PlantedRegressor(len(output), "relu", **known).fit(X, y).result_.status == "estimated"


def test_noise_is_no_network():
    est = PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(X, NOISE)
    assert est.result_.status == "ambiguous"
    assert "than the mean" in est.result_.reason
    assert "only noise" in est.result_.reason
    assert "fewer neurons" not in est.result_.advice
    assert "the mean" in str(est.summary())


def test_noise_of_several_targets_has_the_size_that_it_has_in_each():
    teacher = Network([[1.0, 2.0, 0.0]], [[1.0], [2.0]], "tanh")
    noise = 0.1 * np.column_stack([NOISE, NOISE[::-1]]) / NOISE.std()
    found = recover(Problem.of(X, teacher.predict(X) + noise, 1, "tanh"), Start(teacher, "squared"), 0.0)
    left = (found.network.predict(X) - teacher.predict(X) - noise) ** 2
    first, second = np.sqrt(np.sum(left, axis=0) / (len(X) - found.verdict.facts.n_parameters / 2))
    assert f"its standard deviations are {first:.3g} and {second:.3g} in the targets" in found.reason


def test_a_linear_truth_is_called_linear():
    y = X @ [1.0, 2.0, -1.0] + 4 + 0.3 * NOISE
    est = PlantedRegressor(1, activation="tanh", fit_bias=True, fit_intercept=True, random_state=0).fit(X, y)
    assert (est.result_.status, "no neuron is needed" in est.result_.reason) == ("ambiguous", True)
    facts = est.verdict_.facts
    assert facts.linear_loss == pytest.approx(np.sum(0.09 * NOISE**2) / np.sum((y - y.mean()) ** 2), rel=0.1)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_superfluous_neurons_are_counted(noise):
    teacher = Network([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], [1.0, -1.0])
    y = teacher.predict(X) + noise * NOISE
    wide = Network([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 2.0, 2.0]], [1.0, -0.5, -0.25])
    problem = Problem.of(X, y, 3)
    network = refine(problem, wide).network
    data = observations(problem.survey)
    errors = errors_of(problem, network, data, noise**2)
    assert fewer_neurons(problem, network, LeftOut.of(data, 300), errors.uncertainty).n_hidden == 2
    narrow = Problem.of(X, y, 2)
    own = refine(narrow, teacher).network
    about = errors_of(narrow, own, data, noise**2).uncertainty
    assert fewer_neurons(narrow, own, LeftOut.of(data, 300), about) is own
    verdict = judge(Facts(noise**2, np.inf if noise else 0.0, 300, 12, n_hidden=3, enough_neurons=2, p_value=0.5))
    assert (verdict.status, verdict.advice) == ("ambiguous", "Ask for n_hidden=2.")
    assert verdict.reason.startswith("2 distinct neurons explain")


def test_a_copied_column_leaves_other_errors_finite():
    teacher = Network([[1.0, 0.5, 0.0], [-0.5, 1.0, 1.0]], [1.0, -1.0])
    y = teacher.predict(X) + 0.1 * NOISE
    problem = Problem.of(np.column_stack([X, X[:, 0]]), y, 2)
    shift = np.array([[7.0, 0, 0], [3.0, 0, 0]])
    given = Network(np.column_stack([teacher.weights + shift, [-7.0, -3.0]]), teacher.output)
    network = shortest_weights(problem, refine(problem, given).network)
    np.testing.assert_allclose(network.weights[:, 0], network.weights[:, 3], rtol=1e-8)
    errors = errors_of(problem, network, observations(problem.survey), 0.01)
    np.testing.assert_array_equal(np.isinf(errors.uncertainty.weights), [[True, False, False, True]] * 2)
    assert "inputs 0, 3" in errors.undetermined


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("copied", [True, False])
def test_a_weight_equals_equal_rows_in_everything(copied, in_place):
    times = np.random.default_rng(3).integers(1, 4, 120)
    places = np.arange(120).repeat(times if in_place else times - 1)
    places = places if in_place else np.concatenate([np.arange(120), places])
    inputs = X[:120] if copied else np.round(X[:120])
    y = TANH.predict(inputs) + 0.2 * (NOISE[:120] if copied else np.round(NOISE[:120]))
    settings = {"n_hidden": 2, "activation": "tanh", "random_state": 0}
    first = PlantedRegressor(**settings).fit(inputs, y, sample_weight=times)
    second = PlantedRegressor(**settings).fit(inputs[places], y[places])
    assert observations(Survey.of(inputs, y, times.astype(float))).counted is not copied
    np.testing.assert_array_equal(first.network_.weights, second.network_.weights)
    np.testing.assert_array_equal(first.standard_errors_.covariance, second.standard_errors_.covariance)
    assert first.verdict_.p_value == second.verdict_.p_value
    assert (first.result_.status, first.result_.reason) == (second.result_.status, second.result_.reason)


def test_weights_that_count_nothing_leave_errors_alone():
    """A common factor of all weights says nothing about the noise."""
    y = TANH.predict(X) + 0.1 * NOISE
    one, two = (Problem.of(X, y, 2, "tanh", sample_weight=np.full(300, factor)) for factor in (1.0, 9.0))
    network = refine(one, TANH).network
    both = [errors_of(problem, network, observations(problem.survey), 0.01).uncertainty for problem in (one, two)]
    np.testing.assert_allclose(both[0].covariance, both[1].covariance, rtol=1e-9)


def test_errors_allow_for_uneven_noise():
    spread = np.exp(X[:, 0])
    y = TANH.predict(X) + 0.1 * spread * NOISE
    problem = Problem.of(X, y, 2, "tanh")
    network = refine(problem, TANH).network
    data = observations(problem.survey)
    assert uneven_noise(data, network) < 1e-4 < uneven_noise(Observations(X, TANH.predict(X) + 0.1 * NOISE), network)
    errors = errors_of(problem, network, data, 0.1)
    assert "differs with the inputs" in errors.words
    even = data._replace(y=network.predict(X) + 0.1 * NOISE)
    assert errors_of(problem, network, even, 0.1).words == ""


def test_the_residual_test_keeps_its_level_under_uneven_noise_and_weights():
    """60 data sets each at level 0.1: binomial(60, 0.1) exceeds 14 with probability 0.001."""
    low = np.zeros(2)
    for seed in range(60):
        draw = np.random.default_rng(seed)
        Z = draw.standard_normal((300, 3))
        y = TANH.predict(Z) + 0.1 * np.exp(Z[:, 0]) * draw.standard_normal(300)
        for j, weight in enumerate((None, draw.exponential(size=300))):
            data = Observations(Z, y, weight)
            problem = Problem.of(Z, y, 2, "tanh", sample_weight=weight)
            low[j] += residual_p_value(data, refine(problem, TANH).network, seed=seed) < 0.1
    assert np.all(low <= 14)


@pytest.mark.parametrize(
    ("kind", "value", "y"),
    [
        ("intercept", "intercept", Network([[1.0, 0.5, 0.0]], [2.0]).predict(X) + 5),
        ("activation", "tanh", 3 * np.tanh(2 * X[:, 0])),
        ("width", "2", Network([[1.0, 0.5, 0.0], [0.0, -1.0, 1.0]], [2.0, -1.0]).predict(X)),
        ("other", "", np.sin(4 * X[:, 0]) * np.sign(X[:, 1] * X[:, 2])),
    ],
)
def test_causes_of_a_misfit_are_told_apart(kind, value, y):
    problem = Problem.of(X, y, 1)
    network = refine(problem, Network([[1.0, 0.3, 0.1]], [1.0])).network
    cause, better = misfit_cause(problem, network)
    assert (cause.kind, cause.value, better) == (kind, value, None)
    assert cause.after < cause.before or kind == "other"


def test_a_failed_search_is_told_and_repeated():
    y = Network([[1.0, 0.5, 0.0], [0.0, -1.0, 1.0]], [2.0, -1.0]).predict(X)
    problem = Problem.of(X, y, 2)
    # Two neurons that are the same stay the same however they descend.
    one = refine(Problem.of(X, y, 1), Network([[1.0, 0.3, 0.1]], [1.0])).network
    poor = Network(np.repeat(one.weights, 2, axis=0), np.repeat(one.output, 2) / 2)
    cause, better = misfit_cause(problem, poor)
    assert cause.kind == "search"
    np.testing.assert_allclose(better.predict(X), y, atol=1e-6)


@pytest.mark.parametrize(
    ("cause", "word", "advice"),
    [
        (Cause("search", "", 0.5, 0.1), "the search failed", "random_state"),
        (Cause("intercept", "bias", 0.5, 0.1), "biases", "fit_bias=True"),
        (Cause("activation", "tanh", 0.5, 0.1), "the activation is wrong: tanh", "activation='tanh'"),
        (Cause("width", "4", 0.5, 0.1), "the width is too small: 4 neurons", "n_hidden=4"),
        (Cause("other", "", 0.5, 0.45), "hardly come from such a network", "another kind of model"),
        (Cause("other", "", 1.6, 0.16), "within its error): these rows are too few to tell", "approximation"),
        (Cause("other", "", 4e-6, 4e-6), "4e-06 of the variance", "another random_state"),
    ],
)
def test_every_cause_has_its_words(cause, word, advice):
    verdict = judge(Facts(0.5, np.inf, 1000, 10, p_value=0.0, cause=cause))
    assert verdict.status == "misfit"
    assert word in verdict.reason
    assert advice in verdict.advice


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("rival", ["mean", "linear"])
def test_a_rival_that_has_the_smaller_score_is_not_said_to_be_as_good(labels, rival):
    """A difference within its error speaks for the simpler model, but its score is smaller."""
    losses = {"network_loss": 0.5, f"{rival}_loss": 0.51}
    facts = Facts(0.5, np.inf, 300, 5, p_value=0.5, n_hidden=1, labels=labels, unbeaten=(rival,), **losses)
    reason = judge(facts).reason
    assert "not clearly better than" in reason
    assert "0.5, " in reason


def test_labels_have_their_rivals():
    network = Network([[2.0, 0.0, 1.0], [0.0, 2.0, -1.0]], [2.5, 2.5], "tanh")
    probability = 1 / (1 + np.exp(-network.predict(X)))
    labels = (rng.random(300) < probability).astype(float)
    problem = LabelProblem.of(X, labels, 2, "tanh", link="logit", free=Free())
    facts = label_held_out(problem, network, 8)
    assert facts["network_loss"] < facts["mean_loss"]
    assert "mean" not in facts["unbeaten"]
    noise = LabelProblem.of(X, (rng.random(300) < 0.5).astype(float), 2, "tanh", link="logit", free=Free())
    assert "mean" in label_held_out(noise, network, 8)["unbeaten"]
    assert judge(replace(Facts(0.9, np.inf, 300, 8, labels=True, p_value=0.5), **facts)).status != "misfit"


def test_logistic_regression_of_separable_labels_is_as_good_as_a_users_own():
    """Wine is told apart by one linear function: without a penalty its log-odds have no end."""
    wine = load_wine()
    problem = LabelProblem.of(wine.data, wine.target.astype(float), 1, "tanh", link="logit", n_classes=3, free=Free())
    spread = 1 / wine.data.std(axis=0)
    network = Network(0.1 * spread[None], np.array([[1.0], [0.0], [-1.0]]), "tanh")
    facts = label_held_out(problem, network, 15)
    users = make_pipeline(StandardScaler(), LogisticRegression())
    probability = cross_val_predict(users, wine.data, wine.target, cv=10, method="predict_proba")
    shares = np.bincount(wine.target) / 178
    assert facts["linear_loss"] < log_loss(wine.target, probability) / -np.sum(shares * np.log(shares)) + 0.05
    assert facts["linear_penalty"] > 0
    reason = judge(replace(Facts(0.9, np.inf, 178, 15, labels=True, p_value=0.5), **facts | {"unbeaten": ("linear",)}))
    assert "ℓ2-penalised" in reason.reason


def test_the_level_of_a_test_stands_beside_its_p_value():
    """p = 0.0072 speaks for no structure at the level 0.001, and p = 1e-5 against it."""
    found, none = (judge(Facts(0.1, np.inf, 300, 5, p_value=p)).reason for p in (1e-5, 0.0072))
    assert "(p = 1e-05, level 0.001)" in found
    assert "no structure was found in what is left (p = 0.0072, level 0.001)" in none


def test_scores_of_refits_say_what_they_are_of():
    """They stand beside scores of rows left out one by one, which are others."""
    cause = Cause("width", "3", 0.4, 0.1)
    reason = judge(Facts(0.4, np.inf, 300, 5, p_value=1e-9, n_hidden=2, network_loss=0.2, cause=cause)).reason
    assert "R² 0.9 instead of 0.6, both refitted to a part of the rows and scored on the rest" in reason


@pytest.mark.parametrize(("before", "after"), [(1.4e-4, 1.1e-5), (3e-4, 2e-4), (6e-4, 1e-9)])
def test_scores_that_differ_are_written_differently(before, after):
    verdict = judge(Facts(before, np.inf, 900, 5, p_value=0.0, n_hidden=1, cause=Cause("width", "2", before, after)))
    first, second = re.search(r"R² (.+) instead of (.+), both refitted", verdict.reason).groups()
    assert "R² 1 instead" not in verdict.reason
    assert first != second


def test_compared_networks_know_their_rivals():
    y = TANH.predict(X) + 0.1 * NOISE
    shown = compared(LeftOut.of(Observations(X, y), 300), TANH, 8, intercept=False)
    assert shown.network < shown.linear < shown.mean
    assert shown.unbeaten == ()


def test_rows_held_out_that_are_all_equal_say_nothing_of_a_cause():
    answers = []
    for row in range(3):
        y = np.zeros(60)
        y[row] = 1.0
        answers.append(misfit_cause(Problem.of(X[:60, :1], y, 1), Network([[1.0]], [0.1]))[0])
    assert None in answers


def test_advice_can_be_followed_from_where_the_user_stands():
    """Nobody is told to try what was compared already, or anything but more time where time ran out."""
    noisy = Facts(0.01, np.inf, 100, 10, p_value=0.4)
    assert judge(noisy).advice == "If the data has no noise, try more neurons or another activation."
    assert judge(replace(noisy, compared=("activation",))).advice == "If the data has no noise, try more neurons."
    assert judge(replace(noisy, compared=("activation", "n_hidden"))).advice == ""
    structure = replace(noisy, p_value=0.0, compared=("activation", "n_hidden"))
    assert judge(structure).advice == "Try another random_state."
    assert judge(replace(structure, agreeing_runs=2)).advice == "Use another kind of model."
    assert judge(replace(structure, late=True)).advice == "Give a larger time_budget."


def test_squares_that_cancel_are_written_by_orthogonal_rows():
    """A hyperbolic rotation far out is the same function, and its numbers hide what the rows determine."""
    far = np.cosh(7.0) * np.eye(2, 3) + np.sinh(7.0) * np.eye(2, 3)[::-1]
    network = Network(far, [1.0, -1.0], "quadratic")
    y = X[:, 0] ** 2 - X[:, 1] ** 2
    np.testing.assert_allclose(network.predict(X), y, atol=1e-7)
    problem = Problem.of(X, y, 2, "quadratic")
    near = orthogonal_squares(problem, network)
    np.testing.assert_allclose(near.predict(X), y, atol=1e-7)
    assert np.sum(np.abs(near.output) * np.sum(near.weights**2, axis=1)) < 3
    assert orthogonal_squares(problem, near) is near
    noisy = Problem.of(X, y + 0.1 * NOISE, 2, "quadratic")
    assert recover(noisy, Start(network, "squared"), 0.0).status == "estimated"


@pytest.mark.parametrize(
    ("kind", "asked"),
    [
        ("intercept", {"n_hidden": 2, "free": Free(intercept=True)}),
        ("width", {"n_hidden": 1, "free": Free(True, True)}),
        ("parts", {"n_hidden": 1}),
    ],
)
def test_causes_of_a_misfit_of_labels_are_told_apart(kind, asked):
    draws = np.random.default_rng(3)
    rows = draws.standard_normal((1200, 3))
    odds = 4 * np.tanh(2 * rows[:, 0] + 2) - 4 * np.tanh(rows[:, 1] - rows[:, 2] + 1)
    y = (draws.random(1200) < 1 / (1 + np.exp(-odds))).astype(float)
    problem = LabelProblem.of(rows, y, activation="tanh", link="logit", **asked)
    start = Network(np.eye(asked["n_hidden"], 3), np.ones(asked["n_hidden"]), "tanh")
    assert label_cause(problem, start)[0].kind == kind


def test_a_better_run_of_labels_is_taken_where_it_is_the_cause_of_a_misfit(monkeypatch):
    draws = np.random.default_rng(3)
    rows = draws.standard_normal((1500, 3))
    odds = 4 * np.tanh(2 * rows[:, 0]) - 4 * np.tanh(2 * (rows[:, 1] - rows[:, 2]))
    y = (draws.random(1500) < 1 / (1 + np.exp(-odds))).astype(float)
    problem = LabelProblem.of(rows, y, 2, "tanh", link="logit")
    # Two equal neurons stay so while they descend, up to rounding: they are left where they are.
    equal = problem.params(Network([[2.0, 0, 0], [2.0, 0, 0]], [2.0, 2.0], "tanh"))
    run = lbfgs(problem.objective(), equal, steps=5, tolerance=0.0)
    monkeypatch.setattr("planted.methods._label_causes.descended", lambda problem, network: network)
    missed, loss = problem.network(run.params), float(run.value)
    assert label_cause(problem, missed)[0].kind == "search"
    done = recover_labels(problem, Start(missed, "logit", loss, {"start": run}, {"searched_again": True}), 0.0)
    best = lbfgs(problem.objective(), problem.params(Network([[2.0, 0, 0], [0, 2.0, -2.0]], [4.0, -4.0], "tanh")))
    assert done.status == "estimated"
    assert loss > best.value + 0.05
    assert done.details["cross_entropy"] == pytest.approx(best.value, abs=1e-6)


def test_weights_of_classes_do_not_hide_the_cause_of_a_misfit_of_labels():
    """Network and rivals are compared in the population that the weights make."""
    draws = np.random.default_rng(3)
    rows, factors = draws.standard_normal((800, 2)), np.array([1.0, 3.0])
    y = (draws.random(800) < 1 / (1 + np.exp(-4 * np.tanh(2 * rows[:, 0] + 2)))).astype(float)
    weight = factors[y.astype(int)]
    problem = LabelProblem.of(rows, y, 1, "tanh", link="logit", sample_weight=weight, class_weight=factors)
    assert label_cause(problem, Network([[2.0, 0.0]], [2.0], "tanh"))[0].kind == "intercept"


@pytest.mark.parametrize("estimator", [PlantedClassifier(1, "tanh", link="logit"), PlantedConvRegressor(3)])
def test_time_budgets_of_labels_and_filters_are_kept_and_told(estimator):
    y = np.tanh(X @ [1.0, 2.0, 0.0]) + 0.1 * NOISE
    target = (y > 0).astype(float) if isinstance(estimator, PlantedClassifier) else y
    est = estimator.set_params(time_budget=1e-6, random_state=0).fit(X, target)
    assert "stopped to keep the time budget" in est.result_.reason
    assert est.result_.advice.startswith("Give a larger time_budget.")
    with pytest.raises(ValueError, match="time_budget must be a positive number"):
        estimator.set_params(time_budget=-1).fit(X, target)


def test_a_linear_function_that_leaves_structure_is_said_to_be_the_best_that_was_compared():
    said = judge(Facts(0.1, np.inf, 100, 4, p_value=1e-9, without_neurons="linear"))
    assert said.status == "misfit"
    assert "nothing that was compared explains held-out rows clearly better than this linear function" in said.reason
    assert said.advice == "Take it as an approximation, or use another kind of model."


def test_labels_that_leave_structure_are_searched_again():
    """From a poor network, whose residuals show it, a second search leads to the best one, from which there is none."""
    draw = np.random.default_rng(0)
    Z = draw.standard_normal((3000, 2))
    labels = (draw.random(3000) < 1 / (1 + np.exp(-3 * np.tanh(2 * Z[:, 0])))).astype(float)
    problem = LabelProblem.of(Z, labels, 1, "tanh", link="logit")
    poor = Network([[0.3, 1.0]], [1.0], "tanh")
    loss = float(problem.objective().value(problem.params(poor)))
    again = recover_labels(problem, replace(LABELS["logit"].start(problem), network=poor, loss=loss), 0.0)
    assert again.details["searched_again"]
    best = LABELS["logit"](problem)
    assert "searched_again" not in best.details
    assert (again.status, best.status) == ("estimated", "estimated")
    assert again.details["cross_entropy"] == pytest.approx(best.details["cross_entropy"], rel=1e-8)


def test_a_linear_function_of_one_hot_columns_and_an_intercept_is_left_open():
    rng = np.random.default_rng(0)
    X = np.eye(4)[rng.integers(4, size=300)]
    y = X @ [1.0, 2.0, -1.0, 0.5] + 3.0 + 0.3 * rng.standard_normal(300)
    result = PlantedRegressor(fit_intercept=True, fit_skip=True, random_state=0).fit(X, y).result_
    assert (result.status, result.network.n_hidden) == ("ambiguous", 0)
    assert "1 of 5 directions of the parameters is left open" in result.reason


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_advice_on_one_hot_columns_beside_biases_names_what_to_drop(noise):
    codes = np.eye(3)[np.random.default_rng(1).integers(0, 3, 300)]
    inputs = np.column_stack([X, codes])
    y = np.maximum(inputs @ [1.0, 0.5, -1.0, 0.5, -0.5, 0.2], 0.0) + noise * NOISE
    asked = {"activation": "relu", "fit_bias": True, "fit_intercept": True, "random_state": 0}
    result = PlantedRegressor(1, **asked).fit(inputs, y).result_
    assert result.status == "ambiguous"
    assert result.advice == (
        "Drop one of the inputs 3, 4, 5, a combination of which is constant, or set fit_bias=False."
    )
    # Both can be followed.
    assert PlantedRegressor(1, **asked).fit(inputs[:, :-1], y).verdict_.success
    assert PlantedRegressor(1, **asked | {"fit_bias": False}).fit(inputs, y).verdict_.success


def test_advice_on_dependent_inputs_tells_copies_from_constants():
    free = Free(skip=True, intercept=True)
    copied = np.column_stack([X, X[:, 0] - X[:, 1]])
    words = dependence_advice(Survey.of(copied, NOISE), free, ("a", "b", "c", "d"))
    assert words == "Drop one of the inputs a, b, d, of which some follow from the others."
    constant = np.column_stack([X, np.ones(300)])
    assert dependence_advice(Survey.of(constant, NOISE), free) == "Drop the input 3, which is constant."
    assert dependence_advice(Survey.of(X, NOISE), Free(bias=True)) == ""


def test_advice_on_several_dependences_names_inputs_that_are_enough_to_drop():
    inputs = np.column_stack([np.ones(300), X[:, 0], 2 * X[:, 0], X[:, 1], X[:, 1], X[:, 2]])
    names = ("const", "dose", "dose2", "age", "age_copy", "other")
    survey = Survey.of(inputs, NOISE)
    words = "Drop the inputs const, dose2, age_copy, which follow from the others."
    assert dependence_advice(survey, Free(bias=True), names) == words
    assert dependence_words(survey, Free(bias=True), names) == (
        "const = 1, dose2 = 2·dose and age_copy = age in all rows"
    )
    assert dependence_advice(Survey.of(inputs[:, [1, 3, 5]], NOISE), Free(bias=True)) == ""
    # Without biases the constant is one more input.
    words = "Drop the inputs dose2, age_copy, which follow from the others."
    assert dependence_advice(survey, Free(), names) == words
    assert dependence_advice(Survey.of(inputs[:, [0, 1, 3, 5]], NOISE), Free()) == ""


def test_a_combination_of_inputs_is_named():
    inputs = np.column_stack([X, X @ [1.0, 1.0, -2.0]])
    result = PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(
        inputs, np.maximum(X @ [1.0, 0.5, -1.0], 0.0)
    )
    assert "x3 = x0 + x1 − 2·x2 in all rows, and 1 of 4 directions of the parameters is left open" in (
        result.verdict_.reason
    )


def test_rows_that_alone_are_not_explained_are_counted():
    """Three rows of four hundred are wrong, where the only neuron is silent, so that the others are explained still."""
    data = datasets.make_planted(400, 3, 1, random_state=3)
    silent = np.flatnonzero(data.y == 0)[:3]
    y = data.y.copy()
    y[silent] = 1.0
    with pytest.warns(ConvergenceWarning):
        est = PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(data.X, y)
    assert est.result_.status == "misfit"
    assert "what is left is in 3 of 400 rows, and all others are explained to rounding" in est.result_.reason
    assert "hardly come" not in est.result_.reason


def test_a_linear_part_may_be_a_neuron_whose_kink_no_row_has_passed():
    X = np.random.default_rng(1).standard_normal((300, 2))
    y = np.maximum(X @ [1.0, -1.0], 0) + np.maximum(X @ [0.5, 0.5] + 9, 0)
    est = PlantedRegressor(1, activation="relu", fit_skip=True, fit_intercept=True, random_state=0).fit(X, y)
    assert est.result_.status == "recovered"
    assert "determine it up to neurons that are linear in all of these rows" in est.result_.reason
    alone = PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False, fit_skip=False, random_state=0)
    assert "up to" not in alone.fit(X, np.maximum(X @ [1.0, -1.0], 0)).result_.reason


def test_quadratic_neurons_are_determined_up_to_a_rotation():
    X = np.random.default_rng(1).standard_normal((300, 3))
    y = X[:, 0] * X[:, 1]
    est = PlantedRegressor(2, activation="quadratic", fit_bias=False, fit_intercept=False, random_state=0).fit(X, y)
    assert est.result_.status == "recovered"
    assert "determine it up to a rotation of quadratic neurons" in est.result_.reason
    # Another factorisation of the same matrix is the same function.
    turned = Network([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]], [0.25, -0.25], "quadratic")
    assert est.predict(X) == pytest.approx(turned.predict(X), abs=1e-9)
    noise = 0.1 * np.random.default_rng(2).standard_normal(300)
    noisy = PlantedRegressor(2, activation="quadratic", fit_bias=False, fit_intercept=False, random_state=0)
    reason = noisy.fit(X, y + noise).result_.reason
    assert "the rows determine the weights up to a rotation" in reason
    assert "kink" not in reason
    one = PlantedRegressor(1, activation="quadratic", fit_bias=False, fit_intercept=False, random_state=0)
    assert "rotation" not in one.fit(X, X[:, 0] ** 2).result_.reason


def test_few_distinct_rows_are_not_called_noise():
    """A function of three bits, seen three hundred times: eight distinct rows."""
    bits = np.random.default_rng(5).integers(0, 2, (300, 3)).astype(float)
    with pytest.warns(ConvergenceWarning, match="8 distinct rows are too few to tell a dependence"):
        est = PlantedRegressor(random_state=0).fit(bits, np.maximum(bits[:, 0], bits[:, 1]))
    assert "only noise" not in est.result_.reason


@pytest.mark.parametrize(
    ("network", "said"), [(0.42, "too few to tell whether neurons"), (0.46, "no neuron is needed")]
)
def test_a_better_score_that_may_be_chance_is_no_evidence_against_neurons(network, said):
    losses = {"network_loss": network, "linear_loss": 0.45, "mean_loss": 1.0}
    facts = Facts(0.4, np.inf, 600, 4, p_value=0.5, n_hidden=1, labels=True, unbeaten=("linear",), **losses)
    assert said in judge(facts).reason


def test_the_mean_of_rows_too_few_to_test_is_no_estimate():
    """Fifteen rows of two neurons, of which nothing is clearly better than the mean."""
    verdict = judge(Facts(1.0, np.inf, 15, 1, without_neurons="constant", n_hidden=0))
    assert verdict.status == "ambiguous"
    assert "these rows are too few to tell their mean from a network with neurons" in verdict.reason
    assert judge(Facts(1.0, np.inf, 100, 1, p_value=0.4, without_neurons="constant")).status == "estimated"


def test_the_size_of_the_noise_allows_for_the_numbers_that_were_fitted():
    said = []
    for seed in range(8):
        data = make_planted(80, 15, 1, noise=0.3, random_state=seed)
        facts = recover(Problem.of(data.X, data.y, 1), Start(data.teacher, "squared"), 0.0).verdict.facts
        said.append(float(re.search(r"standard deviation is ([\d.]+)", facts.noise)[1]))
    assert np.mean(said) == pytest.approx(0.3, rel=0.06), said


def test_noise_beside_neurons_that_cancel_is_not_called_rounding():
    draws = np.random.default_rng(0)
    X = draws.standard_normal((400, 2))
    network = Network([[1.0, 0.0], [-1.0, 1e-6]], [1e6, 1e6], "erf")
    clean = network.predict(X)
    noisy = Observations(X, clean + 0.1 * draws.standard_normal(400))
    assert np.mean(residual_sizes(network, noisy.X, noisy.y) > 1e-5) < 0.1
    assert _odd_rows(network, noisy) == ""
    assert _odd_rows(network, Observations(X, clean + 0.1 * (np.arange(400) < 3))) == "3 of 400 rows"


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_an_approximation_are_not_apart(seed):
    """Residuals of every size, of which some are above what rounding makes of a row."""
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((300, 2))
    network = Network([[1.0, 0.0]], [1.0], "tanh")
    left = np.geomspace(1e-9, 2e-6, 300)
    left[-5:] = 2e-5
    wrong = network.predict(X) + left
    assert _odd_rows(network, Observations(X, wrong)) == ""
    close = network.predict(X) + 1e-8 * draws.standard_t(3, 300)
    assert _odd_rows(network, Observations(X, close)) == ""
    close[:3] += 0.1
    assert _odd_rows(network, Observations(X, close)) == "3 of 300 rows"


@pytest.mark.parametrize("seed", [21, 22])
def test_neurons_that_few_rows_cannot_determine_are_not_compared(seed):
    """They explained every row of a linear function by chance: more numbers than rows to fit."""
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((90, 60))
    est = PlantedRegressor(random_state=0).fit(X, X[:, 0] + 0.1 * draws.standard_normal(90))
    assert est.network_.n_hidden == 0
    assert "one linear function" in est.result_.reason
    fresh = draws.standard_normal((1000, 60))
    assert est.score(fresh, fresh[:, 0]) > 0.9


def test_one_input_that_goes_with_the_target_is_seen_among_more_inputs_than_rows():
    draws = np.random.default_rng(21)
    X = draws.standard_normal((30, 60))
    assert linear_p_value(X, X[:, 0] + 0.1 * draws.standard_normal(30)) < 1e-9
    tables = [(draws.standard_normal((30, 60)), draws.standard_normal(30)) for _ in range(200)]
    # 5 % of 200 have a standard deviation of 3.
    assert sum(linear_p_value(*table) < 0.05 for table in tables) <= 20
    est = PlantedRegressor(random_state=0).fit(X, X[:, 0] + 0.1 * draws.standard_normal(30))
    assert "they are not only noise" in est.result_.reason


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_more_rows_are_no_advice_where_all_inputs_have_been_seen(noise):
    """Sixteen inputs, of which each came some twenty times, leave a direction of two quadratic neurons open."""
    draws = np.random.default_rng(1)
    bits = draws.integers(0, 2, (300, 4)).astype(float)
    y = bits[:, 0] * bits[:, 1] + bits[:, 2] + noise * draws.standard_normal(300)
    est = PlantedRegressor(1, "quadratic", fit_skip=True, fit_bias=False, random_state=0)
    result = est.fit(bits, y).result_
    assert result.status == "ambiguous"
    assert "more rows may not help, since each of the 16 distinct inputs came more than once" in result.reason
    assert result.advice.startswith("Take the network as one of several that explain these rows as well")
    apart = bits + 0.3 * draws.standard_normal(bits.shape)
    assert "may not help" not in est.fit(apart, apart[:, 0] * apart[:, 1] + apart[:, 2]).result_.reason


@pytest.mark.parametrize("state", range(3))
def test_neurons_that_explain_nothing_are_not_called_as_good_as_others(state):
    """Four distinct rows, of which none can be left out."""
    X = np.random.default_rng(1).integers(0, 2, (200, 2)).astype(float)
    y = (X[:, 0] != X[:, 1]) * 1.0
    est = PlantedRegressor(2, "relu", random_state=state).fit(X, y)
    assert "explains the rows left out as well" not in est.result_.reason
    assert est.score(X, y) > 0.999999 or est.result_.advice.startswith("Try another random_state")
    fit = PlantedRegressor(1, "relu", random_state=state).fit(X, y)
    alone, by_itself = fit.result_, fit.network_.intercept == 0
    # Of two minima that one neuron has, rounding decides which a start ends in.
    said = (
        ["4 distinct rows are too few", "rows that are equal count as one"] if by_itself else ["4 distinct inputs came"]
    )
    assert all(sentence in alone.reason for sentence in said)
    more = "Give rows with other inputs, or, if there is no noise, ask for more neurons."
    several = "Take the network as one of several that explain these rows as well, or give rows with other inputs."
    assert alone.advice == (more if by_itself else several)


@pytest.mark.parametrize("state", range(3))
def test_rows_without_noise_whose_inputs_all_came_before_are_not_asked_for_again(state):
    bits = np.random.default_rng(state).integers(0, 2, (200, 2)).astype(float)
    y = (bits[:, 0] != bits[:, 1]) * 1.0
    result = PlantedRegressor(random_state=state).fit(bits, y).result_
    assert result.advice == "Give rows with other inputs, or, if there is no noise, set n_hidden."
    assert PlantedRegressor(2, random_state=state).fit(bits, y).score(bits, y) > 0.999999


@pytest.mark.parametrize(
    ("activation", "n_hidden"), [("tanh", 1), ("tanh", 2), ("relu", 3), ("quadratic", 1), ("sigmoid", 3)]
)
def test_a_linear_function_that_explains_all_is_advised_whatever_the_network_does(activation, n_hidden):
    for seed in (3, 4):
        rows = np.random.default_rng(seed).standard_normal((300, 2))
        y = rows @ [1.0, 2.0] + 0.1
        result = PlantedRegressor(n_hidden, activation, random_state=0).fit(rows, y).result_
        assert result.status == "recovered" or result.advice == "Use linear regression."
        assert "no neuron is needed" in result.reason


def test_what_is_rounding_is_not_too_few_rows_to_test():
    facts = {"n_hidden": 1, "different_rows": 600}
    said = judge(Facts(2e-26, 1e-3, 600, 3, **facts)).reason
    assert "what is left is rounding" in said
    assert "too few rows" not in said
    assert "there are too few rows to test what is left" in judge(Facts(1e-3, np.inf, 600, 3, **facts)).reason
