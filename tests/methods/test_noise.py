"""What is said of rows that nothing explains better than their mean."""

import numpy as np
import pytest

from planted import PlantedRegressor
from planted.methods import Facts, judge
from planted.methods._baselines import linear_p_value

LOSSES = {"network_loss": 1.0, "linear_loss": 0.999, "mean_loss": 1.001, "unbeaten": ("mean",), "n_hidden": 0}


@pytest.mark.parametrize("without", ["", "constant"])
@pytest.mark.parametrize(
    ("facts", "said", "unsaid"),
    [
        ({"linear_p_value": 0.4, "p_value": 0.3}, "there is only noise", "not found"),
        ({"linear_p_value": 1e-5, "p_value": 0.3}, "they are not only noise", "there is only noise"),
        ({"linear_p_value": 1e-5, "p_value": 0.3, "late": True}, "they are not only noise", "there is only noise"),
        ({"linear_p_value": 0.4, "p_value": 0.3, "late": True}, "if on anything here, was not found", "only noise"),
        ({"linear_p_value": np.nan, "p_value": 0.3}, "if on anything here, was not found", "only noise"),
        ({"linear_p_value": 0.4, "p_value": np.nan}, "if on anything here, was not found", "only noise"),
    ],
)
def test_only_noise_is_said_where_no_test_speaks_against_it(facts, said, unsaid, without):
    verdict = judge(Facts(1.0, np.inf, 500, 1, without_neurons=without, **LOSSES, **facts))
    assert verdict.status == "ambiguous"
    assert said in verdict.reason
    assert unsaid not in verdict.reason


def test_a_signal_that_no_candidate_fits_is_not_called_noise():
    """Many fast waves with a weak slope: a gain of one per cent, which no comparison calls clear."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 4))
    y = np.sin(20 * X @ rng.standard_normal((4, 8))).sum(1) + 0.25 * X[:, 0]
    result = (
        PlantedRegressor(1, activation="quadratic", fit_bias=False, fit_skip=False, random_state=0).fit(X, y).result_
    )
    assert "than the mean" in result.reason
    assert "they are not only noise" in result.reason


def test_the_test_of_a_linear_function_is_right_and_counts_weights_as_rows():
    rng = np.random.default_rng(1)
    ps = [linear_p_value(rng.standard_normal((40, 3)), rng.standard_normal((40, 2))) for _ in range(300)]
    # No larger than the level, and smaller for two tests of each table and one of noise of any size beside each.
    assert 0.005 < np.mean(np.array(ps) < 0.05) < 0.09
    X, y, weight = rng.standard_normal((40, 3)), rng.standard_normal(40), rng.integers(1, 4, 40)
    repeated = linear_p_value(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert linear_p_value(X, y, weight.astype(float)) == pytest.approx(repeated, rel=1e-9)
    assert np.isnan(linear_p_value(X[:2], y[:2]))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_noise_that_goes_with_an_input_and_uneven_weights_are_no_linear_function(seed):
    """At the level 0.001 an F-test sees one in 37 and 57 of 100 of them."""
    rng = np.random.default_rng(seed)
    uneven, weighted, real = [], [], []
    for _ in range(100):
        X, noise = rng.standard_normal((200, 4)), rng.standard_normal(200)
        weight = np.exp(1.5 * rng.standard_normal(200))
        uneven.append(linear_p_value(np.exp(X), np.exp(X[:, 0]) * noise))
        weighted.append(linear_p_value(X, noise, weight / weight.mean(), counted=False))
        real.append(linear_p_value(X, 0.4 * X[:, 0] + noise))
    assert np.sum(np.array(uneven) < 1e-3) <= 3
    assert np.sum(np.array(weighted) < 1e-3) <= 3
    assert np.sum(np.array(real) < 1e-3) > 75


def test_one_row_and_one_number_are_counted_in_the_singular():
    said = judge(Facts(0.0, 0.0, 1, 1)).reason
    assert "but 1 distinct row that counts hardly exceeds the 1 number to be determined" in said
    said = judge(Facts(0.0, 0.0, 12, 11)).reason
    assert "12 distinct rows that count hardly exceed the 11 numbers to be determined" in said
