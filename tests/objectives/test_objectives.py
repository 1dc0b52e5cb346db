"""Every objective against finite differences, other block sizes, its population twin, and loops over the formula."""

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from planted import Network, activations
from planted import objectives as obj
from planted.numerics.precision import float64, to_jax
from planted.rows import ArrayRows
from planted.rows.moments import fourth_contraction, moments, without_lower_parts

N, D, K = 301, 4, 3
rng = np.random.default_rng(0)
X = rng.standard_normal((N, D))
WEIGHT = rng.uniform(0.5, 2.0, N)
OUTPUT = np.array([1.0, 1.7, 0.6])
ROWS = 0.7 * rng.standard_normal((K, D))  # lengths 0.7 to 1.9, none of them one
TEACHER_ROWS = np.linalg.qr(rng.standard_normal((D, D)))[0][:K] @ (np.eye(D) + 0.2 * rng.standard_normal((D, D)))
LAYERS = {"weights": ROWS, "output": OUTPUT}
BIASED = {**LAYERS, "bias": np.array([0.3, -0.2, 0.5])}


def teacher(name):
    return Network(TEACHER_ROWS, OUTPUT, name)


def targets(name, x=X):
    return teacher(name).predict(x)


@dataclass(frozen=True)
class Case:
    """An objective, built with its neurons in a given order, and parameters at which to look at it."""

    name: str
    build: Callable[[Any], obj.Objective]
    params: Any

    @property
    def objective(self):
        return self.build(slice(None))


CASES = [
    Case("Squared relu", lambda o: obj.Squared(X, targets("relu"), "relu"), ROWS),
    Case("Squared tanh fixed output", lambda o: obj.Squared(X, targets("tanh"), "tanh", OUTPUT[o]), ROWS),
    Case("Squared softplus both layers", lambda o: obj.Squared(X, targets("softplus"), "softplus"), LAYERS),
    Case(
        "Squared sigmoid bias weighted",
        lambda o: obj.Squared(X, targets("sigmoid"), "sigmoid", bias=True, sample_weight=WEIGHT),
        BIASED,
    ),
    Case("Hermite24 relu", lambda o: obj.Hermite24(X, targets("relu"), "relu"), ROWS),
    Case("Hermite24 fixed output", lambda o: obj.Hermite24(X, targets("abs"), "abs", OUTPUT[o]), ROWS),
    Case("Hermite24 both layers", lambda o: obj.Hermite24(X, targets("softplus"), "softplus"), LAYERS),
    Case("Landscape", lambda o: obj.Landscape(X, targets("relu"), "relu", n_hidden=K), ROWS),
    Case(
        "Landscape raw targets",
        lambda o: obj.Landscape(X, targets("softplus"), "softplus", 0.3, 2.0, variance_reduction=False),
        ROWS,
    ),
    Case("FullRankLandscape", lambda o: obj.FullRankLandscape(X, targets("relu"), n_hidden=K, mu=0.3, lam=1.0), ROWS),
    Case(
        "FullRankLandscape delta raw targets",
        lambda o: obj.FullRankLandscape(X, targets("abs"), "abs", 0.3, 2.0, 0.7, n_hidden=K, variance_reduction=False),
        ROWS,
    ),
    Case("PopulationSquared relu", lambda o: obj.PopulationSquared(teacher("relu")), ROWS),
    Case("PopulationSquared softplus", lambda o: obj.PopulationSquared(teacher("softplus"), OUTPUT[o]), ROWS),
    Case("PopulationSquared erf both layers", lambda o: obj.PopulationSquared(teacher("erf")), LAYERS),
    Case("PopulationHermite24", lambda o: obj.PopulationHermite24(teacher("relu"), OUTPUT[o]), ROWS),
    Case("PopulationHermite24 both layers", lambda o: obj.PopulationHermite24(teacher("softplus")), LAYERS),
    Case("PopulationLandscape", lambda o: obj.PopulationLandscape(teacher("relu")), ROWS),
    Case("PopulationFullRankLandscape", lambda o: obj.PopulationFullRankLandscape(teacher("abs"), delta=0.3), ROWS),
    Case("TensorSum", lambda o: obj.TensorSum(X, targets("relu"), "relu", 0.7, 0.3), LAYERS),
    Case("PopulationTensorSum", lambda o: obj.PopulationTensorSum(teacher("softplus"), 0.7, 0.3), LAYERS),
    Case("PopulationSquared abs of relu", lambda o: obj.PopulationSquared(teacher("relu"), activation="abs"), LAYERS),
    Case(
        "PopulationSquared softplus of tanh",
        lambda o: obj.PopulationSquared(teacher("tanh"), OUTPUT[o], activation="softplus"),
        ROWS,
    ),
    Case("PopulationPairs", lambda o: obj.PopulationPairs(teacher("relu")), ROWS),
]
each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
each_population = pytest.mark.parametrize(
    "case", [case for case in CASES if case.name.startswith("Population")], ids=lambda case: case.name
)
each_over_rows = pytest.mark.parametrize(
    "case", [case for case in CASES if not case.name.startswith("Population")], ids=lambda case: case.name
)


def flat(tree):
    """Parameters in one vector, in the order the Hessian uses."""
    named = tree if isinstance(tree, dict) else {"": tree}
    return np.concatenate([np.ravel(named[name]) for name in sorted(named)])


def unflat(vector, like):
    named = like if isinstance(like, dict) else {"": like}
    result, start = {}, 0
    for name in sorted(named):
        size = np.size(named[name])
        result[name] = vector[start : start + size].reshape(np.shape(named[name]))
        start += size
    return result if isinstance(like, dict) else result[""]


def central(function, at, step):
    """Central differences with Richardson extrapolation, error O(step⁴), along every coordinate."""
    columns = []
    for i in range(len(at)):
        e = np.zeros(len(at))
        e[i] = step
        wide = (function(at + 2 * e) - function(at - 2 * e)) / (4 * step)
        columns.append((4 * (function(at + e) - function(at - e)) / (2 * step) - wide) / 3)
    return np.stack(columns, axis=-1)


# A step that no pre-activation of ReLU crosses zero within, on these rows; rounding then costs 1e-16/1e-5.
STEP = 1e-5


@each
def test_gradient_against_finite_differences(case):
    objective, at = case.objective, flat(case.params)
    numeric = central(lambda v: objective.value(unflat(v, case.params)), at, STEP)
    value, gradient = objective.value_and_gradient(case.params)
    scale = max(1.0, abs(value), np.abs(numeric).max())
    np.testing.assert_allclose(flat(gradient), numeric, rtol=0, atol=2e-9 * scale)
    np.testing.assert_allclose(flat(objective.gradient(case.params)), flat(gradient), rtol=1e-13)
    assert objective.value(case.params) == pytest.approx(value, rel=1e-13)


@each
def test_hvp_and_hessian_against_finite_differences_of_the_gradient(case):
    objective, at = case.objective, flat(case.params)
    numeric = central(lambda v: flat(objective.gradient(unflat(v, case.params))), at, STEP)
    hessian = objective.hessian(case.params)
    np.testing.assert_allclose(hessian, numeric, rtol=0, atol=2e-9 * max(1.0, np.abs(numeric).max()))
    np.testing.assert_allclose(hessian, hessian.T, rtol=0, atol=0)
    for direction in np.random.default_rng(1).standard_normal((3, len(at))):
        product = flat(objective.hvp(case.params, unflat(direction, case.params)))
        np.testing.assert_allclose(product, hessian @ direction, atol=1e-11 * np.abs(hessian).max() * len(at))


def test_flattening_is_that_of_ravel_pytree():
    with jax.enable_x64(True):
        np.testing.assert_array_equal(flat(BIASED), ravel_pytree(BIASED)[0])


@pytest.mark.parametrize("params", [np.arange(6.0).reshape(2, 3), BIASED, {"a": np.ones(()), "b": np.ones((2, 1, 2))}])
def test_flattening_goes_there_and_back(params):
    vector = np.random.default_rng(0).standard_normal(obj.flatten(params).size)
    tree = obj.unflatten(vector, params)
    assert jax.tree.map(np.shape, tree) == jax.tree.map(np.shape, params)
    np.testing.assert_array_equal(obj.flatten(tree), vector)
    with jax.enable_x64(True):
        traced = jax.jit(lambda v: obj.unflatten(v, params))(vector)
    jax.tree.map(np.testing.assert_array_equal, traced, tree)


def test_a_flat_objective_has_units_and_a_precision():
    X, y = np.eye(2), np.array([0.1, 0.2])
    params, units = {"weights": np.full((1, 2), 1 / 3), "output": np.ones(1)}, np.array([2.0, 4.0, 5.0])
    loss = obj.Squared(X, y, "tanh")
    flat, rough = obj.Flat(loss, params, units), obj.Flat(loss, params, dtype=np.float32)
    jax.tree.map(np.testing.assert_allclose, flat.params(flat.start), params)
    np.testing.assert_allclose(flat.vector(params), flat.start)
    value, gradient = flat.value_and_gradient(flat.start)
    np.testing.assert_allclose(gradient, units * obj.flatten(loss.gradient(params)))
    rounded = {name: leaf.astype(np.float32).astype(np.float64) for name, leaf in params.items()}
    assert rough.value(rough.start) == pytest.approx(loss.value(rounded), rel=1e-6)
    assert rough.value(rough.start) != value
    assert rough.params(rough.start)["weights"].dtype == np.float64


@each
def test_permuting_neurons_permutes_the_gradient(case):
    permute = lambda tree, order: jax.tree.map(lambda leaf: np.asarray(leaf)[order], tree)  # noqa: E731
    value, gradient = case.objective.value_and_gradient(case.params)
    for order in itertools.permutations(range(K)):
        order = list(order)
        moved_value, moved = case.build(order).value_and_gradient(permute(case.params, order))
        assert moved_value == pytest.approx(value, rel=1e-12)
        expected = flat(permute(gradient, order))
        np.testing.assert_allclose(flat(moved), expected, atol=1e-12 * np.abs(expected).max())


@each_population
def test_population_forms_know_inner_products_only(case):
    Q = np.linalg.qr(np.random.default_rng(2).standard_normal((D, D)))[0]
    objective = case.objective
    turned = copy.copy(objective)
    for name in ("weights", "directions"):
        if np.shape(getattr(turned, name, None)) == (K, D):
            setattr(turned, name, float64(to_jax)(np.asarray(getattr(turned, name)) @ Q))
    if hasattr(turned, "T"):
        turned.T = float64(to_jax)(Q.T @ np.asarray(turned.T) @ Q)
    params = {**case.params, "weights": ROWS @ Q} if isinstance(case.params, dict) else ROWS @ Q
    assert turned.value(params) == pytest.approx(objective.value(case.params), rel=1e-11)


@float64
def with_block_size(objective, block_size):
    """The same objective over the same rows, cut differently, with all its row averages taken anew."""
    old = objective.rows.blocks
    x, y, weight = (np.concatenate(np.asarray(old[name])) for name in ("x", "y", "weight"))
    real = weight > 0
    rows = ArrayRows(to_jax(x[real]), to_jax(y[real]), to_jax(weight[real]), block_size=block_size)
    other = copy.copy(objective)
    other.rows = rows
    if hasattr(other, "fit"):
        other.fit = jax.jit(moments)(rows)
    return other


@each_over_rows
def test_additive_over_blocks(case):
    whole = case.objective
    value, gradient = whole.value_and_gradient(case.params)
    for block_size in (64, 7):
        cut = with_block_size(whole, block_size)
        other, other_gradient = cut.value_and_gradient(case.params)
        assert other == pytest.approx(value, rel=1e-12)
        scale = np.abs(flat(gradient)).max()
        np.testing.assert_allclose(flat(other_gradient), flat(gradient), rtol=0, atol=1e-12 * scale)
    direction = jax.tree.map(np.ones_like, case.params)
    product = flat(whole.hvp(case.params, direction))
    other = flat(with_block_size(whole, 64).hvp(case.params, direction))
    np.testing.assert_allclose(other, product, atol=1e-12 * np.abs(product).max())


@pytest.mark.parametrize("block_size", [64])
@pytest.mark.parametrize("name", ["Squared", "Hermite24", "Landscape"])
def test_objectives_on_given_rows(name, block_size):
    """The unchecked constructors agree with the public ones whatever the blocks, variance reduction included."""
    y, act = targets("relu"), activations.get("relu")
    with jax.enable_x64(True):
        rows = ArrayRows(to_jax(X), to_jax(y), block_size=block_size)
        if name == "Squared":
            made, public = obj.Squared.on(rows, act), obj.Squared(X, y)
        elif name == "Hermite24":
            made, public = obj.Hermite24.on(rows, act), obj.Hermite24(X, y)
        else:
            made = jax.jit(lambda rows: obj.Landscape.on(rows, act, 0.2, 1.5))(rows)
            public = obj.Landscape(X, y, "relu", 0.2, 1.5)
    value, gradient = public.value_and_gradient(ROWS)
    other, other_gradient = made.value_and_gradient(ROWS)
    assert other == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(other_gradient, gradient, rtol=0, atol=1e-12 * np.abs(gradient).max())


@pytest.mark.parametrize("make", [obj.Squared, obj.Hermite24])
def test_halves_add_up(make):
    y = targets("relu")
    parts = [make(X[part], y[part]).value(ROWS) * len(y[part]) for part in (slice(100), slice(100, None))]
    assert sum(parts) / N == pytest.approx(make(X, y).value(ROWS), rel=1e-12)


def test_sample_weight_is_multiplicity():
    y, times = targets("tanh"), np.arange(N) % 3
    repeated = obj.Squared(np.repeat(X, times, axis=0), np.repeat(y, times), "tanh")
    weighted = obj.Squared(X, y, "tanh", sample_weight=times)
    assert weighted.value(ROWS) == pytest.approx(repeated.value(ROWS), rel=1e-12)


# Population against empirical.


def without_constant(population):
    """αf₂ + βf₄ as rows know it: the norms of the teacher's tensors are not averages of y."""
    population.constant = np.zeros(())
    return population


TWINS = [
    ("Squared relu", lambda x, y: obj.Squared(x, y), lambda: obj.PopulationSquared(teacher("relu")), "relu", ROWS),
    (
        "Squared tanh both layers",
        lambda x, y: obj.Squared(x, y, "tanh"),
        lambda: obj.PopulationSquared(teacher("tanh")),
        "tanh",
        LAYERS,
    ),
    (
        "Squared, abs student of relu",
        lambda x, y: obj.Squared(x, y, "abs"),
        lambda: obj.PopulationSquared(teacher("relu"), activation="abs"),
        "relu",
        LAYERS,
    ),
    (
        "Squared, softplus student of sigmoid",
        lambda x, y: obj.Squared(x, y, "softplus", OUTPUT),
        lambda: obj.PopulationSquared(teacher("sigmoid"), OUTPUT, activation="softplus"),
        "sigmoid",
        ROWS,
    ),
    (
        "TensorSum",
        lambda x, y: obj.TensorSum(x, y, "relu", 0.7, 0.3),
        lambda: without_constant(obj.PopulationTensorSum(teacher("relu"), 0.7, 0.3)),
        "relu",
        LAYERS,
    ),
    (
        "Hermite24",
        lambda x, y: obj.Hermite24(x, y, "relu", OUTPUT),
        lambda: obj.PopulationHermite24(teacher("relu"), OUTPUT),
        "relu",
        ROWS,
    ),
    (
        "Landscape",
        lambda x, y: obj.Landscape(x, y, "relu", 0.4, 1.0),
        lambda: obj.PopulationLandscape(teacher("relu"), 0.4, 1.0),
        "relu",
        ROWS,
    ),
    (
        "Landscape raw targets, positive fourth coefficient",
        lambda x, y: obj.Landscape(x, y, activations.softplus(0.5), 0.4, 1.0, variance_reduction=False),
        lambda: obj.PopulationLandscape(teacher(activations.softplus(0.5)), 0.4, 1.0),
        activations.softplus(0.5),
        ROWS,
    ),
    (
        "FullRankLandscape",
        lambda x, y: obj.FullRankLandscape(x, y, "abs", 0.4, 0.3, 0.2, n_hidden=K),
        lambda: obj.PopulationFullRankLandscape(teacher("abs"), 0.4, 0.3, 0.2),
        "abs",
        ROWS,
    ),
    (
        "FullRankLandscape with a baseline",
        lambda x, y: obj.FullRankLandscape(x, y, "relu", 0.4, 0.3, n_hidden=K, baseline=GUESS),
        lambda: obj.PopulationFullRankLandscape(teacher("relu"), 0.4, 0.3),
        "relu",
        ROWS,
    ),
]
GUESS = Network(TEACHER_ROWS + 0.1, OUTPUT)


@pytest.mark.parametrize(
    ("empirical", "population", "act", "params"), [t[1:] for t in TWINS], ids=[t[0] for t in TWINS]
)
def test_population_is_the_expectation(empirical, population, act, params):
    """Mean over 24 independent batches within 5 standard errors, the errors estimated from the batches."""
    source, found = np.random.default_rng(3), []
    for _ in range(24):
        x = source.standard_normal((8192, D))
        value, gradient = empirical(x, targets(act, x)).value_and_gradient(params)
        found.append(np.append(flat(gradient), value))
    found = np.array(found)
    value, gradient = population().value_and_gradient(params)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    distance = np.abs(found.mean(axis=0) - np.append(flat(gradient), value)) / error
    assert distance.max() < 5, distance


def gauss_hermite(points, d):
    """Nodes (points^d, d) and weights of the product rule for N(0, I), exact to degree 2·points − 1."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(points)
    weights = weights / weights.sum()
    x = np.stack([axis.ravel() for axis in np.meshgrid(*[nodes] * d, indexing="ij")], axis=1)
    return x, np.prod(np.stack([w.ravel() for w in np.meshgrid(*[weights] * d, indexing="ij")]), axis=0)


@pytest.mark.parametrize("reduced", [True, False])
def test_landscape_is_exact_on_a_quadrature_rule(reduced):
    """Rows that form a cubature rule turn averages into expectations: population and empirical agree exactly."""
    quartic = activations.custom(lambda z: 0.1 * z**4 - 0.3 * z**3 + z**2 + z, name="quartic")
    x, weight = gauss_hermite(6, 3)
    net = Network(TEACHER_ROWS[:, :3], OUTPUT, quartic)
    with jax.enable_x64(True):
        rows = ArrayRows(to_jax(x), to_jax(net.predict(x)), to_jax(weight), block_size=50)
        G = jax.jit(lambda rows: obj.Landscape.on(rows, quartic, 0.4, 1.1, iterations=8 if reduced else 0))(rows)
    population = obj.PopulationLandscape(net, 0.4, 1.1)
    B = ROWS[:, :3]
    assert G.value(B) == pytest.approx(population.value(B), rel=1e-11)
    np.testing.assert_allclose(G.gradient(B), population.gradient(B), atol=1e-10)


@pytest.mark.parametrize("act", ["quadratic", "softplus"])
def test_squared_and_hermite24_are_exact_on_a_quadrature_rule(act):
    x, weight = gauss_hermite(100, 2)
    net = Network(TEACHER_ROWS[:, :2], OUTPUT, act)
    y, B = net.predict(x), ROWS[:, :2]
    squared = obj.Squared(x, y, act, sample_weight=weight)
    population = obj.PopulationSquared(net)
    tolerance = 1e-9 + population.truncation_error(B)
    assert squared.value(B) == pytest.approx(population.value(B), abs=tolerance)
    with jax.enable_x64(True):
        rows = ArrayRows(to_jax(x), to_jax(y), to_jax(weight))
        hermite = obj.Hermite24.on(rows, activations.get(act))
    assert hermite.value(B) == pytest.approx(obj.PopulationHermite24(net).value(B), abs=1e-6)


def test_hermite24_on_unit_rows_is_theorem_2_2():
    """f' = φ̂₂² f₂ + φ̂₄² f₄ + const with tensors written out, f_k = ‖Σ a*b*^⊗k − Σ a b^⊗k‖²."""
    unit = lambda rows: rows / np.linalg.norm(rows, axis=1, keepdims=True)  # noqa: E731
    net = Network(unit(TEACHER_ROWS), OUTPUT, "relu")
    f, relu = obj.PopulationHermite24(net), activations.get("relu")

    def tensor(rows, output, k):
        powers = [np.einsum(*itertools.chain(*((row, [i]) for i in range(k)))) for row in rows]
        return np.einsum("i...,i->...", np.array(powers), output)

    def by_tensors(rows, output):
        gaps = [tensor(net.weights, net.output, k) - tensor(rows, output, k) for k in (2, 4)]
        return relu.hermite(2) ** 2 * np.sum(gaps[0] ** 2) + relu.hermite(4) ** 2 * np.sum(gaps[1] ** 2)

    points = [(unit(np.random.default_rng(s).standard_normal((K, D))), OUTPUT[::-1] + s) for s in range(3)]
    constants = [f.value({"weights": B, "output": a}) - by_tensors(B, a) for B, a in points]
    np.testing.assert_allclose(constants, constants[0], rtol=1e-11)
    assert f.value({"weights": net.weights, "output": net.output}) == pytest.approx(constants[0], rel=1e-11)


# G and F against equation 2.8 as loops.


def phi(v, x):
    s, norm = x @ v, v @ v
    return norm**2 / 8 - s**2 * norm / 4 + s**4 / 24


def pair(v, w, x):
    """ϕ by its definition, eq. 4.5."""
    return phi(v + w, x) + phi(v - w, x) - 2 * phi(v, x) - 2 * phi(w, x)


def naive(B, x, y, sign, mu):
    """The first two terms of eq. 2.8, a loop over ordered pairs."""
    pairs = sum(np.mean(y * pair(B[j], B[k], x)) for j in range(len(B)) for k in range(len(B)) if j != k)
    return sign * pairs - mu * sign * sum(np.mean(y * phi(b, x)) for b in B)


@pytest.mark.parametrize("act", ["relu", "abs", "leaky_relu", "softplus"])
def test_landscapes_against_a_loop_over_pairs(act):
    y, activation = targets(act), activations.get(act)
    sign, mu, lam, delta = np.sign(activation.hermite(4)), 0.37, 1.3, 0.4
    G = obj.Landscape(X, y, act, mu, lam, variance_reduction=False)
    first = naive(ROWS, X, y, sign, mu)
    assert G.value(ROWS) == pytest.approx(first + lam * sum((b @ b - 1) ** 2 for b in ROWS), rel=1e-11)
    F = obj.FullRankLandscape(X, y, act, mu, lam, delta, n_hidden=1, variance_reduction=False)
    # T is √2σ̂₂ times smaller than the quadratic part of a least-squares fit.
    quadratic = least_squares_quadratic(X, y)[1] / (np.sqrt(2) * activation.hermite(2))
    np.testing.assert_allclose(np.asarray(F.T), quadratic, atol=2e-3 * np.abs(quadratic).max())
    rest = lam * sum((b @ np.asarray(F.T) @ b - 1) ** 2 for b in ROWS) + delta / 2 * np.sum(ROWS**2)
    assert F.value(ROWS) == pytest.approx(first + rest, rel=1e-11)


def least_squares_quadratic(x, y):
    """Residual (n,) and symmetric matrix M (d, d) of the fit m + v·x + ½xᵀMx, by NumPy's solver."""
    i, j = np.triu_indices(x.shape[1])
    features = np.column_stack([np.ones(len(x)), x, x[:, i] * x[:, j] * np.where(i == j, 0.5, 1.0)])
    coefficients = np.linalg.lstsq(features, y)[0]
    M = np.zeros((x.shape[1],) * 2)
    M[i, j] = M[j, i] = coefficients[1 + x.shape[1] :]
    return y - features @ coefficients, M


def test_variance_reduction_is_the_same_loop_on_the_residual_of_a_quadratic_fit():
    y = targets("relu")
    expected, M = least_squares_quadratic(X, y)
    with jax.enable_x64(True):
        reduce = jax.jit(without_lower_parts, static_argnums=1)
        rows, fit = reduce(ArrayRows(to_jax(X), to_jax(y), block_size=64), 8)
        few, _ = reduce(ArrayRows(to_jax(X), to_jax(y)), 1)
    x, residual = (np.concatenate(np.asarray(rows.blocks[name]))[:N] for name in ("x", "y"))
    np.testing.assert_array_equal(x, X)
    # Conjugate gradients stop after eight steps, most of the way to the least-squares solution.
    np.testing.assert_allclose(residual, expected, atol=2e-3)
    np.testing.assert_allclose(np.asarray(fit.quadratic), M, atol=2e-3)
    assert np.std(np.asarray(few.blocks["y"])) > 1.01 * np.std(expected)
    G = obj.Landscape(X, y, "relu", 0.3, 1.0)
    value = naive(ROWS, X, residual, -1.0, 0.3) + sum((b @ b - 1) ** 2 for b in ROWS)
    assert G.value(ROWS) == pytest.approx(value, rel=1e-11)


def test_subspace_is_the_same_loss_in_its_coordinates():
    source = np.random.default_rng(8)
    x, basis = source.standard_normal((2_000, D)), np.linalg.qr(source.standard_normal((D, 2)))[0]
    whole = obj.FullRankLandscape(x @ basis, targets("abs", x), "abs", 0.3, 1.0, 0.1)
    inside = obj.FullRankLandscape(x, targets("abs", x), "abs", 0.3, 1.0, 0.1, n_hidden=2, subspace=basis)
    assert inside.value(ROWS[:, :2]) == pytest.approx(whole.value(ROWS[:, :2]), rel=1e-12)


def test_variance_reduction_keeps_the_expectation_and_cuts_the_variance_for_relu():
    """d = k = 10, 60 batches of 4096: same mean within 5 standard errors of the difference.

    Measured here: the variance of the gradient, summed over its entries, falls 94-fold.
    """
    d, batches, n = 10, 60, 4096
    source = np.random.default_rng(4)
    net = Network(np.eye(d), np.ones(d))
    B = np.linalg.qr(source.standard_normal((d, d)))[0]
    act = activations.get("relu")

    @jax.jit
    def gradients(x):
        rows = ArrayRows(x, net.traced(x))
        made = [obj.Landscape.on(rows, act, 0.1, 1.0, iterations=iterations) for iterations in (8, 0)]
        return [G.traced_value_and_gradient(jnp.asarray(B))[1].ravel() for G in made]

    with jax.enable_x64(True):
        found = np.array([gradients(jnp.asarray(source.standard_normal((n, d)))) for _ in range(batches)])
    reduced, raw = found[:, 0], found[:, 1]
    exact = obj.PopulationLandscape(net, 0.1, 1.0).gradient(B).ravel()
    for sample in (reduced, raw):
        error = sample.std(axis=0, ddof=1) / np.sqrt(batches)
        assert (np.abs(sample.mean(axis=0) - exact) / error).max() < 5
    ratio = raw.var(axis=0, ddof=1).sum() / reduced.var(axis=0, ddof=1).sum()
    assert 60 < ratio < 140, ratio


# Moments.


def hermite_tensor(x):
    """H₄(x) (n, d, d, d, d): x^⊗4 minus the six terms δ x x plus the three δ δ."""
    eye = np.eye(x.shape[1])
    H = np.einsum("na,nb,nc,nd->nabcd", x, x, x, x)
    letters = "abcd"
    for p, q in itertools.combinations(letters, 2):
        r, s = (letter for letter in letters if letter not in (p, q))
        H -= np.einsum(f"{p}{q},n{r},n{s}->nabcd", eye, x, x)
    for split in ("ab,cd", "ac,bd", "ad,bc"):
        H += np.einsum(f"{split}->abcd", eye, eye)
    return H


def test_fourth_contraction_against_the_explicit_tensor():
    source = np.random.default_rng(5)
    x, y, weight = source.standard_normal((40, 3)), source.standard_normal(40), source.uniform(0.1, 2, 40)
    P = source.standard_normal((3, 3))
    P = P + P.T
    expected = np.einsum("n,nabcd,cd->ab", weight * y, hermite_tensor(x), P) / weight.sum()
    with jax.enable_x64(True):
        rows = ArrayRows(to_jax(x), to_jax(y), to_jax(weight), block_size=7)
        found = fourth_contraction(rows, to_jax(P), moments(rows))
    np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize(
    "act",
    [activations.custom(lambda z: z**4 - 2 * z**3 + z, name="polynomial"), activations.softplus(1.0)],
    ids=["polynomial", "softplus"],
)
def test_moments_of_a_single_neuron(act):
    """For unit u: E[y] = φ̂₀, E[yx] = φ̂₁u, E[y(xxᵀ−I)] = √2φ̂₂uuᵀ, E[yH₄(P)] = √24φ̂₄(uᵀPu)uuᵀ, by cubature."""
    x, weight = gauss_hermite(80, 2)
    u, P = np.array([0.6, -0.8]), np.array([[1.0, 0.3], [0.3, -2.0]])
    with jax.enable_x64(True):
        rows = ArrayRows(to_jax(x), to_jax(act(x @ u)), to_jax(weight))
        fit = moments(rows)
        fourth = fourth_contraction(rows, to_jax(P), fit)
    assert float(fit.zeroth) == pytest.approx(act.hermite(0), abs=1e-8)
    np.testing.assert_allclose(fit.first, act.hermite(1) * u, atol=1e-8)
    second = fit.second - fit.zeroth * np.eye(2)
    np.testing.assert_allclose(second, np.sqrt(2) * act.hermite(2) * np.outer(u, u), atol=1e-7)
    np.testing.assert_allclose(fourth, np.sqrt(24) * act.hermite(4) * (u @ P @ u) * np.outer(u, u), atol=1e-5)


def test_default_constants_come_near_those_of_the_teacher():
    """Outputs 1 to 2 and orthonormal rows: estimated from 100,000 rows, μ and λ are within a fifth of the true ones."""
    net = Network(np.linalg.qr(np.random.default_rng(6).standard_normal((D, D)))[0], [1.0, 1.2, 1.6, 2.0])
    x = np.random.default_rng(7).standard_normal((100_000, D))
    y = net.predict(x)
    for empirical, population in (
        (obj.Landscape(x, y), obj.PopulationLandscape(net)),
        (obj.FullRankLandscape(x, y, delta=None), obj.PopulationFullRankLandscape(net, delta=None)),
    ):
        found, exact = empirical.constants, population.constants
        for name in ("mu", "lam", "largest_output", "smallest_output"):
            assert getattr(found, name) == pytest.approx(getattr(exact, name), rel=0.2), name
        assert found.delta == pytest.approx(exact.delta, rel=0.3)
    assert obj.PopulationLandscape(net).constants.mu == pytest.approx(0.12 / 2)
