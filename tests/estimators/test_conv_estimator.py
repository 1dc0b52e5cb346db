"""PlantedConvRegressor under scikit-learn's checks, and several filters."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from planted import PlantedConvRegressor, match
from planted.datasets import images_to_patches, make_planted_conv
from planted.methods import recover_filters
from planted.methods._conv_filters import _network
from planted.networks import Network
from planted.objectives import ConvFilters


@pytest.mark.filterwarnings("ignore:not recovered")
@pytest.mark.slow
@parametrize_with_checks([PlantedConvRegressor(n_patches=1, max_iterations=100, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def two_filters():
    data, other = (make_planted_conv(1500, 4, 4, random_state=seed) for seed in (0, 1))
    return data.X, data.y + other.teacher.predict(data.X), [data.teacher, other.teacher]


def test_two_filters_are_recovered(two_filters):
    Z, y, teachers = two_filters
    model = PlantedConvRegressor(n_filters=2, random_state=0).fit(Z, y)
    assert model.result_.status == "recovered"
    assert isinstance(model.network_, Network)
    assert match(model.network_, _network(teachers)).weight_error < 1e-8
    assert model.filter_.shape == (2, 4)
    np.testing.assert_allclose(model.predict(Z.reshape(1500, -1)), y, atol=1e-8)


def test_filters_of_images_are_images(two_filters):
    Z, y, _ = two_filters
    images = Z.reshape(1500, 2, 2, 2, 2).transpose(0, 1, 3, 2, 4).reshape(1500, 4, 4)
    np.testing.assert_array_equal(images_to_patches(images, (2, 2)), Z)
    model = PlantedConvRegressor(patch_shape=(2, 2), n_filters=2, random_state=0).fit(images, y)
    assert model.filter_.shape == (2, 2, 2)
    assert model.score(images, y) > 1 - 1e-12


def test_loss_of_several_filters_is_that_of_the_fully_connected_network(two_filters):
    Z, y, teachers = two_filters
    params = {"filters": np.stack([t.filter for t in teachers]) + 0.1, "output": np.stack([t.output for t in teachers])}
    dense = Network(np.concatenate([np.kron(np.eye(4), row) for row in params["filters"]]), params["output"].ravel())
    by_rows = 0.5 * np.mean((dense.predict(Z.reshape(1500, -1)) - y) ** 2)
    assert np.isclose(ConvFilters(Z, y).value(params), by_rows, rtol=1e-12)


def test_too_few_rows_and_bad_counts_are_refused(two_filters):
    Z, y, _ = two_filters
    with pytest.raises(ValueError, match="10 rows cannot determine 2 filters"):
        recover_filters(Z[:10], y[:10], 2)
    with pytest.raises(ValueError, match="n_filters must be a positive integer"):
        PlantedConvRegressor(n_filters=0).fit(Z, y)
    with pytest.raises(ValueError, match="y is constant"):
        recover_filters(Z, np.ones(1500), 2)
    with pytest.raises(ValueError, match="expected filters"):
        ConvFilters(Z, y).value({"filters": np.ones((2, 4)), "output": np.ones((1, 4))})
