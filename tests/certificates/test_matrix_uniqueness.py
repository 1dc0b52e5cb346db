"""Uniqueness of a quadratic network's matrix: certificates checked by hand, and other matrices where there are some."""

import numpy as np
import pytest

from planted.certificates import matrix_uniqueness


def rows_and_matrix(n, d, r, seed=0, signs=None):
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((r, d))
    return rng.standard_normal((n, d)), (weights.T * (np.ones(r) if signs is None else signs)) @ weights


@pytest.mark.parametrize(
    ("n", "d", "r", "kind"),
    [
        (55, 10, 2, "among all matrices"),
        (45, 10, 2, "among semidefinite matrices"),
        (21, 10, 2, "among matrices of this rank nearby"),
        (18, 10, 2, "not proved"),
    ],
)
def test_the_strongest_certificate_by_number_of_rows(n, d, r, kind):
    assert matrix_uniqueness(*rows_and_matrix(n, d, r)).kind == kind


def test_the_dual_certificate_is_one():
    X, M = rows_and_matrix(45, 10, 2)
    proved = matrix_uniqueness(X, M)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    Q = (unit.T * proved.multipliers) @ unit
    values, vectors = np.linalg.eigh(M)
    V = vectors[:, np.abs(values) < 1e-9]
    assert np.linalg.norm(Q @ M) < 1e-8 * np.linalg.norm(Q) * np.linalg.norm(M)
    assert np.linalg.eigvalsh(V.T @ Q @ V)[0] > 0
    assert proved.one_sign
    assert matrix_uniqueness(X, -M).kind == proved.kind


def test_rows_along_the_axes_determine_a_semidefinite_matrix_that_the_tangent_space_does_not():
    # Diagonal entries (1, 0) leave a semidefinite matrix no choice; any matrix of rank one may turn.
    proved = matrix_uniqueness(np.eye(2), np.diag([1.0, 0.0]))
    assert proved.tangent == 0.0
    assert proved.kind == "among semidefinite matrices"


def test_where_another_semidefinite_matrix_explains_the_rows_nothing_is_proved_of_them():
    # Diagonal entries (1, 1): every correlation matrix has them.
    proved = matrix_uniqueness(np.eye(2), np.ones((2, 2)))
    assert not proved.one_sign
    X, M = rows_and_matrix(24, 10, 2)
    assert matrix_uniqueness(X, M).dual < 0


def test_both_signs_have_no_dual_certificate():
    X, M = rows_and_matrix(45, 10, 2, signs=np.array([1.0, -1.0]))
    proved = matrix_uniqueness(X, M)
    assert proved.kind == "among matrices of this rank nearby"
    assert np.isnan(proved.dual)


def test_scales_and_repeated_rows_change_nothing_or_take_away():
    X, M = rows_and_matrix(45, 10, 2)
    assert matrix_uniqueness(1e6 * X, 1e-9 * M).kind == "among semidefinite matrices"
    assert matrix_uniqueness(np.repeat(X[:15], 3, axis=0), M).kind == "not proved"
