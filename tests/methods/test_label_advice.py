"""What is advised of labels: nothing that a comparison has tried, and squares where these need fewer numbers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from planted import Network, PlantedClassifier
from planted.certificates import uncertainty
from planted.methods import Free, LabelProblem
from planted.methods._facts import Cause, Facts
from planted.methods._label_causes import squares_instead
from planted.methods._label_quick import quick_fit
from planted.methods._limits import limit_of
from planted.methods._verdict import judge

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def labelled(odds, seed, n=1000):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, (rng.random(n) < expit(odds(X))).astype(float)


def ring(X):
    return 3 * np.sum(X**2, axis=1) - 4


def saddle(X):
    return 2 * X[:, 0] * X[:, 1]


def two_tanh(X):
    return 4 * np.tanh(2 * X[:, 0]) - 4 * np.tanh(2 * X[:, 1] - 1)


@pytest.mark.parametrize(("odds", "instead"), [(ring, True), (saddle, True), (two_tanh, False)])
@pytest.mark.parametrize("seed", [2, 4])
def test_squares_are_named_where_they_explain_as_much_with_fewer_numbers(odds, instead, seed):
    problem = LabelProblem.of(*labelled(odds, seed), 3, "softplus", link="logit", free=Free(intercept=True))
    cause = squares_instead(problem, quick_fit(problem))
    assert (cause is not None) == instead


def test_squares_are_advised_and_not_the_widths_that_were_compared():
    X, y = labelled(ring, 1)
    est = PlantedClassifier(random_state=0, restarts=0).fit(X, y)
    assert est.result_.advice == "Try activation='quadratic'."
    assert "quadratic neurons explain as much with fewer numbers (explained deviance" in est.result_.reason


@pytest.mark.parametrize(("compared", "advised"), [(("n_hidden",), False), ((), True)])
def test_fewer_neurons_are_no_advice_where_they_were_compared(compared, advised):
    facts = Facts(0.3, np.inf, 900, 9, undetermined="something", n_hidden=3, labels=True, compared=compared)
    assert ("ask for fewer neurons" in judge(facts).advice) == advised
    told = judge(replace(facts, cause=Cause("activation", "quadratic", 0.4, 0.3)))
    assert told.advice == "Try activation='quadratic'."
    network = Network([[1.0, 0.0], [1.0, 0.0]], [2.0, -2.0], "tanh", intercept=0.0)
    problem = LabelProblem.of(*labelled(ring, 0, 100), 2, "tanh", link="logit", free=Free(intercept=True))
    errors = uncertainty(problem.objective(), problem.params(network))
    limit = limit_of(problem.survey.X, errors, labels=True, fewer=advised)
    assert "coincide" in limit.reason
    assert ("n_hidden=1" in limit.advice) == advised
