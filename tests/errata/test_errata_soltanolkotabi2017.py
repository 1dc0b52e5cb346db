"""Section 7 of Soltanolkotabi et al. (2017): what holds of Theorem 2.5's proof, and what does not as printed."""

import numpy as np
import pytest

from planted import Network, activations
from planted.certificates import jacobian_spectrum, khatri_rao_spectrum, local_constants, local_theorem
from planted.numerics.quadrature import gaussian_expectation
from planted.objectives import Squared, flatten


def orthogonal(k, d, rng, scale=1.0):
    """(k, d) with all singular values √(k/d)·scale, so that rows have length `scale` on average."""
    return scale * np.linalg.qr(rng.standard_normal((k, d)))[0] * (k / d) ** 0.5


def brute_jacobian(X, weights, output, activation):
    """(n, kd), row by row."""
    return np.stack([np.outer(output * activation.derivative(weights @ x), x).ravel() for x in X])


def test_numbers_of_theorem_2_5():
    weights = np.diag([2.0, 1.0, 1.0])
    theorem = local_theorem(Network(weights, np.ones(3), "softplus"), 6)
    assert (theorem.sigma_min, theorem.sigma_max) == (1.0, 2.0)
    assert theorem.sample_limit == pytest.approx(9 / 2**8)
    assert theorem.weights_radius == pytest.approx(0.5 * 3**2.5 / (6**1.5 * 3))
    assert theorem.output_radius == pytest.approx(theorem.weights_radius / 3**0.5)
    assert theorem.smoothness == pytest.approx(15.0)
    assert theorem.rate == pytest.approx(9 / 6)
    assert theorem.printed_rate == pytest.approx(3 / 6)


def test_spectra_are_those_of_the_jacobian_row_by_row():
    rng = np.random.default_rng(0)
    X, weights, output = rng.standard_normal((7, 4)), rng.standard_normal((5, 4)), rng.uniform(1, 2, 5)
    act = activations.get("softplus")
    spectrum = jacobian_spectrum(X, Network(weights, output, act))
    plain = np.linalg.svd(brute_jacobian(X, weights, output, act), compute_uv=False)
    means = [gaussian_expectation(lambda z, s=s: act.derivative(s * z)) for s in np.linalg.norm(weights, axis=1)]
    bend = [gaussian_expectation(lambda z, s=s: act.derivative(s * z, 2)) for s in np.linalg.norm(weights, axis=1)]
    centred = np.stack([np.outer(output * (act.derivative(weights @ x) - means), x).ravel() for x in X])
    values = np.linalg.svd(centred, compute_uv=False)
    assert (spectrum.smallest, spectrum.largest) == pytest.approx((plain[-1], plain[0]))
    assert (spectrum.centred_smallest, spectrum.centred_largest) == pytest.approx((values[-1], values[0]))
    curved = np.linalg.svd((output * np.array(bend))[:, None] * weights, compute_uv=False)
    assert (spectrum.curved_smallest, spectrum.curved_largest) == pytest.approx((curved[-1], curved[0]))
    assert spectrum.mean_slope == pytest.approx(np.linalg.norm(output * np.array(means)))


@pytest.mark.parametrize("seed", range(3))
def test_propositions_7_1_7_2_7_4_and_corollary_7_5_for_softplus(seed):
    rng = np.random.default_rng(seed)
    d = k = 60
    X = rng.standard_normal((d, d))
    spectrum = jacobian_spectrum(X, Network(orthogonal(k, d, rng), np.ones(k), "softplus"))
    assert spectrum.smallest**2 >= spectrum.lower_7_1()
    assert spectrum.largest <= spectrum.upper_7_1
    assert spectrum.centred_smallest >= spectrum.lower_7_2 > 0
    assert 0.1 < spectrum.upper_constant_7_2 < 1
    assert spectrum.lower_constant > 0.1
    assert spectrum.upper_constant < 1.5
    smallest, largest = khatri_rao_spectrum(X)
    assert smallest > 0.3 * d
    assert largest < 2 * (d * d) ** 0.5


def test_7_44_has_d_squared_where_7_59_and_theorem_2_5_have_d():
    # The constant of d/n grows with d, that of σ_min² d²/n stays within a factor of two and a half.
    printed, right = [], []
    for d in (15, 30, 60):
        rng = np.random.default_rng(d)
        X = rng.standard_normal((3 * d // 2, d))
        teacher = Network(orthogonal(d, d, rng), np.ones(d), "tanh")
        theorem = local_theorem(teacher, len(X))
        rate = jacobian_spectrum(X, teacher).smallest ** 2 / len(X)
        printed.append(rate / theorem.printed_rate)
        right.append(rate / theorem.rate)
    assert printed[2] > 4 * printed[0]
    assert max(right) < 2.5 * min(right)


def test_sigma_min_of_the_teacher_cannot_be_dropped_from_the_rate():
    # "Because σ_min < w_max": with rows that share most of one direction the rate falls like σ_min².
    rng = np.random.default_rng(0)
    d, n = 12, 30
    X, right = rng.standard_normal((n, d)), np.linalg.qr(rng.standard_normal((d, d)))[0]
    # The first column shares the long direction out equally between the rows.
    left = np.linalg.qr(np.column_stack([np.ones(d), rng.standard_normal((d, d - 1))]))[0]
    rates = []
    for least in (0.1, 0.05):
        weights = left @ np.diag([d**0.5] + [least] * (d - 1)) @ right
        teacher = Network(weights, np.ones(d), "softplus")
        assert local_theorem(teacher, n).sigma_min == pytest.approx(least)
        rates.append(jacobian_spectrum(X, teacher).smallest ** 2)
    assert rates[0] / rates[1] == pytest.approx(4, rel=0.03)


def test_sigma_min_can_exceed_the_longest_row():
    # Tall teachers: σ_min(W) < w_max is false as well.
    weights = orthogonal(80, 20, np.random.default_rng(0))
    longest = np.max(np.linalg.norm(weights, axis=1))
    assert np.linalg.svd(weights, compute_uv=False)[-1] > longest


def test_remark_7_3_is_impossible_for_tanh_with_unit_rows():
    # A singular value is at most a column's length, here √(Σ_l (φ' − μ)²)‖x‖ ≈ d √Var φ'(g) < d/2.
    act = activations.get("tanh")
    mean = gaussian_expectation(act.derivative)
    variance = gaussian_expectation(lambda z: (act.derivative(z) - mean) ** 2)
    assert variance**0.5 < 0.35
    rng = np.random.default_rng(0)
    d = 60
    spectrum = jacobian_spectrum(rng.standard_normal((d, d)), Network(orthogonal(d, d, rng), np.ones(d), act))
    assert spectrum.curved_largest < 1e-9
    assert spectrum.centred_smallest < d / 4
    # It does not scale with the outputs either.
    halved = jacobian_spectrum(rng.standard_normal((d, d)), Network(orthogonal(d, d, rng), np.ones(d) / 100, act))
    assert halved.centred_smallest < d / 400


def test_remark_7_3_upper_bound_fails_for_tall_teachers():
    # σ_max(J̃) ≥ the length of a column ≈ √(dk Var φ'), which is not O(d).
    rng = np.random.default_rng(0)
    d = 10
    largest = [
        jacobian_spectrum(
            rng.standard_normal((d, d)), Network(orthogonal(k, d, rng), np.ones(k), "tanh")
        ).centred_largest
        for k in (40, 640)
    ]
    assert largest[1] > 3 * largest[0]


def test_assumption_2_3_b_admits_the_identity_whose_centred_jacobian_is_zero():
    identity = activations.custom(lambda z: 1.0 * z, name="identity")
    rng = np.random.default_rng(0)
    spectrum = jacobian_spectrum(rng.standard_normal((6, 4)), Network(np.eye(4), np.ones(4), identity))
    # μ = 1 everywhere and γ = 0 everywhere, so that (b) holds; J has rank d, and J̃ is zero.
    assert spectrum.mean_slope == pytest.approx(2.0)
    assert spectrum.centred_largest < 1e-12
    assert spectrum.smallest < 1e-6


def test_lemma_7_11_lacks_the_width():
    # With ṽ = (1 + ε)v the Jacobian changes by ε‖J‖, of order √(nk) and not √(nd).
    rng = np.random.default_rng(0)
    d, n = 8, 8
    X = rng.standard_normal((n, d))
    constants = []
    for k in (8, 800):
        spectrum = jacobian_spectrum(X, Network(orthogonal(k, d, rng), np.ones(k), "softplus"))
        constants.append(spectrum.largest / (n * d) ** 0.5)
    assert constants[1] > 8 * constants[0]


def test_lemma_7_13_lacks_the_slope_of_the_activation():
    # 7.47 with v = v*: L ≤ ‖v*‖²‖W − W*‖². A steep sigmoid near zero has φ' = b/4.
    act = activations.sigmoid(b=10.0)
    X = np.random.default_rng(0).standard_normal((400, 1))
    start, end = np.array([[1e-3]]), np.array([[2e-3]])
    loss = Squared(X, Network(start, [1.0], act).predict(X), act, output=np.ones(1)).value(end)
    gap = float(np.sum((end - start) ** 2))
    assert loss > 2 * gap
    assert loss <= act.derivative_bound(1) ** 2 * gap * float(np.linalg.norm(X, 2) ** 2) / len(X)


def test_lemma_7_14_adds_diagonal_blocks_only_but_the_hessian_has_others():
    # K.1 is for positive semidefinite matrices. At v = 0, W = 0 both diagonal blocks vanish for tanh, others do not.
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    hessian = Squared(X, y, "tanh").hessian({"weights": np.zeros((2, 3)), "output": np.zeros(2)})
    outputs, weights = hessian[:2, :2], hessian[2:, 2:]
    assert np.max(np.abs(outputs)) == np.max(np.abs(weights)) == 0.0
    assert np.linalg.norm(hessian, 2) > 0.1


def test_k_3_half_of_the_rows_are_longer_than_root_d():
    lengths = np.sum(np.random.default_rng(0).standard_normal((4000, 64)) ** 2, axis=1)
    share = np.mean(lengths > 64)
    assert 0.4 < share < 0.5  # printed: at most e^{-d/8} = 3e-4


@pytest.mark.parametrize("activation", ["softplus", "tanh"])
def test_section_7_3_with_measured_constants(activation):
    rng = np.random.default_rng(4)
    d = k = 10
    X, teacher = rng.standard_normal((12, d)), Network(orthogonal(k, d, rng), np.ones(k), activation)
    constants = local_constants(X, teacher)
    loss = Squared(X, teacher.predict(X), activation)
    for _ in range(5):
        step, tilt = rng.standard_normal((k, d)), rng.uniform(-1, 1, k)
        params = {
            "weights": teacher.weights + constants.radius * step / np.linalg.norm(step),
            "output": teacher.output + constants.radius * tilt,
        }
        value, gradient = loss.value_and_gradient(params)
        by_weights = float(np.sum(gradient["weights"] ** 2))
        assert constants.lower * value <= by_weights <= constants.upper * value
        assert np.max(gradient["output"] ** 2) <= constants.output_upper * value
        assert np.linalg.eigvalsh(loss.hessian(params))[-1] <= constants.smoothness
    # From inside the radii, with α = 1/β, descent keeps to the rate 1 − α m_L/2 and to Ω.
    step = rng.standard_normal((k, d))
    params = {
        "weights": teacher.weights + constants.weights_radius * step / np.linalg.norm(step),
        "output": teacher.output + constants.output_radius * rng.uniform(-1, 1, k),
    }
    first, alpha = loss.value(params), 1 / constants.smoothness
    for t in range(1, 60):
        gradient = loss.gradient(params)
        params = {name: params[name] - alpha * gradient[name] for name in params}
        assert loss.value(params) <= (1 - alpha * constants.lower / 2) ** t * first
    gap = flatten({name: params[name] - getattr(teacher, name) for name in params})
    assert np.linalg.norm(gap) <= constants.radius
