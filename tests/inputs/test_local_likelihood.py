"""Local likelihood against a direct implementation, a direct optimiser, exact answers and known densities."""

import numpy as np
import pytest
from scipy import integrate, optimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from planted import activations
from planted.inputs import (
    Gaussian,
    GaussianMixture,
    LocalFitWarning,
    LocalLikelihood,
    Logistic,
    mean_derivative,
    moment_error,
    polynomial_fit,
    rule_of_remark,
)
from planted.inputs._bandwidth import hyvarinen
from planted.inputs._local_likelihood_general import fit_general
from planted.numerics.precision import float64


def direct(X, x, h):
    """Eq. 14 and 15 with sums over all points, one query at a time."""
    offset = X - x
    weight = np.exp(-np.sum(offset**2, axis=1) / (2 * h**2))
    m0, m1 = weight.sum(), weight @ offset
    m2 = (offset * weight[:, None]).T @ offset
    inverse = np.linalg.inv(m2 / m0 - np.outer(m1 / m0, m1 / m0))
    return inverse @ m1 / m0, np.eye(len(x)) / h**2 - inverse


@pytest.mark.parametrize("n", [50, 1000, 2345])
def test_the_closed_form_equals_direct_sums(n):
    """Across tile borders; float32 weights: relative 10⁻³ of the terms that cancel, 1/h²."""
    rng = np.random.default_rng(0)
    X, x = rng.normal(size=(n, 4)) + 100.0, rng.normal(size=(1003, 4)) + 100.0
    fit = LocalLikelihood(bandwidth=1.2).fit(X).local_fit(x)
    for i in (0, 500, 1002):
        if fit.ok[i]:
            gradient, hessian = direct(X, x[i], 1.2)
            np.testing.assert_allclose(fit.derivatives[0][i], gradient, atol=1e-3)
            np.testing.assert_allclose(fit.derivatives[1][i], hessian, atol=1e-3)
    assert fit.ok.mean() > 0.5


def test_double_precision_where_single_would_not_do():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 1)) * 10
    estimate = LocalLikelihood(bandwidth=0.2).fit(X)
    gradient, hessian = direct(X, np.array([3.0]), 0.2)
    fit = estimate.local_fit([[3.0]])
    np.testing.assert_allclose(fit.derivatives[0][0], gradient, rtol=1e-8)
    np.testing.assert_allclose(fit.derivatives[1][0], hessian, rtol=1e-8)


def test_leaving_one_out():
    X = np.random.default_rng(0).normal(size=(300, 2))
    fit = LocalLikelihood(bandwidth=0.8).fit(X).local_fit()
    gradient, hessian = direct(np.delete(X, 7, axis=0), X[7], 0.8)
    np.testing.assert_allclose(fit.derivatives[0][7], gradient, atol=1e-4)
    np.testing.assert_allclose(fit.derivatives[1][7], hessian, atol=1e-4)


def test_the_local_density_satisfies_equation_5():
    """d = 1, degree 4: moments of the fitted local density equal those of the data, by SciPy's quadrature."""
    X = np.random.default_rng(0).normal(size=(2000, 1)) ** 3 / 3
    x, h = 0.4, 0.6
    tensors, log_density, _, solved = float64(fit_general)(X, np.array([[x]]), h, 4, False)
    assert solved.all()
    g = [float(tensor.ravel()[0]) for tensor in tensors]

    def density(u):
        return np.exp(log_density[0] + g[0] * u + g[1] * u**2 / 2 + g[2] * u**3 / 6 + g[3] * u**4 / 24)

    for j in range(5):
        left = integrate.quad(lambda u, j=j: density(u) * (u / h) ** j * np.exp(-(u**2) / (2 * h * h)), -4.5, 4.5)[0]
        t = (X[:, 0] - x) / h
        np.testing.assert_allclose(left, np.mean(t**j * np.exp(-(t**2) / 2)), rtol=2e-3, atol=1e-6)


def test_newton_finds_the_maximum_that_scipy_finds():
    X = np.random.default_rng(1).normal(size=(400, 1))
    x, h = 0.3, 0.9
    tensors, log_density, *_ = float64(fit_general)(X, np.array([[x]]), h, 3, False)
    grid = np.linspace(-7, 7, 4001)
    t = (X[:, 0] - x) / h
    data_weight = np.exp(-(t**2) / 2)

    def loss(a):
        inside = np.polyval(a[::-1], grid / h)
        likelihood = np.mean(data_weight * np.polyval(a[::-1], t))
        return -likelihood + integrate.trapezoid(np.exp(inside - (grid / h) ** 2 / 2), grid)

    found = optimize.minimize(loss, np.array([-1.0, 0, 0, 0]), method="BFGS", options={"gtol": 1e-9}).x
    expected = [log_density[0], *(tensor.ravel()[0] for tensor in tensors)]
    np.testing.assert_allclose(found * [1, 1 / h, 2 / h**2, 6 / h**3], expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_general_solver_at_degree_2_equals_the_closed_form(d):
    X = np.random.default_rng(0).normal(size=(1500, d))
    x = 0.5 * np.ones((1, d))
    tensors, log_density, neighbours, _ = float64(fit_general)(X, x, 0.9, 2, False)
    closed = LocalLikelihood(bandwidth=0.9).fit(X).local_fit(x)
    for found, expected in zip(tensors, closed.derivatives, strict=True):
        np.testing.assert_allclose(found, expected, atol=2e-4)
    np.testing.assert_allclose(log_density, closed.log_density, atol=1e-4)
    np.testing.assert_allclose(neighbours, closed.neighbours, rtol=1e-4)


def test_degree_4_sees_the_third_and_fourth_derivatives_that_degree_2_leaves_out():
    """Logistic inputs, n = 60,000, x = 0: G₄ = ¼ within 0.15; the quadratic fit gives S₄ another value."""
    X = Logistic(1).sample(60_000, random_state=0)
    fit = LocalLikelihood(bandwidth=0.8, degree=4).fit(X).local_fit([[0.0]])
    truth = [0.0, -0.5, 0.0, 0.25]
    for tensor, value, tolerance in zip(fit.derivatives, truth, (0.05, 0.05, 0.1, 0.15), strict=True):
        assert abs(tensor.ravel()[0] - value) < tolerance
    right = Logistic(1).score([[0.0]], 4).ravel()[0]
    four = LocalLikelihood(bandwidth=0.8, degree=4).fit(X).score([[0.0]], 4).ravel()[0]
    two = LocalLikelihood(bandwidth=0.8, degree=2).fit(X).score([[0.0]], 4).ravel()[0]
    assert abs(four - right) < 0.5 * abs(two - right)


def test_the_error_falls_with_the_number_of_points():
    density = GaussianMixture.symmetric(2)
    x = density.sample(100, random_state=9)
    errors = []
    for n in (500, 8000):
        estimate = LocalLikelihood(min_neighbours=1.0).fit(density.sample(n, random_state=1))
        errors.append(np.median(np.abs(estimate.score(x, 1) - density.score(x, 1))))
    assert errors[1] < 0.6 * errors[0]


def test_density_estimate():
    X = Gaussian(np.zeros(2)).sample(20_000, random_state=0)
    x = np.array([[0.0, 0.0], [1.0, -1.0]])
    np.testing.assert_allclose(
        LocalLikelihood(bandwidth=1.0).fit(X).log_density(x), Gaussian(np.zeros(2)).log_density(x), atol=0.06
    )


def test_contraction_and_mean_agree_with_the_tensor():
    X = Logistic(2).sample(800, random_state=0)
    u, v = np.random.default_rng(0).normal(size=(2, 2))
    for degree in (2, 4):
        estimate = LocalLikelihood(bandwidth=2.0, degree=degree).fit(X)
        tensor = estimate.score(X[:5], 4)
        np.testing.assert_allclose(
            estimate.contract(X[:5], u, v), np.einsum("nabcd,a,b,c,d->n", tensor, u, u, v, v), rtol=1e-9, atol=1e-9
        )
        y = np.arange(5.0)
        np.testing.assert_allclose(estimate.mean_score(X[:5], y, 4), np.tensordot(y, tensor, axes=1) / 5, atol=1e-9)


def test_far_points_are_a_status_and_not_a_number():
    X = np.random.default_rng(0).normal(size=(500, 2))
    estimate = LocalLikelihood(bandwidth=0.5).fit(X)
    fit = estimate.local_fit([[1e6, 0.0], [0.0, 0.0]])
    assert list(fit.status) == ["too few neighbours", "ok"]
    assert np.isnan(fit.derivatives[0][0]).all()
    assert np.isfinite(fit.derivatives[0][1]).all()
    with pytest.warns(LocalFitWarning, match="1 too few neighbours"):
        estimate.score([[1e6, 0.0]], 2)
    line = np.column_stack([X[:, 0], X[:, 0]])
    assert set(LocalLikelihood(bandwidth=0.5).fit(line).local_fit([[0.0, 0.0]]).status) == {
        "neighbours lie in a subspace"
    }


def test_bandwidth_rules():
    X = 3 * np.random.default_rng(0).normal(size=(256, 2))
    spread = np.sqrt(np.mean(np.var(X, axis=0)))
    np.testing.assert_allclose(LocalLikelihood().fit(X).bandwidth_, spread * rule_of_remark(256, 2, 2))
    assert rule_of_remark(256, 2, 2) == 256 ** (-1 / 8)


@pytest.mark.parametrize("degree", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_criterion_is_the_score_matching_risk(degree):
    """½E‖ψ‖² + E div ψ differs from ½E‖ψ − ∇log f‖² by a constant: differences agree within 4 standard errors."""
    density = Logistic(1)
    points, queries = density.sample(600, random_state=0), density.sample(1500, random_state=1)
    truth = density.score(queries, 1)[:, 0]
    values, risks = [], []
    for h in (0.8, 3.0):
        values.append(hyvarinen(points, queries, h, degree, 8.0))
        slope = (
            LocalLikelihood(bandwidth=h, degree=degree, min_neighbours=8.0)
            .fit(points)
            .local_fit(queries)
            .derivatives[0]
        )
        risks.append(0.5 * (slope[:, 0] - truth) ** 2)
    difference = risks[0] - risks[1]
    assert abs((values[0] - values[1]) - np.nanmean(difference)) < 4 * np.nanstd(difference) / 1500**0.5 + 0.02


def test_held_out_bandwidth_is_near_the_best():
    density = GaussianMixture.symmetric(2)
    X, x = density.sample(2000, random_state=0), density.sample(500, random_state=1)
    chosen = LocalLikelihood(bandwidth="held-out", random_state=0).fit(X)
    assert chosen.bandwidth_ in chosen.criterion_

    def risk(h):
        fit = LocalLikelihood(bandwidth=h, min_neighbours=1.0).fit(X).local_fit(x)
        return np.nanmean(np.sum((fit.derivatives[0] - density.score(x, 1)) ** 2, axis=1))

    assert risk(chosen.bandwidth_) < 1.5 * min(risk(h) for h in chosen.criterion_)


def test_scikit_learn_conventions():
    estimate = LocalLikelihood(bandwidth=0.5, degree=2)
    assert clone(estimate).get_params() == estimate.get_params()
    with pytest.raises(NotFittedError):
        estimate.local_fit([[0.0]])


@pytest.mark.parametrize(
    ("estimate", "message"),
    [
        (LocalLikelihood(degree=5), "degree"),
        (LocalLikelihood(degree=3), "at most 3 inputs"),
        (LocalLikelihood(bandwidth=0.0), "bandwidth"),
        (LocalLikelihood(bandwidth="hold-out"), "did you mean 'held-out'"),
        (LocalLikelihood(min_neighbours=0.0), "min_neighbours"),
    ],
)
def test_mistakes_get_one_sentence(estimate, message):
    with pytest.raises(ValueError, match=message):
        estimate.fit(np.random.default_rng(0).normal(size=(20, 4)))


def test_the_bandwidth_for_e_y_s4_serves_neurons_that_it_did_not_try():
    """Logistic inputs, ReLU neurons: E[y Ŝ₄] against κ* = f_u''(0), with the rule's bandwidth and with the moment's."""
    X = Logistic(2).sample(4000, random_state=0)
    a = np.array([0.8, -0.6])
    y = np.maximum(X @ a, 0)
    truth = mean_derivative(Logistic(2), a, activations.get("relu"))
    left = polynomial_fit(X, y, 4)
    errors = {}
    for bandwidth in ("rule", "moment"):
        law = LocalLikelihood(bandwidth, random_state=0).fit(X)
        tensor = law.mean_score(None, left.residual, 4) + left.fourth
        errors[bandwidth] = abs(np.einsum("ijkl,i,j,k,l", tensor, a, a, a, a) / truth - 1)
    assert errors["moment"] < 0.4
    assert errors["rule"] > 2 * errors["moment"]
    assert law.criterion_[law.bandwidth_] == min(law.criterion_.values()) < 0.4


@pytest.mark.parametrize("density", [Gaussian([0.3, -0.2]), Logistic(2)], ids=repr)
def test_the_error_of_the_moment_is_that_of_the_true_score_up_to_sampling(density):
    """With the true S₄ the criterion is sampling error alone."""
    X = density.sample(40_000, random_state=1)
    frame = np.array([[0.6, 0.8], [-0.8, 0.6]])
    assert moment_error(lambda u, v: density.contract(X, u, v), X, frame) < 0.1
    if isinstance(density, Logistic):
        # A quartic alone, and a score that is twice too large.
        assert moment_error(lambda u, v: 0 * X[:, 0], X, frame) > 0.1
        assert moment_error(lambda u, v: 2 * density.contract(X, u, v), X, frame) > 0.1


def test_no_bandwidth_for_equal_rows():
    with pytest.raises(ValueError, match="all rows of X are equal"):
        LocalLikelihood("moment").fit(np.ones((50, 2)))
