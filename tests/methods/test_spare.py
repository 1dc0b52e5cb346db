"""Numbers that are called not determined have no standard errors."""

import numpy as np
import pytest

from planted import Network
from planted.certificates import leaving_neurons_open, uncertainty, unit_scaled
from planted.datasets import make_planted
from planted.methods import Problem
from planted.methods._baselines import LeftOut
from planted.methods._finish import recover
from planted.methods._observations import observations
from planted.methods._recovery import Start
from planted.methods._smaller import fewer_neurons
from planted.methods._spare import spare_neurons
from planted.objectives import Squared

RNG = np.random.default_rng(0)
X = RNG.standard_normal((400, 3))
TEACHER = Network([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]], [2.0, -1.0])


def wider(share):
    """The teacher with its second neuron in two parts, and a neuron next to nothing."""
    weights = np.vstack([TEACHER.weights, TEACHER.weights[1] + [1e-5, 0.0, 0.0], [0.6, 0.0, -0.8]])
    return Network(weights, [2.0, -1.0 + share, -share, 1e-8])


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_neurons_that_are_not_determined_have_no_errors(noise):
    y = TEACHER.predict(X) + noise * np.random.default_rng(1).standard_normal(400)
    result = recover(Problem.of(X, y, 4), Start(wider(0.3), "squared"), 0.0)
    assert result.verdict.facts.enough_neurons == 2
    assert "the other 2 of 4 are not determined" in result.reason
    about = result.uncertainty
    open_ = np.isinf(about.output)
    assert open_.sum() >= 2
    assert np.isinf(about.weights[open_]).all()
    assert not about.determined
    shown = unit_scaled(about.network, X.std(axis=0), about).errors
    assert np.isinf(shown["output"][open_]).all()
    assert np.isinf(shown["weights"][open_]).all()


def test_a_neuron_that_the_smaller_network_has_too_keeps_its_errors():
    loss = Squared(X, TEACHER.predict(X))
    about = uncertainty(loss, loss.model.params(wider(0.0)), least_noise=1e-15)
    spare = spare_neurons(about, TEACHER, X)
    alone = int(np.argmax(np.abs(about.network.weights[:, 0]) * (about.network.output > 1)))
    assert alone not in spare
    left = leaving_neurons_open(about, spare)
    assert np.array_equal(left.weights[alone], about.weights[alone])
    assert np.isfinite(left.weights[alone]).all()
    assert left.n_parameters - left.rank == 3 * len(spare)


def test_neurons_that_could_be_others_have_no_errors():
    rows = np.random.default_rng(0).exponential(size=(300, 3))
    pair = Network([[1.0, -2.0, 0.5], [-0.5, 1.0, -0.25]], [0.3, -0.6])
    result = recover(Problem.of(rows, pair.predict(rows), 2), Start(pair, "squared"), 0.0)
    assert "cancel to a linear function" in result.reason
    assert np.isinf(result.uncertainty.output).all()
    assert np.isinf(result.uncertainty.weights).all()


def test_a_network_that_rows_determine_keeps_its_errors():
    data = make_planted(500, 3, 2, noise=0.1, random_state=0)
    result = recover(Problem.of(data.X, data.y, 2), Start(data.teacher, "squared"), 0.0)
    assert result.status == "estimated"
    assert np.isfinite(result.uncertainty.weights).all()


def test_the_errors_of_the_network_in_rows_left_out_are_computed_once(monkeypatch):
    problem = Problem.of(X, TEACHER.predict(X) + 0.1 * np.random.default_rng(1).standard_normal(400), 4)
    network, asked, squares = wider(0.3), [], LeftOut.squares

    def counted(self, one, **options):
        asked.append(one)
        return squares(self, one, **options)

    monkeypatch.setattr(LeftOut, "squares", counted)
    assert fewer_neurons(problem, network, LeftOut.of(observations(problem.survey), 400), None).n_hidden == 2
    assert sum(one is network for one in asked) == 1
