"""Moment tensors against loops over their definition, decomposition by construction, the start on unseen teachers."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from planted import Network, PlantedRegressor, activations, datasets, match
from planted.numerics.precision import float64, to_jax
from planted.rows import ArrayRows
from planted.starts import choose_orders, decompose, neuron_moment, tensor_start
from planted.starts._joint_diagonal import joint_diagonaliser
from planted.starts._tensor import NoInverse, invert_moment
from planted.starts._tensor_moments import contracted_matrix, projected_tensor, unfolded

D, K = 4, 2
rng = np.random.default_rng(0)
X = rng.standard_normal((7, D))
Y = rng.standard_normal(7)


def pairings(order):
    """All ways to choose disjoint pairs among `order` indices, with the indices left over."""

    def grow(left, pairs):
        yield pairs, left
        if len(left) < 2:
            return
        for j in range(1, len(left)):
            for i in range(j):
                if not pairs or left[i] > pairs[-1][0]:
                    rest = [left[m] for m in range(len(left)) if m not in (i, j)]
                    yield from grow(rest, [*pairs, (left[i], left[j])])

    return list(grow(list(range(order)), []))


def hermite_tensor(x, order):
    """H_order(x) entry by entry: Σ over pairings (−1)^pairs Π δ Π x."""
    out = np.zeros((len(x),) * order)
    for index in itertools.product(range(len(x)), repeat=order):
        for pairs, left in pairings(order):
            if all(index[i] == index[j] for i, j in pairs):
                out[index] += (-1) ** len(pairs) * np.prod([x[index[m]] for m in left])
    return out


def moment_tensor(order):
    return np.mean([y * hermite_tensor(x, order) for x, y in zip(X, Y, strict=True)], axis=0)


def rows(block_size=3):
    return ArrayRows(to_jax(X), to_jax(Y), block_size=block_size)


def test_number_of_pairings():
    assert [len(pairings(order)) for order in (1, 2, 3, 4)] == [1, 2, 4, 10]


def test_hermite_tensor_is_the_hermite_polynomial_along_a_unit_vector():
    x = np.array([0.7, -1.1])
    u = np.array([0.6, 0.8])
    z = x @ u
    for order, value in ((3, z**3 - 3 * z), (4, z**4 - 6 * z**2 + 3)):
        tensor = hermite_tensor(x, order)
        for _ in range(order):
            tensor = tensor @ u
        assert tensor == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("order", [3, 4])
def test_contracted_matrix_against_the_tensor(order):
    alpha, V = rng.standard_normal(D), rng.standard_normal((D, 3))
    M = moment_tensor(order)
    for _ in range(order - 2):
        M = M @ alpha
    found = float64(lambda: np.asarray(contracted_matrix(rows(), order, to_jax(alpha), to_jax(V))))()
    np.testing.assert_allclose(found, M @ V, atol=1e-12)


@pytest.mark.parametrize("order", [3, 4])
def test_projected_tensor_against_the_tensor(order):
    V = np.linalg.qr(rng.standard_normal((D, K)))[0]
    alphas = rng.standard_normal((2, K))
    M = moment_tensor(order)
    found = float64(lambda: np.asarray(projected_tensor(rows(), order, to_jax(V), to_jax(alphas))))()
    for tensor, alpha in zip(found, alphas, strict=True):
        full = M if order == 3 else M @ (V @ alpha)
        np.testing.assert_allclose(tensor, np.einsum("ijl,ia,jb,lc->abc", full, V, V, V), atol=1e-12)


def test_unfolding_against_the_tensor():
    V = np.linalg.qr(rng.standard_normal((D, K)))[0]
    found = float64(lambda: np.asarray(unfolded(rows(), to_jax(V))))()
    expected = np.einsum("ijl,jb,lc->ibc", moment_tensor(3), V, V).reshape(D, K * K)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["sigmoid", "relu", "squared_relu", "softplus"])
@pytest.mark.parametrize("sigma", [0.7, 2.5])
def test_neuron_moments_are_those_of_definition_2(name, sigma):
    act = activations.get(name)
    g = [act.moment(j, sigma) for j in range(5)]
    expected = [g[1], g[2] - g[0], g[3] - 3 * g[1], g[4] + 3 * g[0] - 6 * g[2]]
    np.testing.assert_allclose([neuron_moment(act, j, sigma) for j in (1, 2, 3, 4)], expected, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "orders"),
    [
        ("sigmoid", (3, 3, 1)),
        ("tanh", (3, 3, 1)),
        ("erf", (3, 3, 1)),
        ("relu", (2, 4, 1)),
        ("softplus", (2, 4, 1)),
        ("squared_relu", (2, 3, 1)),
        ("abs", (2, 4, 2)),
    ],
)
def test_orders(name, orders):
    assert tuple(choose_orders(activations.get(name))[:3]) == orders


def test_m4_as_printed_counts_its_last_term_twice():
    """I ⊗̃ I of the paper's definition has six terms, the three pairings of four indices each twice."""
    sigma, act = 1.3, activations.get("relu")
    g0, g2, g4 = (act.moment(j, sigma) for j in (0, 2, 4))
    printed = g4 - 6 * g2 + 6 * g0
    assert neuron_moment(act, 4, sigma) == pytest.approx(g4 - 6 * g2 + 3 * g0, abs=1e-12)
    assert abs(printed - neuron_moment(act, 4, sigma)) > 1


def test_sign_does_not_show_in_an_even_moment():
    """Eq. 77 for l₁ = 2: β_i = m₂ (α·s_i w̄_i) on the vectors s_i w̄_i gives the same M₂(I, α) for either sign."""
    w, alpha, m = np.array([0.6, 0.8]), np.array([0.3, -1.0]), 0.7
    sides = [m * (alpha @ (s * w)) * (s * w) for s in (1.0, -1.0)]
    np.testing.assert_allclose(*sides)


def test_joint_diagonaliser_meets_a_known_basis():
    U = rng.standard_normal((5, 5))
    diagonals = rng.standard_normal((8, 5))
    matrices = np.einsum("ia,la,ja->lij", U, diagonals, U)
    B = joint_diagonaliser(matrices, np.linalg.inv(U) + 0.1 * rng.standard_normal((5, 5)))
    overlap = np.abs(B @ U)
    assert np.sort(overlap / overlap.max(axis=1, keepdims=True), axis=1)[:, -2].max() < 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_decomposition_of_a_noisy_tensor(seed):
    """Factors are right to the order of the noise, coefficients to a hundredth."""
    random = np.random.default_rng(seed)
    k = 6
    U = np.linalg.qr(random.standard_normal((k, k)))[0] + 0.25 * random.standard_normal((k, k)) / k**0.5
    U /= np.linalg.norm(U, axis=0)
    c = random.uniform(1, 2, k) * random.choice([-1, 1], k)
    T = np.einsum("a,ia,ja,la->ijl", c, U, U, U)
    N = 1e-4 * random.standard_normal((k, k, k))
    N = sum(N.transpose(p) for p in itertools.permutations(range(3))) / 6
    found = decompose((T + N)[None], random)
    cosines = np.abs(found.factors.T @ U)
    best = cosines.argmax(axis=0)
    assert len(set(best)) == k
    assert np.sqrt(np.maximum(0, 2 - 2 * cosines.max(axis=0))).max() < 20 * 1e-4
    np.testing.assert_allclose(np.sort(np.abs(found.coefficients[0])), np.sort(np.abs(c)), atol=1e-2)


def test_power_iteration_needs_orthogonal_factors_and_simultaneous_diagonalisation_does_not():
    """TensorLy's power iteration is exact on orthogonal factors and off by degrees on others."""
    from tensorly.decomposition import symmetric_parafac_power_iteration

    random = np.random.default_rng(3)
    oblique = np.array([[1.0, 0.6, 0.0], [0.0, 0.8, 0.6], [0.0, 0.0, 0.8]])
    for U, power_error in ((oblique, 0.05), (np.linalg.qr(oblique)[0], 0.0)):
        T = np.einsum("ia,ja,la->ijl", U, U, U)

        def error(F, U=U):
            F = F / np.linalg.norm(F, axis=0)
            return np.sqrt(np.maximum(0, 2 - 2 * np.abs(F.T @ U).max(axis=0))).max()

        assert error(decompose(T[None], random).factors) < 1e-6
        found = error(symmetric_parafac_power_iteration(T, 3, n_repeat=30, n_iteration=50)[1])
        assert found > power_error if power_error else found < 1e-6


def test_inverse_that_does_not_exist():
    sigmoid = activations.get("sigmoid")
    m1 = lambda s: neuron_moment(sigmoid, 1, s)  # noqa: E731
    assert invert_moment(m1, m1(3.0), "m₁") == pytest.approx(3.0, rel=1e-9)
    with pytest.raises(NoInverse, match="lies between"):
        invert_moment(m1, 1 / math.sqrt(2 * math.pi) + 0.01, "m₁")
    with pytest.raises(NoInverse, match="not monotone"):
        invert_moment(lambda s: s * math.exp(-s), 0.1, "m₁")


def test_too_few_rows_and_too_many_neurons():
    act, key = activations.get("tanh"), jax.random.key(0)
    with pytest.raises(ValueError, match="too few"):
        tensor_start(X, Y, 2, act, key=key)
    with pytest.raises(ValueError, match="at most as many neurons"):
        tensor_start(X, Y, 5, act, key=key)


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "relu", "squared_relu", "softplus"])
@pytest.mark.parametrize("split", [False, True])
def test_start_is_near_the_teacher(name, split):
    """Known outputs: directions within 12 degrees and lengths within a third from moments alone."""
    k, d = 3, 6
    base = datasets.make_planted(1, d, k, weights="correlated", condition_number=2.0, random_state=7).teacher.weights
    output = np.array([1.0, 1.5, 1.2])
    data = datasets.make_planted(60_000, d, k, activation=name, weights=1.5 * base, output=output, random_state=1)
    start = tensor_start(data.X, data.y, k, activations.get(name), key=jax.random.key(0), split=split)
    assert start.status == "ok"
    found = Network(start.weights, start.output, name)
    if activations.get(name).centred_parity == "odd":
        # Up to the sign of each neuron, which moments of an odd function cannot show.
        found = Network(start.weights * np.sign(start.output)[:, None], np.abs(start.output), name)
    result = match(found, data.teacher)
    assert result.max_angle < 12
    assert result.weight_error < 0.35


def test_known_outputs_give_lengths_and_signs():
    weights = np.array([[3.0, 0.0, 0.0, 0.0], [0.0, -2.0, 1.0, 0.0]])
    data = datasets.make_planted(60_000, 4, 2, activation="sigmoid", weights=weights, output=[0.5, 0.5], random_state=2)
    start = tensor_start(data.X, data.y, 2, activations.get("sigmoid"), key=jax.random.key(0), output=np.full(2, 0.5))
    assert match(Network(start.weights, start.output, "sigmoid"), data.teacher).weight_error < 0.05


def test_a_random_alpha_does_too():
    data = datasets.make_planted(20_000, 12, 2, activation="tanh", random_state=3, noise=0.3)
    start = tensor_start(data.X, data.y, 2, activations.get("tanh"), key=jax.random.key(0), alpha="random")
    assert match(Network(start.weights, start.output, "tanh"), data.teacher).max_angle < 10
    with pytest.raises(ValueError, match="alpha must be"):
        tensor_start(data.X, data.y, 2, activations.get("tanh"), key=jax.random.key(0), alpha="given")


@pytest.mark.parametrize("name", ["sigmoid", "relu"])
def test_method_tensor_recovers(name):
    data = datasets.make_planted(10_000, 6, 3, activation=name, output="positive", random_state=5)
    est = PlantedRegressor(3, name, method="tensor", fit_bias=False, fit_intercept=False, random_state=0).fit(
        data.X, data.y
    )
    assert est.result_.status == "recovered"
    assert match(est.network_, data.teacher).weight_error < 1e-8
    assert est.result_.details["start"] == "ok"


def test_moment_of_a_neuron_by_sampling():
    """M₃(u, u, u) of one tanh neuron: m₃(‖w‖) (w̄·u)³, within five standard errors."""
    n, sigma = 200_000, 1.7
    x = np.random.default_rng(5).standard_normal((n, 2))
    w, u = sigma * np.array([0.6, 0.8]), np.array([1.0, 0.0])
    z = x @ u
    terms = np.tanh(x @ w) * (z**3 - 3 * z)
    expected = neuron_moment(activations.get("tanh"), 3, sigma) * 0.6**3
    assert abs(terms.mean() - expected) < 5 * terms.std() / n**0.5
    found = float64(
        lambda: projected_tensor(ArrayRows(to_jax(x), to_jax(np.tanh(x @ w))), 3, jnp.eye(2), jnp.ones((1, 2)))
    )()
    assert float(found[0, 0, 0, 0]) == pytest.approx(terms.mean(), rel=1e-9)
