"""What is said of steps and of rows that are far off can be followed."""

import numpy as np
import pytest

from planted import Network, PlantedRegressor
from planted.methods import Facts, Problem, judge
from planted.methods._baselines import LeftOut, compared
from planted.methods._finish import recover
from planted.methods._heavy_tails import far_rows
from planted.methods._observations import Observations
from planted.methods._recovery import Start

X = np.random.default_rng(11).standard_normal((600, 3))
TANH = Network([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]], [1.0, 2.0], "tanh")


def test_a_step_is_called_one_and_its_length_is_left_open():
    step = Network([[3000.0, 3000.0, 0.0]], [1.0], "tanh")
    result = recover(Problem.of(X, np.sign(X[:, 0] + X[:, 1]), 1, "tanh"), Start(step, "squared"), 0.0)
    assert result.status == "ambiguous"
    assert "neuron 1 is a step in these rows" in result.reason
    assert "distinct rows" not in result.reason
    assert result.advice == "Take it as a step, or give rows next to it, where a slope would show."
    assert np.isinf(result.uncertainty.weights[0, :2]).all()
    assert np.isfinite(result.uncertainty.output).all()


def test_a_network_without_steps_and_few_rows_is_not_called_one():
    few = X[:8]
    result = recover(Problem.of(few, TANH.predict(few), 2, "tanh"), Start(TANH, "squared"), 0.0)
    assert result.status == "ambiguous"
    assert "step" not in result.reason


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_are_far_off_are_named_and_ordinary_noise_has_none(seed):
    rng = np.random.default_rng(seed)
    truth = TANH.predict(X)
    assert far_rows(TANH, Observations(X, truth + 0.1 * rng.standard_cauchy(600))).startswith("the 6 of 600 rows")
    for noise in (rng.standard_normal(600), rng.laplace(size=600), rng.standard_t(5, 600)):
        assert far_rows(TANH, Observations(X, truth + noise)) == ""


def test_cauchy_noise_is_said_to_be_in_a_few_rows():
    y = TANH.predict(X) + 0.1 * np.random.default_rng(1).standard_cauchy(600)
    result = recover(Problem.of(X, y, 2, "tanh"), Start(TANH, "squared"), 0.0)
    assert "rows farthest off make" in result.reason
    assert "no neuron is needed" not in result.reason
    assert result.advice.startswith("Look at the rows farthest off, and leave out those that are errors.")


def test_a_linear_function_is_no_explanation_where_a_few_rows_hide_others():
    facts = Facts(0.8, np.inf, 600, 8, p_value=0.5, n_hidden=2, unbeaten=("linear",), network_loss=0.83,
                  linear_loss=0.83, mean_loss=1.0)  # fmt: skip
    assert "no neuron is needed" in judge(facts).reason
    hidden = judge(Facts(**{**vars(facts), "far_rows": "the 6 of 600 rows farthest off make 86 % of it"})).reason
    assert "a few rows far off hide whether neurons are needed" in hidden


def test_fewer_neurons_that_predict_worse_are_no_advice():
    """Two tanh neurons explain a noisy exclusive or, and one does not; their outputs cancel."""
    draws = np.random.default_rng(9420)
    bits = draws.integers(0, 2, (120, 3)).astype(float)
    y = np.abs(bits[:, 0] - bits[:, 1]) + 0.15 * draws.standard_normal(120)
    result = PlantedRegressor(2, "tanh", random_state=0).fit(bits, y).result_
    assert result.status == "ambiguous"
    assert "fewer" not in result.advice
    assert result.verdict.facts.all_needed


def test_a_linear_truth_that_a_poor_network_misses_is_found_all_the_same():
    """Five times the rows a number: the network is no better than the mean, and a linear function is."""
    draws = np.random.default_rng(9421)
    X = draws.standard_normal((80, 4))
    y = X @ [1.0, -1.0, 1.0, 0.5] + 1.5 * draws.standard_normal(80)
    poor = Network([[1.0, 1.0, 1.0, 1.0]], [1.0], "abs")
    left = compared(LeftOut.of(Observations(X, y), 80), poor, 4, intercept=False)
    assert left.unbeaten == ("mean", "linear")
    assert left.linear_tells
    scores = {"network_loss": left.network, "linear_loss": left.linear, "mean_loss": left.mean}
    facts = Facts(0.98, np.inf, 80, 4, p_value=0.5, n_hidden=1, unbeaten=left.unbeaten, linear_tells=True, **scores)
    assert "worse than linear regression" in judge(facts).reason
    assert judge(facts).advice.startswith("Use linear regression")
    noise = compared(LeftOut.of(Observations(X, draws.standard_normal(80)), 80), poor, 4, intercept=False)
    assert not noise.linear_tells


@pytest.mark.parametrize(("unbeaten", "rival"), [(("linear",), "linear regression"), (("mean",), "the mean")])
def test_a_misfit_names_what_predicts_rows_left_out_as_well(unbeaten, rival):
    scores = {"network_loss": 0.9, "linear_loss": 0.7, "mean_loss": 0.8}
    facts = Facts(0.6, np.inf, 300, 10, p_value=1e-9, n_hidden=3, unbeaten=unbeaten, **scores)
    verdict = judge(facts)
    assert verdict.status == "misfit"
    assert verdict.reason.startswith(f"on rows left out the network is worse than {rival} (R² 0.1, ")
    assert "the residuals have structure" in verdict.reason
