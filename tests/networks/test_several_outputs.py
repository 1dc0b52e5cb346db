"""Several outputs, intercepts and linear parts: evaluation, canonical form, files, matching."""

import numpy as np
import pytest

from planted import Network, activations, match
from planted.names import ACTIVATIONS


def network(activation, seed=0, *, k=3, d=4, m=2, bias=True, intercept=True, skip=True):
    rng = np.random.default_rng(seed)
    return Network(
        rng.standard_normal((k, d)),
        rng.standard_normal((m, k) if m else k),
        activation,
        rng.standard_normal(k) if bias else None,
        rng.standard_normal(m or ()) if intercept else 0.0,
        rng.standard_normal((m, d) if m else d) if skip else None,
    )


X = np.random.default_rng(1).standard_normal((50, 4))
TURNED = [name for name in ACTIVATIONS if activations.get(name).centred_parity or activations.get(name).centre]


@pytest.mark.parametrize("m", [0, 1, 3])
def test_outputs_are_those_of_the_formula(m):
    net = network("tanh", m=m)
    neurons = np.tanh(X @ net.weights.T + net.bias)
    expected = neurons @ net.output.T + X @ net.skip.T + net.intercept
    assert net.predict(X).shape == ((50, m) if m else (50,))
    np.testing.assert_allclose(net.predict(X), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("m", [0, 2])
def test_canonical_and_turned_networks_are_the_same_function(name, m):
    net = network(name, m=m)
    np.testing.assert_allclose(net.canonical().predict(X), net.predict(X), rtol=1e-9, atol=1e-9)
    if name in TURNED:
        np.testing.assert_allclose(net.turned([-1, 1, -1]).predict(X), net.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("m", [0, 2])
def test_files_keep_every_part(tmp_path, m):
    net = network("sigmoid", m=m)
    again = Network.load(net.save(tmp_path / "model"))
    for name, value in net.arrays().items():
        np.testing.assert_array_equal(getattr(again, name), value)


@pytest.mark.parametrize("name", TURNED)
@pytest.mark.parametrize("m", [0, 2])
def test_matching_ignores_order_scale_and_turns(name, m):
    teacher = network(name, m=m)
    order = [2, 0, 1]
    estimate = teacher.turned([-1, 1, -1])
    estimate = estimate.replace(
        weights=estimate.weights[order], output=estimate.output[..., order], bias=estimate.bias[order]
    )
    degree = activations.get(name).homogeneity
    if degree is not None:
        estimate = estimate.replace(
            weights=2 * estimate.weights, bias=2 * estimate.bias, output=estimate.output / 2**degree
        )
    found = match(estimate, teacher)
    assert found.weight_error < 1e-12
    assert found.output_error < 1e-12
    assert found.max_angle < 1e-5


def test_relu6_networks_that_are_the_same_function_match():
    """relu6(z) = 6 − relu6(6 − z): weights, bias and output change, and the intercept makes up for it."""
    teacher = Network([[1.0, 2.0], [0.5, -1.0]], [1.0, 2.0], "relu6", bias=[1.0, 4.0], intercept=0.25)
    other = Network([[-1.0, -2.0], [0.5, -1.0]], [-1.0, 2.0], "relu6", bias=[5.0, 4.0], intercept=6.25)
    np.testing.assert_allclose(other.predict(X[:, :2] * 5), teacher.predict(X[:, :2] * 5), atol=1e-12)
    assert match(other, teacher).weight_error < 1e-15
    assert match(other, teacher).output_error < 1e-15
    no_bias = teacher.replace(bias=[0.0, 4.0])
    assert match(no_bias.turned([-1, 1]), no_bias).weight_error < 1e-15
    assert match(other.replace(bias=[1.0, 4.0]), teacher).weight_error > 0.1
    for part, value in teacher.canonical().arrays().items():
        np.testing.assert_allclose(getattr(other.canonical(), part), value, atol=1e-15)


def test_opposite_relu6_neurons_are_merged():
    net = Network([[1.0, 2.0], [-1.0, -2.0], [0.5, -1.0]], [1.0, 2.0, 1.0], "relu6", bias=[1.0, 5.0, 0.0])
    small = net.simplify()
    assert small.n_hidden == 2
    np.testing.assert_allclose(small.predict(X[:, :2] * 5), net.predict(X[:, :2] * 5), atol=1e-12)


def test_sigmoid_networks_that_are_the_same_function_match():
    teacher = Network([[1.0, 2.0], [0.5, -1.0]], [1.0, 2.0], "sigmoid", intercept=0.25)
    assert match(teacher.turned([-1, 1]), teacher).weight_error < 1e-15


def test_neurons_may_not_be_turned_where_nothing_makes_up_for_it():
    teacher = Network(np.eye(2), np.ones(2))
    assert match(Network([[-1.0, 0.0], [0.0, 1.0]], np.ones(2)), teacher).weight_error > 1


def test_matching_sees_intercepts_and_linear_parts():
    teacher = Network(np.eye(2), np.ones(2))
    assert match(teacher.replace(intercept=100.0), teacher).output_error > 10
    assert match(teacher.replace(skip=[3.0, 0.0]), teacher).weight_error > 1


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"output": np.ones((2, 3))}, "output has 3 entries but weights has 2 rows"),
        ({"output": np.ones((2, 2)), "intercept": np.ones(3)}, "intercept has shape"),
        ({"skip": np.ones(3)}, "skip has shape"),
        ({"output": np.ones((1, 1, 2))}, "output must have 1 or 2 dimensions"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, sentence):
    with pytest.raises(ValueError, match=sentence):
        Network(**{"weights": np.eye(2), "output": np.ones(2), **parts})
