"""E[φ⁗(a·x)] by quadrature, the population L, and the constants of G, F and L as their theorems have them."""

import numpy as np
import pytest

from planted import Network, activations
from planted.certificates import assumptions, certify
from planted.inputs import CustomDensity, Gaussian, GaussianMixture, HyperbolicSecant, Laplace, Logistic, StudentT
from planted.inputs import mean_derivative as mean_derivative_of
from planted.objectives import (
    FullRankLandscape,
    Landscape,
    PopulationFullRankLandscape,
    PopulationLandscape,
    PopulationScoreLandscape,
    ScoreLandscape,
    TwoSampleFullRankLandscape,
)
from planted.objectives._full_rank import Outputs, full_rank_constants
from planted.objectives._landscape import constants

RELU, SIGMOID = activations.get("relu"), activations.get("sigmoid")
rng = np.random.default_rng(0)
Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("activation", [RELU, SIGMOID], ids=lambda act: act.name)
def test_gaussian_inputs_have_hermite_coefficients(order, activation):
    a, C = np.array([1.0, -0.5]), np.array([[2.0, 0.3], [0.3, 1.0]])
    sigma = float(a @ C @ a) ** 0.5
    expected = {2: 2**0.5, 4: 24**0.5}[order] * activation.hermite(order, sigma) / sigma**order
    assert mean_derivative_of(Gaussian(np.zeros(2), C), a, activation, order) == pytest.approx(expected, abs=1e-10)


def test_values_known_by_hand():
    # ReLU: the second derivative of the density of a·x at zero.
    mixture = GaussianMixture.symmetric(2)
    for a in ([1.0, 0.0], [0.6, 0.8]):
        m = sum(a)
        expected = (m**2 - 1) * np.exp(-(m**2) / 2) / (2 * np.pi) ** 0.5
        assert mean_derivative_of(mixture, a, RELU) == pytest.approx(expected, abs=1e-12)
    assert mean_derivative_of(Logistic(1), [1.0], RELU) == pytest.approx(-1 / 8, abs=1e-9)
    assert mean_derivative_of(Logistic(1, loc=0.7), [1.0], RELU, 2) == pytest.approx(
        np.exp(-0.7) / (1 + np.exp(-0.7)) ** 2
    )
    # The density sech(πz/2)/2 has second derivative −π²/8 at zero.
    assert mean_derivative_of(HyperbolicSecant(1), [1.0], RELU) == pytest.approx(-(np.pi**2) / 8, abs=1e-8)


@pytest.mark.slow
def test_heavy_tails():
    t = StudentT(1, df=7.0)
    height = float(np.exp(t.log_density([[0.0]])[0]))
    assert mean_derivative_of(t, [1.0], RELU) == pytest.approx(-height * 8 / 7, rel=1e-8)


def test_a_density_without_a_one_dimensional_form_is_refused():
    smooth = CustomDensity(lambda x: -(x @ x) / 2, 2)
    for density in (smooth, Laplace(2)):
        with pytest.raises(ValueError, match="no one-dimensional form"):
            mean_derivative_of(density, [1.0, 0.0], RELU)
    with pytest.raises(ValueError, match="not all zero"):
        mean_derivative_of(Logistic(2), [0.0, 0.0], RELU)


def test_population_l_is_twice_g_for_gaussian_inputs():
    teacher, B = Network(Q, [1.0, 1.5, 2.0]), rng.normal(size=(3, 3))
    L = PopulationScoreLandscape(teacher, Gaussian(np.zeros(3)), mu=0.03, lam=1.3)
    assert L.value(B) == pytest.approx(2 * PopulationLandscape(teacher, 0.36, 0.65).value(B), rel=1e-10)


@pytest.mark.parametrize("form", ["orthogonal", pytest.param("full-rank", marks=pytest.mark.slow)])
def test_population_l_is_the_mean_of_l_over_rows(form):
    weights = np.array([[0.6, 0.8], [-0.8, 0.6]]) if form == "orthogonal" else np.array([[1.2, 0], [0.6, 0.8]])
    teacher, density = Network(weights, [1.0, 1.5]), Logistic(2)
    B = 0.5 * rng.normal(size=(2, 2))
    L = PopulationScoreLandscape(teacher, density, mu=0.005, lam=1.3, form=form)
    X = density.sample(40_000, random_state=0)
    y = teacher.predict(X)
    values = [ScoreLandscape(X[i::8], y[i::8], density, mu=0.005, lam=1.3, form=form).value(B) for i in range(8)]
    assert abs(np.mean(values) - L.value(B)) < 5 * np.std(values, ddof=1) / 8**0.5


def test_kappa_of_both_signs_is_told():
    L = PopulationScoreLandscape(
        Network(np.eye(2), np.ones(2)), GaussianMixture([0.5, 0.5], [[2.0, 0.1], [-2.0, -0.1]])
    )
    assert not L.signs_agree
    assert L.pair_form() is None
    assert L.known_minimum() is None


def test_mu_is_allowed_by_the_outputs_themselves():
    # κ* = 200: an estimate is taken to be at most 20 for the default, but what is allowed is not.
    estimated = constants(0.1, 200.0, 1.0, None, None)
    assert estimated.mu == pytest.approx(10 * estimated.largest_mu)
    assert estimated.largest_mu == pytest.approx(0.12 / 200)
    teacher = Network(np.eye(4), [1.0, 1.0, 1.0, 200.0])
    G = PopulationLandscape(teacher)
    assert G.constants.mu == pytest.approx(0.12 / 200)
    assert G.known_minimum() is not None
    X = rng.normal(size=(4000, 4))
    certificate = certify(Landscape(X, teacher.predict(X), lam=200.0), np.eye(4))
    rows = {row.name: row.status for row in certificate.assumptions}
    assert rows["μ β_max ≤ c α_min"] == "fails"


def test_delta_of_theorem_a_5_has_the_fourth_coefficient():
    for d in (2, 4, 8):
        chosen = full_rank_constants(0.08, Outputs(1.0, 1.0, exact=True), None, None, None, np.eye(d), d)
        saddle = 0.01 * chosen.mu * 0.08 / (2 * 6**0.5) / d
        assert chosen.delta == pytest.approx(min(saddle / 2, 0.01 * 0.08 * 0.1 / (d * d**0.5)))
    assert PopulationFullRankLandscape(Network(np.eye(2), np.ones(2)), delta=None).constants.delta < 1e-5


def test_lambda_must_also_exceed_the_fourth_powers():
    chosen = constants(0.1, 1.0, 1.0, 36.0, None)
    assert chosen.lam == pytest.approx(4 * 36 * 0.1 / (2 * 6**0.5))
    assert [row.status for row in assumptions(network=Network(np.eye(2), np.ones(2)), mu=36.0, lam=1.0)].count(
        "fails"
    ) >= 2


def test_f_from_two_samples_is_unbiased_and_from_one_is_not():
    teacher = Network(np.eye(3), np.ones(3))
    B = Q  # bᵀTb = 1, so that the norm term is nothing but the variance of bᵀT̂b
    expected = PopulationFullRankLandscape(teacher, mu=0.1, lam=20.0).value(B)
    one, two = [], []
    for seed in range(60):
        X = np.random.default_rng(seed).normal(size=(300, 3))
        y = teacher.predict(X)
        one.append(FullRankLandscape(X, y, mu=0.1, lam=20.0).value(B))
        two.append(TwoSampleFullRankLandscape(X, y, mu=0.1, lam=20.0).value(B))
    for values, biased in ((one, True), (two, False)):
        off = abs(np.mean(values) - expected) / (np.std(values, ddof=1) / 60**0.5)
        assert (off > 4) == biased
