"""Whitening undoes units, means and dependences of the inputs, and carries networks back."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from planted import Network, PlantedRegressor, match
from planted.datasets import make_planted
from planted.methods._whitening import Whitening


def rows(n=200):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4)) * [1e-6, 1.0, 1e6, 1.0] + [0.0, 5.0, 0.0, 1e3]
    # A copy, a sum in rounded numbers and a constant.
    return np.column_stack([X, X[:, 1], X[:, 1] + 2 * X[:, 3], np.full(n, 7.0)])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_second_moments_are_one_and_dependent_directions_are_left_out(centred, weighted):
    X = rows()
    share = np.random.default_rng(1).uniform(0.5, 1.5, len(X)) if weighted else None
    share = None if share is None else share / share.mean()
    Z = Whitening.of(X, share, centred=centred)(X)
    # Without centring the constant is a direction of its own.
    assert Z.shape == (len(X), 4 if centred else 5)
    weight = np.ones(len(X)) if share is None else share
    np.testing.assert_allclose((Z * weight[:, None]).T @ Z / len(X), np.eye(Z.shape[1]), atol=1e-8)


def test_a_network_carried_back_predicts_the_same():
    X = rows()
    whitening = Whitening.of(X, centred=True)
    Z, rng = whitening(X), np.random.default_rng(2)
    net = Network(
        rng.standard_normal((3, 4)), rng.standard_normal(3), "tanh", rng.standard_normal(3), 0.5, [1, 2, 3, 4]
    )
    np.testing.assert_allclose(whitening.network(net).predict(X), net.predict(Z), rtol=1e-8)


def test_a_fit_does_not_depend_on_units_and_means():
    data = make_planted(600, 5, 3, activation="tanh", weights="gaussian", output="mixed", bias=True, random_state=0)
    unit, mean = 10.0 ** np.array([-6, -3, 0, 3, 6]), np.array([0, 1e-2, 30.0, 0, -1e7])
    est = PlantedRegressor(3, activation="tanh", fit_bias=True, fit_intercept=False, random_state=0)
    est.fit(data.X * unit + mean, data.y)
    assert est.result_.status == "recovered"
    net = est.network_
    back = net.replace(weights=net.weights * unit, bias=net.bias + net.weights @ mean)
    assert match(back, data.teacher).weight_error < 1e-6


def test_repeated_columns_share_their_weight():
    data = make_planted(800, 6, 3, inputs="repeated", weights="gaussian", output="mixed", random_state=0)
    est = PlantedRegressor(3, activation="relu", fit_bias=False, fit_intercept=False, random_state=0)
    with pytest.warns(ConvergenceWarning, match="ambiguous"):
        est.fit(data.X, data.y)
    assert est.result_.status == "ambiguous"
    assert "9 of 18 directions" in est.result_.reason
    np.testing.assert_allclose(est.network_.weights[:, :3], est.network_.weights[:, 3:], rtol=1e-9)
    net, teacher = est.network_, data.teacher
    joint = [Network(one.weights[:, :3] + one.weights[:, 3:], one.output) for one in (net, teacher)]
    assert match(*joint).weight_error < 1e-9
