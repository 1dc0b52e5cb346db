"""Arguments that would end the interpreter, and targets whose squares leave float64."""

import multiprocessing
import os

import numpy as np
import pytest

from planted import Network, PlantedClassifier, PlantedRegressor, match
from planted.datasets import make_planted
from planted.numerics.precision import ForkError
from planted.objectives import PopulationSquared


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
