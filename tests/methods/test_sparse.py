"""Few rows: wide networks whose neurons pay for their strength."""

import numpy as np
import pytest

from planted import Network, match
from planted.datasets import make_planted
from planted.methods import Free, Problem, Search
from planted.methods._sparse import _Wide, sparse_attempts, sparse_runs


def test_two_rows_a_weight_are_enough_for_most_networks():
    found = 0
    for seed in range(3):
        data = make_planted(128, 8, 8, weights="gaussian", output="mixed", random_state=seed)
        problem = Problem.of(data.X, data.y, 8, random_state=0)
        search = Search.of(problem)
        best = sparse_attempts(search, problem)[-1]
        network = search.whitening.network(search.network(best.params))
        right = match(network, data.teacher).weight_error < 1e-6
        assert right == (best.loss < 1e-20)
        found += right
    assert found >= 2


def test_biases_intercepts_and_several_outputs():
    rng = np.random.default_rng(2)
    teacher = Network(
        rng.standard_normal((3, 4)), rng.standard_normal((2, 3)), bias=[0.3, -0.2, 0.1], intercept=[1.0, -2.0]
    )
    X = rng.standard_normal((28, 4)) * [1.0, 10.0, 0.1, 1.0]
    y = teacher.predict(X)
    weight = rng.uniform(0.5, 2.0, 28)
    problem = Problem.of(X, y, 3, free=Free(True, True), sample_weight=weight, random_state=0)
    search = Search.of(problem)
    best = sparse_attempts(search, problem)[-1]
    network = search.whitening.network(search.network(best.params))
    assert best.loss < 1e-20
    assert np.allclose(network.predict(X), y, rtol=1e-8)


@pytest.mark.parametrize(("n", "activation"), [(200, "relu"), (40, "tanh"), (40, "squared_relu"), (15, "relu")])
def test_no_runs_where_rows_are_many_or_fewer_than_numbers_or_neurons_have_no_degree_one(n, activation):
    data = make_planted(n, 4, 4, activation=activation, random_state=0)
    problem = Problem.of(data.X, data.y, 4, activation)
    assert sparse_runs(Search.of(problem), problem) == 0


def test_the_penalty_is_that_of_the_strengths():
    """At its minimum over the scale between the layers, ½(‖v‖² + a²) is the strength, so that both sides are equal."""
    data = make_planted(60, 4, 4, weights="gaussian", output="mixed", random_state=0)
    problem = Problem.of(data.X, data.y, 4)
    wide = _Wide.drawn(Search.of(problem), np.array([0, 0]))
    wide._descend(np.full(16, 1e-2))
    rows, output = np.linalg.norm(wide.params["weights"], axis=1), np.abs(wide.params["output"])
    strong = wide.strengths > 0.1 * wide.strengths.max()
    assert np.allclose(rows[strong], output[strong], rtol=0.05)
    assert np.allclose(wide.strengths, rows * output)
