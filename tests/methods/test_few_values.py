"""Labels of inputs that take few values: how much these tell, and how rows are held out."""

import numpy as np
import pytest
from scipy.special import expit

from planted import PlantedClassifier

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
