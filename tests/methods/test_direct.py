"""Few rows: the network itself from many starts, and no comparison where rows confirm the plainest one."""

import numpy as np
import pytest

from planted import Network, PlantedRegressor, activations, match
from planted.datasets import make_planted
from planted.methods import Free, Problem, Search
from planted.methods._direct import direct_attempts, direct_confirmed, direct_network, direct_runs
from planted.methods._plainest import plainest
from planted.methods._question import Question


def planted_rows(n, d, k, activation="relu", bias=False, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((k, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    output = rng.uniform(1, 2, k) * np.where(np.arange(k) % 2, -1.0, 1.0)
    teacher = Network(rows, output, activation, bias=rng.uniform(-0.5, 0.5, k) if bias else None)
    X = rng.standard_normal((n, d))
    return X, teacher.predict(X), teacher


@pytest.mark.parametrize(
    ("n", "d", "k", "activation", "bias"),
    [(34, 6, 4, "relu", False), (15, 5, 2, "tanh", False), (15, 4, 2, "tanh", True), (15, 5, 2, "abs", False)],
)
def test_few_rows_are_enough_for_most_networks(n, d, k, activation, bias):
    """The other runs need a linear function and more neurons beside, for which 1.2 rows a number are too few."""
    found = 0
    for seed in range(4):
        X, y, teacher = planted_rows(n, d, k, activation, bias, seed)
        fit = PlantedRegressor(k, activation, fit_bias=bias, random_state=0).fit(X, y)
        if fit.result_.status == "recovered":
            found += 1
            assert match(fit.network_, teacher).weight_error < 1e-6
            assert fit.choice_.chosen.free == Free(bias=bias)
    assert found >= 3


def test_parts_several_outputs_and_weights():
    rng = np.random.default_rng(1)
    teacher = Network(
        rng.standard_normal((2, 3)), rng.standard_normal((2, 2)), "tanh", bias=[0.3, -0.2],
        intercept=[1.0, -2.0], skip=rng.standard_normal((2, 3)),
    )  # fmt: skip
    X = rng.standard_normal((20, 3)) * [1.0, 10.0, 0.1]
    y = teacher.predict(X)
    problem = Problem.of(
        X, y, 2, "tanh", free=Free(True, True, True), sample_weight=rng.uniform(0.5, 2.0, 20), random_state=0
    )
    search = Search.of(problem)
    best = direct_attempts(search, problem)[-1]
    network = search.whitening.network(direct_network(search, best))
    assert best.loss < 1e-20
    assert np.allclose(network.predict(X), y, rtol=1e-8)
    assert np.allclose(network.skip, teacher.skip, atol=1e-6)
    assert direct_confirmed(search, problem, best)


def test_a_minimum_in_which_many_starts_end_is_left():
    """Five of the first six runs agree on a minimum that explains 15 rows badly."""
    X, y, _ = planted_rows(15, 5, 2, seed=0)
    problem = Problem.of(X, y, 2)
    attempts = direct_attempts(Search.of(problem), problem)
    assert min(attempt.loss for attempt in attempts[:6]) > 1e-6
    assert attempts[-1].loss < 1e-20


def test_noise_is_compared_as_before():
    X, y, _ = planted_rows(30, 4, 2)
    noisy = y + 0.1 * np.random.default_rng(0).standard_normal(30)
    question = Question(activations.get("relu"), 2, skip=False)
    assert plainest(Problem.of(X, y, 2), question).network is not None
    assert plainest(Problem.of(X, noisy, 2), question) is None
    assert plainest(Problem.of(X, y, 2), Question(activations.get("relu"), None)) is None


def test_runs_are_bounded():
    for n, d, k, runs in ((24, 4, 2, 200), (16, 5, 3, 0), (400, 40, 6, 43), (200, 4, 2, 0)):
        X, y, _ = planted_rows(n, d, k)
        problem = Problem.of(X, y, k)
        assert direct_runs(Search.of(problem), problem) == runs


def test_two_rows_a_weight_are_enough_by_exchanging_neurons():
    """No single descent ends at the teacher; exchanges of one neuron at a time lead there."""
    data = make_planted(160, 10, 8, weights="gaussian", output="mixed", random_state=0)
    problem = Problem.of(data.X, data.y, 8)
    search = Search.of(problem)
    attempts = direct_attempts(search, problem)
    assert min(attempt.loss for attempt in attempts if not attempt.grown) > 1e-6
    network = search.whitening.network(direct_network(search, attempts[-1]))
    assert match(network, data.teacher).weight_error < 1e-6


def test_runs_go_on_from_those_before():
    data = make_planted(60, 10, 5, weights="gaussian", output="mixed", noise=0.5, random_state=0)
    problem = Problem.of(data.X, data.y, 5)
    search = Search.of(problem)
    few = direct_attempts(search, problem, 10 * 60 * 50**2)
    more = direct_attempts(search, problem, 12 * 60 * 50**2, few)
    assert len(few) == 10
    assert len(more) == 12
    assert more[-1].loss <= few[-1].loss


def test_one_neuron_without_any_part_beside_it():
    """Where it is exchanged nothing stays, not even a column of ones."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 2)), rng.standard_normal(5)
    problem = Problem.of(X, y, 1, "tanh")
    attempts = direct_attempts(Search.of(problem), problem)
    assert len(attempts) > 10
    assert attempts[-1].loss <= 1.01 * min(attempt.loss for attempt in attempts)
