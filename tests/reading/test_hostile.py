"""Networks that are hard to read: close neurons, uneven strengths, other units, in every family of activations."""

import numpy as np
import pytest
from scipy import special

from planted import Network, match, read
from planted.reading._lines import Line, find_kinks

FUNCTIONS = {
    "relu": lambda z: np.maximum(z, 0),
    "leaky_relu": lambda z: np.maximum(z, 0.01 * z),
    "abs": np.abs,
    "tanh": np.tanh,
    "softplus": lambda z: np.logaddexp(z, 0),
    "silu": lambda z: z * special.expit(z),
}


def made(d=6, k=6, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.standard_normal((k, d)), rng.standard_normal(k), rng.standard_normal(k)


def check(name, weights, bias, output, dtype=np.float64, fidelity=1e-8, error=1e-6):
    W, b, a = (np.asarray(part, dtype) for part in (weights, bias, output))
    reading = read(lambda X: FUNCTIONS[name](X.astype(dtype) @ W.T + b) @ a + dtype(1), W.shape[1], random_state=0)
    assert reading.status == "recovered", reading.reason
    assert reading.fidelity <= fidelity
    truth = Network(weights, output, name, bias=bias, intercept=1.0).simplify()
    assert reading.network.n_hidden == truth.n_hidden
    assert match(reading.network, truth).weight_error < error


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "abs"])
def test_neurons_that_are_nearly_the_same_are_told_apart(name):
    rng, W, b, a = made(seed=1)
    W[1], b[1] = W[0] + 1e-5 * rng.standard_normal(6), b[0] + 1e-5
    check(name, W, b, a)


def test_two_kinks_are_told_apart_down_to_rounding():
    line = Line(lambda X: np.maximum(X, 0) + np.maximum(X - 1e-9, 0), np.zeros(1), np.ones(1), 1e-16, 1.0)
    places = [kink.t for kink in find_kinks(line, 1e4).kinks]
    np.testing.assert_allclose(places, [0.0, 1e-9], atol=1e-11)


@pytest.mark.parametrize("name", ["tanh", "softplus", "silu"])
@pytest.mark.parametrize("kind", ["close", "strengths", "lengths", "duplicates"])
def test_smooth_networks(name, kind):
    rng, W, b, a = made(seed=2)
    if kind == "close":
        W[1], b[1] = W[0] + 1e-3 * rng.standard_normal(6), b[0] + 1e-3
    elif kind == "strengths":
        a = np.sign(a) * np.geomspace(1, 1e-4, 6)
    elif kind == "lengths":
        length = np.geomspace(30, 0.03, 6)
        W, b = W * length[:, None], b * length
    else:
        W[1], b[1], W[2], b[2], W[4], a[5] = W[0], b[0], -W[3], -b[3], 0.0, 0.0
    check(name, W, b, a)


@pytest.mark.parametrize("name", ["relu", "tanh", "softplus"])
@pytest.mark.parametrize("units", [1e-3, 1e3, "uneven"])
def test_inputs_in_other_units(name, units):
    _, W, b, a = made(seed=3)
    check(name, W * (np.geomspace(1e-3, 1e3, 6) if units == "uneven" else units), b, a)


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_inputs_in_other_units_in_float32(name):
    _, W, b, a = made(seed=4)
    check(name, 1e-3 * W, b, a, np.float32, 1e-4, 1e-3)


def test_large_whole_numbers_are_float32():
    _, W, b, a = made(seed=5)
    check("relu", W, b, 1e8 * a, np.float32, 1e-4, 1e-3)


def test_the_search_for_kinks_stops_early_on_a_curve():
    asked = []

    def curve(X):
        asked.append(len(X))
        return np.sqrt(1 + X**2)

    result = find_kinks(Line(curve, np.zeros(1), np.ones(1), 1e-15, 1.0), 1e4)
    assert len(result.curved) > 100
    assert sum(asked) < 2000
