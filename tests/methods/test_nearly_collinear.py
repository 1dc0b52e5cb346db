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


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("gap", [1e-5, 1e-6])
def test_copies_that_a_curvature_hardly_tells_apart_leave_other_numbers_known(gap):
    """The curvature along their difference is 1e-10 to 1e-12 of the largest; beside it every number moves a little."""
    near = np.column_stack([X, X[:, 2] + gap * RNG.standard_normal(300)])
    y = np.tanh(X[:, 0] + X[:, 1] + 0.5 * X[:, 2]) + NOISE
    est = fitted(near, y, activation="tanh", fit_bias=True)
    assert est.result_.status == "ambiguous"
    assert "x3 = x2 up to" in est.result_.reason
    errors = est.standard_errors_.errors
    np.testing.assert_array_equal(np.isinf(errors["weights"][0]), [False, False, True, True])
    assert np.isfinite(errors["output"]).all()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_copy_in_another_unit_is_one_of_two_and_neither_is_constant():
    """x3 = 1e6·x2 + 3: beside its coefficient of x2 that of x3 is small, and it is an input all the same."""
    copied = np.column_stack([X, 1e6 * X[:, 2] + 3.0])
    result = fitted(copied, np.maximum(X[:, 0] + X[:, 2] + 0.5, 0.0) + NOISE, fit_bias=True).result_
    assert "x3 = 1e+06·x2 + 3 in all rows" in result.reason
    assert "in the weights of inputs 2, 3" in result.reason
    advice = "Drop one of the inputs 2, 3, a combination of which is constant, or set fit_bias=False."
    assert result.advice == advice


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_copy_that_is_rounded_is_none_in_all_rows():
    """Prices in two currencies, the second one to the cent."""
    price = 15.0 + 8.0 * X[:, 0]
    inputs = np.column_stack([price, X[:, 1], np.round(92.0 * price + 3000.0, 2)])
    result = fitted(inputs, np.tanh(X[:, 0] + X[:, 1]) + NOISE, activation="tanh", fit_bias=True).result_
    assert "x2 = 92·x0" in result.reason
    assert "in all rows" not in result.reason
    assert "of its spread" in result.reason
