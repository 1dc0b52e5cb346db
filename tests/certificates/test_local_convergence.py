"""What gradient descent is proved to reach from a point: the Jacobian's products, the bounds, and descent itself."""

from dataclasses import replace

import numpy as np
import pytest

from planted import Network, certify
from planted.certificates import _tangent as tangent_module
from planted.certificates import local_convergence, run_descent
from planted.certificates._tangent import Tangent
from planted.datasets import make_planted
from planted.objectives import PopulationSquared, Squared, flatten, unflatten


def parts_everywhere(rng, k=3, d=4, m=2):
    return {
        "weights": rng.standard_normal((k, d)),
        "output": rng.standard_normal((m, k)),
        "bias": rng.standard_normal(k),
        "intercept": rng.standard_normal(m),
        "skip": rng.standard_normal((m, d)),
    }


@pytest.fixture
def whole():
    rng = np.random.default_rng(0)
    X, y, weight = rng.standard_normal((9, 4)), rng.standard_normal((9, 2)), rng.uniform(0.5, 2.0, 9)
    loss = Squared(X, y, "tanh", bias=True, intercept=True, skip=True, sample_weight=weight)
    return loss, parts_everywhere(rng)


def test_products_are_those_of_the_formed_jacobian_and_give_the_gradient(whole):
    loss, params = whole
    tangent = Tangent(loss, params)
    columns = np.stack([tangent.forward(e) for e in np.eye(tangent.size)], axis=1)
    rows = np.stack([tangent.adjoint(e) for e in np.eye(len(tangent.residual))])
    np.testing.assert_allclose(columns, tangent.formed(), atol=1e-13)
    np.testing.assert_allclose(rows, tangent.formed(), atol=1e-13)
    np.testing.assert_allclose(tangent.adjoint(tangent.residual), flatten(loss.gradient(params)), atol=1e-13)
    assert loss.value(params) == pytest.approx(np.sum(tangent.residual**2) / 2)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("activation", ["tanh", "softplus", "quadratic"])
def test_the_jacobian_changes_no_faster_than_its_lipschitz_constant(activation, fixed):
    rng = np.random.default_rng(1)
    k, d, radius = 4, 3, 0.3
    X, y = rng.standard_normal((12, d)), rng.standard_normal(12)
    loss = Squared(X, y, activation, output=np.ones(k) if fixed else None)
    centre = {"weights": rng.standard_normal((k, d))} | ({} if fixed else {"output": rng.standard_normal(k)})
    tangent = Tangent(loss, centre)
    bound = tangent.lipschitz(tangent.extent(), radius)
    worst = 0.0
    for _ in range(50):
        a, b = rng.standard_normal((2, tangent.size))
        first = flatten(centre) + radius * rng.uniform() * a / np.linalg.norm(a)
        second = first + 1e-3 * b / np.linalg.norm(b)
        if np.linalg.norm(second - flatten(centre)) > radius:
            continue
        change = [Tangent(loss, unflatten(point, centre)).formed() for point in (first, second)]
        worst = max(worst, np.linalg.norm(change[0] - change[1], 2) / np.linalg.norm(second - first))
    assert 0.05 * bound < worst <= bound


def test_for_one_quadratic_neuron_and_one_row_the_constant_is_exact():
    loss = Squared([[3.0, 4.0]], [0.0], "quadratic", output=np.ones(1))
    tangent = Tangent(loss, {"weights": np.ones((1, 2))})
    assert tangent.lipschitz(tangent.extent(), 0.5) == pytest.approx(2 * 25)


def near_teacher(activation, n, d, k, distance, seed=0):
    data = make_planted(n, d, k, activation=activation, weights="gaussian", random_state=seed)
    rng = np.random.default_rng(seed)
    step = rng.standard_normal((k, d))
    start = {
        "weights": data.teacher.weights + distance * step / np.linalg.norm(step),
        "output": data.teacher.output,
    }
    return Squared(data.X, data.y, activation), start


@pytest.mark.parametrize("activation", ["tanh", "softplus", "quadratic"])
def test_descent_does_what_is_proved(activation):
    loss, start = near_teacher(activation, 15, 8, 8, 1e-4)
    proved = local_convergence(loss, start)
    assert proved.target == "zero loss"
    assert proved.residual < proved.residual_limit
    run = run_descent(loss, start, proved, steps=200)
    assert run.holds
    assert run.values[-1] < run.values[0]


def test_the_check_catches_a_rate_that_is_not_reached_and_a_ball_that_is_left():
    loss, start = near_teacher("tanh", 15, 8, 8, 1e-4)
    proved = local_convergence(loss, start)
    measured = run_descent(loss, start, proved, steps=200)
    assert not run_descent(loss, start, replace(proved, rate=measured.rate**3), steps=200).holds
    assert not run_descent(loss, start, replace(proved, radius=measured.distance / 2), steps=200).holds


def test_a_start_at_rounding_is_said_to_be_one():
    loss, start = near_teacher("tanh", 15, 8, 8, 0.0)
    run = run_descent(loss, start, local_convergence(loss, start), steps=3)
    assert run.holds
    assert "all of it rounding" in str(run)


def test_more_rows_than_parameters_give_a_local_minimum_with_noise_too():
    rng = np.random.default_rng(3)
    teacher = Network(1.5 * np.eye(2), np.array([1.0, 2.0]), "tanh")
    X = rng.standard_normal((200, 2))
    loss = Squared(X, teacher.predict(X) + 1e-4 * rng.standard_normal(200), "tanh")
    start = {"weights": teacher.weights, "output": teacher.output}
    proved = local_convergence(loss, start)
    assert proved.target == "local minimum"
    run = run_descent(loss, start, proved, steps=300)
    assert run.holds
    assert np.isnan(proved.residual_limit)


def test_far_from_zero_loss_nothing_is_proved_and_the_limit_says_how_far():
    loss, start = near_teacher("tanh", 15, 8, 8, 0.5)
    proved = local_convergence(loss, start)
    assert not proved.proved
    assert proved.residual > proved.residual_limit > 0
    assert f"{proved.residual_limit:.3g}" in proved.reason
    assert proved.as_dict()["radius"] is None
    with pytest.raises(ValueError, match="nothing is proved"):
        run_descent(loss, start, proved)


def test_below_the_limit_zero_loss_is_proved_and_above_it_not():
    loss, start = near_teacher("softplus", 12, 8, 8, 1e-4)
    proved = local_convergence(loss, start)
    rows = loss.rows.on_host
    prediction = Network(start["weights"], start["output"], "softplus").predict(rows[0])
    direction = np.random.default_rng(5).standard_normal(12)
    direction /= np.sqrt(np.mean(direction**2))
    for factor, target in ((0.99, "zero loss"), (1.01, "none")):
        moved = Squared(rows[0], prediction + factor * proved.residual_limit * direction, "softplus")
        assert local_convergence(moved, start).target == target


def test_lanczos_agrees_with_the_formed_jacobian(monkeypatch):
    loss, start = near_teacher("tanh", 30, 12, 10, 1e-5)
    dense = local_convergence(loss, start)
    monkeypatch.setattr(tangent_module, "_DENSE_ENTRIES", 10)
    lanczos = local_convergence(loss, start)
    assert (dense.method, lanczos.method) == ("dense", "lanczos")
    assert lanczos.sigma_min == pytest.approx(dense.sigma_min, rel=1e-4)
    assert lanczos.sigma_min <= dense.sigma_min * (1 + 1e-9)
    assert dense.sigma_max <= lanczos.sigma_max <= 1.01 * dense.sigma_max
    assert lanczos.target == dense.target == "zero loss"


def test_a_singular_jacobian_is_named():
    X = np.ones((5, 3))
    loss = Squared(X, np.ones(5), "tanh")
    proved = local_convergence(loss, {"weights": np.ones((4, 3)), "output": np.ones(4)})
    assert not proved.proved
    assert "singular" in proved.reason


def test_certify_has_it_on_request_and_refuses_what_it_is_not_for():
    loss, start = near_teacher("tanh", 15, 8, 8, 1e-4)
    assert certify(loss, start).descent is None
    certificate = certify(loss, start, descent=True)
    assert certificate.descent.target == "zero loss"
    assert certificate.as_dict()["descent"]["target"] == "zero loss"
    assert "reaches zero loss" in str(certificate)
    with pytest.raises(ValueError, match="relu has no bounded second derivative"):
        certify(Squared(np.eye(2), np.ones(2), "relu"), np.eye(2), descent=True)
    with pytest.raises(ValueError, match="over rows"):
        certify(PopulationSquared(Network(np.eye(2), np.ones(2), "tanh")), np.eye(2), descent=True)
