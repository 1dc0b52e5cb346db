"""Rows that follow one another and have errors in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planted import Network, PlantedRegressor
from planted.methods import Facts, Observations, judge
from planted.methods._facts import Cause
from planted.methods._neighbours import input_in_order, neighbours_correlation

RNG = np.random.default_rng(0)
LINE = Network(np.zeros((0, 2)), np.zeros(0), skip=[1.0, 0.0])


def in_time(n, columns, correlation):
    """Series with a correlation between neighbours."""
    series = RNG.standard_normal((n, columns))
    for i in range(1, n):
        series[i] = correlation * series[i - 1] + np.sqrt(1 - correlation**2) * series[i]
    return series


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_network_of_noise_in_time_is_not_estimated():
    X, noise = in_time(300, 2, 0.95), in_time(300, 1, 0.98)[:, 0]
    result = PlantedRegressor(1, "tanh", fit_bias=True, fit_skip=False, random_state=0).fit(X, noise).result_
    assert not result.verdict.success
    assert "rows that follow one another have errors in common" in result.reason
    assert "Give what neighbouring rows have in common, such as the time, as an input" in result.advice


@pytest.mark.parametrize("targets", [1, 2])
def test_what_neighbours_say_goes_together_only_where_inputs_and_errors_do(targets):
    inputs, noise = in_time(400, 2, 0.9), in_time(400, targets, 0.9)
    line = LINE if targets == 1 else LINE.replace(output=np.zeros((2, 0)), skip=np.zeros((2, 2)), intercept=np.zeros(2))

    def found(X, errors):
        y = errors[:, 0] + line.predict(X) if targets == 1 else errors + line.predict(X)
        return neighbours_correlation(line, Observations(X, y), intercept=False)

    mixed = RNG.permutation(400)
    assert found(inputs, noise) > 0.5
    assert found(inputs[mixed], noise) == found(inputs, noise[mixed]) == 0
    nothing = LINE.replace(skip=None)
    assert neighbours_correlation(nothing, Observations(inputs, noise[:, 0]), intercept=False) == 0
    # An order of the targets is made by whoever sorted them.
    y = np.sort(noise[:, 0])
    assert neighbours_correlation(LINE, Observations(inputs, y), intercept=False) == 0


def test_independent_rows_are_hardly_ever_said_to_go_together():
    """However uneven and heavy their noise is, and whatever the order of their inputs."""
    count = 0
    for _ in range(200):
        X = np.sort(RNG.standard_normal((100, 2)), axis=0)
        y = X[:, 0] + np.exp(X[:, 0]) * RNG.standard_t(2, 100)
        count += neighbours_correlation(LINE, Observations(X, y), intercept=False) > 0
    assert count <= 2


def test_the_cause_of_a_misfit_is_not_put_down_to_the_network_where_rows_go_together_or_are_far_off():
    fine = Facts(0.5, np.inf, 900, 5, p_value=0.5, neighbours=0.5)
    assert judge(fine).status == "ambiguous"
    facts = Facts(0.5, np.inf, 900, 5, p_value=0.0, n_hidden=1, cause=Cause("other", "", 0.5, 0.5))
    hardly = "the rows hardly come from such a network"
    assert hardly in judge(facts).reason
    together = judge(replace(facts, neighbours=0.5))
    assert hardly not in together.reason
    assert together.reason.endswith("has a correlation of 0.5), which may look like structure")
    assert together.advice.startswith("Give what neighbouring rows have in common")
    far = judge(replace(facts, far_rows="the 9 of 900 rows farthest off make 90 % of the squared residuals"))
    assert hardly not in far.reason
    assert "a few rows far off hide what is missing, if anything is; the 9 of 900 rows" in far.reason
    assert far.advice == "Look at the rows farthest off, and leave out those that are errors."


@pytest.mark.parametrize("seed", range(3))
def test_a_function_of_inputs_that_go_together_is_not_put_down_to_errors_in_common(seed):
    """Of a series that comes back to where it was, rows far apart tell what the inputs do from what the time does."""
    draws = np.random.default_rng(seed)
    x, errors = draws.standard_normal((2, 1200))
    for i in range(1, 1200):
        x[i], errors[i] = 0.95 * x[i - 1] + 0.3 * x[i], 0.95 * errors[i - 1] + 0.3 * errors[i]
    X = np.column_stack([x, np.zeros(1200)])
    line = LINE.replace(intercept=0.0)
    wave = np.sin(4 * x)
    fit = np.polyfit(x, wave, 1)
    assert neighbours_correlation(line, Observations(X, x + wave - np.polyval(fit, x)), intercept=True) == 0
    assert neighbours_correlation(line, Observations(X, x + errors - errors.mean()), intercept=True) > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_a_season_is_not_only_noise(seed):
    t = np.arange(240.0)[:, None]
    wave = np.sin(2 * np.pi * t[:, 0] / 12)
    y = wave + 0.1 * np.random.default_rng(seed).standard_normal(240)
    flat = Network(np.zeros((0, 1)), np.zeros(0), intercept=y.mean())
    together = neighbours_correlation(flat, Observations(t, y), intercept=True)
    facts = Facts(1.0, np.inf, 240, 1, p_value=0.5, without_neurons="constant", unbeaten=("mean",), network_loss=1.0,
                  linear_loss=1.0, mean_loss=1.0, linear_p_value=0.5)  # fmt: skip
    assert "only noise" in judge(facts).reason
    verdict = judge(replace(facts, neighbours=together, in_order=input_in_order(t, ("month",))))
    assert "only noise" not in verdict.reason
    assert "errors in common, or more to do with month, in whose order they are" in verdict.reason
    assert "the time" not in verdict.advice
    # The advice helps.
    inputs = np.column_stack([t, wave, np.cos(2 * np.pi * t[:, 0] / 12)])
    assert PlantedRegressor(random_state=0).fit(inputs, y).score(inputs, y) > 0.97


def test_the_time_is_no_advice_where_rows_are_in_the_order_of_an_input():
    facts = Facts(0.5, np.inf, 900, 5, p_value=0.0, n_hidden=1, cause=Cause("other", "", 0.5, 0.5), neighbours=0.5)
    verdict = judge(replace(facts, in_order="x1"))
    assert "errors in common, or more to do with x1" in verdict.reason
    assert verdict.advice == "Take the network as an approximation, or use another kind of model."
    assert "the time" in judge(facts).advice
