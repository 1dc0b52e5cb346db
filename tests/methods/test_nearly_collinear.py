"""Inputs that all but follow from others: named, and nothing but the weights between them left open."""

import numpy as np
import pytest

from planted import PlantedRegressor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3))
NOISE = 0.1 * RNG.standard_normal(300)
ASKED = {"activation": "relu", "fit_bias": False, "fit_intercept": False, "random_state": 0}


def fitted(inputs, y, weight=None, **asked):
    return PlantedRegressor(1, **ASKED | asked).fit(inputs, y, sample_weight=weight)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_near_copy_is_named_and_other_numbers_have_the_errors_of_a_fit_without_it():
    y = np.maximum(X[:, 0] + X[:, 1], 0.0) + NOISE
    near = np.column_stack([X, X[:, 2] + 1e-3 * RNG.standard_normal(300)])
    est, alone = fitted(near, y), fitted(X, y)
    assert est.result_.status == "ambiguous"
    assert "x3 = x2 up to 0.11 % of its spread" in est.result_.reason
    assert est.result_.advice == "Drop one of the inputs 2, 3, of which some all but follow from the others."
    neuron, other = est.summary().parts[0], alone.summary().parts[0]
    assert [np.isinf(neuron[name][1]) for name in ("x0", "x1", "x2", "x3", "output")] == [False] * 2 + [True] * 2 + [
        False
    ]
    for name in ("x0", "x1", "output"):
        assert neuron[name][1] / abs(neuron[name][0]) < 2 * other[name][1] / abs(other[name][0])


def test_a_difference_of_near_copies_that_rows_show_is_estimated():
    near = np.column_stack([X, X[:, 2] + 1e-3 * RNG.standard_normal(300)])
    y = np.maximum(X[:, 0] + 3e3 * (near[:, 3] - near[:, 2]), 0.0) + NOISE
    est = fitted(near, y)
    assert est.result_.status == "estimated"
    assert "spread" not in est.result_.reason


def test_correlated_inputs_whose_weights_are_known_are_not_mentioned():
    y = np.maximum(X[:, 0] + X[:, 1], 0.0) + NOISE
    inputs = np.column_stack([X, 0.9 * X[:, 2] + 0.4 * RNG.standard_normal(300)])
    assert "spread" not in fitted(inputs, y).result_.reason


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_row_of_weight_two_is_two_rows():
    near = np.column_stack([X, X[:, 2] + 1e-3 * RNG.standard_normal(300)])
    y = np.maximum(X[:, 0] + X[:, 1], 0.0) + NOISE
    weight = RNG.integers(1, 3, 300)
    one = fitted(near, y, weight).result_
    other = fitted(np.repeat(near, weight, axis=0), np.repeat(y, weight)).result_
    assert one.status == other.status == "ambiguous"
    assert one.reason == other.reason
    np.testing.assert_allclose(one.uncertainty.errors["output"], other.uncertainty.errors["output"], rtol=1e-4)
