"""Uncertainty against dense formulas, repeated rows, chunks and columns that cannot be told apart."""

import numpy as np
import pytest
from scipy.stats import chi2

from planted import Network
from planted.certificates import certify, uncertainty
from planted.datasets import make_planted
from planted.objectives import (
    ConvSquared,
    LogisticLikelihood,
    SoftmaxLikelihood,
    Squared,
    SymmetricPart,
    curvature_matrix,
    flatten,
)
from planted.rows import block_rows
from planted.solvers import lbfgs

N, D, K = 200, 3, 2
rng = np.random.default_rng(0)
X = rng.standard_normal((N, D))
TEACHER = Network([[1.0, 0.5, -0.3], [-0.4, 0.8, 1.0]], [1.0, -2.0], "tanh", bias=[0.2, -0.5], intercept=0.4)
Y = TEACHER.predict(X) + 0.1 * rng.standard_normal(N)
PAIR = Network(TEACHER.weights, [[1.0, -2.0], [0.5, 1.5]], "tanh")
YM = PAIR.predict(X) + 0.1 * rng.standard_normal((N, 2))


def jacobian(network, names, step=1e-6):
    """Derivative of the predictions, flat, by the parameters of these names, by central differences."""
    arrays, columns = network.arrays(), []
    for name in sorted(names):
        for place in np.ndindex(arrays[name].shape):
            ends = []
            for sign in (1, -1):
                moved = arrays[name].copy()
                moved[place] += sign * step
                ends.append(network.replace(**{name: moved}).predict(X).ravel())
            columns.append((ends[0] - ends[1]) / (2 * step))
    return np.column_stack(columns)


@pytest.mark.parametrize("robust", [False, True])
def test_against_the_dense_formula(robust):
    loss = Squared(X, Y, "tanh", bias=True, intercept=True)
    result = uncertainty(loss, loss.model.params(TEACHER), robust=robust)
    network = result.network
    J, r = jacobian(network, result.estimate), Y - network.predict(X)
    inverse, p = np.linalg.inv(J.T @ J), J.shape[1]
    meat = (J * r[:, None] ** 2).T @ J
    expected = inverse @ meat @ inverse if robust else inverse * (r @ r) / (N - p)
    np.testing.assert_allclose(result.covariance, expected, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(network.predict(X), TEACHER.predict(X), atol=1e-12)
    assert result.determined
    assert result.rank == result.n_parameters == p
    assert result.noise == pytest.approx(np.sqrt(r @ r / (N - p)))
    assert result.intercept.shape == ()
    assert result.skip is None
    low, high = result.intervals(0.6826894921)["bias"]
    np.testing.assert_allclose(high - low, 2 * result.bias, rtol=1e-8)


def test_several_outputs_against_the_dense_formula():
    loss = Squared(X, YM, "tanh")
    result = uncertainty(loss, loss.model.params(PAIR))
    J, r = jacobian(result.network, result.estimate), (YM - PAIR.predict(X)).ravel()
    # Each output has its own noise, which may go along with that of the other one.
    between = r.reshape(N, 2).T @ r.reshape(N, 2) / (N - J.shape[1] / 2)
    bread, blocks = np.linalg.inv(J.T @ J), J.reshape(N, 2, -1)
    expected = bread @ np.einsum("nap,ab,nbq->pq", blocks, between, blocks) @ bread
    np.testing.assert_allclose(result.covariance, expected, rtol=1e-5, atol=1e-9)
    assert result.output.shape == (2, 2)
    # Each row of outputs has its own gradient: the sandwich sums over outputs before it squares.
    robust = uncertainty(loss, loss.model.params(PAIR), robust=True)
    scores = np.einsum("nap,na->np", J.reshape(N, 2, -1), r.reshape(N, 2))
    inverse = np.linalg.inv(J.T @ J)
    np.testing.assert_allclose(robust.covariance, inverse @ scores.T @ scores @ inverse, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("robust", [False, True])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_integer_weights_are_repeated_rows(activation, robust):
    weight = rng.integers(0, 4, N)
    net = Network(TEACHER.weights, TEACHER.output, activation)
    first = Squared(X, Y, activation, sample_weight=weight)
    second = Squared(np.repeat(X, weight, axis=0), np.repeat(Y, weight), activation)
    chunked = Squared.on(block_rows(X, Y, weight.astype(float), chunk_rows=70), first.activation)
    one, two, three = (uncertainty(loss, loss.model.params(net), robust=robust) for loss in (first, second, chunked))
    for other in (two, three):
        np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-9, atol=1e-14)
        assert one.noise == pytest.approx(other.noise, rel=1e-12)
        assert one.n_rows == other.n_rows == weight.sum()


def test_scale_between_the_layers_is_no_uncertainty():
    """For ReLU the errors of the canonical network are the same whatever scale the parameters came in."""
    net = Network(TEACHER.weights, TEACHER.output, "relu", bias=TEACHER.bias)
    scaled = Network(net.weights * [[3.0], [0.2]], net.output / [3.0, 0.2], "relu", bias=net.bias * [3.0, 0.2])
    loss = Squared(X, Y, "relu", bias=True)
    one, two = (uncertainty(loss, loss.model.params(given)) for given in (net, scaled))
    np.testing.assert_allclose(one.covariance, two.covariance, rtol=1e-9, atol=1e-14)
    assert one.determined
    assert one.n_parameters == one.covariance.shape[0] - K
    # A unit row has no error along itself.
    rows = one.network.weights
    block = one.covariance[2 * K : 2 * K + D, 2 * K : 2 * K + D]
    assert abs(rows[0] @ block @ rows[0]) < 1e-12 * np.trace(block)
    ellipsoid = one.ellipsoid(0, 0.9)
    assert ellipsoid.quantile == pytest.approx(chi2.ppf(0.9, D - 1))
    longest = ellipsoid.axes[0]
    assert abs(longest @ rows[0]) < 1e-6 * np.linalg.norm(longest)
    assert ellipsoid.contains(rows[0] + 0.99 * longest)
    assert not ellipsoid.contains(rows[0] + 1.01 * longest)


def test_a_duplicated_column_leaves_the_other_intervals_finite():
    twice = np.column_stack([X, X[:, 0]])
    weights = np.column_stack([TEACHER.weights / [2.0, 1.0, 1.0], TEACHER.weights[:, 0] / 2])
    loss = Squared(1e3 * twice, Y, "tanh", bias=True, intercept=True)
    net = TEACHER.replace(weights=weights / 1e3)
    result = uncertainty(loss, loss.model.params(net))
    assert not result.determined
    assert result.n_parameters - result.rank == K
    assert np.all(np.isinf(result.weights[:, [0, 3]]))
    assert np.all(np.isfinite(result.weights[:, 1:3]))
    assert result.flat_directions.shape == (result.covariance.shape[0], K)
    A, _ = curvature_matrix(loss, result.estimate)
    assert np.abs(np.asarray(A) @ result.flat_directions).max() < 1e-9 * np.abs(A).max()
    plain = Squared(1e3 * X, Y, "tanh", bias=True, intercept=True)
    alone = uncertainty(plain, plain.model.params(TEACHER.replace(weights=TEACHER.weights / 1e3)))
    for name in ("output", "bias", "intercept"):
        # One degree of freedom a neuron is the same whether a column stands there once or twice.
        np.testing.assert_allclose(result.errors[name], alone.errors[name], rtol=1e-6)
    assert result.rows_for(0.1) == np.inf
    with pytest.raises(ValueError, match="neuron 0 open"):
        result.ellipsoid(0)


def test_softmax_errors_are_those_of_log_odds():
    """Two classes: the difference of the centred outputs is the output of the logistic fit, and so is its error."""
    labels = (rng.random(N) < 1 / (1 + np.exp(-TEACHER.predict(X)))).astype(int)
    logistic = LogisticLikelihood(X, labels, "tanh", bias=True, intercept=True)
    softmax = SoftmaxLikelihood(X, labels, "tanh", bias=True, intercept=True)
    params = logistic.model.params(TEACHER)
    pair = params | {name: np.stack([0 * params[name], params[name]]) for name in ("output", "intercept")}
    one, two = uncertainty(logistic, params), uncertainty(softmax, pair)
    assert two.determined
    assert two.n_parameters == one.n_parameters
    assert one.noise is None
    np.testing.assert_allclose(2 * two.output, np.stack([one.output, one.output]), rtol=1e-8)
    np.testing.assert_allclose(two.weights, one.weights, rtol=1e-8)
    np.testing.assert_allclose(two.estimate["output"].sum(axis=0), 0, atol=1e-12)


def test_a_shared_filter_and_a_symmetric_part():
    Z = rng.standard_normal((N, 2, D))
    y = np.maximum(Z @ [0.6, 0.8, 0.0], 0) @ [1.0, -0.5] + 0.1 * rng.standard_normal(N)
    loss = ConvSquared(Z, y)
    one, two = (uncertainty(loss, {"filter": c * np.array([0.6, 0.8, 0.0]), "output": [1.0, -0.5]}) for c in (1, 7))
    np.testing.assert_allclose(one.covariance, two.covariance, rtol=1e-9, atol=1e-14)
    assert one.determined
    assert one.errors["filter"].shape == (D,)
    split = SymmetricPart(X, Y, "tanh", bias=True)
    dense = Squared(X, Y, "tanh", bias=True, intercept=True)
    same, plain = (uncertainty(fit, fit.model.params(TEACHER)) for fit in (split, dense))
    np.testing.assert_allclose(same.weights, plain.weights, rtol=1e-9)


def test_certify_several_outputs():
    """Descent ends in a minimum; a noiseless teacher is a global one, flat along the scale of its ReLU neurons."""
    loss = Squared(X, YM, "tanh", bias=True, intercept=True)
    start = {"weights": PAIR.weights, "output": PAIR.output, "bias": np.zeros(K), "intercept": np.zeros(2)}
    off = certify(loss, start)
    assert off.kind == "not critical"
    assert off.decrease > 0
    end = lbfgs(loss, start, steps=2000, tolerance=1e-12).params
    assert certify(loss, end).kind == "local minimum"
    data = make_planted(N, D, K, random_state=0)
    both = Network(data.teacher.weights, np.stack([data.teacher.output, [1.0, -1.0]]))
    exact = Squared(data.X, both.predict(data.X))
    found = certify(exact, exact.model.params(both))
    assert found.kind == "global minimum"
    noisy = Squared(data.X, both.predict(data.X) + 1e-3 * rng.standard_normal((N, 2)), "relu")
    polished = lbfgs(noisy, noisy.model.params(both), steps=2000, tolerance=1e-12).params
    verdict = certify(noisy, polished)
    assert verdict.kind == "local minimum"
    assert verdict.flat == ("scale between the layers (2 directions)",)
    assert flatten(polished).size == K * (D + 2)


def test_derivatives_tell_what_rows_hardly_see_from_what_they_do_not_see():
    """Neurons 1e-3 apart: the curvature's eigenvalues are lost in rounding, singular values are not."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    row = np.array([0.6, -0.4, 0.3])
    apart = Network([row, row + np.array([1e-3, 0.0, 1e-3])], [1.0, 1.5], "tanh")
    loss = Squared(X, apart.predict(X), "tanh")
    params = loss.model.params(apart)
    root = apart.jacobian(X)[:, 0] / np.sqrt(200)
    seen = uncertainty(loss, params, least_noise=1e-16, root=root)
    assert not uncertainty(loss, params, least_noise=1e-16).determined
    assert seen.determined
    triangle = np.linalg.qr(root * np.sqrt(200), mode="r")
    errors = 1e-16 * np.linalg.norm(np.linalg.inv(triangle), axis=1)
    assert np.allclose(np.concatenate([seen.output, seen.weights.ravel()]), errors, rtol=1e-4)
    # A column that repeats another is not seen at all.
    twice = np.column_stack([X, X[:, 0]])
    wide = Network(np.column_stack([apart.weights, [0.1, 0.2]]), apart.output, "tanh")
    loss = Squared(twice, wide.predict(twice), "tanh")
    root = wide.jacobian(twice)[:, 0] / np.sqrt(200)
    assert uncertainty(loss, loss.model.params(wide), root=root).rank == 8


def test_a_root_changes_nothing_where_the_curvature_is_well_conditioned():
    data = make_planted(300, 3, 2, noise=0.1, random_state=0)
    loss = Squared(data.X, data.y)
    params = loss.model.params(data.teacher)
    canonical = loss.model.network(loss.model.canonical(params))
    root = canonical.jacobian(data.X)[:, 0] / np.sqrt(300)
    plain, by_root = uncertainty(loss, params), uncertainty(loss, params, root=root)
    assert plain.rank == by_root.rank
    assert np.allclose(plain.covariance, by_root.covariance, rtol=1e-8, atol=1e-14)
