"""Arguments that would end the interpreter, and targets whose squares leave float64."""

import multiprocessing
import os
import warnings

import numpy as np
import pytest

from planted import Network, PlantedClassifier, PlantedConvRegressor, PlantedRegressor, match
from planted.datasets import make_planted
from planted.numerics.precision import ForkError
from planted.objectives import PopulationSquared
from planted.rows import block_rows, survey


@pytest.mark.parametrize("kind", [PlantedRegressor, PlantedClassifier])
@pytest.mark.parametrize("width", [10**9, 10**400, "x" * 10**6])
def test_a_width_that_cannot_be_is_one_sentence(kind, width):
    with pytest.raises(ValueError, match="n_hidden") as caught:
        kind(n_hidden=width).fit(np.ones((4, 2)), [0, 1, 0, 1])
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("unit", [1e200, 1e-200])
def test_targets_of_any_size_are_rescaled_and_fitted(unit):
    data = make_planted(300, 3, 1, activation="tanh", random_state=0)
    est = PlantedRegressor(1, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(data.X, data.y * unit)
    assert est.result_.status == "recovered"
    shrunk = est.network_.replace(output=est.network_.output / unit)
    assert match(shrunk, data.teacher).weight_error < 1e-8
    assert np.allclose(est.predict(data.X) / unit, data.y, rtol=1e-8)
    lower, upper = est.confidence_intervals()["output"]
    assert np.all(lower <= upper)


@pytest.mark.parametrize("unit", [1e200, 1e-200, 1e307])
def test_targets_of_any_size_are_rescaled_in_blocks_too(unit):
    data = make_planted(300, 3, 1, activation="tanh", random_state=0)
    rows = block_rows(data.X, data.y * unit, chunk_rows=128)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = PlantedRegressor(1, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(rows)
    assert est.result_.status == "recovered"
    assert np.allclose(est.predict(data.X) / unit, data.y, rtol=1e-8)
    assert est.survey_.largest == np.max(data.y * unit)


@pytest.mark.parametrize("unit", [1e90, 1e-90])
def test_inputs_of_any_ordinary_size_are_fitted(unit):
    data = make_planted(300, 3, 1, activation="tanh", random_state=0)
    est = PlantedRegressor(1, "tanh", fit_bias=False, fit_intercept=False, random_state=0).fit(data.X * unit, data.y)
    assert est.result_.status == "recovered"
    assert np.allclose(est.network_.weights * unit, data.teacher.weights, atol=1e-8)


@pytest.mark.parametrize(
    ("unit", "words"), [(1e200, "beyond 1e\\+100"), (1e-200, "no value beyond 1e-100"), (0.0, "zero")]
)
def test_inputs_without_squares_are_refused(unit, words):
    X, y = np.random.default_rng(0).standard_normal((30, 2)) * unit, np.arange(30.0)
    for rows in ((X, y), (block_rows(X, y, chunk_rows=16),)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match=words):
                PlantedRegressor(1, "tanh", random_state=0).fit(*rows)


def test_rows_that_are_finite_are_not_called_missing():
    """Their sum is infinite."""
    looked = survey(block_rows(np.ones((40, 1)), np.full(40, 1.7e308), chunk_rows=16), 40)
    assert looked.largest == 1.7e308


ODD = [-1, 10**30, 1.5, float("nan"), "x" * 10**4, None, [1], {}, b"x", np.array([1, 2]), object(), 1j]
CHECKED = [
    (PlantedRegressor, ("n_hidden", "activation", "method", "inputs", "fit_bias", "fit_intercept", "fit_skip")),
    (PlantedRegressor, ("random_state", "progress", "time_budget")),
    (PlantedClassifier, ("n_hidden", "restarts", "link", "loss", "solver", "alpha", "class_weight", "random_state")),
    (PlantedConvRegressor, ("n_patches", "n_filters", "random_state", "progress")),
]


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in CHECKED for name in names])
def test_odd_settings_are_one_sentence(kind, name):
    """Refused before a fit by our own sentence, which does not repeat what is long."""
    # Arrays of one column, which no fit takes: a setting that is taken for good must not cost a fit.
    X, y = np.ones((3, 1)), [1.0, 1.0, 1.0] if kind is PlantedClassifier else ["a", "b", "c"]
    defaults = kind().get_params()
    refused = 0
    for value in ODD:
        if value is None and defaults[name] is None:
            continue
        with pytest.raises((ValueError, TypeError)) as caught:
            kind(**{name: value}).fit(X, y)
        assert 0 < len(str(caught.value)) < 500
        refused += name in str(caught.value) or "unknown" in str(caught.value)
    assert refused >= 6


def test_dates_spans_of_time_and_endless_weights_are_refused():
    X, y = np.random.default_rng(0).standard_normal((20, 2)), np.arange(20.0)
    span = y.astype("timedelta64[s]")
    est = PlantedRegressor(1, "relu", random_state=0)
    for arguments, words in (
        ((X.astype("timedelta64[s]"), y), "X holds spans of time"),
        ((X, y.astype("datetime64[s]")), "y holds dates"),
        ((X, y, span), "sample_weight holds spans of time"),
        ((X, y, np.full(20, 1e308)), "the sum of sample_weight"),
    ):
        with pytest.raises(ValueError, match=words):
            est.fit(*arguments)


def test_masked_and_complex_values_are_refused():
    X, y = np.random.default_rng(0).standard_normal((20, 2)), np.arange(20.0)
    with pytest.raises(ValueError, match="X has masked values"):
        PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False).fit(np.ma.masked_greater(X, 1.0), y)
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False).fit(X + 1j, y)
    with pytest.raises(ValueError, match="complex numbers"):
        Network(np.eye(2) * 1j, np.ones(2))


def test_a_fork_after_a_computation_is_explained():
    teacher = Network(np.eye(2), np.ones(2))
    PopulationSquared(teacher).value(np.eye(2))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            PopulationSquared(teacher).value(np.eye(2))
        except ForkError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    said = os.read(read, 1000).decode()
    os.close(read)
    assert "start processes with multiprocessing.get_context('spawn')" in said
    assert "spawn" in multiprocessing.get_all_start_methods()


def test_inputs_left_open_are_called_by_their_names():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    X[:, 4] = X[:, 1]
    y = Network(rng.standard_normal((1, 5)), [1.0]).predict(X)
    names = ["age", "dose", "weight", "height", "copy of dose"]
    est = PlantedRegressor(1, activation="relu", fit_bias=False, fit_intercept=False, random_state=0).fit(
        X, y, names=names
    )
    assert est.result_.status == "ambiguous"
    assert "in the weights of inputs dose, copy of dose" in est.result_.reason
