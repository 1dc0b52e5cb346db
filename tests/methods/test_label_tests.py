"""What is said of labels: the level of the residual test, causes, and noise."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import kstest

from planted import Network
from planted.methods import Free, LabelProblem
from planted.methods._label_test import label_p_value


@pytest.mark.parametrize("intercept", [-3.0, -4.0])
def test_p_values_of_the_right_model_keep_their_level_with_a_rare_class(intercept):
    # The constant among the probes is what the bias of a sigmoid explains, to rounding.
    neuron, values = Network([[1.0, -1.0]], [1.0], "sigmoid", bias=[intercept]), []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((1000, 2))
        y = (rng.random(1000) < neuron.predict(X)).astype(float)
        problem = LabelProblem.of(X, y, 1, "sigmoid", free=Free(bias=True))
        values.append(label_p_value(problem, neuron))
    assert kstest(values, "uniform").pvalue > 1e-3
    assert np.min(values) > 1e-4


def test_probes_that_a_few_labels_decide_are_left_out():
    rare = Network([[2.0, -2.0]], [6.0], "sigmoid", bias=[-2.0], intercept=-7.0)
    values = []
    for seed in range(20):
        rng = np.random.default_rng(1000 + seed)
        X = rng.standard_normal((3000, 2))
        y = (rng.random(3000) < expit(rare.predict(X))).astype(float)
        problem = LabelProblem.of(X, y, 1, "sigmoid", link="logit", free=Free(True, True))
        values.append(label_p_value(problem, rare))
    assert np.min(values) > 1e-3
