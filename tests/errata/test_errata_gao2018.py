"""Gao, Makkuva, Oh and Viswanath (2018): printed statements that are wrong, beside the right ones."""

import numpy as np
import pytest
from scipy.stats import chi2

from planted import Network
from planted.certificates import certify
from planted.inputs import Gaussian, LocalLikelihood
from planted.objectives import PopulationLandscape


def test_assumption_3a_leaves_gaussian_inputs_out():
    t = np.array([10.0, 100.0, 1000.0])
    # P[‖x‖² ≥ t] ≤ K₁ exp(−K₂t²) fails for every K₂ > 0: −log P / t² falls to zero.
    ratio = -chi2.logsf(t, df=3) / t**2
    assert np.all(np.diff(ratio) < 0)
    assert ratio[-1] < 1e-3
    # What eq. 39 uses, P[‖x‖ ≥ r] ≤ K₁ exp(−K₂r), holds: −log P / r grows.
    r = np.array([3.0, 10.0, 30.0])
    assert np.all(np.diff(-chi2.logsf(r**2, df=3) / r) > 0)


def laplace_value(A, mu):
    """E[y (−Σ_{i≠j} (s·a_i)²(s·a_j)² + μ Σ_i (s·a_i)⁴)] for s = sgn(x), Laplace inputs, A* = I and unit rows."""
    d = A.shape[1]
    pairs = d / 2 * (1 + 2 * (A @ A.T) ** 2 - 2 * (A**2) @ (A**2).T)
    return -(pairs.sum() - np.trace(pairs)) + mu * np.trace(pairs)


@pytest.mark.parametrize(("mu", "lower"), [(3.0, "equal"), (8.9, "equal"), (9.1, "axes"), (30.0, "axes")])
def test_section_4_1_equal_rows_are_lower_than_axes_below_k_minus_one(mu, lower):
    d = 10
    axes, equal = laplace_value(np.eye(d), mu), laplace_value(np.full((d, d), d**-0.5), mu)
    assert (equal < axes) == (lower == "equal")
    # Which axes does not matter: two rows on one axis are as good.
    assert laplace_value(np.eye(d)[[0, 0, *range(2, d)]], mu) == pytest.approx(axes)


@pytest.mark.parametrize(("mu", "kind"), [(30.0, "local minimum"), (0.01, "saddle")])
def test_section_4_1_mu_alone_makes_rows_repeat(mu, kind):
    """Gaussian inputs, the exact L: two rows on one axis are a local minimum with μ = 30, not with an allowed μ."""
    teacher = Network(np.eye(3), np.ones(3))
    lam = 4 * max(mu, 1.0) * 6**0.5 * abs(teacher.activation.hermite(4))
    G = PopulationLandscape(teacher, 12 * mu, lam)  # L(A; μ, λ) = 2 G(A; 12μ, λ/2)
    w, beta = float(G.weights[0]) * 6**0.5, float(G.weights[0]) / (2 * 6**0.5)
    # Rows t·e₁ twice: t solves 4w t³ − 48μβ t³ + 4λ(t² − 1)t = 0; the third row has no partner.
    twice, alone = np.sqrt(lam / (lam + w - 12 * mu * beta)), np.sqrt(lam / (lam - 12 * mu * beta))
    B = np.array([[twice, 0, 0], [twice, 0, 0], [0, alone, 0]])
    assert np.linalg.norm(G.gradient(B)) < 1e-12
    assert certify(G, B).kind == kind


def test_figure_4_the_limit_of_wide_bandwidths_is_the_fitted_gaussian():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) + rng.choice([-1.0, 1.0], size=(400, 1))
    fitted = Gaussian(X.mean(axis=0), np.cov(X.T, bias=True))
    points = rng.normal(size=(5, 2))
    for order in (2, 4):
        exact = fitted.score(points, order)
        errors = [np.abs(LocalLikelihood(h).fit(X).score(points, order) - exact).max() for h in (4.0, 20.0)]
        assert errors[1] < 0.1 * errors[0]
        assert errors[1] < 1e-2 * np.abs(exact).max()
