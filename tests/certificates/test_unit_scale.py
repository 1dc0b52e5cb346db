"""Weights per standard deviation: the same function, and the errors that a fit on scaled inputs has."""

import numpy as np
import pytest

from planted import Network
from planted.certificates import uncertainty, unit_scaled
from planted.objectives import Squared

RNG = np.random.default_rng(0)
SCALE = np.array([0.2, 3.0, 50.0])
INPUTS = RNG.standard_normal((400, 3)) * SCALE + [0.1, -1.0, 20.0]


@pytest.mark.parametrize(
    ("activation", "options"),
    [
        ("relu", {}),
        ("relu", {"bias": [0.3, -0.2], "intercept": 0.7}),
        ("quadratic", {"intercept": 1.0}),
        ("tanh", {"bias": [0.3, -0.2], "intercept": 0.7, "skip": [0.1, 0.2, 0.03]}),
    ],
)
def test_errors_are_those_of_a_fit_on_scaled_inputs(activation, options):
    network = Network([[2.0, 0.3, -0.01], [-1.0, 0.2, 0.02]], [1.5, -0.8], activation, **options).canonical()
    y = network.predict(INPUTS) + 0.1 * RNG.standard_normal(400)
    parts = {"bias": "bias" in options, "intercept": "intercept" in options, "skip": "skip" in options}
    loss = Squared(INPUTS, y, activation, **parts)
    found = uncertainty(loss, loss.model.params(network))
    made = unit_scaled(found.network, SCALE, found)
    np.testing.assert_allclose(made.network.predict(INPUTS / SCALE), network.predict(INPUTS), rtol=1e-12)
    direct = Squared(INPUTS / SCALE, y, activation, **parts)
    expected = uncertainty(direct, direct.model.params(made.network))
    order = [int(np.argmin(np.abs(made.network.weights - row).sum(axis=1))) for row in expected.network.weights]
    assert sorted(order) == [0, 1]
    for name, errors in expected.errors.items():
        own = made.errors[name]
        if name in ("weights", "bias"):
            own = own[order]
        elif name == "output":
            own = own[..., order]
        np.testing.assert_allclose(own, errors, rtol=1e-5, err_msg=name)


def test_what_rows_leave_open_stays_open_and_nothing_else():
    X = np.column_stack([INPUTS[:, :2], 2 * INPUTS[:, 1]])
    network = Network([[2.0, 0.3, 0.1]], [1.0], "tanh")
    loss = Squared(X, network.predict(X) + 0.01 * RNG.standard_normal(400), "tanh")
    found = uncertainty(loss, loss.model.params(network))
    errors = unit_scaled(found.network, X.std(axis=0), found).errors
    assert np.isinf(errors["weights"][0]).tolist() == [False, True, True]
    assert np.all(np.isfinite(errors["output"]))


def test_what_does_not_change_the_length_of_a_neuron_leaves_its_other_weights_determined():
    """Against a fit without the copy, whose length is another one."""
    X = np.column_stack([INPUTS[:, :2] / SCALE[:2], INPUTS[:, 1] / SCALE[1]])
    shared = Network([[2.0, 0.5, 0.5]], [1.0])
    y = shared.predict(X) + 0.01 * RNG.standard_normal(400)
    loss, alone = Squared(X, y), Squared(X[:, :2], y)
    found = uncertainty(loss, loss.model.params(shared))
    errors = unit_scaled(found.network, np.ones(3), found).errors
    assert np.isinf(errors["weights"][0]).tolist() == [False, True, True]
    # Of v = (2, 1/2, 1/2)/√4.5 the first is 2u/√(4 + u²/2) of the other fit's direction (2, u)/√(4 + u²), u = 1.
    other = uncertainty(alone, alone.model.params(Network([[2.0, 1.0]], [1.0])))
    first = other.network.weights[0]
    slope = np.array([first[1] ** 2 / 2, -first[0] * first[1] / 2]) / (first[0] ** 2 + first[1] ** 2 / 2) ** 1.5
    block = other.covariance[1:, 1:]
    assert errors["weights"][0, 0] == pytest.approx(np.sqrt(slope @ block @ slope), rel=1e-5)
    assert np.isfinite(errors["output"][0])


def test_no_neurons_and_constant_inputs():
    linear = Network(np.zeros((0, 2)), np.zeros(0), skip=[1.0, 2.0], intercept=3.0)
    made = unit_scaled(linear, [4.0, 0.0])
    np.testing.assert_array_equal(made.network.skip, [4.0, 2.0])
    assert made.errors == {}


@pytest.mark.parametrize("turned", [0.0, 0.7])
def test_a_combination_of_columns_leaves_its_own_weights_open_and_no_others(turned):
    """The intercept has the error of a fit without the combination; other errors are at another scale."""
    inputs = RNG.standard_normal((300, 4))
    null = np.array([1.0, 1.0, -2.0, 0.0, -1.0])
    X = np.column_stack([inputs, inputs @ null[:4]])
    weights = np.array([[1.0, 0.3, -0.4, 0.8, 0.0], [-0.2, 0.9, 0.5, 0.6, 0.0]]) + turned * null
    made = Network(weights, [1.5, -0.8], bias=[0.3, -0.2], intercept=0.7).canonical()
    y = made.predict(X) + 0.1 * RNG.standard_normal(300)
    loss = Squared(X, y, bias=True, intercept=True)
    found = uncertainty(loss, loss.model.params(made))
    shown = unit_scaled(found.network, X.std(axis=0), found)
    for errors in (found.errors, shown.errors):
        assert np.isinf(errors["weights"]).tolist() == [[True, True, True, False, True]] * 2
        assert all(np.all(np.isfinite(errors[name])) for name in ("output", "bias", "intercept"))
    narrow = Squared(inputs, y, bias=True, intercept=True)
    alone = uncertainty(
        narrow, narrow.model.params(made.replace(weights=made.weights[:, :4] + made.weights[:, 4:] * null[:4]))
    )
    assert found.noise == pytest.approx(alone.noise, rel=1e-9)
    np.testing.assert_allclose(found.errors["intercept"], alone.errors["intercept"], rtol=1e-6)
