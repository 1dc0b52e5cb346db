"""PlantedConvRegressor under scikit-learn's checks, and several filters."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from planted import PlantedConvRegressor, match
from planted.datasets import images_to_patches, make_planted_conv
from planted.methods.filters.several import dense_network
from planted.networks import Network
from planted.objectives import ConvFilters


@pytest.mark.filterwarnings("ignore:(misfit|ambiguous)")
@pytest.mark.slow
@parametrize_with_checks(
    [PlantedConvRegressor(n_patches=1, max_iterations=100, random_state=0)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "its 27 rows cannot determine 31 weights; tested below"
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_filters", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_weights_count_like_repeated_rows(n_filters):
    data = make_planted_conv(500, 3, 4, noise=0.05, random_state=3)
    other = make_planted_conv(1, 3, 4, random_state=4)
    y = data.y if n_filters == 1 else data.y + other.teacher.predict(data.X)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    ours = PlantedConvRegressor(n_filters=n_filters, random_state=0).fit(data.X, y, sample_weight=weights)
    rows = [np.repeat(part, weights, axis=0) for part in (data.X, y)]
    theirs = PlantedConvRegressor(n_filters=n_filters, random_state=0).fit(*rows)
    alone = PlantedConvRegressor(n_filters=n_filters, random_state=0).fit(data.X, y)
    assert ours.result_.status == theirs.result_.status == "estimated"
    np.testing.assert_allclose(ours.predict(data.X), theirs.predict(data.X), rtol=1e-6, atol=1e-8)
    assert not np.allclose(ours.predict(data.X), alone.predict(data.X), rtol=1e-4)
    error, repeated = (model.result_.uncertainty.relative_error for model in (ours, theirs))
    assert error == pytest.approx(repeated, rel=1e-4)
    assert ours.result_.verdict.p_value == pytest.approx(theirs.result_.verdict.p_value, rel=1e-3)


@pytest.fixture(scope="module")
def two_filters():
    data, other = (make_planted_conv(1500, 4, 4, random_state=seed) for seed in (0, 1))
    return data.X, data.y + other.teacher.predict(data.X), [data.teacher, other.teacher]


def test_two_filters_are_recovered(two_filters):
    Z, y, teachers = two_filters
    model = PlantedConvRegressor(n_filters=2, random_state=0).fit(Z, y)
    assert model.result_.status == "recovered"
    assert isinstance(model.network_, Network)
    assert match(model.network_, dense_network(teachers)).weight_error < 1e-8
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
        PlantedConvRegressor(n_filters=2).fit(Z[:10], y[:10])
    with pytest.raises(ValueError, match="n_filters must be a positive integer"):
        PlantedConvRegressor(n_filters=0).fit(Z, y)
    with pytest.raises(ValueError, match="y is zero"):
        PlantedConvRegressor(n_filters=2).fit(Z, np.zeros(1500))
    with pytest.raises(ValueError, match="expected filters"):
        ConvFilters(Z, y).value({"filters": np.ones((2, 4)), "output": np.ones((1, 4))})
