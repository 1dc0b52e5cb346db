"""Densities against automatic differentiation, Stein's identity, SciPy's densities and samples."""

import itertools
import warnings
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from planted import datasets
from planted.inputs import (
    CustomDensity,
    Gaussian,
    GaussianMixture,
    HyperbolicSecant,
    Laplace,
    Logistic,
    SingularScoreWarning,
    StudentT,
    gaussianity,
    henze_zirkler,
    score_tensor,
)
from planted.inputs._gaussianity import mardia
from planted.inputs._scores import set_partitions

COV = np.array([[1.5, 0.4, 0.1], [0.4, 0.8, -0.2], [0.1, -0.2, 1.1]])
MIXTURE = GaussianMixture(
    [0.5, 0.3, 0.2],
    [[1.0, 0.5, -0.5], [-1.0, 0.0, 0.3], [0.0, -1.0, 1.0]],
    np.stack([COV, np.eye(3), 0.7 * np.eye(3)]),
)


def bumpy(x):
    return -0.5 * jnp.sum(x**2) + 0.3 * jnp.sin(x[0] * x[1]) + 0.2 * jnp.cos(x[2] - x[0])


SMOOTH = [
    Gaussian([0.3, -0.2, 0.5], COV),
    MIXTURE,
    Logistic(3, scale=[0.7, 1.0, 1.5], loc=[0.1, 0.0, -0.4]),
    HyperbolicSecant(3, scale=[0.7, 1.0, 1.5]),
    StudentT(3, df=6.0, scale=[0.7, 1.0, 1.5], loc=0.2),
]
EVERY = [*SMOOTH, CustomDensity(bumpy, 3)]
smooth = pytest.mark.parametrize("density", SMOOTH, ids=repr)
every = pytest.mark.parametrize("density", EVERY, ids=repr)
POINTS = np.random.default_rng(1).normal(size=(5, 3))


@lru_cache(maxsize=16)
def _derivatives(density):
    """A function from rows to ∇f/f, …, ∇⁴f/f by automatic differentiation of the density itself."""

    def of_row(row):
        f = lambda z: jnp.exp(density.traced_log_density(z[None])[0])  # noqa: E731
        found, derivative = [], f
        for _ in range(4):
            derivative = jax.jacfwd(derivative)
            found.append(derivative(row) / f(row))
        return found

    return jax.jit(jax.vmap(of_row))


def differentiated(density, x, order):
    with jax.enable_x64(True):
        return np.asarray(_derivatives(density)(jnp.asarray(x))[order - 1])


@every
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_scores_are_the_derivatives_of_the_density(density, order):
    found = density.score(POINTS, order)
    assert found.shape == (5,) + (3,) * order
    np.testing.assert_allclose(found, differentiated(density, POINTS, order), rtol=1e-9, atol=1e-9)


@every
def test_contraction_equals_the_contracted_tensor(density):
    u, v = np.random.default_rng(2).normal(size=(2, 3))
    tensor = density.score(POINTS, 4)
    np.testing.assert_allclose(
        density.contract(POINTS, u, v), np.einsum("nabcd,a,b,c,d->n", tensor, u, u, v, v), rtol=1e-10, atol=1e-10
    )


@every
def test_scores_are_symmetric(density):
    tensor = density.score(POINTS, 4)
    for axes in itertools.permutations(range(1, 5)):
        np.testing.assert_allclose(tensor, tensor.transpose(0, *axes), rtol=1e-12, atol=1e-12)


@smooth
def test_steins_identity_with_the_stated_sign(density):
    """E[g S_m] = (−1)^m E[∇^m g] for g = exp(−‖x − c‖²/2): each entry within 5 standard errors, n = 50,000."""
    rows = 50_000
    X = density.sample(rows, random_state=3)
    centre = np.array([0.4, -0.3, 0.2])
    g = np.exp(-0.5 * np.sum((X - centre) ** 2, axis=1))
    bump = Gaussian(centre)
    for order in (1, 2, 3, 4):
        # ∇^m g = g S_m of the standard Gaussian at c, already checked against differentiation.
        gap = g.reshape(-1, *(1,) * order) * (density.score(X, order) - (-1) ** order * bump.score(X, order))
        error = gap.std(axis=0) / rows**0.5
        assert np.all(np.abs(gap.mean(axis=0)) < 5 * error + 1e-12)


def test_without_the_sign_steins_identity_fails_at_odd_orders():
    """Erratum: Lemma B.2 as printed, with eq. 2's S_m, has the wrong sign for m = 1."""
    density = Gaussian([0.0])
    X = density.sample(100_000, random_state=0)
    product = np.tanh(X) * density.score(X, 1)
    derivative = 1 - np.tanh(X) ** 2
    assert (product - derivative).mean() < -0.5
    assert abs((product + derivative).mean()) < 5 * (product + derivative).std() / 100_000**0.5


def test_eq_7_needs_the_symmetrisation_it_does_not_print():
    """Erratum: with 3 G₂⊗G₂ in place of 3 sym(G₂⊗G₂), S₄ is not ∇⁴f/f, nor symmetric."""
    precision = np.linalg.inv(COV)
    sym = (
        sum(np.einsum("ab,cd->abcd", precision, precision).transpose(p) for p in itertools.permutations(range(4))) / 24
    )
    right = Gaussian(np.zeros(3), COV).score(np.zeros((1, 3)), 4)[0]
    printed = 3 * np.einsum("ab,cd->abcd", precision, precision)
    np.testing.assert_allclose(right, 3 * sym, rtol=1e-12)
    np.testing.assert_allclose(right, differentiated(Gaussian(np.zeros(3), COV), np.zeros((1, 3)), 4)[0], atol=1e-12)
    assert np.abs(printed - right).max() > 0.5


def test_eq_8_has_the_sign_of_janzamin_not_of_eq_2():
    """Erratum: (−1)^m Σ … is (−1)^m ∇^m f / f; at m = 3 the two differ by their sign."""
    density = Gaussian([0.0])
    x = np.array([[0.7]])
    with jax.enable_x64(True):
        bell = score_tensor([jnp.asarray(-x), -jnp.ones((1, 1, 1))], 3)
    np.testing.assert_allclose(bell, density.score(x, 3))
    np.testing.assert_allclose(bell.ravel(), -(0.7**3 - 3 * 0.7), rtol=1e-12)


def test_example_1_of_the_paper_is_right():
    x, u, v = np.random.default_rng(0).normal(size=(3, 4))
    p, q = u @ x, v @ x
    printed = p**2 * q**2 - u @ u * q**2 - 4 * p * q * (u @ v) - v @ v * p**2 + (u @ u) * (v @ v) + 2 * (u @ v) ** 2
    np.testing.assert_allclose(Gaussian(np.zeros(4)).contract(x[None], u, v), [printed], rtol=1e-12)


def test_partitions_are_counted_by_bell_numbers():
    assert [len(set_partitions(m)) for m in range(1, 5)] == [1, 2, 5, 15]


SCIPY = [
    (Logistic(1), stats.logistic),
    (HyperbolicSecant(1, scale=np.pi / 2), stats.hypsecant),
    (StudentT(1, df=4.0), stats.t(4.0)),
    (Laplace(1), stats.laplace),
    (Gaussian([0.0]), stats.norm),
]


@pytest.mark.parametrize(("density", "reference"), SCIPY, ids=[repr(density) for density, _ in SCIPY])
def test_one_dimensional_densities_and_samples_agree_with_scipy(density, reference):
    x = np.linspace(-40, 40, 101)
    np.testing.assert_allclose(density.log_density(x[:, None]), reference.logpdf(x), rtol=1e-9)
    drawn = density.sample(20_000, random_state=5)[:, 0]
    assert stats.kstest(drawn, reference.cdf).pvalue > 1e-4
    assert np.array_equal(drawn, density.sample(20_000, random_state=5)[:, 0])


def test_mixture_density_and_samples():
    x = np.random.default_rng(0).normal(size=(7, 3))
    parts = [
        w * stats.multivariate_normal(m, c).pdf(x)
        for w, m, c in zip(MIXTURE.weights, MIXTURE.means, MIXTURE.covs, strict=True)
    ]
    np.testing.assert_allclose(MIXTURE.log_density(x), np.log(sum(parts)), rtol=1e-10)
    drawn = MIXTURE.sample(100_000, random_state=0)
    mean = MIXTURE.weights @ MIXTURE.means
    second = np.einsum(
        "c,cij->ij", MIXTURE.weights, MIXTURE.covs + np.einsum("ci,cj->cij", MIXTURE.means, MIXTURE.means)
    )
    outer = drawn[:, :, None] * drawn[:, None, :]
    assert np.all(np.abs(drawn.mean(axis=0) - mean) < 5 * drawn.std(axis=0) / 100_000**0.5)
    assert np.all(np.abs(outer.mean(axis=0) - second) < 5 * outer.std(axis=0) / 100_000**0.5)


def test_far_away_points_stay_finite():
    x = np.full((1, 3), 60.0)
    for density in EVERY[:5]:
        assert np.all(np.isfinite(density.score(x, 4)))
        assert np.all(np.isfinite(density.log_density(x)))


def test_laplace_says_where_its_score_is_not_a_function():
    density = Laplace(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        density.score([[1.0, -1.0]], 1)
    with pytest.warns(SingularScoreWarning, match="repeated indices"):
        tensor = density.score([[1.0, -2.0]], 4)
    sign = np.array([1.0, -1.0])
    np.testing.assert_array_equal(tensor[0], np.einsum("a,b,c,d->abcd", sign, sign, sign, sign))
    with pytest.warns(SingularScoreWarning):
        assert density.contract([[1.0, -2.0]], [1.0, 0.0], [0.0, 1.0]) == 1.0


def test_stein_fails_for_the_laplace_s2_by_its_point_mass():
    """∫ g p'' = E[g''] holds with p'' = p − δ; the pointwise S₂ = 1 misses −g(0)."""
    g = lambda t: np.exp(-((t - 0.3) ** 2))  # noqa: E731
    second = lambda t: (4 * (t - 0.3) ** 2 - 2) * g(t)  # noqa: E731
    p = lambda t: 0.5 * np.exp(-abs(t))  # noqa: E731
    right = integrate.quad(lambda t: second(t) * p(t), -30, 0)[0] + integrate.quad(lambda t: second(t) * p(t), 0, 30)[0]
    pointwise = integrate.quad(lambda t: g(t) * p(t), -30, 0)[0] + integrate.quad(lambda t: g(t) * p(t), 0, 30)[0]
    assert abs(pointwise - g(0.0) - right) < 1e-8
    assert abs(pointwise - right) > 0.5


def test_mean_score_is_the_average():
    X = MIXTURE.sample(50, random_state=0)
    y = np.arange(50.0)
    np.testing.assert_allclose(
        MIXTURE.mean_score(X, y, 4), np.mean(y.reshape(-1, 1, 1, 1, 1) * MIXTURE.score(X, 4), axis=0), rtol=1e-10
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Gaussian([0.0]).score([[0.0]], 5), "order"),
        (lambda: Gaussian([0.0]).score([[0.0, 1.0]], 1), "2 columns"),
        (lambda: Gaussian([0.0]).contract([[0.0]], [1.0, 2.0], [1.0]), "u has 2"),
        (lambda: GaussianMixture([1.0, -1.0], np.zeros((2, 1))), "positive"),
        (lambda: GaussianMixture([1.0], np.zeros((2, 1))), "weights has 1"),
        (lambda: GaussianMixture([1.0], np.zeros((1, 2)), np.zeros((3, 3))), "covs has shape"),
        (lambda: Logistic(0), "n_features"),
        (lambda: Logistic(2, scale=-1.0), "scale must be positive"),
        (lambda: Logistic(2, scale=[1.0, 2.0, 3.0]), "scale"),
        (lambda: StudentT(2, df=0.0), "df"),
        (lambda: CustomDensity(lambda x: x, 2), "one number"),
        (lambda: CustomDensity(bumpy, 3).sample(3), "sampler"),
        (lambda: gaussianity(np.zeros((3, 3))), "too few"),
    ],
)
def test_mistakes_get_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_custom_density_equals_the_built_in_one():
    x = np.random.default_rng(0).normal(size=(4, 3))
    custom = CustomDensity(lambda z: -jnp.sum(z + 2 * jnp.log1p(jnp.exp(-z))), 3)
    for order in (1, 2, 3, 4):
        np.testing.assert_allclose(custom.score(x, order), Logistic(3).score(x, order), atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "mixture", "laplace"])
def test_planted_data_with_named_inputs(name):
    data = datasets.make_planted(4000, 3, 2, inputs=name, random_state=1)
    variance = {"gaussian": np.eye(3), "mixture": np.eye(3) + 1, "laplace": 2 * np.eye(3)}[name]
    outer = data.X[:, :, None] * data.X[:, None, :]
    assert np.all(np.abs(outer.mean(axis=0) - variance) < 5 * outer.std(axis=0) / 4000**0.5)
    np.testing.assert_allclose(data.y, np.maximum(data.X @ data.teacher.weights.T, 0) @ data.teacher.output)
    with pytest.raises(ValueError, match="did you mean 'laplace'"):
        datasets.make_planted(10, 2, 2, inputs="laplac")


def test_planted_data_takes_a_density():
    X = datasets.make_planted(10, 3, 2, inputs=MIXTURE, random_state=1).X
    assert X.shape == (10, 3)


def test_normality_tests_hold_their_level():
    """Rejections at level 0.05 over 400 Gaussian samples, n = 300, d = 3: within 4 binomial standard errors."""
    rng = np.random.default_rng(0)
    counts = np.zeros(3)
    for _ in range(400):
        X = rng.normal(size=(300, 3)) @ COV
        z = Gaussian.fit(X).whiten(X)
        counts += np.array([*mardia(z), henze_zirkler(X).p_value]) < 0.05
    assert np.all(np.abs(counts / 400 - 0.05) < 4 * (0.05 * 0.95 / 400) ** 0.5)


def test_henze_zirkler_is_a_distance_of_characteristic_functions():
    """T = n ∫ |ψ_n(t) − exp(−t²/2)|² N(t; 0, β²) dt for d = 1, by Gauss–Hermite quadrature."""
    x = np.random.default_rng(0).laplace(size=60)
    z = (x - x.mean()) / x.std()
    n = len(z)
    beta = (3 * n / 4) ** (1 / 5) / 2**0.5
    nodes, weights = np.polynomial.hermite_e.hermegauss(100)
    t = beta * nodes
    difference = np.exp(1j * np.outer(t, z)).mean(axis=1) - np.exp(-(t**2) / 2)
    expected = n * weights @ np.abs(difference) ** 2 / weights.sum()
    assert henze_zirkler(x[:, None]).statistic == pytest.approx(expected, rel=1e-6)


def test_henze_zirkler_has_power_whatever_the_scale_and_says_when_it_cannot_judge():
    rng = np.random.default_rng(0)
    scale = np.array([1.0, 50.0, 0.01])
    assert henze_zirkler(rng.laplace(size=(400, 3)) * scale).p_value < 1e-3
    assert henze_zirkler((rng.normal(size=(400, 3)) + 2 * rng.choice([-1, 1], (400, 1))) * scale + 7).p_value < 1e-3
    assert np.isnan(henze_zirkler(np.eye(3)).p_value)
    line = rng.normal(size=(50, 1)) * np.ones(2)
    assert henze_zirkler(line).p_value == 0.0


@pytest.mark.parametrize(
    "density", [Logistic(4), HyperbolicSecant(4), Laplace(4), GaussianMixture.symmetric(4, 2.0)], ids=repr
)
def test_normality_is_rejected_where_it_is_wrong(density):
    found = gaussianity(density.sample(5000, random_state=0))
    assert not found.gaussian
    assert "not Gaussian" in str(found)


def test_normality_is_accepted_for_correlated_gaussians():
    found = gaussianity(Gaussian([5.0, -100.0, 3.0], 1e4 * COV).sample(20_000, random_state=0))
    assert found.gaussian
    assert found.p_value > 0.001


def test_a_constant_combination_of_inputs_is_found_whatever_rounding_makes_of_it():
    """All columns of a one-hot encoding: of some of these tables Cholesky's last pivot is positive by rounding."""
    rng = np.random.default_rng(0)
    for levels in (4, 7):
        for _ in range(20):
            with pytest.raises(ValueError, match="a combination of inputs is constant"):
                Gaussian.fit(np.eye(levels)[rng.integers(0, levels, 500)])
    near = rng.standard_normal((500, 1))
    Gaussian.fit(np.column_stack([near, near + 1e-5 * rng.standard_normal((500, 1))]))
