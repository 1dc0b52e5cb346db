"""Ge, Lee and Ma (2017): every formula printed wrong, shown wrong, beside the right one, shown right.

Expectations are sums over Gauss–Hermite product rules on polynomial activations, hence exact.
"""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from planted import Network, activations, match, objectives, permutation_error
from planted.objectives import (
    PopulationFullRankLandscape,
    PopulationLandscape,
    PopulationPairs,
    appendix_d,
    read_off,
    whitening,
)
from planted.reproduce.ge2017._conjecture import conjecture_teacher
from planted.solvers import lbfgs, newton_polish

RELU = activations.get("relu")
POLYNOMIAL = activations.custom(lambda z: 0.3 * z**4 - 0.2 * z**3 + z**2 + 0.5 * z + 1, name="polynomial")
FOURTH, SECOND = 0.3 * math.sqrt(24), (6 * 0.3 + 1) * math.sqrt(2)
nodes, masses = np.polynomial.hermite_e.hermegauss(8)
masses = masses / masses.sum()
X = np.stack([axis.ravel() for axis in np.meshgrid(nodes, nodes, nodes, indexing="ij")], axis=1)
MASS = np.einsum("i,j,k->ijk", masses, masses, masses).ravel()
rng = np.random.default_rng(0)
U = np.array([2.0, -1.0, 2.0]) / 3
V, W = rng.standard_normal((2, 3))


def mean(values):
    return MASS @ values


def sigma(z):
    return 0.3 * z**4 - 0.2 * z**3 + z**2 + 0.5 * z + 1


def phi(v, x=X):
    s, norm = x @ v, v @ v
    return norm**2 / 8 - s**2 * norm / 4 + s**4 / 24


def pair(v, w, sign, x=X):
    """ϕ with `sign`·2(v·x)(w·x)⟨v,w⟩: + in eq. 2.10, − in eq. 4.6."""
    s, t = x @ v, x @ w
    quadratic = 0.5 * (w @ w) * s**2 + 0.5 * (v @ v) * t**2
    return (v @ v) * (w @ w) / 2 + (v @ w) ** 2 - quadratic + sign * 2 * s * t * (v @ w) + s**2 * t**2 / 2


def h2(z):
    return (z**2 - 1) / math.sqrt(2)


def H4(z):
    return z**4 - 6 * z**2 + 3


def descend(objective, start):
    """L-BFGS from `start`; the minimiser, in the shape of `start`."""

    def fun(flat):
        value, gradient = objective.value_and_gradient(flat.reshape(start.shape))
        return value, gradient.ravel()

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(fun, start.ravel(), jac=True, method="L-BFGS-B", options=options).x.reshape(start.shape)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_the_rule_is_exact():
    assert mean(X[:, 0] ** 8 * X[:, 1] ** 2) == pytest.approx(105)
    assert mean(sigma(X @ U) * h2(X @ U)) == pytest.approx(SECOND)
    assert mean(sigma(X @ U) * H4(X @ U)) / math.sqrt(24) == pytest.approx(FOURTH)
    assert POLYNOMIAL.hermite(4) == pytest.approx(FOURTH)


def test_eq_2_10_has_the_wrong_sign():
    definition = phi(V + W) + phi(V - W) - 2 * phi(V) - 2 * phi(W)
    np.testing.assert_allclose(pair(V, W, -1), definition, atol=1e-9)
    assert np.abs(pair(V, W, +1) - definition).max() > 1
    # The printed ϕ sees second-order parts of y, the right one does not.
    assert mean(h2(X @ U) * pair(V, W, -1)) == pytest.approx(0, abs=1e-10)
    assert abs(mean(h2(X @ U) * pair(V, W, +1))) > 0.1


def test_theorem_4_5_and_lemma_4_9_have_twice_the_right_constant():
    found = mean(sigma(X @ U) * pair(V, W, -1))
    target = FOURTH * (U @ V) ** 2 * (U @ W) ** 2
    assert found == pytest.approx(math.sqrt(6) * target, rel=1e-10)
    assert found != pytest.approx(2 * math.sqrt(6) * target, rel=0.4)


def test_theorem_4_6_has_twice_the_right_constant():
    found = mean(sigma(X @ U) * phi(V))
    target = FOURTH * (U @ V) ** 4
    assert found == pytest.approx(target / (2 * math.sqrt(6)), rel=1e-10)
    assert found != pytest.approx(target / math.sqrt(6), rel=0.4)


def test_theorem_2_6_has_twice_the_right_constants():
    a, B_star = np.array([1.0, 1.5, 2.0]), np.linalg.qr(rng.standard_normal((3, 3)))[0]
    B, mu, lam = rng.standard_normal((3, 3)), 0.4, 1.3
    y = sigma(X @ B_star.T) @ a
    first = sum(mean(y * pair(B[j], B[k], -1)) for j in range(3) for k in range(3) if j != k)
    G = first - mu * sum(mean(y * phi(b)) for b in B) + lam * np.sum((np.sum(B**2, axis=1) - 1) ** 2)
    p2 = (B_star @ B.T) ** 2
    pairs, fourths = a @ (p2.sum(axis=1) ** 2 - (p2**2).sum(axis=1)), a @ (p2**2).sum(axis=1)
    norms = lam * np.sum((np.sum(B**2, axis=1) - 1) ** 2)
    right = math.sqrt(6) * FOURTH * pairs - mu * FOURTH / (2 * math.sqrt(6)) * fourths + norms
    printed = 2 * math.sqrt(6) * FOURTH * pairs - mu * FOURTH / math.sqrt(6) * fourths + norms
    found = PopulationLandscape(Network(B_star, a, POLYNOMIAL), mu, lam).value(B)
    assert right == pytest.approx(G, rel=1e-10)
    assert found == pytest.approx(G, rel=1e-10)
    assert printed != pytest.approx(G, rel=0.1)


def test_lemma_4_8_sanity_check_is_inverted():
    v = V / np.linalg.norm(V)
    h4 = H4(X @ v) / math.sqrt(24)
    np.testing.assert_allclose(phi(v), h4 / math.sqrt(24), atol=1e-10)
    assert np.abs(phi(v) - math.sqrt(24) * h4).max() > 1
    assert mean(H4(X @ U) * phi(V)) == pytest.approx((U @ V) ** 4)


def test_proofs_of_4_6_and_4_9_normalise_by_the_factorial():
    """h_j = H_j/√(j!), not H_j/√j."""
    z = X[:, 0]
    assert mean((H4(z) / math.sqrt(math.factorial(4))) ** 2) == pytest.approx(1)
    assert mean((H4(z) / math.sqrt(4)) ** 2) == pytest.approx(6)


def test_footnote_4_relu_coefficients():
    """Printed ((n−3)!!)²/√(2πn!); right (−1)^{n/2+1}(n−3)!!/√(2πn!), against quadrature on the half line."""
    z, w = np.polynomial.legendre.leggauss(200)
    z, w = 6 * (1 + z), 6 * w
    for n in (2, 4, 6, 8):
        h = np.polynomial.hermite_e.HermiteE.basis(n)(z) / math.sqrt(math.factorial(n))
        exact = np.sum(w * z * h * np.exp(-(z**2) / 2)) / math.sqrt(2 * math.pi)
        double, scale = math.prod(range(n - 3, 0, -2)), math.sqrt(2 * math.pi * math.factorial(n))
        assert (-1) ** (n // 2 + 1) * double / scale == pytest.approx(exact, rel=1e-9)
        assert RELU.hermite(n) == pytest.approx(exact, rel=1e-9)
        if n > 2:
            assert double**2 / scale != pytest.approx(exact, rel=0.1)


def test_lemma_4_9_proof_mixes_exponents():
    p, m, v, w = U @ (V + W), U @ (V - W), U @ V, U @ W
    assert p**4 + m**4 - 2 * v**4 - 2 * w**4 == pytest.approx(12 * v**2 * w**2)
    assert p**2 + m**4 - 2 * v**2 - 2 * w**4 != pytest.approx(12 * v**2 * w**2, rel=0.05)


def test_footnote_5_diagonal():
    """|D_ii|² = 1/(1 − μβ_i/λ) with β_i = |σ̂₄|a_i/(2√6), not |σ̂₄|a_i/√6: solved for numerically."""
    a, mu, lam = np.array([1.0, 1.5, 2.0]), 1.0, 0.5
    G = PopulationLandscape(Network(np.eye(3), a), mu, lam)
    B = descend(G, np.eye(3))
    assert np.linalg.norm(G.gradient(B)) < 1e-7
    beta = abs(RELU.hermite(4)) * a
    np.testing.assert_allclose(np.abs(np.diagonal(B)) ** 2, 1 / (1 - mu * beta / (2 * math.sqrt(6) * lam)), rtol=1e-6)
    printed = 1 / (1 - mu * beta / (math.sqrt(6) * lam))
    assert np.all(np.abs(np.diagonal(B) ** 2 - printed) > 0.02)


def shared_row(fourth):
    """Two rows on b*_1, none on b*_2: a saddle of G for the teacher I₂, and G, for σ = h₂ + fourth·h₄."""
    act = activations.custom(lambda z: h2(z) + fourth * H4(z) / math.sqrt(24), name="second_and_fourth")
    G = PopulationLandscape(Network(np.eye(2), np.ones(2), act), mu=0.01, lam=100.0)
    alpha, beta = math.sqrt(6) * fourth, fourth / (2 * math.sqrt(6))
    t = math.sqrt(100.0 / (100.0 + alpha - 0.01 * beta))
    return G, np.array([[t, 0.0], [t, 0.0]])


def test_theorem_2_3_bullet_2_points_the_wrong_way():
    """A saddle has λ_min ≤ −τ₀ (as in Theorem 5.1); printed is λ_min ≥ −τ₀, here and in A.3 and A.4."""
    G, B = shared_row(0.1)
    assert np.linalg.norm(G.gradient(B)) < 1e-9
    spectrum = np.linalg.eigvalsh(G.hessian(B))
    tau = 0.01 * min(0.01 * 1 / (1 * 2), 100.0)
    assert spectrum[-1] > 0
    assert spectrum[0] < -tau


def test_theorem_2_3_bullet_2_lacks_the_fourth_coefficient():
    """Printed τ₀ = c min{μa_min/(κd), λ}; curvature at a saddle is O(|σ̂₄|), which falls below any such τ₀."""
    G, B = shared_row(1e-6)
    assert np.linalg.norm(G.gradient(B)) < 1e-9
    least = np.linalg.eigvalsh(G.hessian(B))[0]
    beta = 1e-6 / (2 * math.sqrt(6))
    printed, right = 0.01 * min(0.01 / 2, 100.0), 0.01 * min(0.01 * beta / 2, 100.0)
    assert -printed < least < -right


def test_section_5_1_one_row_has_a_factor_two():
    """G in one row b_s is Σ ᾱ_i x_i² − … with ᾱ_i = 2α_i Σ_{k≠s}(b_k·e_i)²: ordered pairs hold b_s twice."""
    a, mu, lam = np.array([1.0, 1.5, 2.0]), 0.4, 1.3
    G = PopulationLandscape(Network(np.eye(3), a), mu, lam)
    alpha, beta = math.sqrt(6) * abs(RELU.hermite(4)) * a, abs(RELU.hermite(4)) * a / (2 * math.sqrt(6))
    others = rng.standard_normal((2, 3))

    def gap(x, factor):
        h = factor * alpha * (others**2).sum(axis=0) @ x**2 - mu * beta @ x**4 + lam * (x @ x - 1) ** 2
        return G.value(np.vstack([x, others])) - h

    points = rng.standard_normal((4, 3))
    right, printed = (np.array([gap(x, factor) for x in points]) for factor in (2, 1))
    np.testing.assert_allclose(right, right[0], rtol=1e-10)
    assert np.ptp(printed) > 0.1


def test_lemma_5_4_chain_5_7():
    """½ − dδ² ≥ 1 − dδ² is printed; ½ − dδ² ≥ 1/3 holds directly since dδ² ≤ 0.1."""
    for excess in np.linspace(0, 0.1, 5):
        assert not 0.5 - excess >= 1 - excess
        assert 0.5 - excess >= 1 / 3


# Appendix A.

A = np.array([1.0, 1.5, 2.0])
B_STAR = unit(np.eye(3) + 0.3 * rng.standard_normal((3, 3)))
M = (B_STAR.T * A) @ B_STAR


def test_a_2_regulariser_is_nested_once_too_often():
    """((bᵀMb − 1)² − 1)² is zero where bᵀMb is 0 or 2, not where it is 1."""
    good = np.linalg.inv(np.sqrt(A)[:, None] * B_STAR).T
    norms = np.einsum("ji,ik,jk->j", good, M, good)
    np.testing.assert_allclose(norms, 1)
    assert np.sum((norms - 1) ** 2) == pytest.approx(0, abs=1e-20)
    assert np.sum(((norms - 1) ** 2 - 1) ** 2) == pytest.approx(3)
    assert ((0.0 - 1) ** 2 - 1) ** 2 == ((2.0 - 1) ** 2 - 1) ** 2 == 0


def test_a_1_sampled_regulariser_lacks_its_one_and_the_second_coefficient():
    """E[yφ₂(b, x)] = √2σ̂₂ bᵀMb; over independent (x, y), (x', y') the printed product is its square."""
    b = rng.standard_normal(3)
    y = sigma(X @ B_STAR.T) @ A
    second = mean(y * ((X @ b) ** 2 - b @ b))
    assert second == pytest.approx(math.sqrt(2) * SECOND * b @ M @ b, rel=1e-10)
    printed = second * second  # the expectation of a product of independent factors
    assert printed == pytest.approx(2 * SECOND**2 * (b @ M @ b) ** 2)
    assert printed != pytest.approx((b @ M @ b - 1) ** 2, rel=0.1)
    scaled = y * ((X @ b) ** 2 - b @ b) / (math.sqrt(2) * SECOND) - 1
    assert mean(scaled) ** 2 == pytest.approx((b @ M @ b - 1) ** 2, rel=1e-9)
    F = PopulationFullRankLandscape(Network(B_STAR, A, POLYNOMIAL), mu=0.0, lam=1.0)
    assert F.value(b[None]) == pytest.approx((b @ M @ b - 1) ** 2, rel=1e-10)


def test_a_2_sums_over_j_equal_to_k_and_forgets_the_sign():
    B, mu = rng.standard_normal((3, 3)), 0.4
    p2 = (B_STAR @ B.T) ** 2
    everything, same = A @ p2.sum(axis=1) ** 2, A @ (p2**2).sum(axis=1)
    right = math.sqrt(6) * (everything - same) - mu / (2 * math.sqrt(6)) * same
    F = PopulationFullRankLandscape(Network(B_STAR, A), mu, 0.0)
    assert F.value(B) == pytest.approx(abs(RELU.hermite(4)) * right, rel=1e-10)
    with_diagonal = math.sqrt(6) * everything - mu / (2 * math.sqrt(6)) * same
    assert F.value(B) != pytest.approx(abs(RELU.hermite(4)) * with_diagonal, rel=0.05)
    # σ̂₄ < 0 for ReLU: without sign(σ̂₄) the pairs would be rewarded.
    assert RELU.hermite(4) * right < 0 < F.value(B)


def test_theorem_a_2_carries_f_to_g_with_the_same_constant():
    """G_{1/a*,μ,λ,o}(𝓑) = F(𝓑Wᵀ) needs √6 and 1/(2√6) on both sides and weights 1/a*; A.2 prints √6 and 2√6, a*."""
    white = whitening(M, 3)
    o = (np.sqrt(A)[:, None] * B_STAR) @ white
    np.testing.assert_allclose(o @ o.T, np.eye(3), atol=1e-12)
    B, mu, lam = rng.standard_normal((3, 3)), 0.4, 1.3
    F = PopulationFullRankLandscape(Network(B_STAR, A), mu, lam).value(B @ white.T)
    assert PopulationLandscape(Network(o, 1 / A), mu, lam).value(B) == pytest.approx(F, rel=1e-10)
    assert PopulationLandscape(Network(o, A), mu, lam).value(B) != pytest.approx(F, rel=0.02)


def test_a_4_whitening_squares_to_the_inverse():
    white = whitening(M, 3)
    np.testing.assert_allclose(white @ white.T, np.linalg.inv(M), atol=1e-12)
    assert np.abs(white @ white.T - M).max() > 0.1


def test_theorem_a_4_proof_inverts_before_it_subtracts():
    """(𝓑Wᵀ)^{−T} − (PDOWᵀ)^{−T} = (𝓑^{−T} − (PDO)^{−T})W^{−1}; printed is (𝓑 − PDO)^{−T}W^{−1}."""
    white, ortho = whitening(M, 3), np.linalg.qr(rng.standard_normal((3, 3)))[0]
    B = ortho + 0.01 * rng.standard_normal((3, 3))
    left = np.linalg.inv(B @ white.T).T - np.linalg.inv(ortho @ white.T).T
    right = (np.linalg.inv(B).T - np.linalg.inv(ortho).T) @ np.linalg.inv(white)
    printed = np.linalg.inv(B - ortho).T @ np.linalg.inv(white)
    np.testing.assert_allclose(left, right, atol=1e-12)
    assert np.linalg.norm(printed) > 100 * np.linalg.norm(left)


def test_theorem_a_5_multiplies_on_the_wrong_side():
    """[B†]ᵀ = PDΓB*, (m, d); the printed B*DΓP multiplies an (m, d) by an (m, m) matrix."""
    wide = unit(rng.standard_normal((2, 3)))
    gamma = np.diag(np.sqrt(A[:2]))
    B = np.linalg.pinv(gamma @ wide).T
    np.testing.assert_allclose(np.linalg.pinv(B).T, gamma @ wide, atol=1e-12)
    with pytest.raises(ValueError, match="mismatch"):
        wide @ gamma


def test_claim_a_8_loses_a_square_root():
    """2λC(C−1)/‖b‖ ≥ 2√2 λ σ_min(M)^{1/2} for C = bᵀMb ≥ 2; printed without the root, false once σ_min > 1."""
    smallest, lam, b = 4.0, 1.0, np.array([math.sqrt(2 / 4.0), 0.0])
    matrix = np.diag([smallest, 9.0])
    C = b @ matrix @ b
    bound = 2 * lam * C * (C - 1) / np.linalg.norm(b)
    assert pytest.approx(2) == C
    assert bound >= 2 * math.sqrt(2) * lam * math.sqrt(smallest) * (1 - 1e-12)
    assert bound < 2 * math.sqrt(2) * lam * smallest


def test_lemma_c_5_gradient_lacks_a_factor_four():
    c, b, step = 0.7, rng.standard_normal(3), 1e-5

    def A2(v):
        return -c * A @ (B_STAR @ v) ** 4

    numeric = [(A2(b + step * e) - A2(b - step * e)) / (2 * step) for e in np.eye(3)]
    printed = -c * B_STAR.T @ (A * (B_STAR @ b) ** 3)
    np.testing.assert_allclose(4 * printed, numeric, rtol=1e-6)


# Appendix B and section 6.


def test_claim_b_1_is_for_relu_only():
    """E[y⟨x, v⟩] = σ̂₁ Σ a*_i⟨b*_i, v⟩; the printed ½ is ReLU's σ̂₁."""
    found, sum_ = mean(sigma(X @ B_STAR.T) @ A * (X @ V)), A @ B_STAR @ V
    first = 0.5 - 3 * 0.2
    assert found == pytest.approx(first * sum_, rel=1e-9)
    assert found != pytest.approx(0.5 * sum_, rel=0.1)
    assert RELU.hermite(1) == 0.5


def test_lemma_2_5_loses_the_square_root_of_the_width():
    """|a'_i − a*_i| ≤ δ‖a*‖₂ up to O(δ²), and up to √m times the printed δ a_max is reached."""
    m, delta = 10, 0.3
    a, row = np.ones(m), np.full(m, delta / math.sqrt(m - 1))
    row[0] = math.sqrt(1 - delta**2)
    distance = np.linalg.norm(row - np.eye(m)[0])
    error = abs(a @ row - 1)  # 2E[y⟨x, b_1⟩] − a*_1 for B* = I
    assert distance < 1 / 2
    assert error > 2 * distance * a.max()
    assert error <= distance * np.linalg.norm(a)


def test_eq_6_1_does_not_tell_a_collapsed_matrix_from_a_permutation():
    """With min, e(Q) = 0 for rows that are all the same unit vector; with max it is not."""
    Q = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert permutation_error(Q) == 0
    by_rows, by_columns = 1 - Q.max(axis=1).min(), 1 - Q.max(axis=0).min()
    assert max(by_rows, by_columns) == 1
    assert match(Network(Q, np.ones(2)), Network(np.eye(2), np.ones(2))).weight_error == pytest.approx(1)


# Appendix D.


def scaled_point(G, B):
    """The critical point of G with the rows of B up to length, by L-BFGS over the lengths alone."""

    def fun(t):
        value, gradient = G.value_and_gradient(t[:, None] * B)
        return value, np.sum(gradient * B, axis=1)

    found = minimize(fun, np.ones(len(B)), jac=True, method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-12})
    return found.x[:, None] * B


def test_appendix_d_value_counts_ordered_pairs():
    teacher, B = appendix_d()
    by_loop = sum(
        teacher.output[i] * (teacher.weights[i] @ B[j]) ** 2 * (teacher.weights[i] @ B[k]) ** 2
        for i in range(4) for j in range(4) for k in range(4) if j != k
    )  # fmt: skip
    assert PopulationPairs(teacher).value(B) == pytest.approx(by_loop) == pytest.approx(2)


@pytest.mark.parametrize("excess", [0.1, 0.5, 3.0])
def test_appendix_d_is_a_spurious_minimum_of_pairs(excess):
    teacher, B = appendix_d(excess)
    P = PopulationPairs(teacher)
    assert np.linalg.norm(P.gradient(B)) < 1e-12
    assert np.linalg.eigvalsh(P.hessian(B))[0] > -1e-12
    source, value = np.random.default_rng(1), P.value(B)
    # Within the radius for which the appendix proves it: (2 + excess)(½ − ε) ≥ 1 with ε a bound on b_4's change.
    radius = 0.25 * (0.5 - 1 / (2 + excess))
    for size in (radius, radius / 10, radius / 100):
        for _ in range(200):
            step = source.standard_normal((4, 4))
            step *= size * source.uniform() / np.linalg.norm(step, axis=1, keepdims=True)
            assert P.value(B + step) >= value - 1e-14
    assert P.value(teacher.weights) == 0 < value


@pytest.mark.parametrize("excess", [0.1, 0.5])
def test_appendix_d_is_no_minimum_of_g(excess):
    teacher, B = appendix_d(excess)
    G = PopulationLandscape(teacher)
    B = scaled_point(G, B)
    assert np.linalg.norm(G.gradient(B)) < 1e-8
    assert np.linalg.eigvalsh(G.hessian(B))[0] < -1e-3 * G.constants.mu
    found = descend(G, B + 1e-3 * np.random.default_rng(2).standard_normal(B.shape))
    order = np.argmax(np.abs(found), axis=1)
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_allclose(np.abs(unit(found)), np.eye(4)[order], atol=1e-5)
    assert G.value(found) < G.value(B)


# F and its regularised form reach the teacher from anywhere.


def signed_match(weights, output, teacher):
    """Largest cosine error and largest output error after the best pairing, signs of rows free."""
    order = np.argmax(np.abs(weights @ teacher.weights.T), axis=0)
    assert sorted(order) == list(range(teacher.n_hidden))
    cosine = np.abs(np.sum(weights[order] * teacher.weights, axis=1))
    return np.max(1 - cosine), output[order]


@pytest.mark.parametrize("start", range(5))
def test_full_rank_landscape_recovers_a_non_orthogonal_teacher(start):
    source = np.random.default_rng(10)
    rows = unit(np.eye(4) + 0.35 * source.standard_normal((4, 4)))
    teacher = Network(rows, [1.0, 1.4, 1.7, 2.0])
    assert np.abs(rows @ rows.T - np.eye(4)).max() > 0.3
    F = PopulationFullRankLandscape(teacher)
    B = descend(F, np.random.default_rng(start).standard_normal((4, 4)) / 2)
    angle, output = signed_match(*read_off(B), teacher)
    assert angle < 1e-8
    # B^{−T} = D^{−1}ΓB* with D_ii² = 1/(1 − μβ_i/λ), β_i = |σ̂₄|/(2√6 a_i).
    beta = abs(RELU.hermite(4)) / (2 * math.sqrt(6) * teacher.output)
    shrunk = teacher.output * (1 - F.constants.mu * beta / F.constants.lam)
    np.testing.assert_allclose(output, shrunk, rtol=1e-5)


def general(B, alpha, beta, mu, lam):
    """Value and gradient of G_{α,β,μ} (eq. 5.2), b*_i = e_i."""
    square = B**2
    columns, norms = square.sum(axis=0), square.sum(axis=1, keepdims=True)
    value = alpha @ (columns**2 - (square**2).sum(axis=0)) - mu * beta @ (square**2).sum(axis=0)
    slope = 4 * alpha * B * (columns - square) - 4 * mu * beta * B**3 + 4 * lam * (norms - 1) * B
    return value + lam * np.sum((norms - 1) ** 2), slope


def general_hessian(B, *constants):
    """Of the gradient in `general`, by central differences, exact up to rounding for a quartic in this step."""
    columns = []
    for i in range(B.size):
        step = np.zeros(B.size)
        step[i] = 1e-3
        plus, minus = (general(B + sign * step.reshape(B.shape), *constants)[1].ravel() for sign in (1, -1))
        columns.append((plus - minus) / 2e-3)
    return np.array(columns)


def test_the_gradient_of_equation_5_2():
    B, constants = rng.standard_normal((2, 2)), (np.array([1.0, 2.0]), np.array([3.0, 4.0]), 0.5, 6.0)
    for i in range(4):
        step = np.zeros(4)
        step[i] = 1e-5
        plus, minus = (general(B + sign * step.reshape(2, 2), *constants)[0] for sign in (1, -1))
        assert (plus - minus) / 2e-5 == pytest.approx(general(B, *constants)[1].ravel()[i], rel=1e-6)


def test_theorem_5_1_bullet_3_loses_mu():
    alpha, beta, mu, lam = np.full(2, 1e-4), np.ones(2), 1e-6, 4e-4
    assert mu <= 0.01 * alpha.min() / beta.max()
    assert lam >= 4 * max(mu * beta.max(), alpha.max())
    B = np.eye(2) / math.sqrt(1 - mu / lam) + 1e-6 * np.array([[0, 1], [1, 0]])
    slope = general(B, alpha, beta, mu, lam)[1]
    epsilon = np.linalg.norm(slope)
    assert np.linalg.eigvalsh(general_hessian(B, alpha, beta, mu, lam))[0] > 0
    error = 1e-6
    assert error > 500 * 3 * epsilon / beta.min()  # as printed
    assert error <= 3 * epsilon / (mu * beta.min())  # as the proof has it
    assert error <= epsilon / alpha.min()  # and sharper: each off-diagonal slope is about 4α_k times its entry


def test_theorem_2_3_bullet_1_lambda_lacks_the_fourth_coefficient():
    large = activations.custom(lambda z: h2(z) + 1e6 * H4(z) / math.sqrt(24), name="h₂ + 10⁶ h₄")
    teacher, c = Network(np.eye(2), np.ones(2), large), 0.01
    printed = PopulationLandscape(teacher, mu=c, lam=1 / c)
    assert printed.value(np.eye(2)) > printed.value(10 * np.eye(2)) > printed.value(1000 * np.eye(2))
    right = PopulationLandscape(teacher, mu=c, lam=abs(large.hermite(4)) / c)
    assert right.value(np.eye(2)) < right.value(10 * np.eye(2)) < right.value(1000 * np.eye(2))


def test_theorem_5_1_bullet_1_multiplies_on_the_wrong_side():
    teacher = Network(np.eye(2), [1.0, 2.0])
    G = PopulationLandscape(teacher)
    beta = abs(RELU.hermite(4)) * teacher.output / (2 * math.sqrt(6))
    D, P = np.diag(1 / np.sqrt(1 - G.constants.mu * beta / G.constants.lam)), np.array([[0.0, 1.0], [1.0, 0.0]])
    assert np.linalg.norm(G.gradient(P @ D)) < 1e-12
    assert np.linalg.norm(G.gradient(D @ P)) > 1e-4


def test_theorem_a_1_needs_as_many_rows_as_columns():
    # g(x) = f(Wx) for W: R¹ → R², with f linear or concave off the range of W.
    W = np.array([[1.0], [0.0]])
    slope = np.array([0.0, 1.0])  # of f(y) = y₂
    assert np.linalg.norm(W.T @ slope) == 0  # x is critical for g,
    assert np.linalg.norm(slope) == 1  # Wx is not for f: bullets 1 and 3
    H = np.diag([-1.0, -100.0])  # of f(y) = −½y₁² − 50y₂²
    assert np.linalg.eigvalsh(W.T @ H @ W)[0] > np.linalg.svd(W)[1][-1] ** 2 * np.linalg.eigvalsh(H)[0]  # bullet 2
    square = rng.standard_normal((3, 3))  # with as many rows as columns all three hold
    spread = np.linalg.svd(square)[1]
    H, slope = np.diag([-3.0, 1.0, 2.0]), rng.standard_normal(3)
    assert spread[-1] * np.linalg.norm(slope) <= np.linalg.norm(square.T @ slope) <= spread[0] * np.linalg.norm(slope)
    assert spread[0] ** 2 * -3 <= np.linalg.eigvalsh(square.T @ H @ square)[0] <= spread[-1] ** 2 * -3


def test_eq_3_3_pairs_the_wrong_vectors():
    # With a*_2 = 0 the targets do not contain b*_2, so no average of them can.
    first, others = U, unit(rng.standard_normal((2, 3)))
    y, B = sigma(X @ first), rng.standard_normal((2, 3))
    average = sum(mean(y * pair(b, c, -1)) for b in B for c in B) / (math.sqrt(6) * FOURTH)
    right = sum((first @ b) ** 2 * (first @ c) ** 2 for b in B for c in B)
    assert average == pytest.approx(right, rel=1e-10)
    printed = [sum((first @ b) ** 2 * (star @ b) ** 2 for b in B for star in (first, second)) for second in others]
    assert abs(printed[0] - printed[1]) > 0.01
    assert min(abs(value - average) for value in printed) > 0.01


@pytest.mark.parametrize("start", range(5))
def test_regularised_full_rank_landscape_recovers_fewer_neurons_than_inputs(start):
    source = np.random.default_rng(11)
    rows = unit(np.eye(3, 5) + 0.35 * source.standard_normal((3, 5)))
    teacher = Network(rows, [1.0, 1.4, 2.0])
    B0 = np.random.default_rng(start).standard_normal((3, 5)) / 2
    # δ pulls B into the span of the teacher's rows; without it what lies outside the span stays.
    off = np.eye(5) - np.linalg.pinv(rows) @ rows
    free = descend(PopulationFullRankLandscape(teacher), B0)
    np.testing.assert_allclose(free @ off, B0 @ off, atol=1e-8)
    B = descend(PopulationFullRankLandscape(teacher, delta=1e-4), B0)
    assert np.linalg.norm(B @ off) < 1e-3
    angle, output = signed_match(*read_off(B), teacher)
    assert angle < 1e-5
    np.testing.assert_allclose(output, teacher.output, rtol=0.02)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (12.0, 1.0), (0.01, 1.0), (1.0, 0.0)])
def test_section_7_conjecture_fails_for_outputs_of_both_signs(alpha, beta):
    """Outputs 1 + t and −t at b*_1, b*_3 missing: nothing nearby is lower than α + β, whatever α and β; with outputs of
    one sign the same point has a way down."""
    loss = objectives.PopulationTensorSum(Network(np.eye(3), np.ones(3)), alpha, beta)
    rows, t = np.eye(3)[[0, 0, 1]], 0.7
    trap = {"weights": rows, "output": np.array([1 + t, -t, 1.0])}
    assert loss.value(trap) == pytest.approx(alpha + beta, rel=1e-12)
    assert max(np.abs(part).max() for part in loss.gradient(trap).values()) < 1e-12
    assert np.linalg.eigvalsh(loss.hessian(trap))[0] > -1e-10 * (alpha + beta)
    rng = np.random.default_rng(0)
    for size in (0.003, 0.03):
        for _ in range(100):
            near = {name: part + size * rng.standard_normal(part.shape) for name, part in trap.items()}
            assert loss.value(near) > loss.value(trap) - 1e-12
    # The form of the module's docstring: τ of both neurons along b*_3.
    first, second = rng.standard_normal(2)
    s, step = (1 + t) * first - t * second, 1e-4
    turned = {"weights": rows + step * np.array([[0, 0, first], [0, 0, second], [0, 0, 0]]), "output": trap["output"]}
    form = 2 * alpha * t / (1 + t) * (second - s) ** 2 + 4 * beta * s**2
    assert (loss.value(turned) - loss.value(trap)) / step**2 == pytest.approx(form, rel=1e-3, abs=1e-3)
    shared = {"weights": rows + 0.03 * np.array([[0, 0, 1.0], [0, 0, -1.0], [0, 0, 0]]), "output": [0.5, 0.5, 1.0]}
    assert loss.value(shared) < alpha + beta - 1e-4 * alpha


# Near the rows of a strict minimum, to one decimal; their lengths are the outputs.
NEAR_A_TRAP = """
    -0.8  0.1  0.1  0.5 -0.1  0.1 -0.8 -0.7  0.5  0.3
     0.1  0.0  0.5 -0.2 -0.3  0.1 -0.6  0.3 -0.3  0.4
    -0.3  0.8  0.5  0.4  1.0 -0.4  0.1  0.0 -0.5  0.6
     0.0 -0.5 -0.2  0.6 -0.3 -0.2  0.1  0.5  0.0 -0.7
     0.1 -0.4  0.2 -0.6  0.2 -0.1  1.0 -0.3 -0.9 -0.1
     0.1 -0.4  0.1  0.6 -0.4  0.5 -0.2 -0.2  0.7  0.3
     0.2 -0.4  0.5  0.3  0.5  0.4  0.0  0.2  0.4  0.3
     0.5  0.1 -0.1  0.0  0.3  0.6  0.1 -0.6 -0.4 -0.4
     0.6  0.2  0.0  0.5  0.2 -0.6 -0.9 -0.7 -0.5  0.3
    -0.6  0.8  0.2  0.6 -0.3 -0.4  0.5 -0.7  0.0 -0.2
"""


def test_section_7_conjecture_fails_for_positive_outputs_too():
    """Ten rows in general position of ten inputs, α/β = 100: a strict minimum of value 0.015."""
    teacher = conjecture_teacher("general position", 10, 10, 2194502717)
    loss = objectives.PopulationTensorSum(teacher, 100 / 101, 1 / 101, positive=True)
    near = np.fromstring(NEAR_A_TRAP, sep=" ").reshape(10, 10)
    trap = newton_polish(loss, lbfgs(loss, near, steps=500, tolerance=1e-11).params, tolerance=1e-11).params
    assert np.abs(loss.gradient(trap)).max() < 1e-9
    spectrum = np.linalg.eigvalsh(loss.hessian(trap))
    assert spectrum[0] > 1e-4 * spectrum[-1]
    assert 0.0150 < loss.value(trap) < 0.0151
    assert loss.value(teacher.output[:, None] * teacher.weights) < 1e-12


def test_footnote_13_theorem_2_2_gives_access_to_one_ratio_only():
    """With γ = c₂h₂ + c₄h₄ and c₂ ≠ φ̂₂ the teacher is not even critical."""
    teacher = Network(np.eye(2), np.ones(2))
    second, fourth = (teacher.activation.hermite(k) for k in (2, 4))
    gamma = activations.custom(
        lambda z: 2 * second / 2**0.5 * (z**2 - 1) + fourth / 24**0.5 * (z**4 - 6 * z**2 + 3), "gamma"
    )
    point = {"weights": np.eye(2), "output": np.ones(2)}
    assert np.abs(objectives.PopulationSquared(teacher, activation=gamma).gradient(point)["output"]).min() > 0.05
    loss = objectives.PopulationTensorSum(teacher, 4 * second**2, fourth**2)
    assert np.abs(loss.gradient(point)["output"]).max() < 1e-12
