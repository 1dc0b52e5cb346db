"""Planted data has the teacher it says, and tables come back as they were written."""

import math

import jax
import numpy as np
import pytest

from planted import Network
from planted.datasets import DataError, make_planted, read_table, write_table
from planted.inputs import Gaussian


@pytest.mark.parametrize(("d", "k"), [(1, 1), (5, 5), (8, 3), (20, 20)])
@pytest.mark.parametrize("kind", ["orthogonal", "gaussian", "correlated"])
def test_teachers_have_unit_rows(kind, d, k):
    W = make_planted(1, d, k, weights=kind, random_state=1).teacher.weights
    assert W.shape == (k, d)
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), 1, rtol=1e-12)
    if kind == "orthogonal":
        np.testing.assert_allclose(W @ W.T, np.eye(k), atol=1e-12)


@pytest.mark.parametrize(("d", "k"), [(4, 4), (10, 10), (12, 5), (6, 2)])
@pytest.mark.parametrize("condition", [1.0, 1.5, 3.0, 10.0])
def test_the_stated_condition_number_is_the_measured_one(d, k, condition):
    for seed in range(3):
        data = make_planted(1, d, k, weights="correlated", condition_number=condition, random_state=seed)
        assert np.linalg.cond(data.teacher.weights) == pytest.approx(condition, rel=1e-6)


def test_wide_teachers_come_from_gaussian_rows_only():
    assert make_planted(1, 2, 5, weights="gaussian", random_state=0).teacher.n_hidden == 5
    for kind in ("orthogonal", "correlated"):
        with pytest.raises(ValueError, match="n_hidden ≤ n_features"):
            make_planted(1, 2, 5, weights=kind)


def test_outputs():
    make = lambda kind: make_planted(1, 40, 40, output=kind, random_state=3).teacher.output  # noqa: E731
    np.testing.assert_array_equal(make("ones"), np.ones(40))
    positive, mixed = make("positive"), make("mixed")
    assert positive.min() >= 1
    assert positive.max() <= 2
    assert np.ptp(positive) > 0.5
    assert 5 < np.sum(mixed < 0) < 35
    assert np.abs(mixed).min() >= 1
    np.testing.assert_array_equal(make(np.arange(40.0)), np.arange(40.0))


def test_given_weights_and_biases_are_used():
    W, b = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, -1.0]]), np.array([0.1, 0.2, 0.3])
    teacher = make_planted(5, 2, 3, weights=W, bias=b, random_state=0).teacher
    np.testing.assert_array_equal(teacher.weights, W)
    np.testing.assert_array_equal(teacher.bias, b)
    assert make_planted(5, 2, 2, random_state=0).teacher.bias is None
    assert np.all(make_planted(5, 2, 2, bias=True, random_state=0).teacher.bias != 0)


@pytest.mark.parametrize("activation", ["relu", "tanh", "quadratic"])
def test_targets_are_the_teachers(activation):
    data = make_planted(500, 4, 3, activation=activation, output="mixed", bias=True, random_state=5)
    np.testing.assert_allclose(data.y, data.teacher.predict(data.X), rtol=1e-13)
    assert data.X.dtype == data.y.dtype == np.float64


def test_inputs_are_standard_gaussian():
    n = 100_000
    X = make_planted(n, 3, 2, random_state=0).X
    # Standard errors: 1/√n of a mean, √2/√n of a variance, 1/√n of a covariance; five of them.
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=5 / math.sqrt(n))
    np.testing.assert_allclose(X.T @ X / n, np.eye(3), atol=5 * math.sqrt(2 / n))
    assert np.mean(X[:, 0] ** 4) == pytest.approx(3, abs=5 * math.sqrt(96 / n))


def test_other_inputs():
    law = Gaussian([1.0, -2.0], [[2.0, 0.5], [0.5, 1.0]])
    X = make_planted(50_000, 2, 2, inputs=law, random_state=0).X
    np.testing.assert_allclose(X.mean(axis=0), law.mean, atol=5 * math.sqrt(2 / 50_000))
    np.testing.assert_allclose(np.cov(X.T), law.cov, atol=5 * 2 * math.sqrt(2 / 50_000))


def test_noise_has_its_standard_deviation_and_leaves_the_rest_alone():
    clean, noisy = (make_planted(20_000, 3, 2, noise=s, random_state=7) for s in (0.0, 0.3))
    np.testing.assert_array_equal(clean.X, noisy.X)
    np.testing.assert_array_equal(clean.teacher.weights, noisy.teacher.weights)
    error = noisy.y - clean.y
    # The standard error of a standard deviation is σ/√(2n).
    assert error.std() == pytest.approx(0.3, abs=5 * 0.3 / math.sqrt(40_000))
    assert abs(error.mean()) < 5 * 0.3 / math.sqrt(20_000)
    assert abs(np.corrcoef(error, clean.y)[0, 1]) < 5 / math.sqrt(20_000)


def test_classification_probabilities():
    n = 40_000
    data = make_planted(n, 3, 2, activation="sigmoid", task="classification", random_state=0)
    assert set(np.unique(data.y)) == {0, 1}
    p = data.teacher.predict(data.X)
    np.testing.assert_array_equal(data.teacher.output, [0.5, 0.5])
    for low, high in ((0.0, 0.4), (0.4, 0.6), (0.6, 1.0)):
        part = (p >= low) & (p < high)
        error = np.sqrt(np.mean(p[part] * (1 - p[part])) / part.sum())
        assert abs(data.y[part].mean() - p[part].mean()) < 5 * error
    with pytest.raises(ValueError, match="into \\[0, 1\\]"):
        make_planted(10, 2, 2, activation="relu", task="classification")


def test_deterministic():
    options = {"weights": "correlated", "output": "mixed", "bias": True, "noise": 0.1}
    one, same, other = (make_planted(50, 4, 3, random_state=s, **options) for s in (11, 11, 12))
    for name in ("X", "y"):
        np.testing.assert_array_equal(one[name], same[name])
        assert not np.array_equal(one[name], other[name])
    np.testing.assert_array_equal(one.teacher.weights, same.teacher.weights)
    assert not np.array_equal(one.teacher.weights, other.teacher.weights)
    assert not np.array_equal(make_planted(5, 2, 2).X, make_planted(5, 2, 2).X)
    generated = [make_planted(5, 2, 2, random_state=np.random.default_rng(1)).X for _ in range(2)]
    np.testing.assert_array_equal(*generated)


def test_the_callers_precision_does_not_matter():
    usual = make_planted(20, 3, 2, random_state=4)
    with jax.enable_x64(True):
        double = make_planted(20, 3, 2, random_state=4)
    np.testing.assert_array_equal(usual.X, double.X)
    np.testing.assert_array_equal(usual.y, double.y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "n_samples must be a positive integer"),
        ({"n_features": 2.5}, "n_features must be a positive integer"),
        ({"n_hidden": True}, "n_hidden must be a positive integer"),
        ({"weights": "orthogonl"}, "did you mean 'orthogonal'"),
        ({"weights": np.eye(2)}, "weights has shape \\(2, 2\\), expected \\(2, 3\\)"),
        ({"output": "negative"}, "unknown output 'negative'"),
        ({"output": [1.0]}, "output has shape \\(1,\\), expected \\(2,\\)"),
        ({"noise": -1.0}, "noise must be a non-negative number"),
        ({"noise": math.nan}, "noise must be a non-negative number"),
        ({"task": "ranking"}, "unknown task 'ranking'"),
        ({"inputs": "cauchy"}, "unknown inputs 'cauchy'"),
        ({"inputs": Gaussian(np.zeros(4))}, "expected 3 columns"),
        ({"condition_number": 0.5}, "condition_number must be at least 1"),
        ({"activation": "sine"}, "unknown activation 'sine'"),
        ({"random_state": -1}, "a seed must be an integer from 0"),
    ],
)
def test_bad_requests_are_one_sentence(options, message):
    with pytest.raises(ValueError, match=message) as caught:
        make_planted(**({"n_samples": 10, "n_features": 3, "n_hidden": 2} | options))
    assert "\n" not in str(caught.value)


# Tables.

X = np.random.default_rng(0).standard_normal((7, 3))
Y = np.array([1.0, -2.5, 1e-300, 1e300, 0.1 + 0.2, -0.0, 3.0])


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_round_trip(ending, tmp_path):
    path = tmp_path / f"data.{ending}"
    if ending == "npz":
        np.savez(path, X=X, y=Y)
    else:
        assert write_table(path, X, Y) == path
    x, y, columns = read_table(path, target="y")
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)
    assert columns == ["x0", "x1", "x2"]
    assert read_table(path)[1] is None


def test_chosen_columns_tabs_integers_and_booleans(tmp_path):
    path = tmp_path / "data.tsv"
    path.write_text("a\tb\tc\n1\ttrue\t0.5\n2\tfalse\t1e3\n")
    x, y, columns = read_table(path, target="a", features=["c", "b"])
    np.testing.assert_array_equal(x, [[0.5, 1.0], [1000.0, 0.0]])
    np.testing.assert_array_equal(y, [1.0, 2.0])
    assert columns == ["c", "b"]
    assert read_table(path, target="a")[2] == ["b", "c"]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("data.csv", b"", {}, "is empty"),
        ("data.csv", b"a,b\n", {}, "no rows"),
        ("data.csv", b"a,b\n1,x\n", {}, "column 'b' holds text, 'x' in row 1"),
        ("data.csv", b"a,b\n1,2\n3,\n", {}, "column 'b' has a missing value in row 2"),
        ("data.csv", b"a,b\n1,2\n3,nan\n", {}, "column 'b' has a NaN or infinite value in row 2"),
        ("data.csv", b"a,b\n1,inf\n", {}, "column 'b' has a NaN or infinite value in row 1"),
        ("data.csv", b"a,b\n1,2\n", {"target": "c"}, "unknown column 'c'"),
        ("data.csv", b"a,b\n1,2\n", {"features": ["a", "bb"]}, "did you mean 'b'"),
        ("data.csv", b"a,b\n1,2\n", {"target": "a", "features": ["a"]}, "both an input and the target"),
        ("data.csv", b"a\n1\n", {"target": "a"}, "no input columns"),
        ("data.csv", b"a,b\n1,2,3\n", {}, "cannot be read as csv"),
        ("data.csv", b"\xff\xfe\x00\x01\n\x80\x81", {}, "UTF-16|cannot be read as csv|holds text"),
        ("data.parquet", b"PAR1 not really", {}, "cannot be read as parquet"),
        ("data.npz", b"PK\x03\x04 broken", {}, "cannot be read as npz"),
        ("data.doc", b"anything", {}, "unknown kind of file '.doc'"),
    ],
)
def test_bad_tables_are_one_sentence(name, content, options, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_table(path, **options)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize(
    ("arrays", "options", "message"),
    [
        ({"inputs": X}, {}, "no array named X"),
        ({"X": X}, {"target": "y"}, "unknown array 'y'"),
        ({"X": np.array([["a"]])}, {}, "must be numbers"),
        ({"X": np.array([[{}]], dtype=object)}, {}, "X holds objects"),
        ({"X": X[0]}, {}, "X must have 2 dimensions"),
        ({"X": np.ones((2, 4, 4))}, {}, "not 3; PlantedConvRegressor fits patches, and images with patch_shape"),
        ({"X": X, "y": X.astype(str)[:, 0]}, {"target": "y"}, "'y' holds text; PlantedClassifier takes labels"),
        ({"X": X, "y": X.astype(str)}, {"target": "y"}, "labels must have 1 dimension, not 2"),
        ({"X": X, "y": X.astype(bytes)[:, 0]}, {"target": "y"}, "the target holds bytes"),
        ({"X": X, "y": Y[:3]}, {"target": "y"}, "X has 7 rows but the target has 3"),
        ({"X": X * math.nan}, {}, "NaN or infinite value in row 0"),
    ],
)
def test_bad_archives_are_one_sentence(arrays, options, message, tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=message):
        read_table(path, **options)


def test_files_that_are_not_there_or_not_written(tmp_path):
    with pytest.raises(DataError, match="no data file at"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="is a folder, not a data file"):
        read_table(tmp_path)
    with pytest.raises(DataError, match=r"write \.csv or \.parquet"):
        write_table(tmp_path / "data.json", X)


def test_teacher_of_a_table_is_a_network():
    assert isinstance(make_planted(3, 2, 2, random_state=0).teacher, Network)
