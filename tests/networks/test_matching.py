"""Matching against a search through every permutation and sign."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from planted import Network, activations, match, permutation_error

LINEAR = activations.custom(lambda z: 1.0 * jnp.asarray(z), name="linear", parity="odd", homogeneity=1)
CUBIC = activations.custom(lambda z: jnp.asarray(z) ** 3, name="cubic", parity="odd", homogeneity=3)
ACTS = [activations.get(n) for n in ("relu", "abs", "quadratic", "squared_relu", "tanh", "softplus", "erf")]
ACTS += [LINEAR, CUBIC]
each = pytest.mark.parametrize("act", ACTS, ids=repr)


def random_network(rng, act, k, d=3, bias=False):
    return Network(rng.standard_normal((k, d)), rng.standard_normal(k), act, rng.standard_normal(k) if bias else None)


def equivalent(rng, net):
    """The same function with neurons reordered, flipped and rescaled where the activation allows it."""
    k, degree, parity = net.n_hidden, net.activation.homogeneity, net.activation.parity
    scale = rng.uniform(0.5, 2.0, k) if degree is not None else np.ones(k)
    sign = rng.choice([-1.0, 1.0], k) if parity else np.ones(k)
    weights, output = net.weights * (scale * sign)[:, None], net.output.copy()
    bias = None if net.bias is None else net.bias * scale * sign
    if degree is not None:
        output = output / scale**degree
    if parity == "odd":
        output = output * sign
    order = rng.permutation(k)
    bias = None if bias is None else bias[order]
    return Network(weights[order], output[order], net.activation, bias, net.intercept), order


def features(net):
    """What is compared: scale-free weight rows and outputs, written neuron by neuron."""
    rows, outputs = [], []
    for i in range(net.n_hidden):
        row = np.append(net.weights[i], [] if net.bias is None else net.bias[i])
        a, degree = net.output[i], net.activation.homogeneity
        if degree is None:
            rows.append(row)
            outputs.append(a)
        else:
            rows.append(row * (a if degree == 1 else abs(a) ** (1 / degree)))
            outputs.append(a * np.linalg.norm(net.weights[i]) ** degree)
    return np.array(rows), np.array(outputs)


def flipped(net, signs):
    signs = np.asarray(signs)
    output = net.output * signs if net.activation.parity == "odd" else net.output
    bias = None if net.bias is None else net.bias * signs
    return Network(net.weights * signs[:, None], output, net.activation, bias)


def brute_force(estimate, teacher):
    """Least total relative squared error over all assignments, and the errors and angle there."""
    best = None
    w_star, a_star = features(teacher)
    k, k_star = estimate.n_hidden, teacher.n_hidden
    signs = [1.0, -1.0] if teacher.activation.parity else [1.0]
    for sign in itertools.product(signs, repeat=k):
        turned = flipped(estimate, sign)
        w, a = features(turned)
        for rows in itertools.permutations(range(max(k, k_star)), k_star):
            # Teacher neuron i is paired with neuron rows[i], or with none when that is k or more.
            pairs = [(i, j) for i, j in enumerate(rows) if j < k]
            if len(pairs) < min(k, k_star):
                continue
            i, j = (list(side) for side in zip(*pairs, strict=True))
            cost = np.sum((w[j] - w_star[i]) ** 2) / np.sum(w_star**2)
            cost += np.sum((a[j] - a_star[i]) ** 2) / np.sum(a_star**2)
            if best is None or cost < best[0] - 1e-13:
                best = cost, turned, i, j
    _, turned, i, j = best
    w, a = features(turned)
    permutation = np.full(k_star, -1)
    permutation[i] = j

    def error(x, x_star):
        alone = np.sum(np.delete(x, j, axis=0) ** 2) + np.sum(np.delete(x_star, i, axis=0) ** 2)
        return np.sqrt((np.sum((x[j] - x_star[i]) ** 2) + alone) / np.sum(x_star**2))

    cosine = [
        turned.weights[q] @ teacher.weights[p]
        / (np.linalg.norm(turned.weights[q]) * np.linalg.norm(teacher.weights[p]))
        for p, q in zip(i, j, strict=True)
    ]  # fmt: skip
    angle = np.degrees(np.arccos(np.clip(min(cosine), -1, 1))) if len(i) == k_star else 180.0
    return permutation, error(w, w_star), error(a, a_star), angle


@each
@pytest.mark.parametrize(("k", "k_star"), [(3, 3), (4, 4), (2, 4), (4, 2)])
@pytest.mark.parametrize("bias", [False, True])
def test_against_brute_force(act, k, k_star, bias):
    rng = np.random.default_rng(k + 10 * k_star + 100 * bias)
    teacher = random_network(rng, act, k_star, bias=bias)
    estimate = random_network(rng, act, k, bias=bias)
    found = match(estimate, teacher)
    permutation, weight_error, output_error, angle = brute_force(estimate, teacher)
    np.testing.assert_array_equal(found.permutation, permutation)
    assert found.weight_error == pytest.approx(weight_error, rel=1e-10)
    assert found.output_error == pytest.approx(output_error, rel=1e-10)
    assert found.max_angle == pytest.approx(angle, abs=1e-5)


def test_five_neurons_against_brute_force():
    rng = np.random.default_rng(5)
    teacher, estimate = random_network(rng, "tanh", 5), random_network(rng, "tanh", 5)
    found, (permutation, weight_error, *_) = match(estimate, teacher), brute_force(estimate, teacher)
    np.testing.assert_array_equal(found.permutation, permutation)
    assert found.weight_error == pytest.approx(weight_error, rel=1e-12)


@each
@pytest.mark.parametrize("bias", [False, True])
def test_symmetries_cost_nothing(act, bias):
    rng = np.random.default_rng(1)
    teacher = random_network(rng, act, 6, d=4, bias=bias)
    estimate, order = equivalent(rng, teacher)
    x = rng.standard_normal((50, 4))
    np.testing.assert_allclose(estimate.predict(x), teacher.predict(x), rtol=1e-10)
    found = match(estimate, teacher)
    np.testing.assert_array_equal(order[found.permutation], np.arange(6))
    assert max(found.weight_error, found.output_error) < 1e-12
    assert found.max_angle < 1e-5


def test_what_is_not_a_symmetry_costs():
    teacher = Network(np.eye(2), [1.0, 2.0], "tanh")
    assert match(Network(2 * np.eye(2), [0.5, 1.0], "tanh"), teacher).weight_error == pytest.approx(1.0)
    flipped_relu = match(Network([[-1.0, 0.0]], [2.0]), Network([[1.0, 0.0]], [2.0]))
    assert flipped_relu.weight_error == pytest.approx(2.0)
    assert flipped_relu.max_angle == pytest.approx(180.0)


def test_small_errors_keep_their_digits():
    teacher = Network(np.eye(2), [1.0, 1.0])
    tilted = Network([[1.0, 1e-9], [0.0, 1.0]], [1.0, 1.0])
    found = match(tilted, teacher)
    assert found.weight_error == pytest.approx(1e-9 / np.sqrt(2), rel=1e-6)
    assert found.max_angle == pytest.approx(np.degrees(1e-9), rel=1e-6)


def test_an_absent_bias_is_zero():
    teacher = Network(np.eye(2), np.ones(2), "tanh", bias=[0.0, 0.5])
    found = match(Network(np.eye(2), np.ones(2), "tanh"), teacher)
    assert found.weight_error == pytest.approx(0.5 / np.sqrt(2.25))
    assert found.output_error == 0.0


@pytest.mark.parametrize(
    ("estimate", "error", "message"),
    [
        (np.eye(2), TypeError, "estimate must be a planted.Network"),
        (Network(np.eye(3), np.ones(3)), ValueError, "estimate takes 3 inputs but teacher takes 2"),
        (Network(np.eye(2), np.ones(2), "tanh"), ValueError, "tanh network"),
    ],
)
def test_what_cannot_be_matched(estimate, error, message):
    with pytest.raises(error, match=message):
        match(estimate, Network(np.eye(2), np.ones(2)))


def test_permutation_error_is_equation_6_1():
    rng = np.random.default_rng(0)
    for _ in range(20):
        Q = rng.standard_normal((4, 4))
        Q /= np.linalg.norm(Q, axis=1, keepdims=True)
        by_rows = 1 - min(max(abs(q) for q in row) for row in Q)
        by_columns = 1 - min(max(abs(q) for q in column) for column in Q.T)
        assert permutation_error(Q) == pytest.approx(min(by_rows, by_columns), rel=1e-14)
    signed = np.eye(4)[rng.permutation(4)] * rng.choice([-1.0, 1.0], 4)
    assert permutation_error(signed) == 0.0
    for bad, message in ((np.ones(3), "matrix"), ([[np.nan]], "NaN"), (np.empty((0, 2)), "matrix")):
        with pytest.raises(ValueError, match=message):
            permutation_error(bad)
