"""Small losses in NumPy against the compiled programs, which come from automatic differentiation."""

import jax
import numpy as np
import pytest

from planted import ConvNetwork, activations, objectives
from planted.certificates import _kinks
from planted.names import ACTIVATIONS
from planted.numerics.precision import float64
from planted.objectives import ConvChart, _base, _fit, _host

X = np.random.default_rng(0).standard_normal((40, 4))

CASES = {
    "relu": ("relu", (), {}),
    "softplus, biases": ("softplus", (), {"bias": True}),
    "tanh, every part": ("tanh", (), {"bias": True, "intercept": True, "skip": True}),
    "sigmoid, two outputs": ("sigmoid", (2,), {"bias": True, "intercept": True, "skip": True}),
    "squared_relu, fixed outputs": ("squared_relu", (), {"output": [1.0, -0.5, 2.0]}),
}


def made(name, kind):
    activation, lead, options = CASES[name]
    rng = np.random.default_rng(1)
    y, weight = rng.standard_normal((40, *lead)), rng.uniform(0.5, 2.0, 40)
    if kind == "symmetric":
        options = {key: value for key, value in options.items() if key in ("bias", "output")}
        loss = objectives.SymmetricPart(X, y, activation, sample_weight=weight, **options)
    else:
        loss = objectives.Squared(X, y, activation, sample_weight=weight, **options)
    model = loss.model
    shapes = {"weights": (3, 4)} | ({} if model.output is not None else {"output": (*lead, 3)})
    shapes |= {"bias": (3,)} if model.bias else {}
    shapes |= {"intercept": lead} if model.intercept else {}
    shapes |= {model.linear_part: (*lead, 4)} if model.skip else {}
    return loss, {part: np.asarray(rng.standard_normal(shape)) for part, shape in shapes.items()}


def made_filters(name, kind):
    rng = np.random.default_rng(1)
    patches, y = rng.standard_normal((40, 3, 2)), rng.standard_normal(40)
    if kind == "several":
        loss = objectives.ConvFilters(patches, y, name)
        return loss, {"filters": rng.standard_normal((2, 2)), "output": rng.standard_normal((2, 3))}
    loss = objectives.ConvSquared(patches, y, name)
    if kind == "chart":
        return ConvChart.at(loss, ConvNetwork([0.5, -1.0], rng.standard_normal(3), name))
    return loss, {"filter": rng.standard_normal(2), "output": rng.standard_normal(3)}


@pytest.mark.parametrize("kind", ["dense", "symmetric"])
@pytest.mark.parametrize("name", CASES)
def test_the_host_computes_what_the_program_does(name, kind):
    compare(*made(name, kind))


@pytest.mark.parametrize("kind", ["one", "several", "chart"])
@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_the_host_computes_filters_as_the_program_does(name, kind):
    loss, params = made_filters(name, kind)
    compare(loss, params)
    nearest = float64(_kinks._nearest)(loss, params, np.zeros(1))
    np.testing.assert_allclose(_host.kink_distances(loss, params, (0.0,)).min(axis=0), nearest, rtol=1e-11)


@float64
def compare(loss, params):
    """Value, gradient, curvature and Hessian of the host with those of compiled programs."""
    assert _host.is_small(loss, params)
    value, gradient = _host.value_and_gradient(loss, params)
    other, slope = _base._evaluate_with_gradient(loss, params)
    assert value == pytest.approx(float(other), rel=1e-13)
    assert _host.value(loss, params) == pytest.approx(value, rel=1e-15)
    for part, array in gradient.items():
        np.testing.assert_allclose(array, slope[part], rtol=1e-11, atol=1e-13)
    for ours, theirs in zip(_host.curvature(loss, params), _fit._curvature_matrix(loss, params), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)
    flat = objectives.Flat(loss, params)
    columns = [
        objectives.flatten(_base.hessian_product(loss, params, flat.params(way))) for way in np.eye(len(flat.start))
    ]
    np.testing.assert_allclose(_host.hessian(loss, params), np.array(columns), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", CASES)
@float64
def test_rows_in_pieces_add_up_to_the_same(name, monkeypatch):
    loss, params = made(name, "dense")
    value, gradient = _host.value_and_gradient(loss, params)
    monkeypatch.setattr(_host, "_WHOLE", 0)
    monkeypatch.setattr(_host, "_PIECE", 7 * 4)  # 7 rows at a time, of 40.
    assert len(_host._pieces(loss)) == 6
    pieces, slope = _host.value_and_gradient(loss, params)
    assert pieces == pytest.approx(value, rel=1e-14)
    assert _host.value(loss, params) == pytest.approx(value, rel=1e-14)
    for part, array in gradient.items():
        np.testing.assert_allclose(slope[part], array, rtol=1e-12, atol=1e-14)


def test_what_the_host_does_not_know_is_compiled():
    loss = objectives.Squared(X, X[:, 0], lambda z: z**3)
    assert not _host.is_small(loss, {"weights": np.ones((1, 4)), "output": np.ones(1)})
    known = objectives.Squared(X, X[:, 0])
    assert not _host.is_small(known, {"weights": np.ones((100_000, 4)), "output": np.ones(100_000)})


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_activations_on_the_host(name, order):
    z = np.concatenate([np.linspace(-6, 6, 101), [-1e3, 1e3, 0.0]])
    act = activations.get(name)
    with jax.enable_x64(True):
        expected = np.asarray(act.derivative(jax.numpy.asarray(z), order))
    np.testing.assert_allclose(act.derivative(z, order), expected, rtol=1e-13, atol=1e-15)


def test_a_function_of_the_same_name_is_not_taken_for_one_of_the_library():
    def relu(z):
        return 2 * z

    assert activations.get(relu)(np.array([-1.0]))[0] == -2.0


@pytest.mark.parametrize("activation", ["sigmoid", "tanh_probability"])
@float64
def test_the_host_computes_means_of_probabilities_as_the_program_does(activation):
    rng = np.random.default_rng(3)
    y, weight = rng.integers(0, 2, 40).astype(float), rng.uniform(0.5, 2.0, 40)
    loss = objectives.Likelihood(X, y, activation, bias=True, sample_weight=weight)
    params = {"weights": 0.3 * rng.standard_normal((3, 4)), "bias": 0.3 * rng.standard_normal(3)}
    assert _host.is_small(loss, params)
    value, gradient = _host.value_and_gradient(loss, params)
    other, slope = _base._evaluate_with_gradient(loss, params)
    assert value == pytest.approx(float(other), rel=1e-12)
    for part, array in gradient.items():
        np.testing.assert_allclose(array, slope[part], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        _host.curvature(loss, params)[0], _fit._curvature_matrix(loss, params)[0], rtol=1e-10, atol=1e-11
    )
    flat = objectives.Flat(loss, params)
    columns = [
        objectives.flatten(_base.hessian_product(loss, params, flat.params(way))) for way in np.eye(len(flat.start))
    ]
    np.testing.assert_allclose(_host.hessian(loss, params), np.array(columns), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(
        _host.scores(loss, params), _fit._score_matrix(loss, params) / weight.sum(), rtol=1e-9, atol=1e-10
    )


@float64
def test_the_host_keeps_digits_where_probabilities_vanish():
    loss = objectives.Likelihood([[1.0]], [0.0])
    assert _host.value(loss, {"weights": np.array([[-50.0]])}) == pytest.approx(np.exp(-50.0), rel=1e-12)


LIKELIHOODS = {
    "log-odds": (None, {"bias": True, "intercept": True, "skip": True}, 0.0),
    "three classes": (3, {"bias": True, "intercept": True}, 0.0),
    "log-odds, penalised": (None, {"intercept": True}, 0.3),
    "three classes, penalised": (3, {"bias": True, "intercept": True, "skip": True}, 0.3),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
@float64
def test_the_host_computes_likelihoods_and_penalties_as_the_program_does(name):
    classes, parts, alpha = LIKELIHOODS[name]
    rng = np.random.default_rng(2)
    y = rng.integers(0, classes or 2, 40).astype(float)
    rows = objectives.LogisticLikelihood(X, np.minimum(y, 1), sample_weight=rng.uniform(0.5, 2.0, 40)).rows
    rows = rows.map(lambda block: block) if classes is None else type(rows)(X, y, np.ones(40))
    model = objectives.Dense("tanh", None, n_outputs=classes, centred=classes is not None, **parts)
    cross_entropy = objectives.BernoulliLogit() if classes is None else objectives.Softmax()
    loss = objectives.Fit(rows, model, cross_entropy)
    if alpha:
        loss = objectives.Penalised(rows, model, cross_entropy, alpha, [1.0, 2.0, 0.5, 1.0])
    lead = () if classes is None else (classes,)
    shapes = {"weights": (3, 4), "output": (*lead, 3), "bias": (3,), "intercept": lead, "skip": (*lead, 4)}
    there = {"weights", "output", *parts}
    params = {part: np.asarray(rng.standard_normal(shape)) for part, shape in shapes.items() if part in there}
    assert _host.is_small(loss, params)
    value, gradient = _host.value_and_gradient(loss, params)
    other, slope = _base._evaluate_with_gradient(loss, params)
    assert value == pytest.approx(float(other), rel=1e-12)
    for part, array in gradient.items():
        np.testing.assert_allclose(array, slope[part], rtol=1e-10, atol=1e-12)
    flat = objectives.Flat(loss, params)
    columns = [
        objectives.flatten(_base.hessian_product(loss, params, flat.params(way))) for way in np.eye(len(flat.start))
    ]
    np.testing.assert_allclose(_host.hessian(loss, params), np.array(columns), rtol=1e-9, atol=1e-10)
    matrix, steps = _host.curvature(loss, params)
    np.testing.assert_allclose(steps, objectives.flatten(gradient), rtol=1e-10, atol=1e-12)
    bare, _ = _fit._curvature_matrix(loss, params)
    extra = np.diag(loss.flat_ridge(params)) if alpha else 0.0
    np.testing.assert_allclose(matrix, np.asarray(bare) + extra, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("z", [-138.0, -40.0, 0.5, 40.0, 138.0])
def test_probabilities_that_round_to_one_have_their_information(z):
    """Fisher's information of z is p(1 − p), and so is the Hessian of either label, as far out as there are numbers."""
    chance = float(1 / (1 + np.exp(-z)) / (1 + np.exp(z)))
    params = {"weights": np.array([[z]])}
    for label in (0.0, 1.0):
        loss = objectives.Likelihood(np.ones((2, 1)), np.full(2, label))
        assert float64(_host.curvature)(loss, params)[0][0, 0] == pytest.approx(chance, rel=1e-9)
        assert float64(_host.hessian)(loss, params)[0, 0] == pytest.approx(chance, rel=1e-9, abs=1e-15)
        assert float(float64(_fit._curvature_matrix)(loss, params)[0][0, 0]) == pytest.approx(chance, abs=1e-15)
