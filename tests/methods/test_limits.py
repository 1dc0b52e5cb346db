"""What is said of neurons that rows leave open though no input repeats another."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from planted import Network, PlantedClassifier, PlantedRegressor
from planted.certificates import uncertainty
from planted.methods import Free, LabelProblem, Problem, Start, recover
from planted.methods._collinear import dependence_advice
from planted.methods._label_held_out import _linear_losses
from planted.methods._limits import Limit, limit_of
from planted.methods._logistic import Logistic
from planted.methods._row_facts import neuron_numbers
from planted.objectives import LogisticLikelihood, Squared
from planted.rows import Survey

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 2))
PENALTY = "keep weights finite with a penalty such as alpha=0.001."


def found(network):
    labels = (rng.random(400) < 0.5).astype(float)
    loss = LogisticLikelihood(X, labels, network.activation, bias=network.bias is not None, intercept=True)
    params = loss.model.params(network)
    return limit_of(X, uncertainty(loss, params), labels=True)


@pytest.mark.parametrize(
    ("network", "reason", "advice"),
    [
        (
            Network([[1e-4, 2e-4]], [1e4], "tanh", intercept=0.1),
            "neuron 1 is linear in these rows",
            "Use logistic regression.",
        ),
        (
            Network([[1e-4, 2e-4], [2.0, 0.0]], [1e4, 1.0], "tanh", intercept=0.1),
            "neuron 1 is linear in these rows",
            f"Give more rows, ask for n_hidden=1, or {PENALTY}",
        ),
        (
            Network([[0.5, 1.0]], [1e7], "sigmoid", bias=[-18.0], intercept=0.1),
            "these rows have only the tail of neuron 1, which is an exponential function with any output",
            f"Give more rows, or {PENALTY}",
        ),
        (
            Network([[1.0, 2.0], [1.0, 2.001]], [900.0, -900.0], "tanh", intercept=0.1),
            "neurons 1 and 2 all but coincide, and their outputs cancel",
            f"Give more rows, ask for n_hidden=1, or {PENALTY}",
        ),
        (
            Network([[2e5, 1e5]], [1e-5], "softplus", intercept=0.1),
            "neuron 1 is a kink in these rows, whatever the length of its weights",
            f"Give more rows, or {PENALTY}",
        ),
        (
            Network([[20.0, 10.0]], [1e6], "sigmoid", intercept=0.1),
            "neuron 1 tells some labels apart without error, so that the likeliest weights have no end",
            f"Give more rows, or {PENALTY}",
        ),
    ],
)
def test_ends_of_the_parameters_are_named(network, reason, advice):
    limit = found(network)
    assert (limit.reason, limit.advice) == (reason, advice)


@pytest.mark.parametrize(("output", "cancel"), [([1.3, 1.7], ""), ([900.0, -900.0], ", and their outputs cancel")])
def test_outputs_of_one_sign_do_not_cancel_and_fewer_neurons_are_no_advice(output, cancel):
    """Whether fewer neurons explain real targets as well is measured, and said elsewhere: otherwise it is no advice."""
    network = Network([[1.0, 2.0], [1.0, 2.0 + 1e-9]], output, "tanh")
    loss = Squared(X, network.predict(X), activation="tanh")
    limit = limit_of(X, uncertainty(loss, loss.model.params(network)), labels=False)
    assert limit.reason == f"neurons 1 and 2 all but coincide{cancel}"
    assert limit.advice == ""


def test_neurons_are_called_what_the_table_calls_them():
    """The second row is linear in these rows and the stronger neuron, whatever the order of the rows."""
    network = Network([[1.0, 0.5], [1e-4, 2e-4]], [0.3, 1e5], "tanh", intercept=0.1)
    turned = network.replace(weights=network.weights[::-1], output=network.output[::-1])
    assert [found(one).reason for one in (network, turned)] == ["neuron 1 is linear in these rows"] * 2


def test_numbers_are_those_of_the_table():
    teacher = Network([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [1.0, 3.0, 2.0])
    est = PlantedRegressor(3, "relu", fit_bias=False, fit_intercept=False, random_state=0).fit(X, teacher.predict(X))
    shown = est.result_.uncertainty.network
    numbers = neuron_numbers(shown, X)
    table = [part["output"][0] * np.hypot(part["x0"][0], part["x1"][0]) for part in est.summary().parts]
    spread = X.std(axis=0)
    own = shown.output * np.linalg.norm(shown.weights * spread, axis=1)
    assert np.allclose([own[numbers.index(place)] for place in (1, 2, 3)], table)


def test_neurons_that_rows_determine_are_at_no_end():
    assert found(Network([[1.0, 0.5], [-0.5, 1.0]], [1.0, 2.0], "tanh", intercept=0.1)).reason == ""


def test_weighted_classes_of_a_linear_truth_are_not_blamed_on_the_inputs():
    """A tanh neuron of linear log-odds has weights that shrink and an output that grows, with class weights or none."""
    rows = np.random.default_rng(3).standard_normal((1500, 1))
    y = np.where(np.random.default_rng(4).random(1500) < expit(0.7 * rows[:, 0] - 1), "yes", "no")
    for weight in (None, "balanced"):
        est = PlantedClassifier(1, "tanh", link="logit", class_weight=weight, random_state=0).fit(rows, y)
        assert est.result_.status == "ambiguous"
        assert "not clearly better than logistic regression" in est.result_.reason
        assert "no neuron is needed" in est.result_.reason
        assert est.result_.advice == "Use logistic regression, or give more rows."


def test_labels_that_a_neuron_tells_apart_on_one_side_are_not_called_noise():
    """Beyond a threshold one class alone occurs: the likelihood has no maximum, and rows left out say nothing."""
    rows = np.random.default_rng(5).standard_normal((300, 1))
    below = np.random.default_rng(6).random(300) < 0.5
    y = np.where(rows[:, 0] > 0.8, 2, below.astype(int))
    for weight in (None, "balanced"):
        est = PlantedClassifier(1, "sigmoid", True, link="logit", class_weight=weight, random_state=0).fit(rows, y)
        assert est.result_.status == "ambiguous"
        # How far the descent runs before it stops is a matter of rounding.
        ends = "no end", "no finite minimiser", "left open, in the weights of neuron 1"
        assert any(words in est.result_.reason for words in ends)
        assert "noise" not in est.result_.reason
        assert "repeat" not in est.result_.advice
    kept = PlantedClassifier(1, "sigmoid", True, link="logit", alpha=0.001, random_state=0).fit(rows, y)
    assert "no end" not in kept.result_.reason


def test_rows_of_weighted_classes_are_left_out_with_their_weight():
    few, codes = X[:60], (rng.random(60) < expit(X[:60, 0] - 1)).astype(float)
    factors = np.array([0.5, 3.0])
    problem = LabelProblem.of(
        few, codes, 1, "tanh", link="logit", free=Free(intercept=True),
        sample_weight=factors[codes.astype(int)], class_weight=factors,
    )  # fmt: skip
    one_by_one = []
    for i in range(60):
        others = np.delete(np.arange(60), i)
        fit = LogisticRegression(C=1e6, max_iter=1000)
        fit.fit(few[others], codes[others], sample_weight=factors[codes[others].astype(int)])
        one_by_one.append(-fit.predict_log_proba(few[[i]])[0, int(codes[i])])
    whole = LogisticRegression(C=1e6, max_iter=1000).fit(few, codes, sample_weight=factors[codes.astype(int)])
    design = np.column_stack([np.ones(60), few])
    regression = Logistic(design, np.column_stack([whole.intercept_, whole.coef_]), 0.0)
    left_out = _linear_losses(problem, regression, np.arange(60))
    counted = _linear_losses(replace(problem, class_weight=None), regression, np.arange(60))
    error = np.abs(left_out - one_by_one).max()
    # One Newton step is not the whole way.
    assert error < 0.1
    assert np.abs(counted - one_by_one).max() > 3 * error


def test_intervals_of_neurons_that_are_hardly_known_are_called_approximate():
    """Two nearly parallel neurons: normal intervals cover too little there, whatever information they are from."""
    noise = np.random.default_rng(1).standard_normal(400)
    near = Network([[1.0, 0.0], [0.97, 0.25]], [1.0, -1.0])
    far = Network([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    said = []
    for teacher in (near, far):
        problem = Problem.of(X, teacher.predict(X) + 0.3 * noise, 2)
        said.append(recover(problem, Start(teacher, "squared"), 0.0).verdict.reason)
    assert "known to a third or worse, so that intervals are approximate" in said[0]
    assert "approximate" not in said[1]


def test_inputs_that_all_but_repeat_others_are_named():
    near = np.column_stack([X, X[:, 0] + 1e-6 * rng.standard_normal(400)])
    words = dependence_advice(Survey.of(near, np.zeros(400)), Free(), ("a", "b", "c"))
    assert words == "Drop one of the inputs a, c, of which some all but follow from the others."
    shifted = X + 1e5
    assert dependence_advice(Survey.of(shifted, np.zeros(400)), Free(bias=True)) == ""


def test_inputs_of_zeros_are_said_to_be_zero(recwarn):
    generator = np.random.default_rng(5600)
    rows = generator.standard_normal((100, 3))
    target = np.maximum(rows[:, 0] + 0.3, 0) + 0.1 * generator.standard_normal(100)
    inputs = np.column_stack([rows, np.zeros(100), 2 * rows[:, 0]])
    result = PlantedRegressor(1, "relu", fit_bias=True, fit_intercept=False, random_state=0).fit(inputs, target).result_
    assert "x3 = 0 and x4 = 2·x0 in all rows" in result.reason
    assert result.advice == "Drop the inputs 3, 4, which follow from the others."
    assert not [one for one in recwarn if one.category is RuntimeWarning]


@pytest.mark.parametrize(("units", "origin"), [(1.0, 0.0), ([1e6, 1.0], 0.0), (1.0, 1e4)])
def test_neurons_coincide_in_the_rows_whatever_the_units_and_the_origin_of_inputs(units, origin):
    inputs = X * units + origin
    labels = np.arange(400) % 2.0
    weights = np.array([[1.0, 0.01], [-0.2, 0.01]]) / units
    network = Network(weights, [1.0, 1.0], "tanh", bias=-weights.sum(axis=1) * origin, intercept=0.1)
    loss = LogisticLikelihood(inputs, labels, "tanh", bias=True, intercept=True)
    errors = uncertainty(loss, loss.model.params(network))
    left_open = replace(errors, errors=errors.errors | {"weights": np.full((2, 2), np.inf)})
    assert "coincide" not in limit_of(inputs, left_open, labels=True).reason


@pytest.mark.parametrize("seed", range(3))
def test_a_small_neuron_whose_linear_part_cancels_is_no_linear_function(seed):
    """Beside a linear part a short neuron with a large output is a cubic function, of which a line explains little."""
    draws = np.random.default_rng(seed)
    x = draws.standard_normal((300, 1))
    y = x[:, 0] ** 3 - x[:, 0] + 0.1 * draws.standard_normal(300)
    start = Network([[1e-3]], [-3e9], "tanh", skip=[3e6 - 1])
    found = recover(Problem.of(x, y, 1, "tanh", free=Free(skip=True)), Start(start, "squared"), 0.0).verdict
    assert "neuron 1 is a cubic function in these rows" in found.reason
    assert found.advice.startswith("Take it as a cubic function")


def test_a_linear_neuron_beside_others_is_a_linear_part():
    network = Network([[1e-5, 2e-5], [0.0, 3.0]], [1e5, 1.0], "tanh")
    y = network.predict(X) + 0.05 * np.random.default_rng(1).standard_normal(400)
    loss = Squared(X, y, activation="tanh")
    limit = limit_of(X, uncertainty(loss, loss.model.params(network)), labels=False, survey=Survey.of(X, y))
    assert limit == Limit("neuron 1 is linear in these rows", "Ask for n_hidden=1 and fit_skip=True.")


def test_neurons_of_opposite_weights_are_said_to_be_opposite():
    network = Network([[1.0, 2.0], [-1.0, -2.0 - 1e-9]], [1.0, 3.0], "sigmoid", bias=[0.1, -0.1], intercept=0.0)
    loss = Squared(X, network.predict(X), activation="sigmoid", bias=True, intercept=True)
    limit = limit_of(X, uncertainty(loss, loss.model.params(network)), labels=False)
    assert limit.reason == "neurons 1 and 2 are all but opposite, and their outputs cancel"


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_a_tail_alone_are_to_be_taken_as_an_exponential_function(seed):
    """More rows like these are of the tail, too."""
    rows = np.random.default_rng(seed).standard_normal((300, 2))
    start = Network([[1.0, 0.3]], [np.exp(20.0)], "softplus", bias=[-20.0], intercept=0.0)
    y = start.predict(rows) + 0.1 * np.random.default_rng(seed + 10).standard_normal(300)
    free = Free(bias=True, intercept=True)
    found = recover(Problem.of(rows, y, 1, "softplus", free=free), Start(start, "squared"), 0.0).verdict
    assert "these rows have only the tail of neuron 1" in found.reason
    assert found.advice == "Take it as an exponential function, or give rows where it would not be one."
