"""Log-odds that need no neuron: logistic regression as a candidate, with its verdict, certificate and commands."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression

from planted import Network, PlantedClassifier
from planted.cli import main
from planted.methods import Free, LabelProblem, choose_label_network, label_linear
from planted.methods._label_contest import Contest, Tried
from planted.methods._logistic import logistic_regression

SLOPES = np.array([[1.0, 0.0, -1.0], [-0.5, 0.8, 0.5], [-0.5, -0.8, 0.5]])
BEGIN = np.array([0.2, 0.1, -0.3])


def drawn(rng, log_odds):
    chance = np.exp(log_odds)
    chance /= chance.sum(axis=1, keepdims=True)
    return (rng.random((len(chance), 1)) > np.cumsum(chance, axis=1)).sum(axis=1)


@pytest.fixture(scope="module")
def linear():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((1500, 3))
    y = drawn(rng, X @ SLOPES.T + BEGIN)
    return X, y, PlantedClassifier(random_state=0).fit(X, y)


def test_a_linear_truth_of_three_classes_is_called_linear(linear):
    est = linear[2]
    assert (est.network_.n_hidden, est.n_hidden_) == (0, 0)
    assert est.choice_.chosen.name == "linear function, intercept"
    assert est.result_.status == "estimated"
    assert est.result_.reason.endswith("one linear function explains this, no neuron is needed")
    assert "weight error" not in est.result_.reason
    assert est.certificate_.kind == "global minimum"


def test_the_linear_function_is_that_of_logistic_regression(linear):
    X, y, est = linear
    other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(est.predict_proba(X), other.predict_proba(X), atol=1e-5)


def test_its_coefficients_have_errors_that_hold_the_truth(linear):
    est = linear[2]
    network, errors = est.network_, est.standard_errors_.errors
    assert np.all(np.abs(network.skip - SLOPES) < 4 * errors["skip"])
    assert np.all(np.abs(network.intercept - BEGIN) < 4 * errors["intercept"])
    assert np.all(errors["skip"] < 0.15)


def test_a_network_is_not_called_linear():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((1500, 3))
    y = drawn(rng, np.tanh(2 * X[:, :2]) @ np.array([[2.0, 0, -2], [0, 2, -2]]))
    est = PlantedClassifier(random_state=0).fit(X, y)
    assert est.network_.n_hidden >= 2
    linear = next(candidate for candidate in est.choice_.candidates if candidate.n_hidden == 0)
    assert linear.loss > est.choice_.chosen.loss


def test_neurons_are_not_taken_where_one_linear_function_predicts_better():
    """One relu neuron has fewer numbers here, and rows held out are less likely by it."""
    X, y = load_iris(return_X_y=True)
    est = PlantedClassifier(random_state=0).fit(X, y)
    linear = next(candidate for candidate in est.choice_.candidates if candidate.n_hidden == 0)
    assert est.choice_.chosen.loss <= linear.loss


@pytest.mark.parametrize("origin", [0.0, 300.0])
def test_two_classes_of_log_odds_may_be_linear_whatever_the_origin(origin):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((800, 2))
    y = rng.random(800) < 1 / (1 + np.exp(-1.5 * X[:, 0] - 0.5))
    est = PlantedClassifier(link="logit", random_state=0).fit(X + origin, y)
    assert est.network_.n_hidden == 0
    assert est.certificate_.kind == "global minimum"
    other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(est.predict_proba(X + origin), other.predict_proba(X), atol=1e-5)


def test_a_width_that_is_given_has_neurons(linear):
    X, y, _ = linear
    est = PlantedClassifier(1, random_state=0).fit(X[:600], y[:600])
    assert est.network_.n_hidden == 1
    assert all(candidate.n_hidden for candidate in est.choice_.candidates)


def test_weights_of_a_linear_function_are_repeated_rows():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((200, 2))
    y = drawn(rng, X @ np.array([[1.0, 0], [0, 1], [-1, -1]]).T)
    weight = rng.integers(1, 4, 200)
    one = PlantedClassifier(random_state=0).fit(X, y, sample_weight=weight)
    two = PlantedClassifier(random_state=0).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert one.network_.n_hidden == two.network_.n_hidden == 0
    np.testing.assert_array_equal(one.network_.skip, two.network_.skip)
    assert one.result_.reason == two.result_.reason


def test_labels_that_a_line_tells_apart_say_so_and_that_intervals_are_biased():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((300, 2))
    y = np.where(X[:, 0] > 0.4, "c", np.where(X[:, 0] < -0.4, "a", "b"))
    est = PlantedClassifier(random_state=0).fit(X, y)
    assert est.alpha_ > 0
    assert est.result_.status == "ambiguous"
    assert "so that intervals are biased" in est.result_.reason
    if est.network_.n_hidden == 0:
        assert "one linear function explains this, no neuron is needed" in est.result_.reason


def chosen(X, y):
    """The choice between one linear function and one or two tanh neurons, and the problem."""
    problem = LabelProblem.of(X, y.astype(float), 1, "tanh", link="logit", free=Free(intercept=True))
    return choose_label_network([problem], [1, 2], [False, True], label_linear(problem)), problem


def test_labels_that_one_linear_function_tells_apart_ask_for_no_neurons():
    """Neurons, whose two layers share a penalty, are steeper at the weakest one, and had been chosen for that."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1000, 2))
    choice, problem = chosen(X, X @ rng.standard_normal(2) > 0.3)
    assert choice.chosen.n_hidden == 0
    assert logistic_regression(problem).alpha < 1e-6


def test_neurons_are_taken_for_labels_that_they_alone_tell_apart():
    X = np.random.default_rng(11).standard_normal((600, 2))
    choice, _ = chosen(X, np.abs(X[:, 0]) > 0.7)
    assert choice.chosen.n_hidden == 2


def test_neurons_that_make_rows_held_out_no_likelier_do_not_pay_beside_a_linear_function():
    """One of fewer numbers does not, and a network that pays beside other neurons alone is not asked."""
    contest = Contest.of(LabelProblem.of(np.arange(60.0)[:, None], np.arange(60) % 2, 1, "tanh", link="logit"))
    line, network = label_linear(contest.part), contest.tried(contest.part, Network([[1.0]], [1.0], "tanh")).network
    shares = contest.losses_of_shares()
    linear = Tried(line, network, shares, 0.6, shares - 0.3)
    fewer, worse = (Tried(contest.part, network, shares, 0.5, shares - gain) for gain in (0.3, 0.29))
    assert contest.likelier(fewer, linear)
    assert not contest.pays(fewer, linear)
    assert not contest.pays(worse, linear)
    assert contest.pays(fewer, worse)


def test_a_linear_function_of_noise_is_not_said_to_explain_it():
    """Forty classes of two rows each leave no row to compare: nothing is known of rows left out."""
    X = np.random.default_rng(3).standard_normal((80, 2))
    est = PlantedClassifier(link="logit", activation="tanh", fit_bias=False, random_state=0).fit(X, np.arange(80) % 40)
    assert (est.network_.n_hidden, est.result_.status) == (0, "ambiguous")
    assert "whether this linear function says anything of rows left out was not measured" in est.result_.reason
    with pytest.raises(ValueError, match="each of the 80 rows has a class of its own"):
        PlantedClassifier(random_state=0).fit(X, np.arange(80))


def test_a_linear_classifier_goes_through_every_command(linear, tmp_path, capsys):
    X, y, est = linear
    names = np.array(["no", "perhaps", "yes"])
    table = pl.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": X[:, 2], "kind": names[y]})
    table.write_csv(tmp_path / "data.csv")
    data, model = str(tmp_path / "data.csv"), str(tmp_path / "model")

    def run(*words):
        with pytest.raises(SystemExit) as stopped:
            main([str(word) for word in words])
        out = capsys.readouterr()
        assert "Traceback" not in out.err
        return stopped.value.code, out.out

    page, picture = tmp_path / "r.html", tmp_path / "f.png"
    fit = ["fit", data, "--target", "kind", "--task", "classification", "--seed", 0, "--out", model]
    status, out = run(*fit, "--report", page, "--plot", picture)
    assert status == 0
    assert "no neuron is needed" in out
    assert "one linear function of 3 inputs, no neurons" in page.read_text()
    assert picture.stat().st_size > 1000
    status, out = run("certify", model, data, "--json")
    said = json.loads(out)
    assert (status, said["kind"], said["expected_error"]) == (0, "global minimum", None)
    status, out = run("predict", model, data, "--out", tmp_path / "p.csv")
    assert status == 0
    given = pl.read_csv(tmp_path / "p.csv")
    np.testing.assert_allclose(given["probability of yes"], est.predict_proba(X)[:, 2], atol=1e-6)
    status, out = run("plot", model, data, "--out", tmp_path / "m.png")
    assert status == 0
    assert "accuracy" in out


def test_no_other_penalty_is_advised_where_held_out_rows_have_chosen_one():
    """Of the wines a penalty ten times as strong predicts rows left out worse, and the answer is as ambiguous."""
    wine = load_wine()
    own, stronger = (
        PlantedClassifier(alpha=alpha, random_state=0).fit(wine.data, wine.target).result_ for alpha in (0.0, 0.01)
    )
    assert "told apart without error" in own.reason
    assert own.advice == "Give more rows."
    assert stronger.status == "ambiguous"
    assert stronger.verdict.facts.network_loss > own.verdict.facts.network_loss
