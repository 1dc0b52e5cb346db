"""Weights that rows leave open are as short as the rows allow."""

import time

import numpy as np
import pytest

from planted.certificates import uncertainty
from planted.methods import Free, Problem, Start
from planted.methods._finish import recover
from planted.methods._shortest import shortest_along_open
from planted.networks import Network


def rare_column(noise: float = 0.0) -> tuple[Problem, Network, np.ndarray]:
    """A problem whose last column one row has, a network in which 40 cancels there, and another row with it."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((200, 2)), np.zeros(200)])
    X[0] = [2.0, 1.0, 1.0]
    teacher = Network([[1.0, 0.5, 0.0]], [2.0], skip=[0.5, 0.0, 0.7])
    y = teacher.predict(X) + noise * rng.standard_normal(200)
    far = Network([[1.0, 0.5, 20.0]], [2.0], skip=[0.5, 0.0, -39.3])
    assert far.predict(X) == pytest.approx(teacher.predict(X), abs=1e-12)
    return Problem.of(X, y, 1, free=Free(skip=True)), far, np.array([[-3.0, -100.0, 1.0]])


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_a_new_row_meets_no_weights_that_cancel(noise):
    problem, far, new = rare_column(noise)
    assert far.predict(new)[0] < -30
    result = recover(problem, Start(far, "squared"), time.perf_counter())
    assert result.status == "ambiguous"
    linear = result.network.skip[:2] @ new[0, :2]
    assert abs(result.network.predict(new)[0] - linear) < 2.0


def test_the_way_ends_where_a_row_would_change_its_prediction():
    """The row that has the column is active because of it: it stays active, with the least weight that keeps it so."""
    X = np.array([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [-2.0, 0.0], [-1.0, 1.0], [3.0, 0.0]])
    long = Network([[1.0, 5.0]], [1.0], skip=[0.0, -7.0])
    problem = Problem.of(X, long.predict(X), 1, free=Free(skip=True))
    loss = problem.objective()
    short = shortest_along_open(problem, long, uncertainty(loss, loss.model.params(long)))
    assert short.predict(X) == pytest.approx(long.predict(X), abs=1e-9)
    weight = short.output[0] * short.weights[0, 1]
    assert 1.0 <= weight < 1.2
    assert short.skip[1] == pytest.approx(-2.0 - weight, abs=1e-6)


def test_nothing_moves_where_rows_determine_the_weights():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 2))
    network = Network([[1.0, 0.5]], [2.0])
    problem = Problem.of(X, network.predict(X), 1)
    loss = problem.objective()
    assert shortest_along_open(problem, network, uncertainty(loss, loss.model.params(network))) is network
