"""Fewer rows than parameters: zero loss without a claim on the weights, and matrices that fewer rows determine."""

import numpy as np
import pytest

from planted import PlantedRegressor
from planted.cli import main
from planted.datasets import make_planted, write_table
from planted.methods import METHODS, Problem

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize(("activation", "d", "k"), [("relu", 6, 16), ("softplus", 6, 12), ("quadratic", 12, 6)])
def test_random_labels_are_fitted_and_never_recovered(activation, d, k):
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, d)), rng.standard_normal(40)
    est = PlantedRegressor(
        k, activation, method="interpolate", fit_bias=False, fit_intercept=False, random_state=0
    ).fit(X, y)
    assert est.result_.status == "ambiguous"
    assert est.certificate_.kind == "global minimum"
    np.testing.assert_allclose(est.predict(X), y, atol=1e-8)
    assert "whatever they are" in est.result_.reason


def test_a_planted_network_is_not_recovered_by_interpolation_even_with_many_rows():
    data = make_planted(300, 3, 1, activation="tanh", random_state=0)
    result = METHODS["interpolate"](Problem.of(data.X, data.y, 1, "tanh"))
    assert result.relative_loss < 1e-12
    assert result.status == "ambiguous"
    assert "without asking" in result.reason


def test_several_outputs_biases_and_row_weights():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 4)), rng.standard_normal((12, 2))
    est = PlantedRegressor(14, "tanh", method="interpolate", fit_bias=True, fit_intercept=True, random_state=0)
    est.fit(X, y, sample_weight=rng.uniform(0.1, 3.0, 12))
    np.testing.assert_allclose(est.predict(X), y, atol=1e-7)


def test_what_cannot_be_fitted_is_a_misfit_that_says_why():
    # Quadratic neurons are a symmetric matrix: ten numbers do not pass through thirty random targets.
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), rng.standard_normal(30)
    est = PlantedRegressor(
        12, "quadratic", method="interpolate", fit_bias=False, fit_intercept=False, random_state=0
    ).fit(X, y)
    assert est.result_.status == "misfit"
    assert "a matrix of 10 numbers" in est.result_.reason


def test_the_width_is_that_of_the_paper_where_it_is_left_open():
    rng = np.random.default_rng(0)
    est = PlantedRegressor(
        "auto", "softplus", method="interpolate", fit_bias=False, fit_intercept=False, random_state=0
    )
    est.fit(rng.standard_normal((20, 5)), rng.standard_normal(20))
    assert est.n_hidden_ == 6


def test_from_the_command_line(capsys, tmp_path):
    rng = np.random.default_rng(0)
    write_table(tmp_path / "rows.csv", rng.standard_normal((20, 4)), rng.standard_normal(20))
    arguments = ["fit", tmp_path / "rows.csv", "--method", "interpolate", "--hidden", 10, "--activation", "softplus"]
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    assert stopped.value.code == 1
    assert "ambiguous" in capsys.readouterr().out


def fitted(n, d, teacher_width, width, output="ones", seed=0):
    data = make_planted(
        n, d, teacher_width, activation="quadratic", weights="gaussian", output=output, random_state=seed
    )
    result = METHODS["quadratic"](Problem.of(data.X, data.y, width, "quadratic"))
    truth, own = data.teacher, result.network
    matrix = (truth.weights.T * truth.output) @ truth.weights
    gap = (own.weights.T * own.output) @ own.weights - matrix
    return result, float(np.linalg.norm(gap) / np.linalg.norm(matrix))


@pytest.mark.parametrize(("n", "width", "output"), [(45, 2, "ones"), (45, 3, "ones"), (40, 2, "mixed")])
def test_fewer_rows_than_entries_recover_a_matrix_that_is_unique(n, width, output):
    result, error = fitted(n, 10, 2, width, output)
    assert result.status == "recovered"
    assert error < 1e-8


@pytest.mark.parametrize(("n", "width"), [(15, 2), (45, 10)])
def test_a_matrix_that_is_not_unique_is_ambiguous(n, width):
    result, _ = fitted(n, 10, 2, width)
    assert result.status == "ambiguous"
