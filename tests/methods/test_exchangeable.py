"""Networks that other neurons could be as well, at every row that was given: never called recovered."""

import numpy as np
import pytest

from planted import Network, PlantedRegressor
from planted.methods import Problem
from planted.methods._finish import recover
from planted.methods._recovery import Start


def verdict(network, X):
    problem = Problem.of(X, network.predict(X), network.n_hidden, activation=network.activation)
    return recover(problem, Start(network, "squared"), 0.0).verdict


def test_opposite_neurons_that_cancel_to_a_linear_function_are_noticed():
    X = np.random.default_rng(0).exponential(size=(300, 3))
    pair = Network([[1.0, -2.0, 0.5], [-0.5, 1.0, -0.25]], [0.3, -0.6])
    other = Network([[1.3, 0.4, 1.15], [1.0, 1.0, 1.0]], [1.0, -1.0])
    assert np.allclose(pair.predict(X), other.predict(X))
    assert verdict(pair, X).status == "ambiguous"
    assert "neurons 1 and 2 cancel" in verdict(pair, X).reason
    assert verdict(pair.replace(output=[0.3, -0.7]), X).status == "recovered"
    assert "one linear function explains this, no neuron is needed" in verdict(pair, X).reason
    assert verdict(pair, X).advice == "Use linear regression."


@pytest.mark.parametrize("activation", ["relu", "leaky_relu"])
def test_a_turned_neuron_that_a_linear_one_makes_up_for_is_noticed(activation):
    rng = np.random.default_rng(1)
    X = rng.exponential(size=(300, 3))
    teacher = Network([[3.0, 2.0, 2.5], [1.0, -1.0, 0.5]], [1.0, 1.0], activation)
    tilt = teacher.activation.tilt
    other = Network([teacher.weights[0] + 2 * tilt * teacher.weights[1], -teacher.weights[1]], [1.0, 1.0], activation)
    assert np.allclose(teacher.predict(X), other.predict(X), rtol=1e-12, atol=1e-12)
    for network in (teacher, other):
        for rows in (X, np.vstack([X, np.zeros((1, 3))])):
            assert verdict(network, rows).status == "ambiguous"
            assert "turned around" in verdict(network, rows).reason
            assert verdict(network, rows).advice == "Give rows on the other side of neuron 1."
    # Where rows lie on both sides of every neuron the same network is determined.
    assert verdict(teacher, rng.standard_normal((300, 3))).status == "recovered"
    # So it is where the turned one would need another sign at some row.
    assert verdict(teacher.replace(output=[1.0, -9.0]), X).status == "recovered"


@pytest.mark.parametrize("seed", range(3))
def test_neurons_that_are_a_linear_function_beside_others_are_a_linear_part(seed):
    """No rows tell which pair it is: a linear part in its place is determined."""
    X = np.random.default_rng(seed).standard_normal((300, 4))
    network = Network([[1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0], [-1.0, -1.0, 0.0, 0.0]], [1.0, 2.0, -2.0])
    assert verdict(network, X).advice == "Ask for n_hidden=1 and fit_skip=True."
    est = PlantedRegressor(1, "relu", fit_skip=True, random_state=0).fit(X, network.predict(X))
    assert est.result_.status == "recovered"
