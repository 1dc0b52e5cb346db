"""Errors at other likely parameters, and the intervals that allow for them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from planted import Network
from planted.certificates import error_ratios, uncertainty
from planted.certificates._uncertainty import mixture_reach
from planted.datasets import make_planted
from planted.methods import Problem, observations, recover, refine
from planted.methods._errors import errors_of
from planted.methods._recovery import Start
from planted.objectives import Squared, flatten, unflatten


def test_an_interval_reaches_as_far_as_the_mixture_of_normal_laws():
    ratios = np.array([[1.0, 0.5], [1.0, 1.0], [1.0, 3.0]])
    reach = mixture_reach(ratios, 0.9)
    assert reach[0] == pytest.approx(norm.ppf(0.95), rel=1e-12)
    assert reach[1] > norm.ppf(0.95)
    np.testing.assert_allclose(np.mean(norm.cdf(reach / ratios), axis=0), 0.95, rtol=1e-12)


def test_ratios_are_those_of_the_errors_there():
    data = make_planted(200, 2, 1, noise=1.0, random_state=0)
    loss = Squared(data.X, data.y)
    about = uncertainty(loss, loss.model.params(data.teacher))
    ratios = error_ratios(loss, about, seed=3)
    values, vectors = np.linalg.eigh(about.covariance)
    draw = np.random.default_rng(3).standard_normal((len(ratios) // 2, len(values)))[0]
    there = uncertainty(loss, unflatten(flatten(about.estimate) + vectors @ (np.sqrt(values) * draw), about.estimate))
    # One neuron, so that no order changes; errors in units of the noise, which an estimate elsewhere would overrate.
    expected = flatten(there.errors) / there.noise / (flatten(about.errors) / about.noise)
    np.testing.assert_allclose(ratios[0], expected, rtol=1e-8)


def test_intervals_of_a_neuron_that_is_hardly_known_are_wider_than_its_errors():
    teacher = Network([[1.0, 0.0], [0.6, 0.8]], [1.0, -0.2])
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2))
    problem = Problem.of(X, teacher.predict(X) + 0.3 * rng.standard_normal(500), 2)
    # Of a whole answer they are left open: one neuron explains rows left out as well.
    assert np.isinf(recover(problem, Start(teacher, "squared"), 0.0).uncertainty.errors["output"]).all()
    errors = errors_of(problem, refine(problem, teacher).network, observations(problem.survey), 0.5).uncertainty
    low, high = errors.intervals()["output"]
    plain = replace(errors, ratios=None).intervals()["output"]
    assert np.all(high - low > 1.02 * (plain[1] - plain[0]))
    np.testing.assert_allclose((low + high) / 2, errors.estimate["output"], rtol=1e-12)
