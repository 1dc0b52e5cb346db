"""Small squared losses in NumPy against the compiled programs, which come from automatic differentiation."""

import jax
import numpy as np
import pytest

from planted import activations, objectives
from planted.names import ACTIVATIONS
from planted.numerics.precision import float64
from planted.objectives import _base, _fit, _host

X = np.random.default_rng(0).standard_normal((40, 4))

CASES = {
    "relu": ("relu", (), {}),
    "softplus, biases": ("softplus", (), {"bias": True}),
    "tanh, every part": ("tanh", (), {"bias": True, "intercept": True, "skip": True}),
    "sigmoid, two outputs": ("sigmoid", (2,), {"bias": True, "intercept": True, "skip": True}),
    "squared_relu, fixed outputs": ("squared_relu", (), {"output": [1.0, -0.5, 2.0]}),
}


def made(name, kind):
    activation, lead, options = CASES[name]
    rng = np.random.default_rng(1)
    y, weight = rng.standard_normal((40, *lead)), rng.uniform(0.5, 2.0, 40)
    if kind == "symmetric":
        options = {key: value for key, value in options.items() if key in ("bias", "output")}
        loss = objectives.SymmetricPart(X, y, activation, sample_weight=weight, **options)
    else:
        loss = objectives.Squared(X, y, activation, sample_weight=weight, **options)
    model = loss.model
    shapes = {"weights": (3, 4)} | ({} if model.output is not None else {"output": (*lead, 3)})
    shapes |= {"bias": (3,)} if model.bias else {}
    shapes |= {"intercept": lead} if model.intercept else {}
    shapes |= {model.linear_part: (*lead, 4)} if model.skip else {}
    return loss, {part: np.asarray(rng.standard_normal(shape)) for part, shape in shapes.items()}


@pytest.mark.parametrize("kind", ["dense", "symmetric"])
@pytest.mark.parametrize("name", CASES)
@float64
def test_the_host_computes_what_the_program_does(name, kind):
    loss, params = made(name, kind)
    assert _host.is_small(loss, params)
    value, gradient = _host.value_and_gradient(loss, params)
    other, slope = _base._evaluate_with_gradient(loss, params)
    assert value == pytest.approx(float(other), rel=1e-13)
    assert _host.value(loss, params) == pytest.approx(value, rel=1e-15)
    for part, array in gradient.items():
        np.testing.assert_allclose(array, slope[part], rtol=1e-11, atol=1e-13)
    for ours, theirs in zip(_host.curvature(loss, params), _fit._curvature_matrix(loss, params), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)
    flat = objectives.Flat(loss, params)
    columns = [
        objectives.flatten(_base.hessian_product(loss, params, flat.params(way))) for way in np.eye(len(flat.start))
    ]
    np.testing.assert_allclose(_host.hessian(loss, params), np.array(columns), rtol=1e-10, atol=1e-11)


def test_what_the_host_does_not_know_is_compiled():
    loss = objectives.Squared(X, X[:, 0], lambda z: z**3)
    assert not _host.is_small(loss, {"weights": np.ones((1, 4)), "output": np.ones(1)})
    known = objectives.Squared(X, X[:, 0])
    assert not _host.is_small(known, {"weights": np.ones((100_000, 4)), "output": np.ones(100_000)})


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_activations_on_the_host(name, order):
    z = np.concatenate([np.linspace(-6, 6, 101), [-1e3, 1e3, 0.0]])
    act = activations.get(name)
    with jax.enable_x64(True):
        expected = np.asarray(act.derivative(jax.numpy.asarray(z), order))
    np.testing.assert_allclose(act.derivative(z, order), expected, rtol=1e-13, atol=1e-15)


def test_a_function_of_the_same_name_is_not_taken_for_one_of_the_library():
    def relu(z):
        return 2 * z

    assert activations.get(relu)(np.array([-1.0]))[0] == -2.0
