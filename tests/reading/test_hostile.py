"""Networks that are hard to read: close neurons, uneven strengths, other units, in every family of activations."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import special

from planted import Network, match, read
from planted.reading import ModelError
from planted.reading._kinks import Pieces
from planted.reading._lines import Line, find_kinks
from planted.reading._query import Frame, Query, Source
from planted.reading._settle import by_normal_equations, by_products, settle
from planted.reading._survey import survey

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


def single(W, b, a):
    W, b, a = (np.asarray(part, np.float32) for part in (W, b, a))
    return lambda X: np.maximum(X.astype(np.float32) @ W.T + b, 0) @ a


@pytest.mark.parametrize("distance", [100, -1000, -1e5])
def test_neurons_that_turn_far_out_are_read_in_float32(distance):
    _, W, b, a = made(seed=1)
    b[2] = distance * np.linalg.norm(W[2]) * np.sqrt(6)
    check("relu", W, b, a, np.float32, 1e-4, 1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_network_without_a_neuron_that_turns_very_far_out_is_not_called_recovered(dtype):
    _, W, b, a = made(seed=2)
    b[2] = -1e8 * np.linalg.norm(W[2])
    W, b, a = (np.asarray(part, dtype) for part in (W, b, a))
    reading = read(lambda X: np.maximum(X.astype(dtype) @ W.T + b, 0) @ a, 6, random_state=0)
    assert reading.status == "estimated"
    assert reading.network.n_hidden == 5
    assert "neurons that turn there are missing" in reading.reason


def test_two_neurons_in_float32_are_called_one_only_where_rounding_hides_the_difference():
    rng, W, b, a = made(seed=3)
    W[1], b[1] = W[0] + 1e-6 * rng.standard_normal(6), b[0] + 1e-6
    reading = read(single(W, b, a), 6, random_state=0)
    assert reading.status == "recovered"
    assert reading.network.n_hidden == 5
    assert 1e-6 < float(reading.reason.split("differ by less than ")[1].split()[0]) < 2e-3


@pytest.mark.parametrize("gap", [1e-4, 1e-3])
@pytest.mark.parametrize("opposite", [False, True])
def test_a_wedge_between_two_neurons_is_read_in_float32_or_the_network_is_not_called_recovered(gap, opposite):
    rng, W, b, a = made(seed=4)
    W[1], b[1], a[:2] = W[0] + gap * rng.standard_normal(6), b[0] + gap, (1.0, -0.5 if opposite else 0.5)
    reading = read(single(W, b, a), 6, random_state=0)
    assert reading.network.n_hidden == 6 or reading.status != "recovered"


@pytest.mark.parametrize("sign", [-1, 1])
def test_neurons_that_are_nearly_the_same_are_told_apart_in_float32(sign):
    rng, W, b, a = made(seed=2)
    W[1], b[1], a[:2] = W[0] + 3e-3 * rng.standard_normal(6), b[0] + 3e-3, (1.0, 0.4 * sign)
    check("relu", W, b, a, np.float32, 1e-4, 1e-3)


def test_strengths_of_ten_thousand_to_one_in_float32():
    _, W, b, a = made(8, 5, seed=7)
    reading = read(single(W, b, np.sign(a) * np.geomspace(1, 1e-4, 5)), 8, random_state=0)
    assert reading.status == "recovered", reading.reason
    assert reading.network.n_hidden == 5
    theirs, ours = (w / np.linalg.norm(w, axis=1, keepdims=True) for w in (W, reading.network.weights))
    # Rounding is about 1e-7, and the weakest neuron 1e-4 of the strongest: its direction is known to about 1e-3.
    assert np.all(1 - np.abs(ours @ theirs.T).max(axis=0) < 1e-5)


@pytest.mark.parametrize("gap", [1e-4, 1e-3])
def test_two_neurons_in_float32_that_differ_by_more_than_rounding_are_two(gap):
    rng, W, b, a = made(seed=8)
    W[1], b[1], a[:2] = W[0] + gap * rng.standard_normal(6), b[0] + gap, (1.0, 0.7)
    reading = read(single(W, b, a), 6, random_state=0)
    assert reading.status == "recovered", reading.reason
    assert reading.network.n_hidden == 6


def clipped(low, high):
    return lambda X, W, b, a: np.clip(X.astype(W.dtype) @ W.T + b, W.dtype.type(low), W.dtype.type(high)) @ a


@pytest.mark.parametrize(("name", "low", "high"), [("hard_tanh", -1, 1), ("relu6", 0, 6)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clipped_neurons_whose_halves_cancel_far_out(name, low, high, dtype):
    _, W, b, a = made(5, 4, seed=9)
    arrays = [np.asarray(part, dtype) for part in (W, b, a)]
    reading = read(lambda X: clipped(low, high)(X, *arrays), 5, activation=name, random_state=0)
    assert reading.status == "recovered", reading.reason
    assert reading.network.activation.name == name
    assert match(reading.network, Network(W, a, name, bias=b)).weight_error < (1e-6 if dtype is np.float64 else 1e-4)
    if dtype is np.float64:
        assert reading.queries_per_parameter < 25


def test_relu_neurons_that_cancel_far_out():
    _, W, b, a = made(5, 3, seed=5)

    def hats(X):
        z = X @ W.T + b
        return (np.maximum(z + 1, 0) - 2 * np.maximum(z, 0) + np.maximum(z - 1, 0)) @ a

    reading = read(hats, 5, random_state=0)
    assert reading.status == "recovered", reading.reason
    assert reading.network.n_hidden == 9


def test_a_weak_neuron_that_no_line_has_shown_is_added():
    _, W, b, a = made(6, 7, seed=10)
    W, b, a = (np.asarray(part, np.float32) for part in (W, b, np.sign(a) * np.array([1, 1, 1, 1, 1, 1, 1e-3])))
    query = Query(Source(lambda X: np.maximum(X.astype(np.float32) @ W.T + b, 0) @ a, 6))
    frame, rng = Frame(query, np.zeros(6), np.ones(6)), np.random.default_rng(0)
    length = np.linalg.norm(W, axis=1)
    whole = Pieces(W / length[:, None], b / length, (a * length)[None], np.zeros((1, 6)), np.zeros(1), np.zeros(7))
    settled = settle(frame, whole.only(np.arange(7) < 6), survey(frame, rng), rng)
    assert settled.count == 7
    assert np.abs(settled.normals[-1] @ whole.normals[-1]) > 1 - 1e-5


def test_a_sharp_curve_of_one_input_is_not_asked_for_ever():
    reading = read(lambda X: np.logaddexp(X @ [[100.0, -70.0]] + [30.0, 20.0], 0) @ [1.0, 2.0], 1, random_state=0)
    assert reading.queries < 5000


def test_steps_with_and_without_a_matrix_are_the_same():
    rng = np.random.default_rng(0)
    (k, d), m, n = (4, 3), 2, 60
    active = (rng.random((n, k)) > 0.5) * rng.random((n, 1))
    inputs = np.column_stack([rng.standard_normal((n, d)), np.ones(n)])
    asked = (active, inputs, rng.standard_normal((n, d + 1)), rng.standard_normal((m, k)), rng.standard_normal((n, m)))
    one, two = by_normal_equations(*asked), by_products(*asked)
    for left, right in zip(one, two, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-6)


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


def relu(X, seed=6):
    _, W, b, a = made(5, 8, seed)
    return np.maximum(X @ W.T + b, 0) @ a


def tanh(X):
    _, W, b, a = made(5, 8, 6)
    return np.tanh(X @ W.T + b) @ a


@pytest.mark.parametrize("function", [relu, tanh])
@pytest.mark.parametrize("digits", [1, 10, 12])
def test_rounded_answers_are_no_network(function, digits):
    reading = read(lambda X: np.round(function(X), digits), 5, random_state=0)
    assert reading.status == "misfit"
    assert f"rounded to {digits} decimal" in reading.reason


@pytest.mark.parametrize("size", [1e-4, 1e-8, 1e-10])
def test_noisy_answers_are_refused_however_small_the_noise(size):
    noise = np.random.default_rng(0)
    with pytest.raises(ModelError, match="the same question in different ways"):
        read(lambda X: relu(X) + size * noise.standard_normal(len(X)), 5, random_state=0)


def test_what_is_not_seen_near_by_is_seen_where_neurons_turn_far_out():
    reading = read(lambda X: np.clip(relu(X), -1e3, 1e3), 5, random_state=0)
    assert reading.status == "misfit"


def test_a_model_may_change_the_array_it_is_given():
    def careless(X):
        answers = relu(X)
        X[:] = 7
        return answers

    assert read(careless, 5, random_state=0).status == "recovered"


def test_complex_answers_are_refused():
    with pytest.raises(ModelError, match="complex numbers"):
        read(lambda X: relu(X) + 0j, 5)


@pytest.mark.parametrize("seed", range(3))
def test_linear_functions_have_no_kinks(seed):
    w = np.random.default_rng(seed).standard_normal(25)
    reading = read(lambda X: X @ w, 25, random_state=seed)
    assert reading.status == "recovered"
    assert reading.fidelity < 1e-14
    np.testing.assert_allclose(reading.network.skip, w, atol=1e-14)


def test_no_budget_is_exceeded():
    asked = []

    def counted(X):
        asked.append(len(X))
        return tanh(1e-3 * X)  # needs the scale of its inputs, so that every stage is passed

    whole = read(counted, 5, random_state=0)
    assert whole.status == "recovered"
    for budget in (1, 2, 3, *range(5, whole.queries, whole.queries // 40)):
        asked.clear()
        less = read(counted, 5, random_state=0, max_queries=budget)
        assert sum(asked) == less.queries <= budget
        assert less.status == "estimated"
        assert "budget was spent" in less.reason


def test_a_function_that_is_constant_at_most_points_is_not_called_linear():
    _, W, b, a = made(4, 5, 0)
    reading = read(lambda X: np.maximum(relu_of(X, W, b, -np.abs(a)) + 0.5, 0), 4, random_state=0)
    assert reading.status not in ("recovered", "ambiguous")


def relu_of(X, W, b, a):
    return np.maximum(X @ W.T + b, 0) @ a


def test_slopes_that_differ_little_far_out_are_soft_corners_all_the_same():
    _, W, b, a = made(5, 4, 7)
    u = np.random.default_rng(0)
    a = a / 50 * np.sign(a[0])
    net = Network(W, a, "softplus", bias=b, intercept=1.0, skip=u.standard_normal(5))
    reading = read(net, random_state=0)
    assert reading.status == "recovered", reading.reason
    assert reading.network.activation.name == "softplus"


@pytest.mark.parametrize(("seed", "sizes"), [(34, (3, 2)), (48, (2, 2, 2)), (75, (2, 3)), (86, (4, 1))])
def test_a_network_with_more_layers_that_is_one_layer_nearly_everywhere_is_not_called_recovered(seed, sizes):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    widths = [d, *sizes]
    layers = [
        (1.4 * rng.standard_normal((a, b)) / np.sqrt(a), 0.5 * rng.standard_normal(b)) for a, b in pairwise(widths)
    ]
    output = rng.standard_normal(sizes[-1])

    def deep(X):
        for W, b in layers:
            X = np.maximum(X @ W + b, 0)
        return X @ output

    assert read(deep, d, random_state=seed).status in ("misfit", "estimated")


def test_a_second_layer_that_is_on_its_other_side_in_a_corner_is_not_called_recovered():
    _, W, b, _ = made(6, 4, seed=11)

    def deep(X):
        return np.maximum(np.maximum(X @ W.T + b, 0) @ np.array([1.0, 1.0, 1.0, -0.3]) + 4.0, 0) + X @ np.abs(W[0])

    for seed in range(3):
        assert read(deep, 6, random_state=seed).status != "recovered"


def test_a_model_read_in_other_units_is_asked_in_its_own_as_well():
    W, b = np.array([[0.76722043, -0.7117926], [0.49632574, 1.2181715]]), np.array([0.02238945, 0.67020433])
    V, c = np.array([[1.13721011, -0.24506113], [0.66160932, 0.5816206]]), np.array([0.68677616, 0.16028811])

    def deep(X):
        return np.maximum(np.maximum(X @ W + b, 0) @ V + c, 0) @ np.array([-1.81844778, 0.40510083])

    assert read(deep, 2, random_state=81).status != "recovered"


@pytest.mark.parametrize("distance", [-3e7, -1e9, -1e12, -1e14])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_neuron_far_out_is_missed_though_its_weights_are_across_those_that_were_read(distance, seed):
    net = Network([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0], "relu", bias=[0.3, distance])
    reading = read(net.predict, 2, random_state=seed)
    assert reading.network.n_hidden == 2 or reading.status == "estimated"
