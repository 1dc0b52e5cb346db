"""Every model with every loss: derivatives, curvature against a dense Jacobian, sums over blocks, networks and back."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from planted import ConvNetwork, Network
from planted import objectives as obj
from planted.numerics.precision import float64, to_jax
from planted.rows import ArrayRows, block_rows

N, D, K, M = 61, 3, 2, 3
rng = np.random.default_rng(0)
X, WEIGHT = rng.standard_normal((N, D)), rng.uniform(0.5, 2.0, N)
Z = rng.standard_normal((N, 2, D))
Y, YM = rng.standard_normal(N), rng.standard_normal((N, M))
LABELS, CLASSES = rng.integers(0, 2, N), rng.integers(0, M, N)
WEIGHTS = rng.standard_normal((K, D))


@dataclass(frozen=True)
class Case:
    name: str
    objective: obj.Fit
    params: dict[str, Any]


def dense(lead, *names):
    """Weights, and parameters of these names for outputs of shape `lead`."""
    shapes = {"output": (*lead, K), "bias": (K,), "intercept": lead, "skip": (*lead, D), "linear": (*lead, D)}
    return {"weights": WEIGHTS} | {name: rng.standard_normal(shapes[name]) for name in names}


EVERYTHING = ("output", "bias", "intercept", "skip")
SPLIT = ("output", "bias", "intercept", "linear")
CASES = [
    Case("squared relu", obj.Squared(X, Y), dense((), "output")),
    Case("squared fixed output", obj.Squared(X, Y, "tanh", np.array([1.0, -2.0])), dense(())),
    Case(
        "squared everything weighted",
        obj.Squared(X, Y, "softplus", bias=True, sample_weight=WEIGHT, intercept=True, skip=True),
        dense((), *EVERYTHING),
    ),
    Case(
        "squared several outputs",
        obj.Squared(X, YM, "tanh", bias=True, sample_weight=WEIGHT, intercept=True, skip=True),
        dense((M,), *EVERYTHING),
    ),
    Case("squared several fixed outputs", obj.Squared(X, YM, "relu", rng.standard_normal((M, K))), dense(())),
    Case("symmetric part", obj.SymmetricPart(X, Y, "softplus", bias=True), dense((), *SPLIT)),
    Case("symmetric part, several outputs", obj.SymmetricPart(X, YM, "relu", bias=True), dense((M,), *SPLIT)),
    Case("likelihood", obj.Likelihood(X, LABELS, bias=True), dense((), "bias")),
    Case(
        "logistic", obj.LogisticLikelihood(X, LABELS, "relu", bias=True, intercept=True, skip=True),
        dense((), *EVERYTHING),
    ),
    Case(
        "softmax", obj.SoftmaxLikelihood(X, CLASSES, "relu", bias=True, intercept=True, skip=True),
        dense((M,), *EVERYTHING),
    ),
    Case("shared filter", obj.ConvSquared(Z, Y), {"filter": 2 * WEIGHTS[0], "output": WEIGHTS[1, :2]}),
    Case("shared filter tanh", obj.ConvSquared(Z, Y, "tanh"), {"filter": WEIGHTS[0], "output": WEIGHTS[1, :2]}),
    Case("filters", obj.ConvFilters(Z, Y), {"filters": WEIGHTS, "output": rng.standard_normal((K, 2))}),
]  # fmt: skip
each = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def with_blocks(objective, size):
    """The same objective over the same rows in blocks of another size."""
    rows = objective.rows.in_memory()
    other = objective.bare
    other.rows = ArrayRows(*(jnp.asarray(rows[name]) for name in ("x", "y", "weight")), block_size=size)
    return other


@each
def test_gradient_and_hvp_against_finite_differences(case):
    """Second-order differences of step 1e-5 leave a relative 1e-9 of rounding and truncation; the tolerance is 1e-6."""
    direction = jax.tree.map(lambda leaf: np.random.default_rng(1).standard_normal(np.shape(leaf)), case.params)
    step = 1e-5

    def moved(sign):
        return jax.tree.map(lambda leaf, way: leaf + sign * step * way, case.params, direction)

    value = (case.objective.value(moved(1)) - case.objective.value(moved(-1))) / (2 * step)
    gradient = obj.flatten(case.objective.gradient(case.params))
    assert gradient @ obj.flatten(direction) == pytest.approx(value, rel=1e-6, abs=1e-8)
    ahead, behind = (obj.flatten(case.objective.gradient(moved(sign))) for sign in (1, -1))
    slopes = (ahead - behind) / (2 * step)
    np.testing.assert_allclose(obj.flatten(case.objective.hvp(case.params, direction)), slopes, rtol=1e-5, atol=1e-7)


@each
@float64
def test_curvature_against_a_dense_jacobian(case):
    """JᵀCJ with J by forward mode through the predictions of all rows and C from the loss by autodiff over labels."""
    rows, loss = case.objective.rows.in_memory(), case.objective.loss
    vector, unravel = ravel_pytree(to_jax(case.params))
    x, y, weight = (jnp.asarray(rows[name])[:N] for name in ("x", "y", "weight"))

    def predict(at):
        return case.objective.model.predict(unravel(at), x)

    J, value = np.asarray(jax.jacfwd(predict)(vector)), predict(vector)
    J = J.reshape(len(x), -1, len(vector))
    # The second derivative of the loss, averaged over targets drawn from the prediction.
    p = np.asarray(value).reshape(len(x), -1)
    if loss == obj.SquaredError():
        C = np.broadcast_to(np.eye(p.shape[1]), (len(x), p.shape[1], p.shape[1]))
    elif loss == obj.Softmax():
        q = np.exp(p) / np.exp(p).sum(axis=1, keepdims=True)
        C = np.einsum("ra,ab->rab", q, np.eye(M)) - np.einsum("ra,rb->rab", q, q)
    else:
        C = 1 / (p * (1 - p)) if loss == obj.BernoulliMean() else 1 / ((1 + np.exp(p)) * (1 + np.exp(-p)))
        C = C[:, :, None]
    expected = np.einsum("r,rap,rab,rbq->pq", np.asarray(weight), J, C, J) / float(weight.sum())
    A, g = obj.curvature_matrix(case.objective, case.params)
    np.testing.assert_allclose(A, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(g, obj.flatten(case.objective.gradient(case.params)), rtol=1e-9, atol=1e-12)
    slopes = np.asarray(jax.grad(lambda v: jnp.sum(loss.value(v, y)))(value)).reshape(len(x), -1)
    np.testing.assert_allclose(np.asarray(loss.slope(value, y)).reshape(len(x), -1), slopes, rtol=1e-9, atol=1e-12)
    scores = np.einsum("rap,ra->rp", J, slopes)
    meat = np.einsum("r,rp,rq->pq", np.asarray(weight), scores, scores) / float(weight.sum())
    np.testing.assert_allclose(obj.score_matrix(case.objective, case.params), meat, rtol=1e-9, atol=1e-12)
    direction = jax.tree.map(jnp.cos, to_jax(case.params))
    product = obj.flatten(obj.curvature_product(case.objective, case.params, direction))
    np.testing.assert_allclose(product, expected @ obj.flatten(direction), rtol=1e-9, atol=1e-12)


@each
def test_additive_over_blocks_pieces_and_chunks(case, monkeypatch):
    rows = case.objective.rows.in_memory()
    chunked = case.objective.bare
    live = rows["weight"] > 0
    chunked.rows = block_rows(*(rows[name][live] for name in ("x", "y", "weight")), chunk_rows=17)
    A, g = obj.curvature_matrix(case.objective, case.params)
    value = case.objective.value(case.params)
    monkeypatch.setattr("planted.objectives._fit._JACOBIAN_ENTRIES", 5 * A.shape[0])
    with jax.enable_x64(True):
        blocks = with_blocks(case.objective, 23)
    for other in (blocks, chunked):
        assert other.value(case.params) == pytest.approx(value, rel=1e-12)
        A2, g2 = obj.curvature_matrix(other, case.params)
        np.testing.assert_allclose(A2, A, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(g2, g, rtol=1e-10, atol=1e-13)


@each
def test_networks_and_back(case):
    model = case.objective.model
    network = model.network(case.params)
    back = model.params(network)
    assert back.keys() == case.params.keys()
    assert case.objective.value(back) == pytest.approx(case.objective.value(case.params), rel=1e-12)
    if "filter" not in case.params or not model.normalised_filter:
        for name, value in case.params.items():
            np.testing.assert_allclose(back[name], value, rtol=1e-12, atol=1e-14)
    inputs = Z if isinstance(network, ConvNetwork) else case.objective.rows.in_memory()["x"][:N].reshape(N, -1)
    with jax.enable_x64(True):
        predicted = np.asarray(model.predict(to_jax(case.params), case.objective.rows.blocks["x"][0][:N]))
    np.testing.assert_allclose(network.predict(inputs), predicted, rtol=1e-10, atol=1e-12)


@each
def test_canonical_parameters_and_what_they_take_out(case):
    """The gauge is the kernel of the canonical form's derivative, and of the curvature: no row sees it."""
    model = case.objective.model
    canonical = model.canonical(case.params)
    assert case.objective.value(canonical) == pytest.approx(case.objective.value(case.params), rel=1e-12)
    gauge, slope = model.gauge(canonical), model.canonical_slope(canonical)
    assert np.abs(gauge @ slope.T).max(initial=0) < 1e-12
    assert np.linalg.matrix_rank(slope) == model.n_parameters(canonical) == len(slope) - len(gauge)
    A, _ = obj.curvature_matrix(case.objective, canonical)
    assert np.abs(gauge @ np.asarray(A)).max(initial=0) < 1e-12
    again = model.canonical(canonical)
    for name, value in canonical.items():
        np.testing.assert_allclose(again[name], value, rtol=1e-12, atol=1e-14)


def test_separate_layers_make_separate_losses():
    """Two networks side by side, each with its own neurons: their losses add up."""
    first, second = Network(WEIGHTS, [1.0, -0.5], "tanh", intercept=0.3), Network(-2 * WEIGHTS, [0.7, 2.0], "tanh")
    output = np.zeros((2, 2 * K))
    output[0, :K], output[1, K:] = first.output, second.output
    both = {"weights": np.vstack([first.weights, second.weights]), "output": output, "intercept": np.array([0.3, 0.0])}
    alone = [
        obj.Squared(X, YM[:, i], "tanh", intercept=True).value(
            {"weights": net.weights, "output": net.output, "intercept": np.asarray(net.intercept)}
        )
        for i, net in enumerate((first, second))
    ]
    assert obj.Squared(X, YM[:, :2], "tanh", intercept=True).value(both) == pytest.approx(sum(alone), rel=1e-13)


def test_two_classes_of_a_softmax_are_log_odds():
    params = dense((), "output", "bias")
    pair = params | {"output": np.stack([np.zeros(K), params["output"]])}
    softmax = obj.SoftmaxLikelihood(X, LABELS, "tanh", bias=True)
    logistic = obj.LogisticLikelihood(X, LABELS, "tanh", bias=True)
    assert softmax.value(pair) == pytest.approx(logistic.value(params), rel=1e-13)
    # Shares of classes, and classes by number over rows that hold them so, are the same.
    shares = obj.SoftmaxLikelihood(X, np.eye(2)[LABELS], "tanh", bias=True)
    numbers = obj.SoftmaxLikelihood.composed(
        logistic.rows, obj.Dense(logistic.activation, None, True, n_outputs=2, centred=True), obj.Softmax()
    )
    assert shares.value(pair) == numbers.value(pair) == softmax.value(pair)


@pytest.mark.parametrize("name", ["likelihood", "logistic", "softmax"])
@float64
def test_fisher_is_the_expected_hessian(name):
    """400 draws of labels from the prediction: the mean Hessian is A within 5 of its standard errors in every entry."""
    case = next(case for case in CASES if case.name == name)
    model, x = case.objective.model, case.objective.rows.blocks["x"][0][:N]
    A, _ = obj.curvature_matrix(case.objective, case.params)
    prediction = np.asarray(model.predict(to_jax(case.params), x))
    if name == "softmax":
        p = np.exp(prediction) / np.exp(prediction).sum(axis=1, keepdims=True)
        draw = [np.array([rng.choice(M, p=row) for row in p]) for _ in range(400)]
    else:
        p = prediction if name == "likelihood" else 1 / (1 + np.exp(-prediction))
        draw = [(rng.random(len(p)) < p).astype(float) for _ in range(400)]
    vector, unravel = ravel_pytree(to_jax(case.params))

    @jax.jit
    def hessian(y):
        return jax.hessian(lambda at: jnp.mean(case.objective.loss.of(model, unravel(at), x, y)))(vector)

    drawn = np.stack([np.asarray(hessian(jnp.asarray(y, float))) for y in draw])
    error = drawn.std(axis=0) / np.sqrt(len(draw))
    assert np.all(np.abs(drawn.mean(axis=0) - np.asarray(A)) <= 5 * error + 1e-12)
    assert error.max() < 0.2 * np.abs(A).max()


def test_log_odds_far_out_keep_their_digits():
    loss = obj.BernoulliLogit()
    with jax.enable_x64(True):
        t = jnp.array([800.0, -800.0, 40.0])
        np.testing.assert_allclose(loss.value(t, jnp.array([0.0, 1.0, 1.0])), [800.0, 800.0, np.exp(-40)], rtol=1e-12)
        far = obj.Softmax().value(jnp.array([[800.0, 0.0]]), jnp.array([[0.0, 1.0]]))
        np.testing.assert_allclose(far, [800.0], rtol=1e-12)


def test_wrong_shapes_and_parts_are_refused():
    loss = obj.Squared(X, YM)
    with pytest.raises(ValueError, match=r"output has shape \(2,\), expected \(3, 2\)"):
        loss.value({"weights": WEIGHTS, "output": np.ones(2)})
    with pytest.raises(ValueError, match="expected"):
        loss.value(WEIGHTS)
    with pytest.raises(ValueError, match="a part that this model has not: bias"):
        loss.model.params(Network(WEIGHTS, np.ones((M, K)), bias=[1.0, 2.0]))
    with pytest.raises(ValueError, match="y has 3 columns but the fixed output has 1 rows"):
        obj.Squared(X, YM, output=np.ones(2))
    with pytest.raises(ValueError, match="sum to one"):
        obj.SoftmaxLikelihood(X, np.abs(YM))
