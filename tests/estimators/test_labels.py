"""Log-odds and softmax networks: recovery up to symmetry, errors, weights of rows and classes, penalties, the door."""

import json
import re

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.stats import kstest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from planted import Network, PlantedClassifier, activations, match, objectives
from planted.certificates import uncertainty
from planted.cli._main import app
from planted.methods import Candidate, Choice, Free, LabelProblem, choose_label_network
from planted.methods._label_causes import label_cause
from planted.methods._label_contest import Contest
from planted.methods._label_runaway import runaway
from planted.methods._label_search import searched_rows
from planted.methods._label_split import content_keys, held_out, keyed_rows
from planted.methods._label_test import label_p_value
from planted.methods._logistic import logistic_regression
from planted.rows import Survey

TWO = Network([[2.0, 0.5], [-0.5, 1.5]], [2.5, -2.0], "tanh", bias=[0.3, -0.2], intercept=0.2)
THREE = Network(
    [[2.0, 0.5], [-0.5, 1.5]], [[2.0, 0.0], [-1.0, 1.5], [-1.0, -1.5]], "tanh", intercept=[0.5, -0.25, -0.25]
)


def drawn(network, n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, network.n_features))
    scores = network.predict(X)
    if scores.ndim == 1:
        return X, (rng.random(n) < expit(scores)).astype(int)
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


@pytest.fixture(scope="module")
def two():
    X, y = drawn(TWO, 6000)
    return X, y, PlantedClassifier(2, "tanh", True, link="logit", random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def three():
    X, y = drawn(THREE, 4000)
    names = np.array(["red", "green", "blue"])[y]
    return X, names, PlantedClassifier(2, "tanh", random_state=0).fit(X, names)


# Recovery.


def fisher_error(network, X, free):
    """√tr of the inverse Fisher information of the weights over ‖weights‖, at the teacher."""
    several = None if network.output.ndim == 1 else network.n_outputs
    model = objectives.Dense(network.activation, n_outputs=several, centred=several is not None, **free)
    loss = objectives.Softmax() if several else objectives.BernoulliLogit()
    rows = objectives.LogisticLikelihood(X, np.zeros(len(X))).rows
    return uncertainty(objectives.Fit.composed(rows, model, loss), model.params(network)).expected_error


def test_log_odds_of_two_classes(two):
    X, _, est = two
    assert est.result_.status == "estimated"
    assert est.link_ == "logit"
    bound = fisher_error(TWO, X, {"bias": True, "intercept": True})
    # Six weights and biases: the error over the bound is about a χ₆/√6, below 2 with probability 1 − 1e-4.
    assert match(est.network_, TWO).weight_error < 2 * bound
    assert est.result_.details["expected_error"] == pytest.approx(bound, rel=0.5)
    assert est.certificate_.kind == "local minimum"
    assert est.standard_errors_.n_parameters == 9


def test_three_classes_by_name_are_centred(three):
    X, names, est = three
    assert list(est.classes_) == ["blue", "green", "red"]
    assert est.result_.status == "estimated"
    order = [2, 1, 0]
    teacher = THREE.replace(output=THREE.output[order], intercept=np.asarray(THREE.intercept)[order])
    assert match(est.network_, teacher).weight_error < 2 * fisher_error(teacher, X, {"intercept": True})
    np.testing.assert_allclose(est.network_.output.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.sum(est.network_.intercept), 0, atol=1e-12)
    # Four weights, and two free outputs a neuron and two intercepts.
    assert est.standard_errors_.n_parameters == 4 + 2 * 2 + 2
    proba = est.predict_proba(X)
    np.testing.assert_allclose(proba, softmax(est.network_.predict(X), axis=1))
    assert est.score(X, names) == np.mean(est.predict(X) == names) > 0.6


def test_a_linear_softmax_is_multinomial_regression():
    """One neuron of each sign of a linear φ spans linear log-odds: probabilities equal those of scikit-learn's."""
    X, y = drawn(THREE, 600)
    est = PlantedClassifier(2, lambda z: z, link="logit", restarts=0, random_state=0)
    with pytest.warns(ConvergenceWarning):
        est.fit(X, y)
    other = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(est.predict_proba(X), other.predict_proba(X), atol=1e-5)


def test_boolean_labels_and_the_default_link(two):
    X, y, _ = two
    est = PlantedClassifier(1, "sigmoid", restarts=0, random_state=0).fit(X[:500], y[:500] == 1)
    assert est.link_ == "mean"
    assert est.predict(X[:3]).dtype == bool
    est = PlantedClassifier(1, "sigmoid", fit_intercept=True, restarts=0, random_state=0).fit(X[:500], y[:500])
    assert est.link_ == "logit"


def test_fisher_information_of_a_softmax_is_the_expected_hessian():
    X = np.random.default_rng(0).standard_normal((60, 2))
    p = softmax(THREE.predict(X), axis=1)
    # With the probabilities for targets the Hessian is its expectation, and the gradient zero.
    loss = objectives.SoftmaxLikelihood(X, p, "tanh", intercept=True)
    sure = uncertainty(loss, loss.model.params(THREE))
    hessian = loss.hessian(sure.estimate)
    across = np.linalg.qr(loss.model.gauge(sure.estimate).T)[0]
    inverse = np.linalg.pinv(hessian, rcond=1e-9, hermitian=True) / 60
    keep = np.eye(len(hessian)) - across @ across.T
    np.testing.assert_allclose(sure.covariance, keep @ inverse @ keep, rtol=1e-6, atol=1e-8)


def test_random_labels_are_a_misfit_or_worse_than_nothing():
    X, y = drawn(TWO, 1200)
    est = PlantedClassifier(1, "tanh", True, restarts=0, link="logit", random_state=0)
    with pytest.warns(ConvergenceWarning, match="misfit"):
        est.fit(X, y ^ (np.abs(X[:, 0] * X[:, 1]) > 0.5))


# The residual test.


@pytest.mark.parametrize("network", [TWO, THREE], ids=["two classes", "three classes"])
def test_p_values_of_the_right_model_are_uniform(network):
    values = []
    free = LabelProblem.of(*drawn(network, 10), 2, "tanh", link="logit", n_classes=network.n_outputs + (network is TWO))
    for seed in range(60):
        X, y = drawn(network, 800, seed)
        problem = LabelProblem.of(X, y, 2, "tanh", link="logit", n_classes=free.n_classes)
        values.append(label_p_value(problem, network, seed=seed))
    assert kstest(values, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(("network", "factors"), [(TWO, [1.0, 8.0]), (THREE, [1.0, 8.0, 0.5])], ids=["two", "three"])
def test_p_values_of_weighted_classes_are_uniform(network, factors):
    factors, values = np.array(factors), []
    shift = np.log(factors)
    weighted = network.replace(intercept=network.intercept + (shift[1] - shift[0] if network is TWO else shift))
    for seed in range(60):
        X, y = drawn(network, 400, seed)
        given = {"sample_weight": factors[y.astype(int)], "class_weight": factors, "n_classes": len(factors)}
        problem = LabelProblem.of(X, y, 2, "tanh", link="logit", free=Free(network is TWO, True), **given)
        values.append(label_p_value(problem, weighted, seed=seed))
    assert kstest(values, "uniform").pvalue > 1e-3
    assert np.mean(np.array(values) < 0.01) < 0.05


# Weights of rows and of classes.


def test_weights_are_repeated_rows(three):
    X, names, _ = three
    X, names = X[:400], names[:400]
    # As many rows repeated as there are, so that both fits are of one shape.
    weight = np.random.default_rng(1).permutation(np.repeat([0, 1, 3], [200, 100, 100]))
    settings = {"link": "logit", "fit_bias": True, "restarts": 0, "random_state": 0}
    weighted = PlantedClassifier(1, "tanh", **settings).fit(X, names, sample_weight=weight)
    repeated = PlantedClassifier(1, "tanh", **settings).fit(np.repeat(X, weight, axis=0), np.repeat(names, weight))
    np.testing.assert_allclose(weighted.network_.weights, repeated.network_.weights, rtol=1e-6)
    for part, error in weighted.standard_errors_.errors.items():
        np.testing.assert_allclose(error, repeated.standard_errors_.errors[part], rtol=1e-5)
    assert weighted.verdict_.p_value == pytest.approx(repeated.verdict_.p_value, rel=1e-5)
    for name in ("status", "advice"):
        assert getattr(weighted.result_, name) == getattr(repeated.result_, name)
    # What else was tried ends at rounding of one minimum or another.
    reasons = [re.split(r"(\d\.\d+)", est.result_.reason) for est in (weighted, repeated)]
    assert reasons[0][::2] == reasons[1][::2]
    numbers = [[float(number) for number in reason[1::2]] for reason in reasons]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.01)
    assert weighted.result_.relative_loss == pytest.approx(repeated.result_.relative_loss, rel=1e-8)


def test_a_class_whose_rows_all_have_weight_zero_is_none(three):
    X, names, _ = three
    names = names[:400]
    rest, settings = names != names[0], {"link": "logit", "restarts": 0, "random_state": 0}
    est = PlantedClassifier(1, "tanh", **settings).fit(X[:400], names, sample_weight=rest)
    assert list(est.classes_) == sorted(set(names[rest]))
    last = names == est.classes_[-1]
    with pytest.raises(ValueError, match="only one class"):
        PlantedClassifier(1, "tanh", **settings).fit(X[:400], names, sample_weight=last)


def test_held_out_rows_do_not_depend_on_how_often_a_row_is_given():
    X, y = drawn(TWO, 200)
    times = np.arange(200) % 3 + 1
    _, test = held_out(y, content_keys(X, y))
    X, y = np.repeat(X, times, axis=0), np.repeat(y, times)
    _, again = held_out(y, content_keys(X, y))
    assert set(np.repeat(np.arange(200), times)[again]) == set(test)


def parity(n):
    """Inputs of zeros and ones, and labels of the parity of two of them, a twentieth of them flipped."""
    rng = np.random.default_rng(7000)
    X = rng.integers(0, 2, (n, 3)).astype(float)
    return X, ((X[:, 0] != X[:, 1]) ^ (rng.random(n) < 0.05)).astype(float)


def test_rows_of_few_values_are_held_out_each_by_itself():
    """All rows of an input and a label held out at once would leave the other labels of this input to learn from."""
    X, y = parity(300)
    est = PlantedClassifier("auto", "tanh", link="logit", restarts=0, random_state=0).fit(X, y)
    assert est.n_hidden_ > 1
    assert est.score(X, y) > 0.9


def test_class_weights_repeat_no_rows_of_few_values():
    X, y = parity(60)
    factors = np.array([1.0, 3.0])
    rows, number = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    codes = rows[:, -1].astype(int)
    found = [
        keyed_rows(Survey.of(inputs, labels, weight * factors[labels.astype(int)]), factors, 1000)
        for inputs, labels, weight in ((X, y, np.ones(60)), (rows[:, :-1], rows[:, -1], number))
    ]
    assert len(codes) < 20
    for one, keys in found:
        assert len(one.y) == len(np.unique(keys)) == 60
        np.testing.assert_array_equal(one.weight, factors[one.y.astype(int)])
    np.testing.assert_array_equal(found[0][0].X, found[1][0].X)


def test_a_search_leaves_out_no_row_of_few_values():
    X, y = parity(2000)
    rows = searched_rows(LabelProblem.of(X, y, 1, "tanh", link="logit", search_rows=100))
    assert (len(rows.y), rows.total_weight) == (16, 2000)


# What is chosen by rows, whatever the seed.


def exclusive(seed):
    """Inputs, and labels of x₀x₁ > 0, a tenth of them flipped."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((800, 3))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(800) < 0.1)
    return X, y.astype(float)


def with_biases(X, y, activation, seed):
    return LabelProblem.of(X, y, 1, activation, link="logit", free=Free(True, True), random_state=seed)


@pytest.mark.parametrize("seed", [1, 2])
def test_two_neurons_are_found_whatever_the_seed(seed):
    """One split into rows fitted and held out had shown the second neuron, another had not."""
    teacher = Network([[2.0, 1.0, 0.0], [0.0, 1.0, -2.0]], [3.0, -3.0], "tanh", intercept=0.3)
    X, y = drawn(teacher, 600, seed=3)
    est = PlantedClassifier(activation="tanh", link="logit", random_state=seed).fit(X, y)
    assert (est.n_hidden_, est.result_.status) == (2, "estimated")


@pytest.mark.parametrize("seed", [0, 1])
def test_neurons_that_explain_only_together_are_found_whatever_the_seed(seed):
    X, y = exclusive(3)
    choice = choose_label_network([with_biases(X, y, "relu", seed)], [1, 2, 3], [True])
    assert choice.chosen.n_hidden == 3
    assert choice.width_losses[3] < choice.width_losses[1]


@pytest.mark.parametrize(("bias", "chosen"), [(-3.0, True), (0.0, False)])
def test_biases_are_decided_by_held_out_rows(bias, chosen):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 1))
    y = (rng.random(500) < expit(2 * X[:, 0] + bias)).astype(int)
    est = PlantedClassifier(1, "sigmoid", restarts=1, random_state=0).fit(X, y)
    assert (est.network_.bias is not None) == est.choice_.chosen.free.bias == chosen
    assert (est.link_, est.result_.status) == ("mean", "estimated")
    assert [one.free.bias for one in est.choice_.candidates] == [False, True]


def test_noise_has_no_neuron():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((600, 3)), rng.integers(0, 2, 600)
    est = PlantedClassifier(activation="relu", fit_bias=True, link="logit", random_state=3)
    with pytest.warns(ConvergenceWarning, match="only noise"):
        est.fit(X, y)
    assert est.n_hidden_ == 0


def test_two_neurons_that_are_less_far_off_than_one_do_not_pay_if_the_shares_are_better():
    rng = np.random.default_rng(0)
    contest = Contest.of(with_biases(rng.standard_normal((600, 3)), rng.integers(0, 2, 600), "relu", 0))
    far, nearer = (
        contest.tried(contest.part, Network(size * np.eye(2, 3), [1.0, 1.0], "relu", bias=[0.0, 0.0], intercept=0.0))
        for size in (4.0, 2.0)
    )
    assert contest.apart(far, nearer) > 2
    assert not contest.pays(nearer, far)


# The activation.


@pytest.mark.parametrize(
    ("teacher", "link", "name"),
    [
        (Network([[4.0, 0.0], [0.0, 4.0]], [0.5, 0.5], "sigmoid"), "mean", "sigmoid"),
        (TWO.replace(weights=1.5 * TWO.weights), "logit", "tanh"),
        (Network([[2.0, 0.0], [0.0, 2.0]], [2.0, -2.0], "relu", bias=[0.5, -0.5], intercept=0.0), "logit", "relu"),
    ],
    ids=["mean", "tanh", "relu"],
)
def test_activation_and_link_are_chosen_by_held_out_rows(teacher, link, name):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3000, 2))
    value = teacher.predict(X)
    y = (rng.random(3000) < (value if link == "mean" else expit(value))).astype(int)
    est = PlantedClassifier(2, restarts=1, random_state=0).fit(X, y)
    assert (est.link_, est.network_.activation.name, est.result_.status) == (link, name, "estimated")
    assert {one.link for one in est.choice_.candidates} == {"mean", "logit"}
    assert est.choice_.chosen.name.endswith(f"link {link}")
    assert est.get_params()["activation"] == "auto"


def test_activations_that_labels_do_not_tell_apart_are_named():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = (rng.random(400) < expit(X[:, 0])).astype(int)
    est = PlantedClassifier(1, restarts=0, random_state=0).fit(X, y)
    assert est.choice_.chosen.name == "1 sigmoid neuron, link mean"
    assert "do not tell it from" in est.choice_.reason
    assert "tanh (link logit)" in est.choice_.reason.split("do not tell it from")[1]


@pytest.mark.parametrize(
    ("settings", "n_classes", "links"),
    [
        ({}, 2, ("mean", "logit")),
        ({}, 3, ("logit",)),
        ({"link": "mean"}, 2, ("mean",)),
        ({"link": "logit"}, 2, ("logit",)),
        ({"fit_intercept": True}, 2, ("logit",)),
        ({"class_weight": "balanced"}, 2, ("logit",)),
        ({"loss": "quadratic"}, 2, ("mean",)),
        ({"activation": "sigmoid"}, 2, ("mean",)),
    ],
)
def test_links_that_can_be_are_compared(settings, n_classes, links):
    assert PlantedClassifier(**settings)._links(n_classes) == links


def test_activations_of_one_link_are_compared():
    X, y = drawn(TWO, 600)
    est = PlantedClassifier(1, fit_bias=False, link="logit", fit_intercept=False, restarts=0, random_state=0)
    with pytest.warns(ConvergenceWarning):
        est.fit(X, y)
    names = {one.activation.name for one in est.choice_.candidates}
    assert names == {"tanh", "relu", "softplus", "sigmoid"} == set(est.activation_losses_)
    assert {one.link for one in est.choice_.candidates} == {""}


def test_a_choice_with_links_is_read_from_a_journal():
    one = Candidate(activations.get("tanh"), 1, Free(), 3, 0.5, 0.1, chosen=True, link="logit")
    arrays = Choice((one,), "why").to_arrays()
    assert Choice.from_arrays(arrays, None).chosen == one
    older = json.loads(arrays["table"].tobytes())
    del older["candidates"][0]["link"]
    arrays["table"] = np.frombuffer(json.dumps(older).encode(), np.uint8)
    assert Choice.from_arrays(arrays, None).chosen.link == ""


def test_more_neurons_are_the_cause_whatever_the_seed():
    X, y = exclusive(1)
    network = Network([[1.0, 0.0, 0.0]], [0.1], "relu", bias=[0.0], intercept=0.0)
    causes = [label_cause(with_biases(X, y, "relu", seed), network)[0] for seed in range(2)]
    assert {cause.kind for cause in causes} == {"width"}
    assert len({cause.before for cause in causes}) == 1


def test_logistic_regression_does_not_depend_on_the_seed_and_has_no_penalty_without_need():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 3))
    y = (rng.random(600) < expit(X @ [1.5, -1.0, 0.5] + 0.2)).astype(float)
    fits = [logistic_regression(with_biases(X, y, "tanh", seed)) for seed in range(3)]
    assert [fit.alpha for fit in fits] == [0.0, 0.0, 0.0]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.slopes, fits[0].slopes)


def test_logistic_regression_of_separable_labels_has_a_penalty():
    X = np.random.default_rng(0).standard_normal((90, 2))
    fit = logistic_regression(with_biases(X, (X[:, 0] > 0).astype(float), "tanh", 0))
    assert fit.alpha > 0


def test_balanced_classes_move_the_intercept_alone():
    """Weights w_c multiply the odds of class c, so log w_c is added to its log-odds; the neurons stay."""
    rare = TWO.replace(intercept=-2.5)
    X, y = drawn(rare, 4000)
    plain = PlantedClassifier(2, "tanh", True, link="logit", random_state=0).fit(X, y)
    est = PlantedClassifier(2, "tanh", True, link="logit", class_weight="balanced", random_state=0).fit(X, y)
    moved = est.network_.intercept - plain.network_.intercept
    error = np.hypot(*(e.standard_errors_.errors["intercept"] for e in (plain, est)))
    assert moved == pytest.approx(np.log(np.mean(y == 0) / np.mean(y == 1)), abs=4 * float(error))
    # Weighted, not repeated: the sandwich is wider than the Fisher information of the rows alone.
    assert est.result_.details["expected_error"] > plain.result_.details["expected_error"]
    given = {0: 1.0, 1: np.mean(y == 0) / np.mean(y == 1)}
    same = PlantedClassifier(2, "tanh", True, class_weight=given, random_state=0).fit(X, y)
    assert match(same.network_, est.network_).weight_error < 1e-6


def test_sandwich_of_weighted_classes_against_its_parts():
    X, y = drawn(TWO, 300)
    factors = np.array([0.5, 2.0])
    weight = factors[y]
    loss = objectives.LogisticLikelihood(X, y, "tanh", bias=True, intercept=True, sample_weight=weight)
    params = loss.model.params(TWO)
    point = loss.model.canonical(params)
    z = X @ point["weights"].T + point["bias"]
    p = expit(np.tanh(z) @ point["output"] + point["intercept"])
    slope = point["output"] / np.cosh(z) ** 2
    J = np.column_stack([slope, np.ones(300), np.tanh(z), (slope[:, :, None] * X[:, None, :]).reshape(300, -1)])
    A = (J * (weight * p * (1 - p))[:, None]).T @ J
    S = (J * (weight**2 * (y - p) ** 2)[:, None]).T @ J
    expected = np.linalg.inv(A) @ S @ np.linalg.inv(A)
    np.testing.assert_allclose(uncertainty(loss, params, class_weight=factors).covariance, expected, rtol=1e-6)


# Penalties.


def test_penalised_logistic_regression_is_that_of_scikit_learn():
    """One neuron of link "mean" is logistic regression: ½α‖w‖² on a mean is C = 1/(nα)."""
    X, y = drawn(TWO, 400)
    X = X / X.std(axis=0)
    est = PlantedClassifier(1, "sigmoid", fit_bias=False, link="mean", alpha=0.1, random_state=0).fit(X, y)
    other = LogisticRegression(C=1 / (400 * 0.1), fit_intercept=False, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(est.network_.weights, other.coef_, rtol=1e-4)
    assert "intervals are biased" in est.result_.reason or est.result_.status != "estimated"
    assert est.standard_errors_.biased


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_errors_of_a_penalised_fit_are_those_of_its_own_coordinates(activation):
    """B⁻¹AB⁻¹ at the minimum itself, carried to the canonical network by finite differences."""
    X, y = drawn(TWO, 500)
    problem = LabelProblem.of(X, y, 1, activation, link="logit", alpha=0.05)
    est = PlantedClassifier(1, activation, False, link="logit", fit_intercept=False, alpha=0.05, random_state=0).fit(
        X, y
    )
    loss = problem.objective()
    params = problem.params(est.network_)
    model, flat = loss.model, objectives.Flat(loss, params)
    information = objectives.curvature_matrix(loss, params)[0] - np.diag(loss.flat_ridge(params))
    bread = np.linalg.inv(np.asarray(objectives.curvature_matrix(loss, params)[0]))
    covariance = bread @ np.asarray(information) @ bread / 500
    canonical = lambda v: objectives.flatten(model.normalised(flat.params(v)))  # noqa: E731
    start = np.asarray(objectives.flatten(params), dtype=float)
    steps = 1e-6 * np.eye(len(start))
    slope = np.array([(canonical(start + h) - canonical(start - h)) / 2e-6 for h in steps]).T
    expected = np.sqrt(np.diagonal(slope @ covariance @ slope.T))
    errors = est.standard_errors_
    got = np.concatenate([errors.errors[name].ravel() for name in sorted(errors.errors)])
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-6)


def test_alpha_by_held_out_rows():
    X, y = drawn(TWO, 150, 3)
    est = PlantedClassifier(2, "tanh", True, link="logit", alpha="auto", restarts=1, random_state=0).fit(X, y)
    assert est.alpha_ in est.alpha_losses_
    assert est.alpha_losses_[est.alpha_] <= est.alpha_losses_[0.0] + 1e-12
    assert est.result_.details.get("alpha", 0.0) == est.alpha_


@pytest.mark.parametrize("link", ["mean", "logit"])
def test_separable_labels_are_said_once_and_fitted(link):
    X = np.random.default_rng(0).standard_normal((120, 2))
    y = (X @ [1.0, -2.0] > 0).astype(int)
    est = PlantedClassifier(1, "sigmoid", link=link, restarts=0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="told apart without error") as said:
        est.fit(X, y)
    assert len(said) == 1
    assert est.result_.status == "ambiguous"
    assert est.alpha_ > 0
    # Of one neuron that is a probability held-out rows may ask for a weak penalty: labels there are told apart, too.
    assert np.abs(est.network_.weights).max() < 1000
    assert est.score(X, y) > 0.97
    assert est.certificate_.kind in ("local minimum", "global minimum")


def test_a_neuron_that_runs_off_is_said_with_the_rows_that_would_settle_it():
    """Two neurons of link "mean" on few rows of one step and one slope: the step has no finite length."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 2))
    p = 0.5 * (X[:, 0] > 0) + 0.5 * expit(X[:, 1])
    y = (rng.random(150) < p).astype(float)
    problem = LabelProblem.of(X, y, 2, "sigmoid")
    step = Network([[1e3, 0.0], [0.0, 1.0]], [0.5, 0.5], "sigmoid")
    off = runaway(problem, step)
    assert off is not None
    assert off.neuron == 0
    assert "no finite minimiser: neuron 1 runs off" in off.reason
    # At the shortest length that is possible the likelihood is 1.92 lower than at an infinite one.
    loss = problem.objective()
    value = lambda length: loss.value({"weights": np.array([[length, 0.0], [0.0, 1.0]])})  # noqa: E731
    gap = 150 * (value(off.shortest) - value(1e6))
    assert 0 <= gap <= 1.92 < 150 * (value(off.shortest / 2**0.5) - value(1e6))
    # Were that the truth, this many rows would put it ahead by 9/2; the divergence exceeds its second order.
    finite, endless = (0.5 * (expit(length * X[:, 0]) + expit(X[:, 1])) for length in (off.shortest, 1e6))
    divergence = np.mean(finite * np.log(finite / endless) + (1 - finite) * np.log((1 - finite) / (1 - endless)))
    assert 1.92 + 4.5 <= (off.rows - 150) * divergence <= 1.5 * (1.92 + 4.5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("link", ["mean", "logit"])
def test_a_neuron_that_runs_off_is_said_whatever_penalty_is_asked_for(link):
    """Neither a stronger penalty nor fewer neurons is advised: both predict rows left out worse."""
    rng = np.random.default_rng(0 if link == "mean" else 2)
    X = rng.standard_normal((300, 2))
    chance = 0.5 * (X[:, 0] > 0) + 0.5 * expit(3 * X[:, 1])
    if link == "logit":
        chance = expit(2 * np.sign(X[:, 0]))
    y = (rng.random(300) < chance).astype(int)
    width, act = (2, "sigmoid") if link == "mean" else (1, "tanh")
    for alpha in (1e-5, 1e-3):
        est = PlantedClassifier(width, act, False, 1, 0, link=link, alpha=alpha).fit(X, y)
        assert est.result_.status == "ambiguous"
        assert "no finite minimiser: neuron" in est.result_.reason
        assert f"the ℓ2 penalty of {alpha:.2g} keeps weights finite" in est.result_.reason
        assert "would settle it" in est.result_.advice
        assert not any(word in est.result_.advice for word in ("penalty", "fewer"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["likelihood", "quadratic"])
def test_a_fit_without_a_finite_minimiser_says_so_and_not_that_labels_are_separable(loss):
    from planted.datasets import make_planted

    teacher = [[6.0, 0.0, 0.0, 0.0], [0.0, 6.0, 0.0, 0.0]]
    data = make_planted(250, 4, 2, activation="sigmoid", weights=teacher, task="classification", random_state=0)
    est = PlantedClassifier(2, "sigmoid", link="mean", loss=loss, random_state=0).fit(data.X, data.y)
    assert est.result_.status == "ambiguous"
    assert "no finite minimiser: neuron" in est.result_.reason
    assert "told apart" not in est.result_.reason
    assert est.result_.details["rows_to_settle"] > 250
    assert f"{est.result_.details['rows_to_settle']:,.0f} rows in all would settle it" in est.result_.advice
    if loss == "likelihood":
        assert est.alpha_ > 0
        assert np.abs(est.network_.weights).max() < 100


def test_gradient_descent_ends_at_a_critical_point_or_says_that_it_did_not(monkeypatch):
    from planted.datasets import make_planted
    from planted.methods import _label_search

    data = make_planted(800, 2, 1, activation="sigmoid", weights=[[3.0, 1.0]], task="classification", random_state=0)
    settings = {"link": "mean", "fit_bias": False, "restarts": 0, "random_state": 0, "solver": "gradient"}
    est = PlantedClassifier(1, "sigmoid", **settings).fit(data.X, data.y)
    assert (est.result_.status, est.certificate_.kind) == ("estimated", "local minimum")
    monkeypatch.setattr(_label_search, "_GRADIENT_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="gradient descent had not reached a minimum after 2 steps"):
        est = PlantedClassifier(1, "sigmoid", **settings).fit(data.X, data.y)
    assert (est.result_.status, est.certificate_.kind) == ("misfit", "not critical")
    assert "solver='newton'" in est.result_.advice


# The algorithms of Fu et al. (2018), and the command line.


def test_algorithm_1_as_printed_and_its_sandwich(two):
    from planted.datasets import make_planted

    data = make_planted(4000, 2, 1, activation="sigmoid", weights=[[3.0, 1.0]], task="classification", random_state=0)
    settings = {"link": "mean", "loss": "quadratic", "restarts": 0, "random_state": 0}
    printed = PlantedClassifier(1, "sigmoid", solver="gradient", split=True, **settings).fit(data.X, data.y)
    newton = PlantedClassifier(1, "sigmoid", **settings).fit(data.X, data.y)
    np.testing.assert_allclose(printed.network_.weights, newton.network_.weights, rtol=1e-3)
    loss = objectives.label_loss(data.X, data.y, 1)
    assert np.abs(loss.gradient(newton.network_.weights)).max() < 1e-9
    expected = uncertainty(loss, newton.network_.weights, robust=True).weights
    np.testing.assert_allclose(newton.standard_errors_.weights, expected, rtol=1e-6)
    likelihood = PlantedClassifier(1, "sigmoid", link="mean", restarts=0, random_state=0).fit(data.X, data.y)
    assert np.linalg.norm(expected) > np.linalg.norm(likelihood.standard_errors_.weights)


def run(*arguments):
    return CliRunner().invoke(app, list(arguments), standalone_mode=False)


def test_command_line_from_text_labels_to_predictions(tmp_path, three):
    X, names, _ = three
    table, model, out = tmp_path / "flowers.csv", tmp_path / "model", tmp_path / "p.csv"
    lines = [f"{a},{b},{name},2" for (a, b), name in zip(X[:1500].tolist(), names[:1500], strict=True)]
    table.write_text("\n".join(["u,v,colour,w", *lines]) + "\n")
    fit = ["fit", str(table), "--target", "colour", "--task", "classification", "--link", "logit", "--hidden", "2"]
    fit += ["--activation", "tanh", "--weights", "w", "--restarts", "1", "--out", str(model), "--json", "--quiet"]
    ran = run(*fit)
    report = json.loads(ran.stdout)
    assert report["status"] == "estimated"
    assert report["method"] == "logit"
    assert len(report["network"]["output"]) == 3
    same = PlantedClassifier(2, "tanh", restarts=1, random_state=0).fit(X[:1500], names[:1500])
    assert report["details"]["expected_error"] == pytest.approx(
        same.result_.details["expected_error"] / 2**0.5, rel=0.01
    )
    ran = run("predict", str(model), str(table), "--target", "colour", "--out", str(out), "--json")
    scores = json.loads(ran.stdout)
    assert scores["accuracy"] == pytest.approx(same.score(X[:1500], names[:1500]), abs=0.01)
    assert out.read_text().splitlines()[0].endswith("probability of blue,probability of green,probability of red")
    ran = run("certify", str(model), str(table), "--target", "colour", "--json")
    assert json.loads(ran.stdout)["kind"] == "local minimum"
    assert ran.return_value == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--link", "logit"], "--link is for labels"),
        (["--task", "classification", "--alpha", "much"], "--alpha must be"),
        (["--task", "classification", "--class-weight", "a"], "--class-weight must be"),
        (["--task", "classification", "--link", "probit"], "unknown link"),
        (["--task", "classification", "--loss", "hinge"], "unknown loss"),
    ],
)
def test_requests_that_cannot_be(tmp_path, options, text):
    table = tmp_path / "t.csv"
    table.write_text("a,y\n1,0\n2,1\n3,0\n")
    wrong = run("fit", str(table), *options)
    assert isinstance(wrong.exception, ValueError)
    assert text in str(wrong.exception)


@pytest.mark.filterwarnings("ignore")
def test_rows_fewer_than_numbers_take_the_first_shape_whether_weighted_or_repeated():
    rng = np.random.default_rng(0)
    X, y, weight = rng.random((15, 30)), np.arange(15) % 3, rng.integers(0, 3, 15)
    weighted = PlantedClassifier(1, random_state=0).fit(X, y, sample_weight=weight)
    repeated = PlantedClassifier(1, random_state=0).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert [one.activation.name for one in weighted.choice_.candidates] == ["tanh"]
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-7, atol=1e-9)
