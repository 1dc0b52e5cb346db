"""Every solver on every small problem whose minimum is known: what the one loop promises of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import optax
import pytest

from planted import activations, datasets, objectives, solvers
from planted.numerics.precision import float64, to_jax
from planted.objectives import curvature_matrix

LINE = activations.custom(lambda z: z, name="line")


@dataclass(frozen=True)
class Problem:
    loss: objectives.Squared
    start: dict[str, Any]
    value: float
    params: dict[str, Any]


def _teacher() -> Problem:
    data = datasets.make_planted(300, 2, 2, activation="tanh", output="mixed", random_state=0)
    params = {"weights": data.teacher.weights, "output": data.teacher.output}
    start = {"weights": data.teacher.weights + 0.02, "output": data.teacher.output}
    return Problem(objectives.Squared(data.X, data.y, "tanh"), start, 0.0, params)


def _regression() -> Problem:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    slopes, residual = np.linalg.lstsq(X, y, rcond=None)[:2]
    loss = objectives.Squared(X, y, LINE, output=[1.0])
    return Problem(loss, {"weights": np.ones((1, 3))}, float(residual[0]) / 80, {"weights": slopes[None]})


def _square() -> Problem:
    # ¼ ((w² − 3)² + (w² − 5)²): w² = 4 and the value ½ by hand.
    loss = objectives.Squared([[1.0], [1.0]], [3.0, 5.0], "quadratic", output=[1.0])
    return Problem(loss, {"weights": np.array([[2.3]])}, 0.5, {"weights": np.array([[2.0]])})


PROBLEMS = {"teacher": _teacher(), "regression": _regression(), "square": _square()}


@float64
def _descend(rule, monitor, loss, start, **options):
    return solvers.descend(loss, to_jax(start), rule, key=jax.random.key(0), monitor=monitor, **options)


CAREFUL = solvers.Monitor(every=25, tolerance=1e-9, patience=40)


def adam(loss, start, steps=10_000, **options):
    return _descend(solvers.FirstOrder(optax.adam(3e-3)), CAREFUL, loss, start, steps=steps, **options)


def adaptive(loss, start, steps=40_000, **options):
    return _descend(solvers.AdaptiveStep(0.1), CAREFUL, loss, start, steps=steps, **options)


def newton_on_its_own_curvature(loss, start, **options):
    return solvers.sample_newton(loss, lambda at: curvature_matrix(loss, at)[0], start, **options)


SOLVERS = {
    "adam": adam,
    "adaptive": adaptive,
    "lbfgs": solvers.lbfgs,
    "least_squares": solvers.least_squares,
    "gauss_newton": solvers.gauss_newton,
    "sample_newton": newton_on_its_own_curvature,
    "newton_polish": solvers.newton_polish,
}
NOT_MONOTONE = {"adam", "newton_polish"}
RECORDS_START = {"adaptive", "newton_polish"}

every_solver = pytest.mark.parametrize("name", SOLVERS)


def check_books(run, name, calls, steps):
    """Histories, counts and progress that say the same."""
    stride = CAREFUL.every if name in ("adam", "adaptive") else 1
    first = [0] if name in RECORDS_START else []
    expected = [*first, *range(stride, run.n_steps, stride), *([run.n_steps] if run.n_steps else [])]
    assert run.history.step == expected
    assert len(run.history.value) == len(run.history.gradient_norm) == len(expected)
    assert [call[:2] for call in calls] == [(step, steps) for step in expected]
    assert run.reason


@every_solver
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_every_solver_reaches_every_known_minimum(name, problem):
    calls = []
    steps = {"adam": 10_000, "adaptive": 40_000}.get(name, 200)
    run = SOLVERS[name](problem.loss, problem.start, steps=steps, progress=lambda *call: calls.append(call))
    assert run.status == "converged", str(run)
    assert run.value == pytest.approx(problem.value, rel=1e-9, abs=1e-14)
    for key, leaf in problem.params.items():
        np.testing.assert_allclose(run.params[key], leaf, atol=1e-5)
    if name not in NOT_MONOTONE:
        assert np.min(run.history.value) >= run.value
    check_books(run, name, calls, steps)


@every_solver
def test_the_step_limit_is_kept_and_said(name):
    problem, calls = PROBLEMS["teacher"], []
    run = SOLVERS[name](problem.loss, problem.start, steps=1, progress=lambda *call: calls.append(call))
    assert (run.status, run.n_steps) == ("step limit", 1)
    assert "more steps" in run.reason
    check_books(run, name, calls, 1)


@every_solver
def test_a_kink_that_no_step_improves_stalls(name):
    # ½ (|w| + 1)² has its minimum on the kink, where the gradient never shortens.
    loss = objectives.Squared([[1.0]], [-1.0], "abs", output=[1.0])
    calls = []
    run = SOLVERS[name](loss, {"weights": np.array([[1e-3]])}, steps=3000, progress=lambda *call: calls.append(call))
    assert run.status == "stalled", str(run)
    assert run.value <= loss.value({"weights": np.array([[4e-3]])})
    check_books(run, name, calls, 3000)


@every_solver
def test_an_infinite_value_is_divergence(name):
    loss = objectives.Squared([[1.0]], [1.0], "quadratic", output=[1.0])
    run = SOLVERS[name](loss, {"weights": np.array([[1e160]])}, steps=100)
    assert run.status == "diverged", str(run)
    assert "NaN" in run.reason


def test_damped_steps_stall_where_the_curvature_is_wrong_by_more_than_any_damping():
    problem = PROBLEMS["square"]
    run = solvers.sample_newton(problem.loss, lambda at: np.full((1, 1), 1e-12), problem.start)
    assert run.status == "stalled"
    np.testing.assert_array_equal(run.params["weights"], problem.start["weights"])
    assert run.value == run.history.value[0] == problem.loss.value(problem.start)


def test_no_steps_leave_the_start():
    problem = PROBLEMS["teacher"]
    for name, solver in SOLVERS.items():
        if name != "lbfgs":
            run = solver(problem.loss, problem.start, steps=0)
            assert (run.status, run.n_steps) == ("step limit", 0)
            np.testing.assert_array_equal(run.params["weights"], problem.start["weights"])


def test_adaptive_steps_never_rise_and_of_all_sizes_share_a_compilation():
    problem = PROBLEMS["teacher"]
    run = _descend(solvers.AdaptiveStep(1e4), solvers.Monitor(every=1), problem.loss, problem.start, steps=60)
    assert np.all(np.diff(run.history.value) <= 0)
    assert run.value < run.history.value[0]
    assert hash(solvers.AdaptiveStep(0.1)) == hash(solvers.AdaptiveStep(0.2))
    assert solvers.AdaptiveStep(0.1) == solvers.AdaptiveStep(0.2) != solvers.AdaptiveStep(0.1, cut=0.1)


@float64
def test_adaptive_steps_by_hand():
    # f = ½ (w − 1)²: from 0 a step of 4 leads to 4, is undone and halved; 2 leads to 2, as high, and is taken.
    loss = objectives.Squared([[1.0]], [1.0], LINE, output=[1.0])
    places = []
    watch = solvers.Monitor(every=1, measure=lambda at: places.append(float(at["weights"][0, 0])) or 0.0)
    _descend(solvers.AdaptiveStep(4.0), watch, loss, {"weights": np.zeros((1, 1))}, steps=3)
    # The size is then 2.2, by which the step from 2 leads to −0.2 and is undone.
    np.testing.assert_allclose(places, [0.0, 0.0, 2.0, 2.0])


def test_a_rule_of_the_caller_stops_restarts_side_by_side():
    problem = PROBLEMS["square"]
    asked = []

    def settled(state):
        asked.append(np.asarray(state.value))
        return len(asked) == 3

    starts = {"weights": np.array([[[1.0]], [[3.0]]])}
    monitor = solvers.Monitor(every=5, settled=settled)
    run = _descend(solvers.AdaptiveStep(0.01), monitor, problem.loss, starts, steps=1000, side_by_side=True)
    assert (run.status, run.history.step) == ("converged", [0, 5, 10])
    np.testing.assert_array_equal(run.history.value, asked)
    np.testing.assert_allclose(asked[0], [5.0, 13.0])


def test_lbfgs_stops_at_a_target():
    problem = PROBLEMS["regression"]
    target = 1.01 * problem.value
    run = solvers.lbfgs(problem.loss, problem.start, target=target)
    assert (run.status, problem.value < run.value <= target) == ("converged", True)
    assert "asked for" in run.reason
