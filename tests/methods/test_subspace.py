"""Few neurons of many inputs: the span of their rows, a fit in it, a descent in all inputs."""

import numpy as np
import pytest

from planted import Network
from planted.datasets import make_planted
from planted.methods import Problem, Search
from planted.methods._subspace import (
    bent_directions,
    hidden_directions,
    leading_directions,
    subspace_attempts,
    subspace_runs,
)


def search_of(activation, outputs=None):
    data = make_planted(1200, 60, 2, activation=activation, weights="gaussian", output="mixed", random_state=0)
    y = data.y
    if outputs:
        y = Network(data.teacher.weights, [[1.0, -1.0], [2.0, 1.0]], activation).predict(data.X)
    return Search.of(Problem.of(data.X, y, 2, activation=activation)), data.teacher, data.X


@pytest.mark.parametrize(("activation", "outputs"), [("relu", None), ("abs", None), ("relu", 2)])
def test_the_span_holds_the_rows_and_a_descent_ends_at_the_teacher(activation, outputs, monkeypatch):
    search, teacher, X = search_of(activation, outputs)
    basis = leading_directions(search)
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    # Rows on whitened inputs: weights·x = rows·Z, in the least-squares sense where whitening shifts inputs too.
    rows = np.linalg.lstsq(search.Z, X @ teacher.weights.T, rcond=None)[0]
    inside = np.linalg.norm(basis.T @ rows, axis=0) / np.linalg.norm(rows, axis=0)
    # A random subspace of this size would hold about (4/60)^(1/2) = 0.26 of a row.
    assert np.all(inside > 0.6)
    monkeypatch.setattr("planted.methods._subspace.subspace_runs", lambda _: 3)
    attempts = subspace_attempts(search, np.array([0, 1], np.uint32))
    # Second-order steps: first-order ones of noisy smooth neurons went on for a thousand.
    assert attempts[0].loss < 1e-20
    assert len(attempts[0].descents["all inputs"].history.value) < 30


def test_a_run_of_odd_neurons_stands_for_itself_alone(monkeypatch):
    monkeypatch.setattr("planted.methods._subspace.subspace_runs", lambda _: 3)
    search, _, _ = search_of("tanh")
    attempts = subspace_attempts(search, np.array([0, 1], np.uint32))
    assert len(attempts) == 1
    assert attempts[0].loss < 1e-6


def test_what_moments_do_not_show_is_not_looked_for_so():
    data = make_planted(400, 200, 10, random_state=0)
    runs = {name: subspace_runs(Search.of(Problem.of(data.X, data.y, 10, name))) for name in ("relu", "squared_relu")}
    assert runs == {"relu": 6, "squared_relu": 0}


def test_the_slope_shows_odd_neurons():
    """E[g(r·(u·x)) xxᵀ] holds all of them, u being the slope; without it, r is odd and nothing is seen."""
    data = make_planted(2000, 60, 3, activation="tanh", weights="gaussian", output="mixed", random_state=0)
    slope = np.linalg.lstsq(data.X, data.y[:, None], rcond=None)[0]
    residual, share = data.y[:, None] - data.X @ slope, np.ones(2000)
    span = np.linalg.qr(data.teacher.weights.T)[0]

    def least_cosine(basis):
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
        return np.linalg.svd(basis.T @ span)[1].min()

    found = hidden_directions(data.X, residual, slope, share, 4, data.teacher.activation)
    assert found.shape == (60, 5)
    assert least_cosine(found) > 0.7
    assert least_cosine(bent_directions(data.X, residual, share, 5)) < 0.4
