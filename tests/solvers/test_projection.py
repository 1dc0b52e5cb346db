"""Variable projection against finite differences, a general least-squares solver and a known network."""

import numpy as np
import pytest
import scipy.optimize

from planted import activations
from planted.solvers import SeparableRows, _projection, variable_projection
from planted.solvers._columns import Regular, factored
from planted.solvers._projection import _VariableProjection
from planted.solvers._projection_products import Products, independent_columns


def problem(activation, outputs=1, weighted=False, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((80, 3)), np.ones(80)])
    y = rng.standard_normal((80, outputs))
    weight = np.sqrt(rng.integers(1, 4, 80)) if weighted else None
    act = activations.get(activation)
    return SeparableRows(X, X if act.tilt else X[:, -1:], y, act, weight), rng.standard_normal((2, 4))


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
def test_downhill_is_minus_the_gradient(activation, outputs):
    rows, start = problem(activation, outputs, weighted=True)
    solver = _VariableProjection(0.0, 0.0, (10, 0.9))
    _, downhill, _, _ = solver._equations(solver.init(rows, start))
    step = 1e-6
    for i, direction in enumerate(np.eye(start.size).reshape(-1, *start.shape)):
        up, down = (rows.at(start + side * step * direction).value for side in (1, -1))
        assert downhill[i] == pytest.approx(-(up - down) / (2 * step), abs=1e-6)


def test_same_minimum_as_a_general_solver():
    rows, start = problem("tanh")
    rows.y[:] = np.tanh(rows.X @ start.T) @ [[1.0], [-2.0]] + 0.1 * rows.y
    start = start + 0.1

    def residual(vector):
        hidden, layer = vector[:8].reshape(2, 4), vector[8:]
        return np.column_stack([np.tanh(rows.X @ hidden.T), np.ones(80)]) @ layer - rows.y[:, 0]

    run = variable_projection(rows, start, steps=300, patience=(50, 1 - 1e-12))
    ours = np.concatenate([run.params["rows"].ravel(), run.params["output"][0], run.params["nuisance"][0]])
    assert run.value == pytest.approx(0.5 * np.mean(residual(ours) ** 2), rel=1e-10)
    other = scipy.optimize.least_squares(residual, ours, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert run.value <= other.cost / 80 * (1 + 1e-6)


def test_weights_of_rows_repeat_them():
    rows, start = problem("tanh", weighted=True)
    times = np.round(rows.weight**2).astype(int)
    many = [np.repeat(array, times, axis=0) for array in (rows.X, rows.nuisance, rows.y)]
    again = SeparableRows(*many, rows.activation)
    assert rows.at(start).value * 80 == pytest.approx(again.at(start).value * times.sum(), rel=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_columns_are_cleared_of_the_linear_ones(order, overwrite, monkeypatch):
    """Whether a basis of the nuisance columns is kept apart or not, and however the columns lie."""
    rows, start = problem("tanh", weighted=True)
    columns = np.asarray(np.random.default_rng(5).standard_normal((80, 3)), order=order)
    linear = np.column_stack([rows.nuisance, rows.features(rows.X @ start.T)]) * rows.weight[:, None]
    wanted = columns - linear @ np.linalg.lstsq(linear, columns, rcond=None)[0]
    for many in (100, 1):
        monkeypatch.setattr(_projection, "_MANY_COLUMNS", many)
        given = columns.copy(order=order)
        assert rows.at(start).cleared(given, overwrite=overwrite) == pytest.approx(wanted, abs=1e-12)
        assert overwrite or np.array_equal(given, columns)


@pytest.mark.parametrize("many", [100, 1])
def test_outputs_stay_finite_where_rows_have_only_a_tail(many, monkeypatch):
    """The best softplus neuron of an exponential function has bias −∞ and output ∞."""
    monkeypatch.setattr(_projection, "_MANY_COLUMNS", many)
    X = np.column_stack([np.linspace(-1.0, 1.0, 40), np.ones(40)])
    rows = SeparableRows(X, np.ones((40, 1)), np.exp(X[:, :1]), activations.get("softplus"), centred=False)
    assert np.isfinite(rows.at(np.array([[1.0, -600.0]])).value)
    nowhere = rows.at(np.array([[1.0, -715.0]]))
    assert nowhere.value == np.inf
    assert np.isfinite(nowhere.solution).all()
    run = variable_projection(rows, np.array([[0.9, -690.0]]), steps=50)
    assert np.isfinite(run.params["output"]).all()


def test_weak_neuron_beside_strong_ones():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.standard_normal((400, 4)), np.ones(400)])
    truth, output = rng.standard_normal((3, 5)), np.array([[1.0, -1.0, 0.01]])
    y = np.tanh(X @ truth.T) @ output.T
    rows = SeparableRows(X, np.ones((400, 1)), y, activations.get("tanh"))
    run = variable_projection(rows, rng.standard_normal((5, 5)), decay=0.03, target=1e-26, steps=200)
    assert run.value < 1e-20
    live = run.params["rows"][np.abs(run.params["output"][0]) > 1e-6]
    cosines = np.abs(live @ truth.T) / np.linalg.norm(live, axis=1)[:, None] / np.linalg.norm(truth, axis=1)
    assert np.all(cosines.max(axis=0) > 1 - 1e-9)


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_products_and_factored_columns_are_the_matrix_and_the_columns(activation, outputs, monkeypatch):
    rows, start = problem(activation, outputs, weighted=True)
    point = rows.at(start)
    solver = _VariableProjection(0.0, 0.1, (10, 0.9))
    curvature, downhill, _, mu = solver._equations(solver.init(rows, start))
    curvature = np.triu(curvature) + np.triu(curvature, 1).T
    monkeypatch.setattr(_projection, "_MANY_COLUMNS", 1)
    again = SeparableRows(rows.X, rows.nuisance, rows.y, rows.activation, rows.weight)
    other = again.at(start)
    assert other.fixed is not None
    for name in ("value", "residual", "solution"):
        np.testing.assert_allclose(getattr(other, name), getattr(point, name), atol=1e-12)
    slope = (rows.activation.derivative(point.z) - rows.tilt) * rows.weight[:, None]
    made = Products.at(other, again, slope, mu)
    np.testing.assert_allclose(made.downhill.ravel(), downhill, atol=1e-12)
    direction = np.random.default_rng(1).standard_normal(start.shape)
    expected = curvature @ direction.ravel()
    np.testing.assert_allclose(made.product(direction).ravel(), expected, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_allclose(made.product(1e-30 * direction), 1e-30 * made.product(direction), rtol=1e-4, atol=0)


def test_steps_by_products_end_in_the_same_minimum(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((600, 20))
    truth = rng.standard_normal((2, 20)) / np.sqrt(20)
    y = np.tanh(X @ truth.T) @ [[1.0], [-2.0]] + 0.05 * rng.standard_normal((600, 1))
    rows = SeparableRows(X, np.ones((600, 1)), y, activations.get("tanh"))
    dense = variable_projection(rows, truth + 0.05, steps=200, patience=(50, 1 - 1e-12))
    monkeypatch.setattr(_projection, "_MANY_INPUTS", 1)
    products = variable_projection(rows, truth + 0.05, steps=200, patience=(50, 1 - 1e-12))
    assert products.value == pytest.approx(dense.value, rel=1e-10)
    np.testing.assert_allclose(products.params["rows"], dense.params["rows"], atol=1e-5)


def test_the_preconditioner_has_the_size_of_the_curvature_beside_a_linear_part(monkeypatch):
    """The linear part takes most of what a neuron near its own linear part adds; slopes as they are do not show it."""
    monkeypatch.setattr(_projection, "_MANY_COLUMNS", 1)
    rng = np.random.default_rng(0)
    X, tanh = rng.standard_normal((2000, 8)), activations.get("tanh")
    rows = SeparableRows(X, np.column_stack([X, np.ones(2000)]), np.tanh(X[:, :1]), tanh)
    point = rows.at(np.linalg.qr(rng.standard_normal((8, 2)))[0].T)
    slope = tanh.derivative(point.z)
    made = Products.at(point, rows, slope, 0.0)
    own = [
        np.mean([made.product(one * unit)[place] @ unit for unit in np.eye(8)])
        for place, one in enumerate(np.eye(2)[:, :, None])
    ]
    np.testing.assert_allclose(own, np.diagonal(made.neurons), rtol=0.3)
    assert np.all(np.array(own) < 0.3 * np.diagonal((point.output.T @ point.output) * (slope.T @ slope) / 2000))


@pytest.mark.parametrize("least", [1e-3, 1e-11, 1e-17])
def test_columns_of_a_prescribed_spectrum_are_factored(least):
    """By their triangle where they are regular, by its singular values where not: the solution is the same."""
    rng = np.random.default_rng(3)
    left, right = (np.linalg.qr(rng.standard_normal((size, 4)))[0] for size in (60, 4))
    columns = np.asarray((left * [1.0, 0.5, 0.1, least]) @ right.T * [1e3, 1.0, 1e-4, 1.0], order="F")
    factor = factored(columns)
    assert isinstance(factor, Regular) == (least == 1e-3)
    assert factor.basis.shape[1] == (3 if least == 1e-17 else 4)
    assert factor.basis.T @ factor.basis == pytest.approx(np.eye(factor.basis.shape[1]), abs=1e-12)
    y = columns @ np.array([[1.0], [2.0], [3.0], [-1.0]])
    assert columns @ factor.solution(factor.basis.T @ y) == pytest.approx(y, rel=1e-9)


def test_fewer_rows_than_columns_are_all_explained():
    columns, y = np.random.default_rng(4).standard_normal((2, 3, 5))
    factor = factored(columns)
    assert columns @ factor.solution(factor.basis.T @ y) == pytest.approx(y)


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e-4])
def test_many_linear_columns_leave_what_least_squares_leaves(dependent, size):
    """Also of neurons next to their linear part, of which these columns leave a share that is next to rounding."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 110)), rng.standard_normal((400, 1))
    columns = np.column_stack([X, X[:, 0] if dependent else np.ones(400)])
    rows = SeparableRows(X, columns, y, activations.get("tanh"), centred=False)
    hidden = size * rng.standard_normal((2, 110)) / 10
    point = rows.at(hidden)
    both = np.column_stack([columns, np.tanh(X @ hidden.T)])
    both /= np.linalg.norm(both, axis=0)
    left = y - both @ np.linalg.lstsq(both, y, rcond=1e-13)[0]
    assert point.value == pytest.approx(0.5 * np.mean(left**2), rel=1e-6)
    assert np.abs(point.fixed.T @ point.basis).max() < 1e-10
    solved = columns @ point.solution[:-2] + np.tanh(X @ hidden.T) @ point.output.T
    np.testing.assert_allclose(y - solved, left, atol=1e-6)


def test_a_basis_of_independent_columns_takes_no_decomposition_of_them():
    columns = np.random.default_rng(0).standard_normal((300, 120)) * np.logspace(-9, 9, 120)
    basis, right, values, size = independent_columns(columns)
    np.testing.assert_allclose(basis.T @ basis, np.eye(120), atol=1e-13)
    np.testing.assert_allclose((basis * values @ right * size) / size, columns / size, atol=1e-13)
    assert independent_columns(np.column_stack([columns, columns[:, 0]])) is None
