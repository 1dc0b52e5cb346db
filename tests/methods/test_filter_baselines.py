"""Shared filters beside the mean and one linear function, on rows left out."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from planted import PlantedConvRegressor
from planted.datasets import make_planted_conv

SHAPE = (800, 4, 5)


def test_a_shared_filter_is_compared_with_the_mean_and_a_linear_function():
    data = make_planted_conv(*SHAPE, noise=0.5, random_state=4)
    est = PlantedConvRegressor(random_state=0).fit(data.X, data.y)
    facts = est.verdict_.facts
    assert est.verdict_.status == "estimated"
    assert facts.network_loss < facts.linear_loss < facts.mean_loss
    unit = np.var(data.y)
    assert facts.network_loss == pytest.approx(0.25 / unit, rel=0.15)
    assert "rows left out one by one: this network" in str(est.summary())


def test_noise_behind_patches_is_no_filter():
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal(SHAPE), rng.standard_normal(SHAPE[0])
    with pytest.warns(ConvergenceWarning, match="than the mean"):
        est = PlantedConvRegressor(random_state=0).fit(Z, y)
    assert est.verdict_.status == "ambiguous"
    assert "there is only noise" in est.verdict_.reason


def two_filters(noise, rows=SHAPE[0]):
    one, two = (make_planted_conv(rows, *SHAPE[1:], random_state=seed) for seed in (4, 5))
    return one.X, one.y + two.teacher.predict(one.X) + noise * np.random.default_rng(0).standard_normal(rows)


def test_several_filters_are_compared_with_the_mean_and_a_linear_function():
    Z, y = two_filters(0.5)
    est = PlantedConvRegressor(n_filters=2, random_state=0).fit(Z, y)
    facts = est.verdict_.facts
    assert est.verdict_.status == "estimated"
    assert facts.network_loss < facts.linear_loss < facts.mean_loss
    # Numbers that were fitted are those of the filters, not of 8 neurons with 20 weights each.
    assert facts.network_loss == pytest.approx(0.25 / np.var(y), rel=0.15)
    assert "rows left out one by one: this network" in str(est.summary())


def test_the_noise_of_several_filters_allows_for_the_numbers_fitted():
    said = []
    for seed in range(6):
        Z, y = two_filters(0.0, 60)
        y = y + np.random.default_rng(seed).standard_normal(60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            facts = PlantedConvRegressor(n_filters=2, random_state=0).fit(Z, y).verdict_.facts
        said.append(float(facts.noise.removeprefix("its standard deviation is ")))
        assert said[-1] == pytest.approx(np.sqrt(facts.relative_loss * np.var(y) * 60 / 44), rel=0.01)
    assert 0.8 < np.mean(said) < 1.2


def test_noise_behind_patches_is_not_several_filters():
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal(SHAPE), rng.standard_normal(SHAPE[0])
    with pytest.warns(ConvergenceWarning, match="than the mean"):
        est = PlantedConvRegressor(n_filters=2, random_state=0).fit(Z, y)
    assert est.verdict_.status == "ambiguous"
    assert est.verdict_.advice == "Give other inputs, or more rows, or ask for fewer filters."
