"""What is said of steps and of rows that are far off can be followed."""

import numpy as np
import pytest

from planted import Network
from planted.methods import Facts, Problem, judge
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
