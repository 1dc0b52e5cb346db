"""Tables of few values: rows that repeat are observations, each of which counts."""

from __future__ import annotations

import numpy as np
import pytest

from planted import PlantedRegressor
from planted.methods import Free, Observations, Problem
from planted.methods._baselines import LeftOut
from planted.methods._comparison import Comparison, Entry
from planted.methods._errors import uneven_noise
from planted.methods._families import families
from planted.methods._observations import apart, joined_rows
from planted.methods._residual_test import residual_p_value
from planted.methods._screen_rows import Table
from planted.networks import Network

RNG = np.random.default_rng(9)
X = np.column_stack([RNG.integers(0, 2, 400), RNG.integers(0, 4, 400)]).astype(float)
Y = 1 + 2 * X[:, 0] + X[:, 1] + RNG.integers(-1, 2, 400)
KNOWN = {"activation": "relu", "fit_bias": False, "random_state": 0}


@pytest.fixture(scope="module")
def repeated():
    return PlantedRegressor(**KNOWN).fit(X, Y)


def test_rows_of_few_values_are_as_many_as_they_are(repeated):
    assert repeated.evidence_.n_rows == 400
    assert repeated.result_.status == "estimated"
    assert "no neuron is needed" in repeated.result_.reason
    assert repeated.network_.intercept == pytest.approx(1.0, abs=0.2)


def test_the_answer_is_that_of_rows_that_differ_a_little(repeated):
    other = PlantedRegressor(**KNOWN).fit(X, Y + 1e-9 * RNG.standard_normal(400))
    assert (other.result_.status, other.network_.n_hidden) == (repeated.result_.status, 0)
    np.testing.assert_allclose(other.network_.skip, repeated.network_.skip, rtol=1e-6)
    np.testing.assert_allclose(other.standard_errors_.skip, repeated.standard_errors_.skip, rtol=1e-6)
    assert other.verdict_.facts.p_value == pytest.approx(repeated.verdict_.facts.p_value, rel=0.05)


def test_whole_weights_are_repeated_rows(repeated):
    weighted = PlantedRegressor(**KNOWN).fit(*joined_rows(X, Y))
    assert weighted.result_.reason == repeated.result_.reason
    assert weighted.evidence_.n_rows == 400
    np.testing.assert_array_equal(weighted.network_.skip, repeated.network_.skip)


def test_candidates_are_compared_on_single_observations():
    table = Table(
        Problem.of(*joined_rows(X, Y)[:2], 1, sample_weight=joined_rows(X, Y)[2]), np.array([1, 2], np.uint32)
    )
    assert len(table.y) == 400
    assert not table.weighted
    # Copies that never come with another target are one observation.
    copies = Problem.of(np.repeat(X + RNG.random(X.shape), 3, axis=0), np.repeat(Y, 3), 1)
    assert len(Table(copies, np.array([1, 2], np.uint32)).y) == 400


def test_of_many_observations_some_are_drawn():
    for factor in (100.0, 1e9):
        drawn = apart(*joined_rows(X, Y)[:2], factor * joined_rows(X, Y)[2], 5000)
        assert len(drawn[1]) == 5000
        assert drawn[1].mean() == pytest.approx(Y.mean(), abs=0.1)
    assert apart(*joined_rows(X, Y)[:2], 0.3 * joined_rows(X, Y)[2], 5000) is None


def test_tests_of_counted_rows_are_those_of_each():
    some, y, number = joined_rows(X, Y)
    once, each = Observations(some, y, number, True), Observations(X, Y)
    network = Network(np.zeros((0, 2)), np.zeros(0), skip=[2.0, 1.0], intercept=1.0)
    assert uneven_noise(once, network) == pytest.approx(uneven_noise(each, network))
    left, right = LeftOut.of(once, 400), LeftOut.of(each, 400)
    for extra in (0, 3):
        for step in (0.05, 0.1, 0.15, 0.2, 0.3):
            other = network.replace(intercept=1 + step)
            better = [one.better(one.squares(network, intercept=True), one.squares(other, intercept=True), extra)
                      for one in (left, right)]  # fmt: skip
            assert better[0] == better[1]
    assert np.isfinite(residual_p_value(once, network, intercept=True))


def test_nothing_is_left_to_test_where_a_linear_function_is_every_function():
    x = X[:, :1]
    network = Network(np.zeros((0, 1)), np.zeros(0), skip=[2.0], intercept=2.5)
    assert residual_p_value(Observations(x, Y), network, intercept=True) == 1.0


def test_a_linear_function_is_as_good_as_a_network_that_is_no_better_with_as_many_numbers():
    made = Comparison()
    made.share, made.count = np.full(2, 0.5), 2
    linear, alike, narrower = (Entry(None, None, 0, Free(), numbers, np.array([1.0, 3.0]), []) for numbers in (3, 3, 2))
    assert made.as_good(linear, alike)
    assert not made.as_good(linear, narrower)
    assert not made.as_good(linear, Entry(None, None, 0, Free(), 9, np.array([1.0, 2.9]), []))


def test_a_network_that_is_worse_on_most_rows_does_not_tie_because_a_few_make_its_error_large():
    made = Comparison()
    made.share, made.count = np.full(400, 1 / 400), 400
    relu = families()[0]
    best = Entry(relu, relu.members[0], 1, Free(), 3, np.full(400, 0.1), [])
    squares = np.full(400, 0.2)
    few = Entry(relu, relu.members[0], 1, Free(), 3, np.where(np.arange(400) == 7, 500.0, squares), [])
    mean, error = made.excess(few, best)
    assert mean < 2 * error
    assert not made.ties(few, best, errors=2.0)
    even = Entry(relu, relu.members[0], 1, Free(), 3, np.where(np.arange(400) % 2, 0.0, 0.2), [])
    assert made.ties(even, best)
