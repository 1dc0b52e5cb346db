"""Trained teachers are what scikit-learn trained, and rows have the law they are said to have."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import StandardScaler

from planted.datasets import INPUTS, make_planted, make_trained


def test_the_teacher_is_the_network_that_scikit_learn_trains():
    rows, classes = load_iris(return_X_y=True)
    rows, targets = StandardScaler().fit_transform(rows), (classes - classes.mean()) / classes.std()
    model = MLPRegressor(hidden_layer_sizes=(3,), activation="logistic", max_iter=3000, random_state=4)
    model.fit(rows, targets)
    data = make_trained(50, 3, source="iris", activation="sigmoid", random_state=4)
    np.testing.assert_allclose(data.teacher.predict(rows), model.predict(rows), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(data.y, data.teacher.predict(data.X), rtol=0, atol=0)
    again = make_trained(50, 3, source=(rows, 7 * targets), activation="sigmoid", random_state=4)
    np.testing.assert_allclose(again.teacher.weights, data.teacher.weights, rtol=1e-6)
    np.testing.assert_array_equal(again.X, data.X)


def test_a_made_source_and_noise():
    quiet, loud = (
        make_trained(4000, 2, source="friedman3", inputs="uniform", noise=noise, random_state=np.random.RandomState(1))
        for noise in (0.0, 0.5)
    )
    np.testing.assert_array_equal(quiet.teacher.weights, loud.teacher.weights)
    # The standard error of a standard deviation is σ/√(2n).
    assert np.std(loud.y - quiet.y) == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(8000))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "diabtes"}, "did you mean 'diabetes'"),
        ({"source": (np.ones((3, 2)), np.ones(2))}, "source has 3 rows but 2 targets"),
        ({"activation": "softplus"}, "unknown activation 'softplus'"),
        ({"noise": -1.0}, "noise must be a non-negative number"),
        ({"n_hidden": 0}, "n_hidden must be a positive integer"),
        ({"inputs": "cauchy"}, "unknown inputs 'cauchy'"),
    ],
)
def test_bad_requests_are_one_sentence(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        make_trained(**({"n_samples": 10, "n_hidden": 2, "source": "linnerud"} | options))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("law", INPUTS)
def test_rows_of_every_law_are_labelled_by_their_teacher(law):
    data = make_planted(200, 4, 2, inputs=law, random_state=0)
    np.testing.assert_allclose(data.y, data.teacher.predict(data.X), rtol=1e-12)
    assert 0.01 < np.std(data.y) < 100


def test_laws_are_what_they_are_called():
    X = {law: make_planted(4000, 6, 1, inputs=law, random_state=0).X for law in INPUTS}
    assert set(np.unique(X["binary"])) == {0.0, 1.0}
    np.testing.assert_array_equal(X["counts"], np.abs(np.round(X["counts"])))
    assert np.mean(X["sparse"] == 0) == pytest.approx(0.8, abs=0.02)
    assert np.abs(X["uniform"]).max() <= np.sqrt(3)
    # A sample covariance of 4,000 rows is within a few per cent of the covariance in every direction.
    assert np.linalg.cond(np.cov(X["correlated"].T)) == pytest.approx(1e4, rel=0.3)
    np.testing.assert_allclose(np.log10(X["scales"].std(axis=0)), np.linspace(-6, 6, 6), atol=0.1)
    np.testing.assert_array_equal(X["repeated"][:, 3:], X["repeated"][:, :3])
    # E|x|⁴ is infinite: the sample's kurtosis is far above a Gaussian's 3.
    assert np.mean((X["heavy"] / X["heavy"].std()) ** 4) > 9
