"""Singular values where LAPACK's divide and conquer gives up."""

import numpy as np
import pytest

from planted.numerics.decompositions import svd


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
