"""Singular values where LAPACK's divide and conquer gives up."""

import numpy as np
import pytest

from planted.numerics.decompositions import least_squares, svd


@pytest.mark.parametrize("full", [False, True])
def test_another_driver_takes_over(monkeypatch, full):
    matrix = np.random.default_rng(0).standard_normal((5, 3))
    expected = np.linalg.svd(matrix, full_matrices=full)

    def gives_up(*_, **__):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", gives_up)
    left, values, right = svd(matrix, full_matrices=full)
    assert left.shape == expected[0].shape
    np.testing.assert_allclose(values, expected[1], rtol=1e-13)
    np.testing.assert_allclose(left[:, :3] * values @ right, matrix, atol=1e-13)


def test_what_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="infs or NaNs"):
        svd(np.full((2, 2), np.nan))


@pytest.mark.parametrize("dependent", [False, True])
def test_many_columns_are_solved_for_as_lapack_does(monkeypatch, dependent):
    """By their products where they are independent, which takes no decomposition; the shortest solution otherwise."""
    rng = np.random.default_rng(0)
    columns, targets = rng.standard_normal((400, 120)) * np.logspace(-2, 2, 120), rng.standard_normal((400, 2))
    if dependent:
        columns[:, 7] = columns[:, 8]
    expected, lapack, calls = np.linalg.lstsq(columns, targets, rcond=1e-12)[0], np.linalg.lstsq, []
    monkeypatch.setattr(np.linalg, "lstsq", lambda *given, **named: calls.append(1) or lapack(*given, **named))
    solution = least_squares(columns, targets, 1e-12)
    np.testing.assert_allclose(columns @ solution, columns @ expected, atol=1e-11)
    assert len(calls) == dependent
