"""Quadratic activations: derivatives, verdicts, bounds, recovery and saddle escape, against second computations."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.optimize import minimize

from planted.datasets import make_planted
from planted.methods import METHODS, Problem, determined, factorise, fit_matrix, fit_quadratic
from planted.networks import ConvNetwork, Network
from planted.numerics.precision import to_jax
from planted.objectives import (
    PopulationConv,
    PopulationFullRankLandscape,
    PopulationLandscape,
    QuadraticForm,
    Squared,
    approximate_minimum_bound,
    hessian_form,
    jacobian_gram,
    quadratic_jacobian,
    quadratic_matrix,
    quadratic_verdict,
    residual_matrix,
    stationary_points,
)
from planted.reproduce.soltanolkotabi2017._crossing import crossing_error, logistic_crossing
from planted.reproduce.soltanolkotabi2017._local_convergence import local_rates
from planted.reproduce.soltanolkotabi2017._random_labels import random_labels
from planted.reproduce.soltanolkotabi2017._sweep import ZERO, _settle, sweep
from planted.solvers import FirstOrder, leave_saddles, newton_polish, perturbed_descent, traced_descent


def problem(seed: int, n: int = 30, d: int = 4, k: int = 6) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((n, d)), rng.standard_normal(n), rng.standard_normal((k, d)), rng.standard_normal(k),
    )  # fmt: skip


# Derivatives of section 5.2 and 6.1.


@pytest.mark.parametrize("seed", range(3))
def test_gradients_agree_with_automatic_differentiation(seed: int) -> None:
    X, y, W, v = problem(seed)
    S = residual_matrix(X, y, quadratic_matrix(W, v))
    gradient = Squared(X, y, "quadratic", output=v).gradient(W)
    np.testing.assert_allclose(2 * v[:, None] * (W @ S), gradient, rtol=1e-10)
    np.testing.assert_allclose(QuadraticForm(X, y).gradient(quadratic_matrix(W, v)), S, rtol=1e-9, atol=1e-12)
    residual = (X @ W.T) ** 2 @ v - y
    np.testing.assert_allclose(quadratic_jacobian(X, W, v) @ residual / len(X), gradient.ravel(), rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_hessian_form_needs_four_where_equation_6_4_prints_two(seed: int) -> None:
    X, y, W, v = problem(seed)
    U = np.random.default_rng(seed + 50).standard_normal(W.shape)
    exact = np.sum(U * Squared(X, y, "quadratic", output=v).hvp(W, U))
    assert hessian_form(X, y, W, v, U) == pytest.approx(exact, rel=1e-10)
    cross = np.sum((X @ ((W.T * v) @ U)) * X, axis=1)
    assert abs(exact - 2 * np.mean(cross**2) - exact) > 1e-3 * abs(exact)
    jacobian = quadratic_jacobian(X, W, v)
    assert 4 * np.mean(cross**2) == pytest.approx(np.sum((jacobian.T @ U.ravel()) ** 2) / len(X), rel=1e-10)


def test_derivatives_in_the_output_layer_need_the_mean_and_phi_itself() -> None:
    X, y, W, v = problem(0)
    loss = Squared(X, y, "softplus")
    params = {"weights": W, "output": v}
    features = np.log1p(np.exp(X @ W.T))
    residual = features @ v - y
    np.testing.assert_allclose(loss.gradient(params)["output"], features.T @ residual / len(X), rtol=1e-10)
    # "output" comes before "weights" in the flattened parameters; eq. 5.9 leaves out the 1/n.
    np.testing.assert_allclose(loss.hessian(params)[:6, :6], features.T @ features / len(X), rtol=1e-9)


# Lemmas.


def test_lemma_5_3_fails_for_tall_matrices() -> None:
    A, v = np.vstack([np.eye(2), np.zeros((1, 2))]), np.array([0.0, 0.0, 1.0])
    least = np.linalg.svd(A, compute_uv=False)[-1]
    assert np.max(np.abs(v)) * least == 1.0
    assert np.linalg.norm(v[:, None] * A, 2) == 0.0
    wide = np.random.default_rng(0).standard_normal((2, 5))
    assert np.linalg.svd(wide, compute_uv=False)[-1] <= np.linalg.norm(np.array([0.0, 1.0])[:, None] * wide, 2)


def test_lemma_5_7_holds_for_the_operator_norm_and_not_for_the_nuclear_norm() -> None:
    rng = np.random.default_rng(0)
    d, n = 40, 8000
    X = rng.standard_normal((n, d))
    A = np.zeros((d, d))
    A[0, 0] = 1.0
    error = (X.T * X[:, 0] ** 2) @ X / n - (2 * A + np.eye(d))
    # n is 54 d log d. The nuclear norm of a full-rank error grows with d: δ = 1 would already fail.
    assert np.linalg.norm(error, 2) < 0.6
    assert np.linalg.norm(error, "nuc") > 2.0


@pytest.mark.parametrize(("n", "full"), [(10, True), (9, False)])
def test_lemma_5_6_rows_determine_a_matrix_from_d_d_plus_1_over_2_on(n: int, full: bool) -> None:
    X = np.random.default_rng(1).standard_normal((n, 4))
    products = np.einsum("ni,nj->nij", X, X).reshape(n, -1)
    assert np.linalg.matrix_rank(products) == n
    assert determined(X) is full


# Verdicts and the bound of Theorem 2.2.


@pytest.mark.parametrize("seed", range(20))
def test_bound_on_approximate_minima(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, k, n, nu = 3, 5, 25, float(rng.choice([0.5, 1.0, 2.0]))
    X, teacher = rng.standard_normal((n, d)), rng.standard_normal((k, d))
    M = teacher.T @ teacher
    loss = Squared(X, np.sum((X @ M) * X, axis=1), "quadratic", output=np.full(k, nu))
    start = rng.standard_normal((k, d))
    some = minimize(
        lambda w: (loss.value(w.reshape(k, d)), loss.gradient(w.reshape(k, d)).ravel()), start.ravel(), jac=True,
        method="L-BFGS-B", options={"maxiter": int(rng.integers(1, 15))},
    ).x.reshape(k, d)  # fmt: skip
    bound = approximate_minimum_bound(
        np.linalg.norm(loss.gradient(some)), np.linalg.eigvalsh(loss.hessian(some))[0], some, nu, M
    )
    assert loss.value(some) <= bound.exact * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_descent_and_curvature_directions_lower_the_loss(seed: int) -> None:
    X, y, W, _ = problem(seed, d=3, k=6)
    v = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    loss = Squared(X, y, "quadratic", output=v)
    for point, kind in ((W, "not critical"), (0 * W, "saddle")):
        found = quadratic_verdict(X, y, point, v)
        assert found.kind == kind
        if kind == "saddle":
            assert found.curvature == pytest.approx(hessian_form(X, y, point, v, found.direction), rel=1e-9)
            assert found.curvature < 0
        assert loss.value(point + 1e-3 * found.direction) < loss.value(point)


def test_verdict_is_undecided_only_when_the_width_is_too_small() -> None:
    X, y, _, _ = problem(3, d=3)
    w = minimize(lambda w: np.mean(((X @ w) ** 2 - y) ** 2), np.ones(3), method="BFGS", options={"gtol": 1e-12}).x
    narrow = quadratic_verdict(X, y, w[None], [1.0], tolerance=1e-5)
    assert narrow.kind == "undecided"
    wide = quadratic_verdict(X, y, np.vstack([w[None], np.zeros((5, 3))]), [1.0] * 3 + [-1.0] * 3, tolerance=1e-5)
    assert wide.kind == "saddle"


# Leaving saddles.


def saddles() -> dict[str, tuple]:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    G = PopulationLandscape(Network(np.eye(3), [1.0, 1.5, 2.0]))
    weights = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]])
    F = PopulationFullRankLandscape(Network(weights, [1.0, 2.0, 1.5]))
    quadratic = Squared(X, y, "quadratic", output=[1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    tanh = Squared(X, np.tanh(X[:, 0]), "tanh")
    return {
        "G at zero": (G, np.zeros((3, 3))),
        "G with a zero row": (G, np.diag([1.0, 1.0, 0.0])),
        "F at zero": (F, np.zeros((3, 3))),
        "quadratic at zero": (quadratic, np.zeros((6, 3))),
        "both layers at zero": (tanh, {"weights": np.zeros((2, 3)), "output": np.zeros(2)}),
    }


@pytest.mark.parametrize("name", saddles())
def test_trust_region_leaves_saddles(name: str) -> None:
    loss, start = saddles()[name]
    end = leave_saddles(loss, start, gradient_tolerance=1e-8)
    assert end.converged, str(end)
    assert end.escapes >= 1
    assert end.value < loss.value(start)
    assert np.linalg.eigvalsh(loss.hessian(end.params))[0] > -1e-5 * np.linalg.norm(loss.hessian(end.params), 2)


@pytest.mark.parametrize("name", ["G at zero", "F at zero", "quadratic at zero", "both layers at zero"])
def test_perturbed_descent_leaves_saddles(name: str) -> None:
    loss, start = saddles()[name]
    end = perturbed_descent(loss, start, gradient_tolerance=1e-5, max_steps=40_000)
    assert end.status == "converged", str(end)
    best = leave_saddles(loss, start, gradient_tolerance=1e-8).value
    assert end.value <= best + 1e-4 * (loss.value(start) - best)


def test_both_solvers_leave_the_saddle_of_a_shared_filter() -> None:
    teacher = ConvNetwork([1.0, 0.5], [1.0, -1.0, 0.5, 0.2]).canonical()
    loss, between = PopulationConv(teacher), stationary_points(teacher)[1]
    across = np.array([-teacher.filter[1], teacher.filter[0]])
    turned = np.cos(between.angle) * teacher.filter + np.sin(between.angle) * across
    saddle = {"filter": turned, "output": between.output}
    assert max(np.abs(leaf).max() for leaf in loss.gradient(saddle).values()) < 1e-12
    left = leave_saddles(loss, saddle, gradient_tolerance=1e-6)
    shaken = perturbed_descent(loss, saddle, gradient_tolerance=1e-4, max_steps=20_000)
    values = [point.value for point in stationary_points(teacher)]
    for end in (left.value, shaken.value):
        assert min(abs(end - values[0]), abs(end - values[2])) < 1e-3 * (values[1] - values[0])


# Recovery.


@pytest.mark.parametrize("output", ["ones", "mixed"])
def test_recovers_the_matrix(output: str) -> None:
    data = make_planted(200, 8, 5, activation="quadratic", output=output, random_state=1)
    found = fit_quadratic(data.X, data.y)
    M = quadratic_matrix(data.teacher.weights, data.teacher.output)
    assert found.unique
    np.testing.assert_allclose(found.matrix, M, atol=1e-9)
    assert found.network.n_hidden == 5
    assert found.optimality.kind == "global minimum"


def test_fits_random_labels_exactly_up_to_d_d_plus_1_over_2_rows() -> None:
    rng = np.random.default_rng(0)
    d = 12
    for n, exact in ((78, True), (120, False)):
        X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
        found = fit_quadratic(X, y, n_hidden=2 * d, signs="mixed")
        assert (found.relative_loss < 1e-12) is exact
        assert found.optimality.kind == "global minimum"
        # The convex problem in all entries of M, solved by a dense factorisation.
        products = np.einsum("ni,nj->nij", X, X).reshape(n, -1)
        dense = products @ np.linalg.lstsq(products, y, rcond=None)[0]
        np.testing.assert_allclose(found.network.predict(X), dense, atol=1e-6)


def test_one_sign_solves_the_semidefinite_problem() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((60, 4)), rng.standard_normal(60)
    found = fit_quadratic(X, y, signs="positive")
    assert np.all(found.network.output > 0)
    assert found.optimality.kind == "global minimum"
    M = np.zeros((4, 4))
    for _ in range(20_000):
        values, vectors = np.linalg.eigh(M - 0.02 * residual_matrix(X, y, M))
        M = (vectors * np.maximum(values, 0)) @ vectors.T
    assert found.loss == pytest.approx(QuadraticForm(X, y).value(M), rel=1e-7)


def recovery(n: int, d: int, k: int, **options: Any) -> Any:
    data = make_planted(n, d, k, activation="quadratic", random_state=0, **options)
    result = METHODS["quadratic"](Problem.of(data.X, data.y, k, "quadratic"))
    M = quadratic_matrix(data.teacher.weights, data.teacher.output)
    return result, np.linalg.norm(quadratic_matrix(result.network.weights, result.network.output) - M)


def test_too_few_rows_and_noise_are_said() -> None:
    few, _ = recovery(20, 8, 8)
    assert few.status == "ambiguous"
    assert "36 entries" in few.reason
    assert recovery(500, 5, 5, noise=0.1)[0].status == "estimated"


def test_fewer_rows_than_entries_are_recovered_only_where_they_determine_the_network() -> None:
    """39 numbers make a network of two neurons on 20 inputs: 150 rows determine them, 30 do not."""
    enough, error = recovery(150, 20, 2, output="ones")
    assert enough.status == "recovered"
    assert error < 1e-9
    assert recovery(30, 20, 2, output="ones")[0].status == "ambiguous"


def test_factorise_pads_and_truncates() -> None:
    M = np.diag([3.0, -2.0, 0.5])
    wide = factorise(M, 8)
    assert wide.n_hidden == 8
    np.testing.assert_allclose(quadratic_matrix(wide.weights, wide.output), M, atol=1e-12)
    np.testing.assert_allclose(
        quadratic_matrix(factorise(M, 2).weights, factorise(M, 2).output), np.diag([3.0, -2.0, 0.0]), atol=1e-12
    )


def test_fit_matrix_has_least_norm() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 4)), rng.standard_normal(5)
    products = np.einsum("ni,nj->nij", X, X).reshape(5, -1)
    np.testing.assert_allclose(fit_matrix(X, y).ravel(), np.linalg.pinv(products) @ y, atol=1e-9)


# Reproductions, at a small size.


@pytest.mark.slow
def test_random_labels_cannot_be_fitted_with_positive_outputs() -> None:
    for activation, k in (("softplus", 30), ("quadratic", 15)):
        fixed = random_labels(activation, k, layers="first", steps=4000)
        learned = random_labels(activation, k, layers="both", steps=4000)
        assert fixed.floor > 0.3
        assert fixed.rmse.min() >= fixed.floor
        assert learned.rmse[-1, 0] < 0.5 * fixed.floor


@pytest.mark.parametrize(("activation", "n"), [("softplus", 20), ("tanh", 30)])
def test_local_convergence_at_the_rate_of_the_jacobian(activation: str, n: int) -> None:
    row = local_rates(activation, 16, 16, n, 1.0, 200, 0)
    assert 1 - row["rate"] == pytest.approx(1 - row["predicted"], rel=0.02)
    assert row["bounded"]


def test_gram_matrix_of_the_jacobian() -> None:
    rng = np.random.default_rng(0)
    X, W, v = rng.standard_normal((7, 3)), rng.standard_normal((4, 3)), rng.standard_normal(4)
    first = quadratic_jacobian(X, W, v)
    features = (X @ W.T) ** 2
    with jax.enable_x64(True):
        loss = Squared(X, np.zeros(7), "quadratic")
        gram = jacobian_gram(loss, {"weights": jnp.asarray(W), "output": jnp.asarray(v)}, jnp.asarray(X))
    np.testing.assert_allclose(gram, first.T @ first + features @ features.T, rtol=1e-10)


def test_over_parameterised_networks_are_found_and_narrow_ones_are_not() -> None:
    sizes = {"problems": 3, "starts": 3, "steps": 1000, "polish": 100}
    wide, narrow = sweep("3a", 12, reading="ones", **sizes), sweep("3a", 5, reading="signs", **sizes)
    assert (wide.finished < ZERO).all()
    assert not (narrow.finished < ZERO).all(axis=1).any()
    assert (narrow.verdict == "not settled").any()


def test_descent_that_can_go_no_further_is_stuck() -> None:
    """One quadratic neuron of output −1 cannot fit positive labels: its best is zero."""
    with jax.enable_x64(True):
        loss = Squared(np.ones((4, 1)), np.ones(4), "quadratic", -np.ones(1))
        stacked = jax.tree.map(lambda leaf: np.asarray(leaf)[None], loss)
        _, verdict, value = _settle(stacked, {"weights": jnp.full((1, 1, 1, 1), 0.5)}, 0.1, 5000)
    assert verdict.tolist() == [["stuck"]]
    assert value[0, 0] == pytest.approx(0.5, abs=1e-9)


def test_outputs_of_a_quadratic_network_keep_their_signs_under_gradient_descent() -> None:
    """‖w_q‖² − 2v_q² is conserved by the flow; below zero, v_q cannot pass through zero (Figure 3)."""
    rng = np.random.default_rng(0)
    X, teacher, v = rng.standard_normal((100, 20)), rng.standard_normal((6, 20)) / 20**0.5, rng.choice([-1.0, 1.0], 6)
    start = {"weights": rng.standard_normal((6, 20)) / 20**0.5, "output": v}
    kept = lambda p: np.sum(np.asarray(p["weights"]) ** 2, axis=1) - 2 * np.asarray(p["output"]) ** 2  # noqa: E731
    with jax.enable_x64(True):
        loss = Squared(X, np.sum((X @ teacher.T) ** 2, axis=1), "quadratic")
        end = traced_descent(loss, to_jax(start), FirstOrder(optax.sgd(5e-4)), steps=6000, record_every=6000)[0]
    assert loss.value(jax.tree.map(np.asarray, end)) < 0.2 * loss.value(start)
    assert np.array_equal(np.sign(end["output"]), v)
    below = kept(start) < -0.5
    assert below.sum() >= 3
    np.testing.assert_allclose(kept(end)[below], kept(start)[below], atol=0.1)


def test_logistic_crossing_recovers_a_known_curve() -> None:
    values = np.arange(1, 20.0)
    fraction = 1 / (1 + np.exp(-0.8 * (values - 7.3)))
    assert logistic_crossing(values, fraction, 1000) == pytest.approx((7.3, 0.8), rel=1e-3)
    # Fisher information of the crossing in Σ log-likelihood: slope² Σ trials p(1 − p), over 40 problems a value.
    counts = (np.random.default_rng(0).random((19, 40)) < fraction[:, None]).astype(int)
    exact = (0.8**2 * 40 * np.sum(fraction * (1 - fraction))) ** -0.5
    assert crossing_error(values, counts, 1) == pytest.approx(exact, rel=0.35)


def test_newton_polish_reaches_critical_points_of_any_kind() -> None:
    G = PopulationLandscape(Network(np.eye(3), [1.0, 1.5, 2.0]))
    near_saddle = np.diag([1.0, 1.0, 0.0]) + 1e-3 * np.random.default_rng(0).standard_normal((3, 3))
    end = newton_polish(G, near_saddle)
    assert end.gradient_norm < 1e-12
    assert np.linalg.eigvalsh(G.hessian(end.params))[0] < -0.1
