"""A shared filter beside the mean and one linear function, on rows left out."""

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
