"""The expected loss L for densities without a known law of projections, and for teachers with biases."""

import jax.numpy as jnp
import numpy as np
import pytest

from planted import Network, activations
from planted.certificates import certify, sampling_error
from planted.inputs import (
    CustomDensity,
    Gaussian,
    Laplace,
    Logistic,
    StudentT,
    draws_of,
    mean_derivative,
    sampled_derivatives,
)
from planted.objectives import PopulationScoreLandscape, ScoreLandscape

RELU, SIGMOID = activations.get("relu"), activations.get("sigmoid")
MIXING = np.array([[1.0, 0.4], [-0.3, 0.8]])
UNMIXING = np.linalg.inv(MIXING)


def mixed_log_density(x):
    """x = M s with independent logistic s: dependent inputs, and a·x = (Mᵀa)·s has a known law."""
    z = jnp.abs(UNMIXING @ x)
    return -jnp.sum(z + 2 * jnp.log1p(jnp.exp(-z)))


def mixed_draws(n, random_state):
    return Logistic(2).sample(n, random_state=random_state) @ MIXING.T


MIXED = CustomDensity(mixed_log_density, 2, mixed_draws)
ROWS = np.array([[0.6, 0.8], [-1.6, 1.2]])
BIAS = np.array([0.3, -0.5])


def truth(activation, order):
    return [
        mean_derivative(Logistic(2), a @ MIXING, activation, order, bias=b) for a, b in zip(ROWS, BIAS, strict=True)
    ]


@pytest.fixture(scope="module")
def draws():
    return draws_of(MIXED, 40_000, 0)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("activation", [RELU, SIGMOID], ids=lambda act: act.name)
def test_draws_give_what_quadrature_gives(draws, activation, order):
    estimate = sampled_derivatives(MIXED, ROWS, activation, order, bias=BIAS, draws=draws)
    expected = truth(activation, order)
    assert np.all(np.abs(estimate.values - expected) < 5 * estimate.standard_errors)
    assert np.all(estimate.standard_errors < 0.02 * np.abs(expected).max())


def test_standard_errors_are_those_of_fresh_draws():
    runs = [sampled_derivatives(MIXED, ROWS, RELU, bias=BIAS, draws=draws_of(MIXED, 2000, seed)) for seed in range(40)]
    spread = np.std([run.values for run in runs], axis=0)
    claimed = np.mean([run.standard_errors for run in runs], axis=0)
    # A standard deviation of 40 values is 11 % off, and control variates fitted to 2,000 rows a little too good.
    assert np.all(spread / claimed < 1.6)
    assert np.all(spread / claimed > 0.6)


def test_control_variates_are_worth_more_than_ten_times_the_draws(draws):
    score = MIXED.contract(draws, ROWS[0], ROWS[0])
    plain = np.std(RELU(draws @ ROWS[0]) * score) / len(draws) ** 0.5
    assert sampled_derivatives(MIXED, ROWS[:1], RELU, draws=draws).standard_errors[0] < plain / 10**0.5


def test_a_bias_moves_the_density():
    # ReLU: E[φ''(a·x + b)] is the density of a·x at −b, and its second derivative in b is E[φ''''].
    height = np.exp(-0.7) / (1 + np.exp(-0.7)) ** 2
    assert mean_derivative(Logistic(1), [1.0], RELU, 2, bias=0.7) == pytest.approx(height, abs=1e-9)
    for density in (Logistic(2), Gaussian(np.array([0.2, 0.0]), np.diag([1.0, 2.0]))):
        step = 0.02
        values = [mean_derivative(density, ROWS[0], SIGMOID, 2, bias=0.4 + j * step) for j in (-1, 0, 1)]
        fourth = mean_derivative(density, ROWS[0], SIGMOID, 4, bias=0.4)
        assert (values[0] - 2 * values[1] + values[2]) / step**2 == pytest.approx(fourth, rel=1e-3)


@pytest.mark.parametrize(("loc", "scale"), [(0.0, 1.0), (3.0, 0.5), (-2e3, 1e-2), (0.0, 1e4)])
def test_one_input_is_its_own_marginal(loc, scale):
    law = CustomDensity(lambda x: -jnp.sum(jnp.logaddexp(0.0, z := (x - loc) / scale) * 2 - z), 1)
    bias = -2 * loc + 0.3 * scale
    expected = mean_derivative(Logistic(1, scale, loc), [2.0], SIGMOID if scale == 1 else RELU, bias=bias)
    assert mean_derivative(law, [2.0], SIGMOID if scale == 1 else RELU, bias=bias) == pytest.approx(expected, rel=1e-6)


def test_heavy_tails_by_the_marginal():
    # ReLU: the second derivative at zero of the density of Student's t, −(ν + 1)/ν times its height.
    for df in (1.0, 3.0):
        t = StudentT(1, df=df)
        law = CustomDensity(lambda x, df=df: -(df + 1) / 2 * jnp.sum(jnp.log1p(x * x / df)), 1)
        height = float(np.exp(t.log_density([[0.0]])[0]))
        assert mean_derivative(law, [1.0], RELU) == pytest.approx(-height * (df + 1) / df, rel=1e-6)


def test_marginals_that_are_given_are_used():
    C = np.array([[2.0, 0.3], [0.3, 1.0]])
    precision = np.linalg.inv(C)
    law = CustomDensity(lambda x: -x @ precision @ x / 2, 2, marginal=lambda a: lambda z: -(z**2) / (2 * a @ C @ a))
    for order in (1, 2, 3, 4):
        expected = mean_derivative(Gaussian(np.zeros(2), C), ROWS[0], SIGMOID, order, bias=0.3)
        assert mean_derivative(law, ROWS[0], SIGMOID, order, bias=0.3) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("form", ["orthogonal", "full-rank"])
def test_expected_l_of_draws_is_that_of_quadrature_and_of_rows(form):
    teacher = Network(ROWS, [1.0, 0.1], bias=BIAS, intercept=2.0, skip=[1.0, -1.0])
    constants = {"mu": 0.005, "lam": 1.3, "form": form}
    L = PopulationScoreLandscape(teacher, MIXED, **constants, n_samples=40_000)
    B = np.random.default_rng(0).normal(size=(2, 2)) / 2
    parts = [part.value(B) for part in L.on_parts(20)]
    unit, length = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True), np.linalg.norm(ROWS, axis=1)
    kappa = teacher.output * length**4 * truth(RELU, 4)
    tau = teacher.output * length**2 * truth(RELU, 2)
    overlap = (unit @ B.T) ** 2
    pairs = sum(overlap[:, j] * overlap[:, m] * ((j != m) - 0.005 * (j == m)) for j in range(2) for m in range(2))
    T = np.eye(2) if form == "orthogonal" else sum(t * np.outer(u, u) for t, u in zip(tau, unit, strict=True))
    exact = -kappa @ pairs + 1.3 * np.sum((np.diag(B @ T @ B.T) - 1) ** 2)
    assert abs(np.mean(parts) - exact) < 5 * np.std(parts, ddof=1) / 20**0.5
    X = mixed_draws(40_000, 1)
    y = teacher.predict(X)
    values = [ScoreLandscape(X[i::8], y[i::8], MIXED, **constants).value(B) for i in range(8)]
    assert abs(np.mean(values) - exact) < 5 * np.std(values, ddof=1) / 8**0.5
    step = 1e-5
    slopes = [(L.value(B + step * E) - L.value(B - step * E)) / (2 * step) for E in np.eye(4).reshape(4, 2, 2)]
    np.testing.assert_allclose(L.gradient(B).ravel(), slopes, rtol=1e-6, atol=1e-8)


def test_certificates_count_the_error_of_draws():
    teacher = Network(np.array([[0.6, 0.8], [-0.8, 0.6]]), [1.0, 1.5])
    minima = {}
    for seed in range(2):
        L = PopulationScoreLandscape(teacher, MIXED, n_samples=20_000, random_state=seed)
        B = teacher.weights
        for _ in range(6):
            B = B - np.linalg.solve(L.hessian(B), L.gradient(B).ravel()).reshape(B.shape)
        certificate = certify(L, B)
        near = certificate.teacher_distance
        assert certificate.kind == "global minimum"
        assert 0 < near.expected < 0.05
        assert sampling_error(L, B).gradient > 0
        minima[seed] = B
    # Orthonormal teachers are minima whatever κ*: only lengths move with it.
    unit = [B / np.linalg.norm(B, axis=1, keepdims=True) for B in minima.values()]
    np.testing.assert_allclose(unit[0], unit[1], atol=1e-6)
    assert statuses(certificate)["κ*_i have one sign"] == "holds"
    assert "standard error" in str(certificate.assumptions)


def statuses(certificate):
    return {row.name: row.status for row in certificate.assumptions}


def test_a_sign_that_draws_do_not_settle_is_unknown():
    # tanh is odd and the law even: without a bias κ* is zero.
    teacher = Network(np.array([[0.6, 0.8], [-0.8, 0.6]]), [1.0, 1.0], "tanh", bias=[0.5, 0.0])
    L = PopulationScoreLandscape(teacher, MIXED, n_samples=20_000)
    assert abs(L.kappa[1]) < 3 * L.kappa_error[1] < 0.1 * L.kappa[0]
    assert statuses(certify(L, teacher.weights))["κ*_i have one sign"] == "unknown"


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (CustomDensity(mixed_log_density, 2), "cannot be sampled"),
        (CustomDensity(mixed_log_density, 2, lambda n, seed: np.zeros((3, 2))), "gave"),
        (Laplace(2), "score functions"),
        (Logistic(3), "3"),
    ],
)
def test_laws_that_have_no_expected_l(law, message):
    with pytest.raises(ValueError, match=message):
        PopulationScoreLandscape(Network(np.eye(2), np.ones(2)), law)
