"""Solvers on problems whose answer is known by construction."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from planted import Network, activations, datasets, match, objectives, permutation_error, solvers, starts
from planted.rows import ArrayRows, FreshRows
from planted.starts.output_layer import correlation_outputs, least_squares_outputs, recover_outputs


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


G = objectives.PopulationLandscape(Network(np.eye(4), [1.0, 1.2, 1.5, 2.0]))


def error(B):
    return permutation_error(B / np.linalg.norm(B, axis=1, keepdims=True))


@pytest.mark.parametrize("optimizer", [optax.sgd(0.05), optax.sgd(0.02, momentum=0.8), optax.adam(0.05)])
def test_every_first_order_step_recovers_through_g(optimizer, x64):
    start = starts.random_rows(jax.random.key(0), 4, 4, restarts=3)
    run = solvers.descend(
        G,
        start,
        solvers.FirstOrder(optimizer),
        steps=6000,
        key=jax.random.key(1),
        side_by_side=True,
        monitor=solvers.Monitor(tolerance=1e-6, measure=error),
    )
    assert run.status == "converged"
    assert np.all(run.history.error[-1] < 1e-4)


def test_history_and_progress_count_steps(x64):
    seen = []
    run = solvers.descend(
        G,
        jnp.eye(4),
        solvers.FirstOrder(optax.sgd(0.01)),
        steps=70,
        key=jax.random.key(0),
        monitor=solvers.Monitor(every=30),
        progress=lambda done, total, text: seen.append((done, total)),
    )
    assert run.history.step == [30, 60, 70]
    assert seen == [(30, 70), (60, 70), (70, 70)]
    assert run.n_steps == 70


def test_divergence_is_a_status(x64):
    run = solvers.descend(
        G, 3 * jnp.ones((4, 4)), solvers.FirstOrder(optax.sgd(10.0)), steps=200, key=jax.random.key(0)
    )
    assert run.status == "diverged"
    assert "smaller step size" in run.reason


def test_patience_stops_a_run_that_no_longer_improves(x64):
    run = solvers.descend(
        G,
        jnp.eye(4),
        solvers.FirstOrder(optax.sgd(0.0)),
        steps=1000,
        key=jax.random.key(0),
        monitor=solvers.Monitor(every=10, patience=3),
    )
    assert run.status == "stalled"
    assert run.n_steps == 40


def test_perturbation_leaves_a_saddle_that_gradient_descent_cannot(x64):
    # All rows equal to the same combination: symmetric, so plain descent keeps them equal for ever.
    saddle = jnp.full((4, 4), 0.5)
    plain = solvers.FirstOrder(optax.sgd(0.05))
    noisy = solvers.FirstOrder(
        optax.sgd(0.05), perturbation=solvers.Perturbation(radius=1e-3, gradient_norm=1e-3, wait=100)
    )
    runs = [
        solvers.descend(
            G, saddle, s, steps=20_000, key=jax.random.key(0), monitor=solvers.Monitor(every=500, tolerance=1e-9)
        )
        for s in (plain, noisy)
    ]
    assert error(runs[0].params) > 0.2
    assert error(runs[1].params) < 1e-2


def test_projection_keeps_unit_rows(x64):
    loss = objectives.PopulationHermite24(Network(np.eye(3), np.ones(3)))
    solver = solvers.FirstOrder(optax.sgd(1.0), project=solvers.unit_rows)
    start = starts.random_rows(jax.random.key(0), 3, 3)
    run = solvers.descend(loss, start, solver, steps=3000, key=jax.random.key(0))
    np.testing.assert_allclose(np.linalg.norm(run.params, axis=1), 1, atol=1e-12)
    assert error(run.params) < 1e-6


def test_fresh_samples_differ_and_repeat_with_the_key():
    fresh = FreshRows(lambda key, n: (jax.random.normal(key, (n, 2)), jax.random.normal(key, (n,))), 8)
    first, again, other = (fresh.draw(jax.random.key(i)).blocks["x"] for i in (0, 0, 1))
    assert jnp.array_equal(first, again)
    assert not jnp.array_equal(first, other)


def test_fresh_sample_descent_recovers():
    relu = activations.get("relu")

    def sample(key, n):
        x = jax.random.normal(key, (n, 3))
        return x, jnp.sum(jnp.maximum(x, 0), axis=1)

    fresh = FreshRows(sample, 8192)
    run = solvers.descend(
        lambda key: objectives.Landscape.on(fresh.draw(key), relu, 0.3, 0.5, iterations=2),
        starts.random_rows(jax.random.key(0), 3, 3).astype(jnp.float32),
        solvers.FirstOrder(optax.sgd(optax.cosine_decay_schedule(0.2, 300))),
        steps=300,
        key=jax.random.key(0),
        monitor=solvers.Monitor(measure=error),
    )
    assert run.history.error[-1] < 0.02


def test_step_size_cuts_follow_the_paper():
    schedule = solvers.step_size_cuts(0.1, first=10_000, every=5000)
    assert float(schedule(9999)) == pytest.approx(0.1)
    assert float(schedule(10_000)) == pytest.approx(0.025)
    assert float(schedule(15_000)) == pytest.approx(0.1 / 16)


@pytest.mark.parametrize("solver", [solvers.lbfgs, solvers.least_squares])
@pytest.mark.parametrize("activation", ["relu", "softplus", "tanh", "squared_relu"])
def test_polish_reaches_the_teacher(solver, activation):
    data = datasets.make_planted(600, 3, 2, activation=activation, output="mixed", random_state=0)
    rng = np.random.default_rng(0)
    start = {
        "weights": data.teacher.weights + 0.05 * rng.standard_normal((2, 3)),
        "output": data.teacher.output,
    }
    run = solver(objectives.Squared(data.X, data.y, activation), start)
    found = Network(run.params["weights"], run.params["output"], activation)
    assert match(found, data.teacher).weight_error < 1e-6


def test_least_squares_with_noise_ends_at_a_critical_point():
    # A smooth activation: with ReLU the minimum of a noisy sample sits on kinks, where the gradient jumps.
    data = datasets.make_planted(2000, 3, 2, activation="tanh", noise=0.2, random_state=0)
    loss = objectives.Squared(data.X, data.y, "tanh")
    run = solvers.least_squares(loss, {"weights": data.teacher.weights, "output": data.teacher.output})
    gradient = loss.gradient(run.params)
    assert max(np.abs(leaf).max() for leaf in gradient.values()) < 1e-8


def test_block_size_does_not_change_least_squares(x64):
    data = datasets.make_planted(500, 3, 2, activation="tanh", noise=0.2, random_state=0)
    start = {"weights": data.teacher.weights, "output": data.teacher.output}
    ends = []
    for size in (64, 1000):
        rows = ArrayRows(jnp.asarray(data.X), jnp.asarray(data.y), block_size=size)
        ends.append(solvers.least_squares(objectives.Squared.on(rows, activations.get("tanh")), start).params)
    np.testing.assert_allclose(ends[0]["weights"], ends[1]["weights"], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("activation", ["relu", "softplus", "sigmoid", "leaky_relu", "squared_relu"])
@pytest.mark.parametrize("orthogonal", [True, False])
def test_algorithms_1_and_2_recover_signs_and_outputs_for_any_first_coefficient(activation, orthogonal):
    kind = "orthogonal" if orthogonal else "correlated"
    data = datasets.make_planted(200_000, 4, 3, activation=activation, weights=kind, output="positive", random_state=4)
    signs = np.array([1.0, -1.0, -1.0])
    layer = correlation_outputs(
        data.X, data.y, signs[:, None] * data.teacher.weights, activation, orthogonal=orthogonal
    )
    np.testing.assert_allclose(layer.weights, data.teacher.weights)
    # Standard error of each output: sd(y x·v)/(σ̂₁ √n), with |v| ≤ 1/σ_min(B) and sd(y x) ≤ 2·sd(y)+|E y|.
    spread = 2 * data.y.std() + abs(data.y.mean())
    tolerance = 4 * spread / (abs(data.teacher.activation.hermite(1)) * 200_000**0.5) * (1 if orthogonal else 9)
    np.testing.assert_allclose(layer.output, data.teacher.output, atol=tolerance)


def test_signs_are_said_to_be_unidentified_where_the_first_coefficient_vanishes():
    data = datasets.make_planted(100, 3, 2, activation="quadratic", random_state=0)
    layer = correlation_outputs(data.X, data.y, data.teacher.weights, "quadratic")
    assert layer.status == "signs unidentified"
    assert np.all(np.isnan(layer.output))
    third = activations.custom(lambda z: z**3 - 3 * z + 0.5 * z**2, name="third")
    layer = recover_outputs(data.X, data.y, data.teacher.weights, third)
    assert layer.status == "signs unidentified"
    assert "first Hermite coefficient" in layer.reason


@pytest.mark.parametrize("activation", ["relu", "abs", "tanh", "softplus", "sigmoid"])
def test_least_squares_outputs_find_mixed_outputs_and_signs(activation):
    data = datasets.make_planted(2000, 4, 3, activation=activation, output="mixed", random_state=0)
    flipped = np.array([-1.0, 1.0, -1.0])[:, None] * data.teacher.weights
    layer = least_squares_outputs(data.X, data.y, flipped, activation)
    found = match(Network(layer.weights, layer.output, activation), data.teacher)
    assert found.weight_error < 1e-9
    assert found.output_error < 1e-9


@pytest.mark.parametrize(("activation", "bias"), [("relu", False), ("tanh", True)])
def test_gauss_newton_reaches_the_teacher_without_normal_equations(activation, bias):
    data = datasets.make_planted(3000, 12, 8, activation=activation, output="mixed", bias=bias, random_state=0)
    near = {"weights": data.teacher.weights + 0.02, "output": data.teacher.output}
    if bias:
        near["bias"] = data.teacher.bias + 0.02
    run = solvers.gauss_newton(objectives.Squared(data.X, data.y, activation, bias=bias), near)
    assert run.status == "converged"
    found = Network(run.params["weights"], run.params["output"], activation, run.params.get("bias"))
    assert match(found, data.teacher).weight_error < 1e-11
    assert run.n_steps < 12


def test_gauss_newton_and_levenberg_marquardt_share_the_minimum_under_noise():
    data = datasets.make_planted(2000, 6, 4, output="mixed", noise=0.2, random_state=1)
    weight = np.linspace(0.5, 1.5, 2000)
    loss = objectives.Squared(data.X, data.y, sample_weight=weight, intercept=True)
    near = {"weights": data.teacher.weights, "output": data.teacher.output, "intercept": np.zeros(())}
    one, two = solvers.gauss_newton(loss, near), solvers.least_squares(loss, near)
    assert one.value == pytest.approx(two.value, rel=1e-12)
    assert one.gradient_norm < 1e-10


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_gauss_newton_takes_several_outputs_and_a_linear_part(activation):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5))
    teacher = Network(
        rng.standard_normal((3, 5)), rng.standard_normal((2, 3)), activation, rng.standard_normal(3),
        rng.standard_normal(2), rng.standard_normal((2, 5)),
    )  # fmt: skip
    loss = objectives.Squared(X, teacher.predict(X), activation, bias=True, intercept=True, skip=True)
    start = {name: value + 0.02 * rng.standard_normal(value.shape) for name, value in teacher.arrays().items()}
    end = solvers.gauss_newton(loss, start)
    assert end.status == "converged"
    assert end.value < 1e-22
    assert end.n_steps < 15


def test_lbfgs_does_not_stop_at_zero_where_losses_are_negative():
    """The least value of G is below zero (Theorem 2.3), and a descent that passes zero has further to go."""
    G = objectives.PopulationLandscape(Network(np.eye(3), np.ones(3)))
    run = solvers.lbfgs(G, np.eye(3) + 0.05 * np.random.default_rng(0).standard_normal((3, 3)))
    least, _ = G.known_minimum()
    assert least < 0
    assert run.value == pytest.approx(least, abs=1e-12)
    assert run.gradient_norm < 1e-6
    early = solvers.lbfgs(G, run.params + 0.02, target=0.0)
    assert early.value <= 0
    assert early.gradient_norm > 1e-4


def test_newton_steps_end_where_the_curvature_has_vanished():
    """Probabilities of labels that are next to zero leave a curvature with fewer digits than a float has."""
    X = np.random.default_rng(0).standard_normal((20, 2))
    loss = objectives.Squared(X, X[:, 0], "tanh")
    start = {"weights": np.ones((1, 2)), "output": np.ones(1)}
    row = np.array([1.0, 2.0, 0.0])
    run = solvers.sample_newton(loss, lambda params: 1e-318 * np.outer(row, row), start)
    np.testing.assert_array_equal(run.params["weights"], start["weights"])
