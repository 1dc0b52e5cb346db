"""The study of Fu et al. (2018): its descent against plain gradient descent, its prediction against the sandwich."""

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import optax
import pytest
from matplotlib.figure import Figure

from planted import activations
from planted.datasets import draw_planted
from planted.objectives import label_loss
from planted.reproduce import find
from planted.reproduce.fu2018._labels import asymptotic_error, half_way, minimisers, quadratic_loss, slope
from planted.solvers import FirstOrder, traced_descent
from planted.starts import near

matplotlib.use("Agg")
SIGMOID = activations.get("sigmoid")


def drawn(n=3000, k=2, d=4, starts=4, seed=0):
    keys = jax.random.split(jax.random.key(seed), 3)
    teacher = 4.0 * jnp.linalg.qr(jax.random.normal(keys[0], (d, k)))[0].T
    X, y = draw_planted(keys[1], n, teacher, SIGMOID, "classification")
    return teacher, X, y, near(keys[2], teacher, 0.4 * k**0.5, starts)


@jax.jit
def ends_of(X, y, starts):
    return minimisers(X, y, starts, SIGMOID)


@jax.jit
def gradient_descent(X, y, starts):
    """2,000 steps of Algorithm 1."""
    loss, solver = quadratic_loss(X, y, starts.shape[1], SIGMOID), FirstOrder(optax.sgd(150.0))
    return jax.vmap(lambda start: traced_descent(loss, start, solver, steps=2000, record_every=2000)[0])(starts)


def test_the_loss_in_float32_is_that_of_labels():
    teacher, X, y, starts = drawn()
    single, double = quadratic_loss(X, y, len(teacher), SIGMOID), label_loss(X, y, len(teacher))
    for start in starts:
        value, gradient = single.traced_value_and_gradient(start)
        exact = np.asarray(start, dtype=float)
        assert float(value) == pytest.approx(double.value(exact), rel=1e-5)
        np.testing.assert_allclose(gradient, double.gradient(exact), rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_every_start_ends_where_gradient_descent_does(seed):
    """To a fifth of the 1e-2 at which the paper tells minimisers apart, in a hundredth of its 2,000 steps."""
    _, X, y, starts = drawn(seed=seed)
    ends = ends_of(X, y, starts)
    plain = gradient_descent(X, y, starts)
    assert float(jnp.max(jnp.linalg.norm(ends.params - plain, axis=(1, 2)))) < 2e-3
    assert int(jnp.max(ends.evaluations)) < 40


def test_with_too_few_rows_the_weights_run_off_in_both():
    _, X, y, starts = drawn(60)
    lengths = [
        float(jnp.max(jnp.linalg.norm(ends, axis=2)))
        for ends in (ends_of(X, y, starts).params, gradient_descent(X, y, starts))
    ]
    assert min(lengths) > 8.0


def test_asymptotic_error_is_the_sandwich_with_labels_averaged_out():
    teacher, X, _, _ = drawn()
    W, x = np.asarray(teacher, dtype=np.float64), np.asarray(X, dtype=np.float64)
    p = SIGMOID(x @ W.T).mean(axis=1)
    slopes = SIGMOID.derivative(x @ W.T) / 2
    J = (slopes[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    # With the probabilities for targets the Hessian at the teacher has no term in the residuals.
    bread = np.linalg.inv(label_loss(x, p, 2).hessian(W))
    S = (J * (p * (1 - p))[:, None]).T @ J / len(x)
    predicted = float(asymptotic_error(X, teacher, SIGMOID))
    assert predicted == pytest.approx(np.sqrt(np.trace(bread @ S @ bread)), rel=1e-3)


@pytest.mark.parametrize("descends", [False, True])
def test_nothing_is_claimed_of_a_descent_that_did_not_run(descends):
    entry = find("fu2018/fig3")[0]
    row = {"error": 1.0, "asymptotic_error": 1.0, "largest": 1.0}
    arm = {"descent_spread": 0.0, "same_spread": 0.0} if descends else {}
    rows = [row | arm | {"d": 4, "n": n, "spread": spread} for n, spread in ((60, 1.0), (8000, 0.0))]
    claims = entry.claims(entry.config(quick=True), rows)
    assert all(claim.ours for claim in claims)
    assert any("gradient descent" in claim.statement for claim in claims) == descends


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fu2018/fig3", "fu2018/fig4"])
def test_small_study(name):
    entry = find(name)[0]
    config = entry.config(quick=True) | {"inputs": [4], "ratios": [15, 2000], "data_sets": 3, "starts": 3}
    rows = [row for cell in entry.cells(config) for row in entry.run_cell(config, cell, 0)]
    assert len(rows) == 6
    assert all(claim.ours for claim in entry.claims(config, rows))
    if name.endswith("fig3"):
        assert [claim.verdict for claim in entry.claims(config, rows)] == ["holds", "holds"]
    entry.draw(config, rows, Figure())


def test_curve_never_half_way():
    assert half_way([{"d": 1, "n": 1, "success": 0.0}]) == np.inf
    assert half_way([{"d": 2, "n": 10, "success": 0.8}]) == 5.0
    assert slope([{"n": 10, "error": 3.0}, {"n": 1000, "error": 0.3}]) == pytest.approx(-0.5)
