"""Solvers that are JAX programs against those that are not, alone and mapped over starts, rates and objectives."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from planted import Network, objectives, solvers, starts
from planted.activations import get
from planted.datasets import draw_planted, make_planted
from planted.rows import ArrayRows

G = objectives.PopulationLandscape(Network(np.eye(4), [1.0, 1.2, 1.5, 2.0]))


@pytest.fixture(autouse=True)
def x64():
    with jax.enable_x64(True):
        yield


def stacked(losses):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *losses)


def planted_losses(count, n=30, k=4, d=3, activation="softplus"):
    """Losses of several planted problems, and a start near each teacher."""
    data = [make_planted(n, d, k, activation=activation, weights="gaussian", random_state=i) for i in range(count)]
    near = [one.teacher.weights + 0.1 for one in data]
    return [objectives.Squared(one.X, one.y, activation) for one in data], [
        {"weights": jnp.asarray(w), "output": jnp.ones(k)} for w in near
    ]


@pytest.mark.parametrize("solver", [solvers.FirstOrder(optax.adam(0.01)),
                                    solvers.FirstOrder(optax.sgd(0.01), project=solvers.unit_rows)])  # fmt: skip
def test_traced_descent_takes_the_steps_of_descend(solver):
    start = starts.random_rows(jax.random.key(0), 4, 4)
    run = solvers.descend(G, start, solver, steps=60, key=jax.random.key(1), monitor=solvers.Monitor(every=20))
    end, values = jax.jit(lambda at: solvers.traced_descent(G, at, solver, steps=60, record_every=20))(start)
    np.testing.assert_allclose(end, run.params, rtol=1e-10)
    assert values.shape == (3,)
    assert float(values[-1]) == pytest.approx(G.value(end), rel=1e-12)


def test_descents_of_several_objectives_and_rates_side_by_side_are_those_alone():
    losses, params = planted_losses(2)
    rates = jnp.array([0.05, 0.1])

    def run(loss, start, rate):
        return solvers.traced_descent(loss, start, solvers.FirstOrder(optax.sgd(rate)), steps=30, record_every=10)

    together = jax.vmap(run)(stacked(losses), stacked(params), rates)
    alone = stacked([run(*each) for each in zip(losses, params, rates, strict=True)])
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-8), together, alone)


def test_a_traced_descent_measures_what_it_is_asked_to():
    start = starts.random_rows(jax.random.key(0), 4, 4)
    solver = solvers.FirstOrder(optax.sgd(0.01))
    end, norms = solvers.traced_descent(G, start, solver, steps=7, record_every=3, measure=jnp.linalg.norm)
    assert norms.shape == (2,)
    assert float(norms[-1]) == pytest.approx(float(jnp.linalg.norm(end)), rel=1e-12)


@pytest.mark.parametrize("metric", [False, True])
def test_traced_lbfgs_ends_where_scipy_does(metric):
    """On labels near their teacher, where the minimiser is unique: to the tolerance, and to a gradient of rounding."""
    teacher = 2 * jnp.eye(2, 3)
    X, y = draw_planted(jax.random.key(0), 3000, teacher, get("sigmoid"), "classification")
    loss = objectives.label_loss(X, y, 2)
    first = jnp.linalg.inv(loss.hessian(np.asarray(teacher))) if metric else None
    around = starts.near(jax.random.key(1), teacher, 0.2, restarts=3)
    ends = jax.jit(jax.vmap(lambda at: solvers.traced_lbfgs(loss, at, first=first, tolerance=1e-9)))(around)
    exact = solvers.lbfgs(loss, np.asarray(teacher), tolerance=1e-12).params
    np.testing.assert_allclose(ends.params, np.broadcast_to(exact, ends.params.shape), atol=1e-6)
    assert int(jnp.max(ends.evaluations)) < (25 if metric else 200)
    assert float(ends.value[0]) == pytest.approx(loss.value(np.asarray(ends.params[0])), rel=1e-12)


def test_traced_lbfgs_keeps_its_steps_short_and_stops_far_away():
    """y = 1 everywhere: the best weight of a sigmoid without noise is infinite."""
    X = jnp.ones((10, 1))
    loss = objectives.Squared.on(ArrayRows(X, jnp.ones(10)), get("sigmoid"), jnp.ones(1))
    run = partial(solvers.traced_lbfgs, loss, jnp.zeros((1, 1)), longest=0.5, tolerance=1e-12)
    assert 5.0 <= float(run(farthest=5.0).params[0, 0]) <= 5.5
    assert float(run(evaluations=4).params[0, 0]) <= 1.5


def test_traced_least_squares_reaches_zero_side_by_side_and_alone():
    losses, params = planted_losses(3, n=12)
    together = jax.vmap(partial(solvers.traced_least_squares, steps=80))(stacked(losses), stacked(params))
    assert np.all(np.asarray(together[1]) < 1e-20)
    for loss, start in zip(losses, params, strict=True):
        end, value = solvers.traced_least_squares(loss, start, steps=80)
        assert float(value) == pytest.approx(loss.value(jax.tree.map(np.asarray, end)), abs=1e-24)
        assert float(value) < 1e-20


def test_traced_least_squares_minds_weights_and_ends_where_least_squares_does():
    """Noisy rows, more of them than parameters, some counted twice, in blocks that need padding."""
    data = make_planted(50, 3, 2, activation="tanh", noise=0.1, random_state=0)
    weight = np.where(np.arange(50) < 20, 2.0, 1.0)
    start = {"weights": jnp.asarray(data.teacher.weights), "output": jnp.asarray(data.teacher.output)}
    rows = ArrayRows(jnp.asarray(data.X), jnp.asarray(data.y), jnp.asarray(weight), block_size=21)
    loss = objectives.Squared.on(rows, get("tanh"))
    end, _ = solvers.traced_least_squares(loss, start, steps=200)
    exact = solvers.least_squares(objectives.Squared(data.X, data.y, "tanh", sample_weight=weight), start).params
    jax.tree.map(partial(np.testing.assert_allclose, atol=1e-7), end, exact)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_gram_matrix_is_that_of_the_jacobian(fixed, bias):
    rng = np.random.default_rng(0)
    X, k = jnp.asarray(rng.standard_normal((6, 3))), 4
    loss = objectives.Squared.on(
        ArrayRows(X, jnp.zeros(6)), get("softplus"), jnp.arange(1.0, 5.0) if fixed else None, bias, intercept=bias
    )
    params = {"weights": rng.standard_normal((k, 3))}
    params |= {} if fixed else {"output": rng.standard_normal(k)}
    params |= {"bias": rng.standard_normal(k), "intercept": np.asarray(0.5)} if bias else {}
    params = jax.tree.map(jnp.asarray, params)
    J = jax.jacobian(lambda p: loss.predict(p, X))(params)
    flat = jnp.concatenate([leaf.reshape(6, -1) for leaf in jax.tree.leaves(J)], axis=1)
    np.testing.assert_allclose(objectives.jacobian_gram(loss, params, X), flat @ flat.T, rtol=1e-10)


def test_starts_are_as_far_as_asked_in_all_entries_together():
    teacher = {"weights": jnp.eye(3), "output": jnp.ones(3)}
    around = starts.near(jax.random.key(0), teacher, 0.3, restarts=5)
    squares = sum(jnp.sum((around[name] - teacher[name]).reshape(5, -1) ** 2, axis=1) for name in teacher)
    np.testing.assert_allclose(squares, 0.09, rtol=1e-12)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_traced_draws_follow_the_teacher(task):
    """Regression exactly; labels to four standard errors of their mean of y − p, in all and where p is large."""
    W = 2 * jnp.eye(2, 3)
    X, y = draw_planted(jax.random.key(0), 20_000, W, get("sigmoid"), task)
    np.testing.assert_allclose(X.T @ X / len(X), np.eye(3), atol=4 * 2**0.5 / len(X) ** 0.5)
    features = get("sigmoid")(X @ W.T)
    if task == "regression":
        np.testing.assert_allclose(y, features.sum(axis=1), rtol=1e-12)
        return
    p = features.mean(axis=1)
    for part in (p > 0, p > 0.7):
        scatter = float(jnp.sqrt(jnp.sum(jnp.where(part, p * (1 - p), 0.0))))
        assert abs(float(jnp.sum(jnp.where(part, y - p, 0.0)))) < 4 * scatter
