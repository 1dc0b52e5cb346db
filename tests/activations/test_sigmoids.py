"""tanh, its slope and the logistic function against Python's decimal arithmetic of 40 digits."""

import decimal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from planted import activations
from planted.activations import _sigmoids


def exactly(z):
    """tanh z, sech² z and the logistic function of z as decimal numbers."""
    with decimal.localcontext(decimal.Context(prec=40)):
        x = decimal.Decimal(float(z))
        e = (-2 * abs(x)).exp()
        value = (1 - e) / (1 + e)
        return value.copy_sign(x), 4 * e / (1 + e) ** 2, 1 / (1 + (-x).exp())


def points(far):
    """Ordinary numbers, tiny ones, large ones, and those beside which the reduced argument jumps."""
    rng = np.random.default_rng(0)
    jumps = (np.arange(-40, 40) + 0.5) * np.log(2) / 2
    tiny = rng.standard_normal(100) * 10 ** rng.uniform(-12, 0, 100)
    return np.concatenate([3 * rng.standard_normal(200), tiny, rng.uniform(-far, far, 100), jumps, jumps + 1e-7])


@pytest.mark.parametrize(("dtype", "far"), [("float32", 40.0), ("float64", 350.0)])
def test_relative_errors_are_a_few_units_of_rounding(dtype, far):
    z = points(far).astype(dtype)
    exact = np.array([exactly(number) for number in z], dtype=object).T
    with jax.enable_x64(True):
        functions = _sigmoids.tanh, _sigmoids.sech_squared, _sigmoids.logistic
        values = [np.asarray(jax.jit(function)(z)) for function in functions]
    for value, expected in zip(values, exact, strict=True):
        assert value.dtype == dtype
        # The logistic function of numbers beyond the farthest normal one is zero.
        normal = np.array([abs(number) > decimal.Decimal(float(np.finfo(dtype).tiny)) for number in expected])
        pairs = zip(value[normal], expected[normal], strict=True)
        errors = [abs(decimal.Decimal(float(own)) / right - 1) if right else abs(own) for own, right in pairs]
        assert max(errors) < 4 * np.finfo(dtype).eps


def test_ends_and_missing_numbers():
    z = np.array([-np.inf, -1e4, 0.0, 1e4, np.inf, np.nan])
    for dtype in ("float16", "float32", "float64"):
        with jax.enable_x64(True):
            x = jnp.asarray(z, dtype)
            np.testing.assert_array_equal(_sigmoids.tanh(x), [-1, -1, 0, 1, 1, np.nan])
            np.testing.assert_array_equal(_sigmoids.sech_squared(x), [0, 0, 1, 0, 0, np.nan])
            np.testing.assert_array_equal(_sigmoids.logistic(x), [0, 0, 0.5, 1, 1, np.nan])
            assert _sigmoids.tanh(x).dtype == dtype


def test_derivatives_of_any_order_are_those_of_tanh():
    def nested(function, order):
        return function if order == 0 else jax.grad(nested(function, order - 1))

    with jax.enable_x64(True):
        z = jnp.linspace(-3.0, 3.0, 13)
        for order in range(6):
            own, other = (jax.vmap(nested(function, order))(z) for function in (_sigmoids.tanh, jnp.tanh))
            np.testing.assert_allclose(own, other, rtol=0, atol=1e-12)
            own, other = (jax.vmap(nested(f, order))(z) for f in (_sigmoids.logistic, jax.lax.logistic))
            np.testing.assert_allclose(own, other, rtol=0, atol=1e-12)


def test_gradients_take_the_slope_from_the_value_and_derivatives_keep_its_digits():
    act, z = activations.get("tanh"), np.array([-30.0, -3.0, 0.0, 1e-9, 0.5, 25.0])
    with jax.enable_x64(True):
        x = jnp.asarray(z)
        np.testing.assert_allclose(act.derivative(x), 1 / np.cosh(z) ** 2, rtol=1e-14)
        np.testing.assert_allclose(act.derivative(x, 2), -2 * np.tanh(z) / np.cosh(z) ** 2, rtol=1e-14)
        gradient = jax.vmap(jax.grad(act.function))(x)
        np.testing.assert_allclose(gradient, 1 / np.cosh(z) ** 2, rtol=0, atol=4 * np.finfo(float).eps)
        program = jax.jit(jax.value_and_grad(act.function)).lower(x[0]).as_text()
    # One exponential and one division for both.
    assert program.count("stablehlo.divide") == 1
