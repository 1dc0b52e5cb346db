"""Activations against independent computations: SciPy's quadrature and functions, finite differences."""

import copy
import itertools
import math
import pickle
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special

from planted import activations, names
from planted.activations import _library
from planted.numerics.quadrature import gaussian_expectation, hermite_polynomials


def shifted_relu(z):
    return jnp.maximum(z - 0.5, 0.0)


def swish(z):
    return z * jax.nn.sigmoid(z)


# The same functions written with NumPy and SciPy, none of the package's code.
REFERENCE = {
    "relu": lambda z: np.maximum(z, 0),
    "leaky_relu": lambda z: np.where(z > 0, z, 0.01 * z),
    "abs": np.abs,
    "quadratic": lambda z: z**2,
    "squared_relu": lambda z: np.maximum(z, 0) ** 2,
    "softplus": lambda z: -special.log_expit(-z),
    "sigmoid": special.expit,
    "tanh": np.tanh,
    "erf": lambda z: math.sqrt(2) * special.erf(z / math.sqrt(2)),
    "standard_erf": special.erf,
    "tanh_probability": lambda z: special.expit(2 * z),
    "erf_probability": lambda z: special.ndtr(math.sqrt(2) * z),
    "gelu": lambda z: z * special.ndtr(z),
    "silu": lambda z: z * special.expit(z),
    "relu6": lambda z: np.minimum(np.maximum(z, 0), 6),
    "hard_tanh": lambda z: np.clip(z, -1, 1),
    "hard_sigmoid": lambda z: np.clip((z + 3) / 6, 0, 1),
}
CASES = [(activations.get(name), REFERENCE[name]) for name in names.ACTIVATIONS] + [
    (activations.leaky_relu(slope=0.3), lambda z: np.where(z > 0, z, 0.3 * z)),
    (activations.softplus(b=10.0), lambda z: -special.log_expit(-10 * z) / 10),
    (activations.softplus(b=100.0), lambda z: -special.log_expit(-100 * z) / 100),
    (activations.sigmoid(b=10.0), lambda z: special.expit(10 * z)),
    (activations.custom(shifted_relu, kinks=[0.5]), lambda z: np.maximum(z - 0.5, 0)),
    (activations.custom(swish), lambda z: z * special.expit(z)),
]
KNOWN = [case for case in CASES if case[0].bounds is not None]
CLOSED = [case for case in CASES if case[0].coefficients is not None]
each = pytest.mark.parametrize(("act", "reference"), CASES, ids=[repr(act) for act, _ in CASES])
each_known = pytest.mark.parametrize(("act", "reference"), KNOWN, ids=[repr(act) for act, _ in KNOWN])
each_closed = pytest.mark.parametrize(("act", "reference"), CLOSED, ids=[repr(act) for act, _ in CLOSED])
GRID = np.linspace(-6.0, 6.0, 240)


@pytest.fixture(autouse=True)
def _global_settings_stay():
    before = jax.config.jax_enable_x64, jnp.zeros(1).dtype
    yield
    assert (jax.config.jax_enable_x64, jnp.zeros(1).dtype) == before


def scipy_expectation(function, kinks=()):
    """E[f(z)] for f from a number to an array, by SciPy, cut at the kinks and near 0 where steep φ bend."""
    cuts = sorted({-14.0, -4.0, -1.0, -0.1, 0.0, 0.1, 1.0, 4.0, 14.0, *kinks})

    def integrand(z):
        return function(z) * (math.exp(-z * z / 2) / math.sqrt(2 * math.pi))

    pieces = [integrate.quad_vec(integrand, a, b, epsabs=1e-14, norm="max") for a, b in itertools.pairwise(cuts)]
    return np.sum([piece[0] for piece in pieces], axis=0)


def hermite(j, z):
    return special.eval_hermitenorm(j, z) / math.sqrt(math.factorial(j))


@each
def test_values(act, reference):
    z = np.concatenate([GRID, [0.0, -1e3, 1e3]])
    np.testing.assert_allclose(act(z), reference(z), rtol=1e-14, atol=1e-15)


@each
def test_hermite_against_scipy(act, reference):
    orders = np.arange(21)
    scales = np.sqrt(special.factorial(orders))
    expected = scipy_expectation(lambda z: reference(z) * special.eval_hermitenorm(orders, z) / scales, act.kinks)
    np.testing.assert_allclose([act.hermite(j) for j in orders], expected, rtol=0, atol=1e-12)


@each_closed
@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.5])
def test_closed_hermite_against_quadrature(act, reference, sigma):
    expected = gaussian_expectation(
        lambda z: reference(sigma * z)[:, None] * hermite_polynomials(z, 30).T, act.kinks, tolerance=1e-13
    )
    found = [act.hermite(j, sigma) for j in range(31)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_hermite_of_relu_is_the_double_factorial_formula():
    for n in range(2, 21, 2):
        double = math.prod(range(n - 3, 0, -2))
        expected = (-1) ** (n // 2 + 1) * double / math.sqrt(2 * math.pi * math.factorial(n))
        assert activations.get("relu").hermite(n) == pytest.approx(expected, rel=1e-14)


@each
@pytest.mark.parametrize("sigma", [0.6, 1.0, 2.0])
def test_moments_against_scipy(act, reference, sigma):
    kinks = [kink / sigma for kink in act.kinks]
    powers = np.arange(7)
    expected = scipy_expectation(lambda z: reference(sigma * z) * z**powers, kinks)
    np.testing.assert_allclose([act.moment(j, sigma) for j in powers], expected, rtol=1e-12, atol=1e-12)
    expected = scipy_expectation(lambda z: reference(sigma * z) ** 2, kinks)
    assert act.second_moment(sigma) == pytest.approx(expected, rel=1e-12)


@each
def test_moments_and_coefficients_agree(act, reference):
    """z² = √2 h_2 + 1 and z³ = √6 h_3 + 3 h_1, at any σ."""
    for sigma in (0.5, 1.0, 3.0):
        second = math.sqrt(2) * act.hermite(2, sigma) + act.hermite(0, sigma)
        third = math.sqrt(6) * act.hermite(3, sigma) + 3 * act.hermite(1, sigma)
        assert act.moment(2, sigma) == pytest.approx(second, rel=1e-12, abs=1e-12)
        assert act.moment(3, sigma) == pytest.approx(third, rel=1e-12, abs=1e-12)


@each
def test_sigma_rescales_the_argument(act, reference):
    scaled = activations.custom(lambda z: act.function(1.7 * z), kinks=[kink / 1.7 for kink in act.kinks])
    for j in range(6):
        assert act.hermite(j, sigma=1.7) == pytest.approx(scaled.hermite(j), abs=1e-12)


@each
def test_parseval(act, reference):
    """A kink leaves Σ_{j>n} c_j² ~ n^(−3/2) and a jump n^(−1/2): four times the orders at least halve it."""
    total = act.second_moment()
    rest = total - np.cumsum([act.hermite(j) ** 2 for j in range(65)])
    assert rest.min() >= -1e-12 * total
    assert rest[64] <= 0.5 * rest[16] + 1e-12 * total
    assert rest[64] <= 0.01 * total


def test_parseval_is_complete_for_smooth_activations():
    for name in ("softplus", "sigmoid", "erf", "quadratic"):
        act = activations.get(name)
        assert sum(act.hermite(j) ** 2 for j in range(64)) == pytest.approx(act.second_moment(), rel=1e-9)


@each
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_derivatives_against_central_differences(act, reference, order):
    """Against differences of the order below, with error h⁴ sup|φ^(order+4)|/30 plus 1e-16/h of rounding."""
    steepness = dict(act.parameters).get("b", 1.0)
    h = 2e-3 / steepness
    z = GRID[np.all([np.abs(GRID - kink) > 0.02 for kink in (*act.kinks, -99.0)], axis=0)] / steepness
    lower = act.derivative(np.stack([z - 2 * h, z - h, z + h, z + 2 * h]), order - 1)
    expected = (lower[0] - 8 * lower[1] + 8 * lower[2] - lower[3]) / (12 * h)
    size = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(act.derivative(z, order), expected, rtol=0, atol=2e-9 * size)


@each
def test_derivatives_agree_with_transformations(act, reference):
    z = jnp.asarray(GRID, dtype=jnp.float32)
    first = jax.vmap(jax.grad(act))(z)
    assert first.dtype == jnp.float32
    third = jax.jit(jax.vmap(jax.grad(lambda s: act.derivative(s, 2))))(z)
    for found, order in ((first, 1), (jax.jit(act.derivative)(z), 1), (third, 3)):
        expected = act.derivative(GRID, order)
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-4 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("b", [1.0, 10.0, 1e3])
def test_steep_activations_are_stable_far_out(b):
    far = np.array([-1e3, 1e3])
    np.testing.assert_array_equal(activations.softplus(b)(far), [0.0, 1e3])
    np.testing.assert_array_equal(activations.softplus(b).derivative(far), [0.0, 1.0])
    np.testing.assert_array_equal(activations.sigmoid(b)(far), [0.0, 1.0])
    for order in (2, 3, 4):
        np.testing.assert_array_equal(activations.softplus(b).derivative(far, order), 0.0)
        np.testing.assert_array_equal(activations.sigmoid(b).derivative(far, order), 0.0)
        np.testing.assert_array_equal(activations.get("erf").derivative(b * far, order), 0.0)


@pytest.mark.parametrize(
    ("name", "order", "expected"),
    [
        ("relu", 1, 0.0),
        ("leaky_relu", 1, 0.01),
        ("abs", 1, 0.0),
        ("squared_relu", 1, 0.0),
        ("squared_relu", 2, 0.0),
    ],
)
def test_convention_at_the_kink(name, order, expected):
    act = activations.get(name)
    derivative = act.function
    for _ in range(order):
        derivative = jax.grad(derivative)
    assert act.derivative(0.0, order) == expected
    assert derivative(0.0) == pytest.approx(expected, rel=1e-6)
    assert all(np.isfinite(act.derivative([-0.0, 0.0], k)).all() for k in range(5))


@each
def test_parity(act, reference):
    centred = act(GRID) - act.offset - act.tilt * GRID
    mirrored = act(-GRID) - act.offset + act.tilt * GRID
    if act.centred_parity is not None:
        np.testing.assert_allclose(mirrored, centred if act.centred_parity == "even" else -centred, atol=1e-14)
        zeros = range(3, 20, 2) if act.centred_parity == "even" else range(2, 20, 2)
        assert all(act.hermite(j) == 0.0 for j in zeros)
    if act.parity is not None:
        np.testing.assert_allclose(act(-GRID), act(GRID) if act.parity == "even" else -act(GRID), atol=1e-15)
        assert act.hermite(0 if act.parity == "odd" else 1) == 0.0
        assert act.moment(2 if act.parity == "odd" else 3) == 0.0


def test_parity_is_what_it_should_be():
    odd = {"tanh", "erf", "standard_erf", "hard_tanh"}
    even = {"abs", "quadratic"}
    for name in names.ACTIVATIONS:
        assert activations.get(name).parity == ("odd" if name in odd else "even" if name in even else None)


@each
def test_homogeneity(act, reference):
    doubled = act(2 * GRID)
    if act.homogeneity is not None:
        np.testing.assert_allclose(doubled, 2**act.homogeneity * act(GRID), rtol=1e-15)
        assert act.hermite(2, 3.0) == pytest.approx(3**act.homogeneity * act.hermite(2), rel=1e-14)
    else:
        assert not any(np.allclose(doubled, 2**p * act(GRID)) for p in (0, 1, 2, 3))


@each_known
def test_bounds_hold_and_are_reached(act, reference):
    steepness = dict(act.parameters).get("b", 1.0)
    z = np.linspace(-9.0, 9.0, 8001) / steepness
    for order in range(5):
        bound = act.derivative_bound(order)
        largest = np.abs(act.derivative(z, order)).max()
        assert largest <= bound * (1 + 1e-12)
        if math.isfinite(bound):
            assert largest >= bound * (1 - 2e-4)
    low, high = act.range
    assert low <= act(z).min()
    assert act(z).max() <= high
    assert act(-1e9) == pytest.approx(low, abs=1e-12) or act(0.0) == low or low == -math.inf
    assert act(1e9) == pytest.approx(high, rel=1e-12) or high == math.inf


@pytest.mark.parametrize("name", ["leaky_relu", "quadratic", "squared_relu", "softplus", "sigmoid", "tanh", "erf"])
def test_numerical_bounds_find_the_closed_forms(name):
    act = activations.get(name)
    blind = activations.custom(act.function, kinks=act.kinks)
    assert blind.bounds is None
    assert blind.range == pytest.approx(act.range, rel=1e-9, abs=1e-9)
    for order in range(5):
        assert blind.derivative_bound(order) == pytest.approx(act.derivative_bound(order), rel=1e-7)


def test_bounds_of_unknown_functions():
    assert activations.custom(lambda z: jnp.log1p(z * z)).range == (0.0, math.inf)
    assert activations.custom(jnp.arctan).range == pytest.approx((-math.pi / 2, math.pi / 2), abs=1e-7)
    assert activations.custom(jnp.sin).range == pytest.approx((-1, 1), abs=1e-12)
    low, high = activations.custom(swish).range
    assert (low, high) == (pytest.approx(-0.278464542761, abs=1e-11), math.inf)
    assert activations.custom(shifted_relu, kinks=[0.5]).derivative_bound(2) == math.inf


@each
def test_numpy_in_numpy_out_and_jax_in_jax_out(act, reference):
    for z in (0.3, 2, [0.1, -0.2], np.ones((2, 3), dtype=np.float32), np.zeros((0, 2))):
        value = act(z)
        assert isinstance(value, np.ndarray | np.float64)
        assert value.dtype == np.float64
        assert value.shape == np.shape(z)
    assert act(np.ones(2)).flags.writeable
    for z in (jnp.ones((2, 3)), jnp.arange(3)):
        assert jax.eval_shape(act, z) == jax.ShapeDtypeStruct(z.shape, jnp.float32)
    assert isinstance(act(jnp.ones(2)), jax.Array)
    with jax.enable_x64(True):
        assert jax.eval_shape(act.derivative, jnp.ones(2)).dtype == jnp.float64


@each
def test_constants_can_be_computed_while_tracing(act, reference):
    def scaled(z):
        return act(z) * act.hermite(2, 1.23) * act(np.array(0.7))

    expected = scaled(np.array(0.4))
    assert jax.jit(scaled)(jnp.float32(0.4)) == pytest.approx(expected, rel=1e-5)
    assert jax.jit(jax.vmap(jax.grad(scaled)))(jnp.ones(2)).shape == (2,)


@each
def test_equality_hash_and_static_argument(act, reference):
    evaluate = jax.jit(lambda act, z: act(z), static_argnums=0)
    for twin in (pickle.loads(pickle.dumps(act)), copy.deepcopy(act)):
        assert twin == act
        assert hash(twin) == hash(act)
    assert evaluate(act, jnp.float32(0.3)) == pytest.approx(reference(np.float64(0.3)), rel=1e-6)
    assert sum(other == act for other, _ in CASES) == 1


def test_equal_by_name_and_parameters_or_by_function():
    assert activations.softplus(b=10) == activations.get("softplus", b=10.0) == activations.softplus(10.0)
    assert activations.softplus(b=10) != activations.softplus(b=11)
    assert activations.custom(swish) == activations.get(swish)
    assert activations.custom(swish) != activations.custom(lambda z: swish(z), name="swish")
    assert activations.custom(jnp.tanh, name="tanh") != activations.get("tanh")
    assert activations.get(activations.softplus(b=10)) is activations.softplus(b=10)
    assert repr(activations.softplus(b=10)) == "softplus(b=10.0)"
    assert repr(activations.get("relu")) == "relu()"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: activations.get("rellu"), "did you mean 'relu'"),
        (lambda: activations.get("relu", b=1.0), "takes no parameters"),
        (lambda: activations.get("softplus", slope=1.0), "takes b, not 'slope'"),
        (lambda: activations.get(swish, b=1.0), "parameters"),
        (lambda: activations.get(3), "a name or a function"),
        (lambda: activations.softplus(b=0), "positive finite"),
        (lambda: activations.softplus(b=-1.0), "positive finite"),
        (lambda: activations.sigmoid(b=math.nan), "positive finite"),
        (lambda: activations.sigmoid(b=math.inf), "positive finite"),
        (lambda: activations.leaky_relu(slope=math.nan), "slope"),
        (lambda: activations.leaky_relu(slope=1.0), "slope"),
        (lambda: activations.custom(lambda z: z, parity="both"), "parity"),
        (lambda: activations.custom(swish, parity="odd"), "is not odd"),
        (lambda: activations.custom(swish, homogeneity=1), "not homogeneous"),
        (lambda: activations.custom(swish, kinks=[math.nan]), "kinks"),
        (lambda: activations.custom(lambda z: jnp.sum(z)), "same shape"),
        (lambda: activations.custom(lambda z: z if z > 0 else 0), "cannot trace"),
        (lambda: activations.get("relu").hermite(-1), "non-negative integer"),
        (lambda: activations.get("relu").hermite(1.5), "non-negative integer"),
        (lambda: activations.get("tanh").hermite(1, sigma=0.0), "sigma"),
        (lambda: activations.get("tanh").moment(1, sigma=-1.0), "sigma"),
        (lambda: activations.get("tanh").moment(-1), "non-negative integer"),
        (lambda: activations.get("tanh").second_moment(math.inf), "sigma"),
        (lambda: activations.get("relu").derivative(0.0, 5), "up to order 4"),
        (lambda: activations.get("relu").derivative(0.0, -1), "non-negative integer"),
        (lambda: activations.get("relu").derivative_bound(5), "up to order 4"),
        (lambda: hermite_polynomials(0.0, -1), "non-negative"),
        (lambda: gaussian_expectation(lambda z: 1.0), "must map"),
    ],
)
def test_bad_arguments_are_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("function", [lambda z: 1 / np.abs(z - 0.3), lambda z: np.where(z > 1, np.nan, z)])
def test_expectations_that_do_not_exist(function):
    with pytest.raises(ArithmeticError):
        gaussian_expectation(function)


@pytest.mark.parametrize("place", [0.0, 0.3, -1.2345678])
def test_quadrature_finds_undeclared_kinks_and_jumps(place):
    density, tail = math.exp(-(place**2) / 2) / math.sqrt(2 * math.pi), special.ndtr(-place)
    assert gaussian_expectation(lambda z: z > place) == pytest.approx(tail, abs=1e-14)
    kink = gaussian_expectation(lambda z: np.maximum(z - place, 0))
    assert kink == pytest.approx(density - place * tail, abs=1e-14)


@pytest.mark.parametrize("b", [1e2, 1e4, 1e6])
def test_quadrature_resolves_near_kinks(b):
    """E[softplus_b − relu] = density(0)·π²/(6b²)·(1 + O(1/b²)), tiny next to E[relu]."""
    act = activations.softplus(b)
    excess = act.hermite(0) - 1 / math.sqrt(2 * math.pi)
    assert excess == pytest.approx(math.pi**2 / 6 / b**2 / math.sqrt(2 * math.pi), rel=3 / b**2, abs=2e-15)


def test_hermite_polynomials_are_orthonormal():
    order = 40
    gram = gaussian_expectation(
        lambda z: np.einsum("iq,jq->qij", h := hermite_polynomials(z, order), h), tolerance=1e-12
    )
    np.testing.assert_allclose(gram, np.eye(order + 1), atol=1e-11)
    z = np.linspace(-3, 3, 7).reshape(7, 1)
    np.testing.assert_allclose(hermite_polynomials(z, 20)[20], hermite(20, z), rtol=1e-11)


def test_names():
    assert set(names.ACTIVATIONS) == set(_library.FACTORIES)
    assert all(activations.get(name).name == name for name in names.ACTIVATIONS)
    code = "import runpy, sys; runpy.run_path(sys.argv[1]); print({'jax', 'numpy'} & set(sys.modules))"
    command = [sys.executable, "-c", code, names.__file__]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"
