"""Labels of inputs that take few values: how much these tell, and how rows are held out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from planted import PlantedClassifier
from planted.methods import Free, LabelProblem
from planted.methods._label_finish import recover_labels
from planted.methods._label_split import folds
from planted.methods._recovery import Start
from planted.methods.labels import logit

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def levels(n, seed):
    """Labels of an input that has four levels, one column each."""
    rng = np.random.default_rng(seed)
    X = np.eye(4)[rng.integers(0, 4, n)]
    return X, (rng.random(n) < expit(X @ [2.0, -1.0, 0.0, 1.0])).astype(int)


def parity(n, seed, odds):
    """Labels of three columns of zeros and ones, with log-odds of this size by whether the first two agree."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, 3)).astype(float)
    return X, (rng.random(n) < expit(np.where(X[:, 0] != X[:, 1], odds, -odds))).astype(int)


def test_labels_of_equal_inputs_are_observations():
    X, y = levels(1000, 1)
    result = PlantedClassifier(1, "sigmoid", False, 0, 0, link="mean").fit(X, y).result_
    assert result.status == "estimated"
    assert result.verdict.facts.counting_rows == 1000
    shares = [y[X[:, i] == 1].mean() for i in range(4)]
    np.testing.assert_allclose(result.network.predict(np.eye(4)), shares, rtol=1e-6)


def test_few_inputs_have_fewer_probabilities_than_numbers():
    # A penalty makes the curvature definite, and tells no more of the labels.
    X, y = parity(1000, 1, 2.0)
    held = PlantedClassifier(2, "tanh", True, 0, link="logit", alpha=1e-3, random_state=0).fit(X, y)
    assert held.result_.status == "ambiguous"
    assert "8 distinct inputs have 8 probabilities, and there are 11 numbers" in held.result_.reason
    assert held.result_.advice == "Give rows with other inputs, or ask for fewer neurons."


@pytest.mark.parametrize("seed", [1, 2])
def test_labels_of_few_inputs_are_held_out_one_by_one_without_noise_too(seed):
    X, _ = parity(400, seed, 2.0)
    y = (X[:, 0] != X[:, 1]).astype(int)
    est = PlantedClassifier(2, "tanh", True, 0, link="logit", random_state=0).fit(X, y)
    # All rows of an input held out at once left nothing that tells it: no strength was better than the shares.
    assert min(est.alpha_losses_.values()) < 0.1
    assert est.result_.relative_loss < 0.01
    assert "1 neuron explains" not in est.result_.reason
    inputs, first, times = np.unique(X, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    again = PlantedClassifier(2, "tanh", True, 0, link="logit", random_state=0)
    again.fit(inputs[order], y[first[order]], sample_weight=times[order])
    np.testing.assert_array_equal(again.network_.weights, est.network_.weights)
    assert again.result_.reason == est.result_.reason
    assert again.alpha_losses_ == est.alpha_losses_


def test_copies_of_rows_stay_together_where_inputs_are_many():
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = np.arange(60) % 2.0
    part = folds(np.repeat(X, 3, axis=0), np.repeat(y, 3), 3).reshape(60, 3)
    np.testing.assert_array_equal(part, np.repeat(part[:, :1], 3, axis=1))
    each = folds(np.repeat(X[:6], 30, axis=0), np.repeat(y[:6], 30), 3).reshape(6, 30)
    assert all(np.bincount(row, minlength=3).tolist() == [10, 10, 10] for row in each)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_search_that_ended_where_neurons_coincide_is_made_again(seed):
    # So few labels that no test sees what is left.
    X, y = parity(75, seed, 2.0)
    problem = LabelProblem.of(X, y.astype(float), 2, "softplus", link="logit", free=Free(intercept=True))
    one = logit.start(replace(problem, n_hidden=1))
    parts = {name: np.repeat(value, 2, axis=0) for name, value in one.network.arrays().items() if name != "intercept"}
    twice = one.network.replace(**(parts | {"output": parts["output"] / 2}))
    found = recover_labels(problem, Start(twice, "logit", one.loss, one.descents, {}), 0.0)
    assert found.details["cross_entropy"] < one.loss - 0.1
