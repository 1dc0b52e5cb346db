"""Rows left out where numbers are many for the rows: refits say what one Newton step a row does not."""

import numpy as np
import pytest

from planted import Network, PlantedRegressor, activations
from planted.methods import Facts, Observations, Problem, Start, judge, observations, recover, refine
from planted.methods._baselines import LeftOut
from planted.methods._errors import errors_of
from planted.methods._facts import crowded
from planted.methods._families import families
from planted.methods._problem import Free
from planted.methods._refits import Refits, refits_of, unsettled
from planted.methods._screen import Path
from planted.methods._screen_rows import Table
from planted.numerics import random

RELU = activations.get("relu")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def linear_rows():
    """100 rows of a linear function of 40 inputs, half of it noise, and another 2,000 of them."""
    rng = np.random.default_rng(100)
    X = rng.standard_normal((100, 40))
    y = 2 * X[:, 0] + 2 * rng.standard_normal(100)
    fresh = rng.standard_normal((2000, 40))
    return X, y, fresh, 2 * fresh[:, 0] + 2 * rng.standard_normal(2000)


def tanh_problem(n, d, k, noise, seed=0):
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((n, d)), rng.standard_normal((k, d))
    teacher = Network(2 * W / np.linalg.norm(W, axis=1)[:, None], np.linspace(1, 1.5, k) * (-1) ** np.arange(k), "tanh")
    clean = teacher.predict(X)
    problem = Problem.of(X, clean + noise * clean.std() * rng.standard_normal(n), k, "tanh")
    return problem, refine(problem, teacher).network


def said_of(problem, network):
    data = observations(problem.survey)
    about = errors_of(problem, network, data, 0.1)
    left = refits_of(problem, network, about.n_parameters, data.number)
    return unsettled(left, network, about.n_parameters, about.uncertainty, False)


def test_a_neuron_that_fits_the_noise_of_few_rows_is_scored_as_fresh_rows_score_it():
    """It has become a step, in which rows have next to no leverage."""
    X, y, fresh, fresh_y = linear_rows()
    known = {"fit_bias": False, "fit_intercept": False, "fit_skip": False, "random_state": 0}
    result = PlantedRegressor(1, "tanh", **known).fit(X, y).result_
    assert result.status == "ambiguous"
    assert "worse than the mean" in result.reason
    assert "there is only noise" not in result.reason
    network = result.network
    true = np.mean((network.predict(fresh) - fresh_y) ** 2) / np.var(y)
    first_order = LeftOut.of(Observations(X, y), 100)
    assert first_order.loss(first_order.squares(network, intercept=False)) < 0.6 * true
    # Networks of nine tenths of the rows are worse than that of all; by how much depends on which steps they become.
    assert 0.85 * true < result.verdict.facts.network_loss < 1.6 * true


def test_the_linear_function_and_the_mean_are_fitted_to_the_same_rows():
    X, y, _, _ = linear_rows()
    left = refits_of(Problem.of(X, y, 1, "tanh"), Network(X[:1], [1.0], "tanh"), 41, 100)
    table, (train, test) = left.table, left.parts[0]
    design = np.column_stack([np.ones(100), table.X])
    slopes = np.linalg.lstsq(design[train], table.y[train], rcond=None)[0]
    np.testing.assert_allclose(left.linear()[: len(test)], ((table.y - design @ slopes)[test, 0]) ** 2, rtol=1e-8)
    np.testing.assert_allclose(left.mean()[: len(test)], (table.y[test, 0] - table.y[train].mean()) ** 2, rtol=1e-8)


def test_refits_confirm_standard_errors_that_hold():
    problem, network = tanh_problem(300, 30, 1, 0.1)
    data = observations(problem.survey)
    about = errors_of(problem, network, data, 0.01)
    error = refits_of(problem, network, 31, 300).errors(network, 31, intercept=False)[0]
    assert error == pytest.approx(np.linalg.norm(about.uncertainty.weights) / np.linalg.norm(network.weights), rel=0.4)
    assert said_of(problem, network) == ""


def test_weights_that_refits_do_not_confirm_are_not_estimated():
    """Standard errors of a few per cent to a third, where the weights are off by more than twice as much."""
    problem, network = tanh_problem(300, 30, 3, 0.3)
    assert "put the relative error of the weights of neuron" in said_of(problem, network)
    result = recover(problem, Start(network, "squared"), 0.0)
    assert result.status == "ambiguous"
    assert "the rows do not determine the weights: refits without a tenth of them" in result.reason
    # Two neurons were fitted too, and predict the rows left out worse.
    assert result.verdict.facts.all_needed
    assert result.verdict.advice == "Give more rows in general position."


def test_nothing_is_fitted_again_where_numbers_are_few_or_rows_are_explained(monkeypatch):
    def refuse(*_):
        raise AssertionError("fitted again")

    monkeypatch.setattr(Refits, "_fit", refuse)
    problem, network = tanh_problem(300, 3, 2, 0.1)
    assert recover(problem, Start(network, "squared"), 0.0).status == "estimated"
    problem, network = tanh_problem(60, 8, 2, 0.0)
    assert crowded(18, 60)
    assert recover(problem, Start(network, "squared"), 0.0).status == "recovered"
    problem, network = tanh_problem(60, 8, 2, 0.1)
    with pytest.raises(AssertionError, match="fitted again"):
        recover(problem, Start(network, "squared"), 0.0)


def test_a_linear_function_of_many_numbers_is_not_said_to_need_no_neuron():
    facts = {"p_value": 0.5, "without_neurons": "linear"}
    assert "no neuron is needed" in judge(Facts(0.1, np.inf, 1000, 41, **facts)).reason
    verdict = judge(Facts(0.1, np.inf, 100, 41, crowded=True, **facts))
    assert (verdict.status, "too few to tell one linear function from" in verdict.reason) == ("ambiguous", True)
    losing = {"network_loss": 0.3, "linear_loss": 0.2, "mean_loss": 1.0, "unbeaten": ("linear",), "n_hidden": 1}
    verdict = judge(Facts(0.1, np.inf, 100, 41, crowded=True, p_value=0.5, **losing))
    assert "worse than linear regression (R² 0.7, that 0.8): these rows are too few to tell" in verdict.reason


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_scores_do_not_remember_the_rows_left_out(seed):
    """The best of twenty starts on noise alone has bent its kinks to all rows, those left out later among them."""
    rng = np.random.default_rng(seed)
    X, y, fresh = rng.standard_normal((100, 4)), rng.standard_normal(100), rng.standard_normal((4000, 4))
    problem, family = Problem.of(X, y, 12, "relu"), families(RELU)[0]
    table, key = Table(problem, np.zeros(2, np.uint32)), np.array([7, 7], np.uint32)
    paths = [Path(table, table.whole, family, Free(), random.fold_in(key, start)) for start in range(20)]
    network = table.network(min((path.member(12, family.members[0], Free()) for path in paths), key=lambda it: it.loss))
    true = 1 + np.mean(network.predict(fresh) ** 2)
    left = refits_of(problem, network, 48, 100)
    assert true > 1.5
    assert 0.6 * true < left.loss(left.squares(network, intercept=False)) < 4 * true


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_network_that_made_few_rows_is_scored_as_fresh_rows_score_it(seed):
    problem, network = tanh_problem(120, 4, 3, 0.1, seed)
    fresh = np.random.default_rng(9).standard_normal((4000, 4))
    true = np.mean((network.predict(fresh) - tanh_problem(120, 4, 3, 0.0, seed)[1].predict(fresh)) ** 2)
    noise = problem.survey.variance * 0.1**2 / (1 + 0.1**2)
    left = refits_of(problem, network, 15, 120)
    error = left.loss(left.squares(network, intercept=False)) * problem.survey.variance
    assert 0.6 * (true + noise) < error < 1.6 * (true + noise)
